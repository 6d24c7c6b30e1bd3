// SPDX-License-Identifier: Apache-2.0
// The one place where verbs and options are described.
#include <fmt/format.h>

#include <algorithm>

#include "cache/error.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

const Option kCache{"cache", "FILE",
                    "The cache. Default: TILEWRIGHT_CACHE, else tilewright/cache.db in the XDG cache folder."};
const Option kOps{"ops", "DIR", "A folder of your own ops, or of one op; searched before the built-in ones.", true};
const Option kFormat{"format", "FORM", "text (default), json, csv or markdown. JSON and CSV have full precision."};

Verb sweep_verb() {
  Verb verb;
  verb.name = "sweep";
  verb.summary = "Tune an op: compile, verify and measure its configs, and keep the winners";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "Every config that is legal for a problem is compiled (each binary once), checked against the op's reference and "
      "measured; each trial is stored as soon as it is made, failures included. What the cache has already is not "
      "measured again, so a sweep that was interrupted or killed goes on where it stopped. Ends with the table of "
      "winners.",
      "Problems: NAME=VALUES names dims, attributes or dtype, and --shapes says the same in one text. VALUES are lists "
      "(1024,4096) and ranges: 256..32768x2 doubles, 256..1024+256 adds. Every combination is tuned. Where no dims are "
      "given, the grid of the op's definition is; where no dtype is given, the op's first.",
  };
  verb.options = {
      {"shapes", "TEXT", "Shapes, such as \"rows=1024,4096 cols=256..32768x2\".", true},
      {"shapes-file", "FILE", "Shapes from a CSV file: a header with the dims' names, one shape a line."},
      {"dtype", "LIST", "Types to tune: bf16,f32."},
      {"attr", "NAME=LIST", "Values of an attribute: act=gelu,relu. Default: the attribute's first.", true},
      {"device", "NAME", "auto (default: the first GPU, else the emulator), cpu, or cuda:N."},
      {"devices", "LIST",
       "Several: all GPUs (all), or a list such as cuda:0,cuda:2. GPUs of one model share the problems, each of which "
       "is "
       "measured wholly on one; of different models each measures them all."},
      {"mode", "MODE", "cold (default): inputs not in L2; hot: inputs in L2; events: single cold launches."},
      {"regime", "NAME",
       "burst (default): the fastest where the power limit is not reached is served; sustained: of the finalists the "
       "fastest after a second of load. Both are stored."},
      {"budget-ms", "N", "Longest measurement of one config, in milliseconds. Default: 60."},
      {"compile-timeout", "SECONDS", "Stop a compile that takes longer: compile_failed. Default: 120."},
      {"strategy", "NAME",
       "race (default): a brief look at every config, longer ones at those that may be the fastest; exhaustive: every "
       "config wholly; random: in a drawn order; local: a walk from the winners of neighbouring shapes; model: what "
       "neighbouring shapes rank highest."},
      {"budget", "TIME", "Of the whole sweep, such as 60s or 5m; its problems share it. Default: no bound."},
      {"max-trials", "N", "Configs tried for each problem, besides those known. Default: no bound."},
      {"seed", "N", "Of all that is drawn. The same seed and the same times give the same search. Default: 1."},
      {"no-prune", "", "model: try all configs, in the order of its ranking."},
      {"replay", "FILE",
       "No sweep: run the strategy, or all of them, against the trials of an exhaustive sweep that FILE has, with no "
       "device, and tell what each asks for, how long it measures and how much slower its winner is."},
      {"misses", "",
       "Tune the shapes that applications asked for and that had no winner, of OP or of all ops, and forget those that "
       "then have one. No shapes are given."},
      {"revalidate", "",
       "Time again, in turns, the winners of OP or of all ops that were chosen under another driver, compiler, version "
       "or source, and those that led with them: each is kept, another is promoted, or all configs are searched again. "
       "No shapes are given."},
      {"config", "CONFIG", "Consider this config alone; into a cache of its own, since it wins."},
      {"max-configs", "N",
       "Configs considered for each problem, chosen over the whole space; 0: all. Default: all, on the emulator 24."},
      {"jobs", "N", "Compile workers. Default: one a core."},
      {"again", "", "Measure what the cache has already, too."},
      {"retry", "LIST",
       "Try again what failed so: compile_failed, exceeds_limits, wrong_result, timed_out, crashed, or all. Without it "
       "no failure is tried twice."},
      {"timeout", "SECONDS",
       "Stop a config that shows no progress for so long: timed_out. Default: 10, less once a config is known to be "
       "much "
       "faster; on the emulator 90."},
      {"no-ceilings", "", "Do not measure the ceilings that the table compares with, nor the compute rate."},
      {"quiet", "", "No progress."},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright sweep softmax", "The grid of the definition, on the GPU if there is one, else on the emulator."},
      {"tilewright sweep softmax --dtype bf16,f32 --shapes \"rows=256,4096 cols=1024..16384x4\"",
       "Two types, six shapes each."},
      {"tilewright sweep saxpy --ops ./my_ops n=1000000", "An op of your own."},
      {"tilewright sweep --replay sweep.db --strategy race", "How good race is, by a recorded sweep."},
      {"tilewright sweep --misses", "What applications used on this GPU and nobody had tuned."},
      {"tilewright sweep --revalidate", "After a new driver or CUDA: are the winners still the fastest?"},
  };
  verb.exit_codes =
      "0 every problem has a winner, 1 failed, 2 the command line or a definition is wrong, 3 interrupted, some "
      "problem has no winner, or a GPU was lost.";
  verb.run = run_sweep_verb;
  return verb;
}

Verb query_verb() {
  Verb verb;
  verb.name = "query";
  verb.summary = "Ask the cache which config serves a problem, and how well it fits";
  verb.usage = "OP [NAME=VALUE...] [OPTION...]";
  verb.description = {
      "Answers from the cache alone, in milliseconds: no GPU is opened and nothing is compiled. What dtype or "
      "attribute "
      "is not given takes its first value. Without --device there is an answer for each device of the cache.",
      "The match says how what is served fits: exact (tuned for this problem), nearest (tuned for one around it), "
      "default "
      "(the op's base), none; fresh or stale; same device or same architecture.",
  };
  verb.options = {
      {"device", "NAME", "A device of the cache by its name or a part of it, cpu, or an architecture such as sm_90."},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright query softmax rows=8 cols=100 dtype=f32", "The winner for one shape."},
      {"tilewright query \"softmax[dtype=bf16]{rows=4096,cols=1024}\" --device H200 --format json",
       "The same by shape key, for a program."},
  };
  verb.exit_codes =
      "0 something can be served, 1 nothing can (match none) or the cache cannot be read, 2 the command "
      "line is wrong.";
  verb.run = run_query_verb;
  return verb;
}

Verb regret_verb() {
  Verb verb;
  verb.name = "regret";
  verb.summary = "Tell what shapes never tuned would lose, by leaving out those that are";
  verb.usage = "OP [OPTION...]";
  verb.description = {
      "Each tuned shape is left out together with every shape that has one of its dims' values, is served from the "
      "rest by the launch library's rule, and what serves it is compared with its true winner, by the trials that the "
      "cache has. Where the config was never timed at the shape, that is said; exhaustive sweeps leave no such gap.",
      "Losses are told by region (dims within the same power of 16), and which shapes to tune next: half-way between a "
      "shape that loses more than 3 % and the one that serves it.",
  };
  verb.options = {
      {"each", "", "A row for each shape instead of each region."},
      {"alone", "", "Leave out the shape alone, and keep those that share a dim with it."},
      {"device", "NAME", "Only this device: its name or a part of it, or cpu."},
      {"mode", "MODE", "cold (default), hot or events: figures of different modes are never compared."},
      kCache,
      kFormat,
  };
  verb.examples = {{"tilewright regret gemm", "How well gemm is served between its tuned shapes."}};
  verb.exit_codes = "0 done, 1 there is no winner to judge or the cache cannot be read, 2 the command line is wrong.";
  verb.run = run_regret_verb;
  return verb;
}

Verb table_verb() {
  Verb verb;
  verb.name = "table";
  verb.summary = "Print the winners of an op over all shapes in the cache";
  verb.usage = "OP [OPTION...]";
  verb.description = {
      "Shape, winner, time with its 95 % interval, GB/s, share of the ceiling of the same traffic, what the time is "
      "bound by, speed-up over "
      "the "
      "op's base, match and device. A time of device cpu is the emulator's.",
  };
  verb.options = {
      {"dtype", "LIST", "Only these types."},
      {"device", "NAME", "Only this device: its name or a part of it, or cpu."},
      {"mode", "MODE", "cold (default), hot or events: figures of different modes are never compared."},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {{"tilewright table softmax --dtype bf16 --format csv", "For a spreadsheet."}};
  verb.exit_codes = "0 done, 1 there is no winner to print or the cache cannot be read, 2 the command line is wrong.";
  verb.run = run_table_verb;
  return verb;
}

Verb list_verb() {
  Verb verb;
  verb.name = "list";
  verb.summary = "List the ops that can be tuned, the devices of the cache, or the misses";
  verb.usage = "[ops|devices|misses] [OPTION...]";
  verb.description = {
      "ops (default): each op with its dims, types, attributes, implementations, the size of its space and how many of "
      "its problems have a winner in the cache. devices: those that the cache has trials of. misses: shapes that "
      "applications asked for and that had no exact winner, the most asked first.",
  };
  verb.options = {kOps, kCache, kFormat};
  verb.examples = {{"tilewright list --ops ./my_ops", "Your own ops among the built-in ones."}};
  verb.exit_codes = "0 done, 1 failed, 2 the command line is wrong, 3 some definition has mistakes.";
  verb.run = run_list_verb;
  return verb;
}

Verb show_verb() {
  Verb verb;
  verb.name = "show";
  verb.summary = "Show an op, one config of it (source, PTX, resources, log), or the evidence of a winner";
  verb.usage = "OP [NAME=VALUE...] [--config CONFIG] [OPTION...]";
  verb.description = {
      "With --config: compiles that config for an architecture, with no GPU, and prints what is asked for; by default "
      "its launch and what the compiler says it needs. Dims that are not given are those of the first shape of the "
      "definition's grid that the config is legal for.",
      "With a problem and no --config: tells in words why its winner is the winner. With an op alone: its arguments in "
      "the "
      "order of a call, its implementations and their parameters.",
  };
  verb.options = {
      {"config", "CONFIG", "Such as 'onchip{num_warps=4,vec=8,static_dims=1}'; parameters in any order."},
      {"shape", "TEXT", "Dims: rows=4096,cols=1024. They may also stand behind the op."},
      {"arch", "ARCH", "sm_80, sm_90a (default), … or cpu for the emulator."},
      {"source", "", "The source that the compiler is given."},
      {"ptx", "", "The PTX that the binary is made from."},
      {"resources", "", "Registers, spills and shared memory of each kernel (the default)."},
      {"log", "", "All that the compiler said."},
      {"device", "NAME", "Without --config: the winner of this device of the cache."},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright show softmax --config 'streaming{num_warps=8,vec=4,ragged=1,unroll=1}' --ptx", "The base's PTX."},
      {"tilewright show softmax rows=4096 cols=1024 dtype=bf16", "Why its winner won."},
      {"tilewright show softmax", "What to pass to a launch, and what there is to tune."},
  };
  verb.exit_codes = "0 done, 1 the config does not compile or there is no winner, 2 the command line is wrong.";
  verb.run = run_show_verb;
  return verb;
}

Verb report_verb() {
  Verb verb;
  verb.name = "report";
  verb.summary = "Write the cache as pictures: one HTML file, opened in a browser with no network";
  verb.usage = "[OP] -o FILE [OPTION...]";
  verb.description = {
      "Views: a summary; a heat map of time, share of ceiling or any parameter over the shapes; the winners under the "
      "measured roofs; all configs of a problem; the effect of each parameter; sweeps over time; failures by kind; the "
      "evidence of each winner. Op, type, device and mode are chosen in the page; its address links to what is shown, "
      "and each figure is a table, too. The cache is read as it is at one moment, also while a sweep writes it.",
  };
  verb.options = {
      {"output", "FILE", "The file to write; it is replaced if it is there.", false, 'o'},
      {"device", "NAME", "Only this device: its name or a part of it, or cpu."},
      kOps,
      kCache,
  };
  verb.examples = {{"tilewright report -o report.html", "All ops."},
                   {"tilewright report softmax --device H200 -o softmax.html", "One op on one device."}};
  verb.exit_codes =
      "0 done, 1 there is no trial to show or a file cannot be read or written, 2 the command line is wrong.";
  verb.run = run_report_verb;
  return verb;
}

Verb export_verb() {
  Verb verb;
  verb.name = "export";
  verb.summary = "Write the winners of the cache to be shipped: as a cache, a bundle or a C++ header";
  verb.usage = "{-o|--bundle|--header} FILE [OP...] [OPTION...]";
  verb.description = {
      "The file is a cache of its own: applications launch from it, also in a read-only folder, and `tilewright "
      "import` "
      "brings it into another cache. It has the winners of the ops named, or of all, their trials and binaries, and "
      "the "
      "ceilings of their devices; other trials stay behind. It is checked before it is put in its place.",
      "A bundle is smaller and is judged whole when it is opened: winners and binaries in one read-only file, for "
      "applications alone. A header is for those that want no files at run time: the tuned shapes of one GPU as "
      "constant "
      "data, with a constexpr lookup.",
      "--cover leaves out what is hardly needed: of all configs that were measured wholly it takes the fewest that "
      "serve "
      "every tuned shape within a factor of its best, beside the bases. It tells whether fewer were proven not to do; "
      "best "
      "after a sweep with --strategy exhaustive.",
  };
  verb.options = {
      {"output", "FILE", "A cache.", false, 'o'},
      {"bundle", "FILE", "A bundle."},
      {"header", "FILE", "A C++ header, for one GPU; with several in the cache, --device names it."},
      {"cover", "RATIO", "The fewest configs within this factor of the best, such as 1.05. Alone: only tell."},
      {"trials", "",
       "A recording instead: every trial with its rounds, and no winners, binaries or logs. For `tilewright sweep "
       "--replay`."},
      {"force", "", "Replace the file if it is there."},
      {"device", "NAME", "Only this device: its name or a part of it, or cpu."},
      kCache,
      kFormat,
  };
  verb.examples = {{"tilewright export -o winners.db softmax rmsnorm --device H200", "Two ops on one device."},
                   {"tilewright export --bundle winners.bundle --cover 1.05", "Few binaries, nearly as fast."},
                   {"tilewright export --trials -o sweep.db", "A recording of all that was measured."}};
  verb.exit_codes =
      "0 done, 1 there is no winner to export or a file cannot be read or written, 2 the command line is "
      "wrong.";
  verb.run = run_export_verb;
  return verb;
}

Verb import_verb() {
  Verb verb;
  verb.name = "import";
  verb.summary = "Bring the winners of other caches, such as exports, into the cache";
  verb.usage = "FILE... [OPTION...]";
  verb.description = {
      "All of a file or nothing: all files are read and checked whole first. Winners of different devices never mix. "
      "Where "
      "both "
      "have winners of a problem on a device, those with the better evidence stay: measured in 8 rounds or more, then "
      "with "
      "the narrower interval, then later. No trial is removed or changed, and the same file imported again changes "
      "nothing.",
      "Where the caches serve different configs for a problem, that is told, with the evidence of both.",
      "Binaries are code: import what you trust.",
  };
  verb.options = {{"conflicts", "", "Print the conflicts instead of what came in."}, kCache, kFormat};
  verb.examples = {{"tilewright import winners.db", "Then `tilewright table softmax` shows them."},
                   {"tilewright import node1.db node2.db node3.db --conflicts", "What several machines found."}};
  verb.exit_codes =
      "0 done, 1 the file has no winners, or it or the cache cannot be used, 2 the command line is wrong.";
  verb.run = run_import_verb;
  return verb;
}

Verb doctor_verb() {
  Verb verb;
  verb.name = "doctor";
  verb.summary = "Say what was found on this machine, where, and what each missing part costs";
  verb.usage = "[OPTION...]";
  verb.description = {"Driver, GPUs, NVML, NVRTC, CUDA headers, the emulator's compiler, the ops and the cache."};
  verb.options = {kOps, kCache, kFormat};
  verb.examples = {{"tilewright doctor --format json", "For a bug report."}};
  verb.exit_codes = "0 something can be tuned here and the cache is sound, 1 not, 2 the command line is wrong.";
  verb.run = run_doctor_verb;
  return verb;
}

Verb help_verb() {
  Verb verb;
  verb.name = "help";
  verb.summary = "Print the help of the program or of one verb";
  verb.usage = "[VERB]";
  verb.options = {{"markdown", "", "The whole of docs/cli.md."}};
  verb.run = run_help_verb;
  return verb;
}

}  // namespace

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs{sweep_verb(),  query_verb(),  table_verb(),  regret_verb(),
                                        list_verb(),   show_verb(),   report_verb(), export_verb(),
                                        import_verb(), doctor_verb(), help_verb()};
  return kVerbs;
}

const Verb& find_verb(const std::string& name) {
  const std::vector<Verb>& all = verbs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Verb& verb) { return verb.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Verb& verb : all) names.push_back(verb.name);
  throw UsageError(
      fmt::format("there is no verb '{}'{}\nType `tilewright help` for all of them", name, suggestion(name, names)));
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/lookup.hpp"
#include "tuner/cli/problem_words.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/shell.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/cli/winner_evidence.hpp"
#include "tuner/compile/host_compiler.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/report/op_tables.hpp"
#include "tuner/report/served_table.hpp"
#include "tuner/sweep/builder.hpp"

namespace tilewright::cli {
namespace {

/// A config that is legal for a problem on a device, with its launch.
struct Shown {
  Candidate candidate;
  Problem problem;
  LaunchPlan plan;
};

/// What was asked for: where dims are left out, the shapes of the definition's grid with those that were given.
std::vector<Problem> problems_of(const OpDefinition& definition, const ProblemWords& words, const DeviceFacts& device) {
  const OpInterface& interface = definition.interface;
  ProblemWords whole = words;
  std::vector<std::string> left_out;
  for (const std::string& dim : interface.dims) {
    const auto names_it = [&](const auto& pair) { return pair.first == dim; };
    if (std::any_of(words.named.begin(), words.named.end(), names_it)) continue;
    left_out.push_back(dim);
    whole.named.emplace_back(dim, "1");
  }
  const Problem asked = to_problem(whole, interface);
  if (left_out.empty()) return {asked};
  std::vector<Problem> problems = default_shapes(definition, asked.spec, device.is_cpu());
  for (Problem& problem : problems) {
    for (auto& [dim, value] : problem.dims) {
      if (!holds(left_out, dim)) value = asked.dim(dim);
    }
  }
  return problems;
}

/// The first of `problems` that the config is legal for; else why not for the first of all.
std::optional<Shown> find_legal(const OpDefinition& definition, const Candidate& candidate,
                                const std::vector<Problem>& problems, const DeviceFacts& device, std::string& reason) {
  for (const Problem& problem : problems) {
    auto planned = make_plan(definition.interface, candidate.implementation->recipe, candidate.config, problem, device);
    if (auto* plan = std::get_if<LaunchPlan>(&planned)) return Shown{candidate, problem, std::move(*plan)};
    if (reason.empty()) reason = std::get<Illegal>(planned).reason;
  }
  return std::nullopt;
}

/// "rows=4096 cols=1024"
std::string dims_text(const Problem& problem) {
  std::string text;
  for (const auto& [name, value] : problem.dims) text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text;
}

/// The problem asked for, or the first of the definition's grid that the config is legal for.
Shown find_shown(const OpDefinition& definition, const Candidate& candidate, const ProblemWords& words,
                 const DeviceFacts& device) {
  const std::vector<Problem> problems = problems_of(definition, words, device);
  std::string reason;
  if (auto shown = find_legal(definition, candidate, problems, device, reason)) return std::move(*shown);
  const std::vector<Problem> grid = default_shapes(definition, to_spec(words, definition.interface), device.is_cpu());
  std::string ignored;
  const auto possible = find_legal(definition, candidate, grid, device, ignored);
  throw UsageError(
      fmt::format("{} cannot serve {}: {}{}", candidate.config.text(),
                  problems.size() == 1 ? problems.front().key() : "any such shape of the definition's grid", reason,
                  possible ? "\nName a shape that it can, such as " + dims_text(possible->problem) : ""));
}

struct Compiled {
  CompileResult result;
  std::string ptx;
};

Compiled compile(const GeneratedSource& source, const std::string& arch, const Catalogue& catalogue) {
  const CompileRequest request = compile_request(source, arch, catalogue.builtin_dir());
  Compiled compiled;
  if (arch == "cpu") {
    compiled.result = HostCompiler().compile(request);
  } else {
    compiled.result = NvrtcCompiler().compile(request, compiled.ptx);
  }
  return compiled;
}

std::string extent_text(const Extent& extent) { return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]); }

/// What profiles the config's kernels on the problem at hand. Nsight Compute repeats a kernel many times, hence the
/// timeout; the cache is of its own, since the config is alone there and wins.
std::string profile_command(const Shown& shown, const Arguments& arguments) {
  std::set<std::string> entries;
  for (const PlannedKernel& kernel : shown.plan.kernels) entries.insert(kernel.entry);
  return fmt::format(
      "ncu --target-processes all --set full --kernel-name \"regex:^({})$\" --launch-count {} "
      "tilewright sweep \"{}\" --config \"{}\" --again --no-ceilings --timeout 600 --cache profiled.db{}",
      fmt::join(entries, "|"), shown.plan.kernels.size(), shown.problem.key(), shown.candidate.config.text(),
      ops_options(arguments));
}

Table resources_table(const Shown& shown, const Compiled& compiled, const std::string& arch) {
  Table table;
  table.title = fmt::format("{} on {}, {} by {}", shown.candidate.config.text(), shown.problem.key(), arch,
                            compiled.result.compiler);
  table.columns = {{"kernel", "kernel"},
                   {"grid", "grid"},
                   {"block", "block"},
                   {"cluster", "cluster"},
                   {"dynamic_shared_bytes", "shared", Unit::bytes},
                   {"static_shared_bytes", "static", Unit::bytes},
                   {"registers", "registers"},
                   {"spill_store_bytes", "spill stores", Unit::bytes},
                   {"spill_load_bytes", "spill loads", Unit::bytes},
                   {"local_bytes", "stack", Unit::bytes},
                   {"max_threads", "threads at most"}};
  for (const PlannedKernel& planned : shown.plan.kernels) {
    std::vector<Cell> cells{planned.entry, extent_text(planned.grid), extent_text(planned.block),
                            extent_text(planned.cluster), std::int64_t{planned.shared_bytes}};
    for (const CompiledKernel& kernel : compiled.result.kernels) {
      if (kernel.entry != planned.entry || arch == "cpu") continue;
      const KernelResources& used = kernel.resources;
      for (const int figure : {used.static_shared_bytes, used.registers, used.spill_store_bytes, used.spill_load_bytes,
                               used.local_bytes, used.max_threads}) {
        cells.emplace_back(std::int64_t{figure});
      }
    }
    cells.resize(table.columns.size());
    table.rows.push_back(std::move(cells));
  }
  if (arch == "cpu")
    table.notes.push_back("The emulator's compiler knows no registers: name a GPU with --arch sm_90a.");
  return table;
}

ExitCode show_config(const Arguments& arguments, Console& console) {
  ProblemWords words = read_problem_words(arguments);
  if (arguments.has("shape")) add_named(words, arguments.text("shape"));
  const Format format = format_of(arguments);
  Catalogue catalogue = open_catalogue(arguments);
  const OpDefinition& definition = catalogue.find(words.op);
  const Candidate candidate = resolve_config(definition, Config::parse(arguments.text("config")));
  const std::string arch = arguments.text("arch", "sm_90a");
  if (arch == "cpu" && arguments.has("ptx")) {
    throw UsageError("the emulator has no PTX: name a GPU's architecture, such as --arch sm_90a");
  }
  const Shown shown = find_shown(definition, candidate, words, facts_of_arch(arch));
  const GeneratedSource source =
      generate_source(definition, *candidate.implementation, candidate.config, shown.problem, shown.plan);
  if (arguments.has("source")) {
    console.print(source.text);
    return ExitCode::done;
  }
  const Compiled compiled = compile(source, arch, catalogue);
  if (arguments.has("log")) {
    console.print(compiled.result.log);
  } else if (!compiled.result.ok) {
    console.say(compiled.result.log);
  } else if (arguments.has("ptx")) {
    console.print(compiled.ptx);
  } else {
    Table table = resources_table(shown, compiled, arch);
    if (arch != "cpu") table.advice.push_back({"Profile it:", {profile_command(shown, arguments)}});
    console.print(table, format);
  }
  if (compiled.result.ok) return ExitCode::done;
  throw Error(
      fmt::format("{} does not compile for {}: {}", candidate.config.text(), arch, first_error(compiled.result.log)));
}

ExitCode show_winner(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  ProblemWords words = read_problem_words(arguments);
  if (arguments.has("shape")) add_named(words, arguments.text("shape"));
  const Store store = open_to_read(arguments);
  const auto stored = store.interface_of(words.op);
  const OpInterface interface = stored ? *stored : open_catalogue(arguments).find(words.op).interface;
  const Problem problem = to_problem(words, interface);
  const std::vector<std::string> current = current_implementations(words.op, arguments);
  std::vector<ServedLine> lines;
  std::string obstacles;
  for (const DeviceFacts& device : choose_devices(store, arguments.text("device"))) {
    Lookup found = look_up(store, interface, problem, device, current);
    // Evidence of a fallback would pass for the winner's.
    if (!found.unread.empty()) throw CacheError(found.unread);
    if (found.served.row) {
      const Roofline roofline = roofline_of(store, *found.served.row, arguments);
      lines.push_back({device.fingerprint(), std::move(found.served), roofline});
    }
    if (!found.obstacle.empty()) obstacles += fmt::format("\n{}: {}", device.fingerprint(), found.obstacle);
  }
  if (lines.empty() && !obstacles.empty()) {
    throw Error(fmt::format("nothing that the cache has can serve {}{}", problem.key(), obstacles));
  }
  if (lines.empty()) {
    throw Error(fmt::format("nothing is known for {}; tune it: tilewright sweep \"{}\"", problem.key(), problem.key()));
  }
  if (format != Format::text) {
    console.print(evidence_records(store, problem, lines), format);
    return ExitCode::done;
  }
  for (const ServedLine& line : lines) console.print(evidence_text(store, problem, line));
  return ExitCode::done;
}

ExitCode show_op(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  Catalogue catalogue = open_catalogue(arguments);
  const OpDefinition& definition = catalogue.find(arguments.words().front());
  // Programs get the arguments: those are what a caller must know.
  if (format == Format::json || format == Format::csv) {
    console.print(arguments_table(definition), format);
    return ExitCode::done;
  }
  for (const Table& table : {op_table(definition), arguments_table(definition), parameters_table(definition)}) {
    console.print(table, format);
    console.print("\n");
  }
  return ExitCode::done;
}

void refuse_compiler_options(const Arguments& arguments) {
  for (const char* needs_config : {"arch", "source", "ptx", "resources", "log"}) {
    if (!arguments.has(needs_config)) continue;
    throw UsageError(fmt::format("--{} is of one config: name it with --config (`tilewright query` tells a winner's)",
                                 needs_config));
  }
}

/// Nothing but the name of an op.
bool names_an_op_alone(const Arguments& arguments) {
  return arguments.words().size() == 1 && !arguments.has("shape") &&
         op_name_of(arguments.words().front()) == arguments.words().front();
}

ExitCode run(const Arguments& arguments, Console& console) {
  if (arguments.has("config")) return show_config(arguments, console);
  refuse_compiler_options(arguments);
  return names_an_op_alone(arguments) ? show_op(arguments, console) : show_winner(arguments, console);
}

}  // namespace

Verb show_verb() {
  Verb verb;
  verb.name = "show";
  verb.summary = "Show an op, one config of it (source, PTX, resources, log), or the evidence of a winner";
  verb.usage = "OP [NAME=VALUE...] [--config CONFIG] [OPTION...]";
  verb.description = {
      "With --config: compiles that config for an architecture, with no GPU, and prints what is asked for; by default "
      "its launch and what the compiler says it needs. Dims that are not given are those of the first shape of the "
      "definition's grid that the config is legal for with those that are.",
      "With a problem and no --config: tells in words why its winner is the winner, and with --format json or csv as "
      "columns. With an op alone: its arguments in "
      "the "
      "order of a call, its implementations and their parameters.",
  };
  verb.options = {
      {.name = "config",
       .value = "CONFIG",
       .help = "Such as 'onchip{num_warps=4,vec=8,static_dims=1}'; parameters in any order.",
       .takes = Takes::config},
      {"shape", "TEXT", "Dims: rows=4096,cols=1024. They may also stand behind the op."},
      {.name = "arch",
       .value = "ARCH",
       .help = "sm_80, sm_90a (default), … or cpu for the emulator.",
       .takes = Takes::arch},
      {"source", "", "The source that the compiler is given."},
      {"ptx", "", "The PTX that the binary is made from."},
      {"resources", "", "Registers, spills and shared memory of each kernel (the default)."},
      {"log", "", "All that the compiler said."},
      {.name = "device",
       .value = "NAME",
       .help = "Without --config: the winner of this device of the cache.",
       .takes = Takes::stored_device},
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
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/app/bench_report.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/output_file.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/tuning_options.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "benchmark_";

/// The program that reports, in a build folder or installed.
fs::path reporter() {
  fs::path found =
      fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "libexec" / "tilewright" / "tilewright-bench";
  if (fs::exists(found)) return found;
  throw Error(fmt::format("bench needs the program {}, which is missing; install Tilewright whole", found.string()));
}

/// The flags of Google Benchmark, in its spelling.
std::vector<std::string> flags_of(const Arguments& arguments) {
  std::vector<std::string> flags{"tilewright bench"};
  for (const Option& option : arguments.verb().options) {
    if (!arguments.has(option.name) || (!option.name.starts_with(kPrefix) && option.name != "v")) continue;
    flags.push_back(fmt::format("--{}={}", option.name, arguments.text(option.name, "true")));
  }
  return flags;
}

ExitCode run_bench(const Arguments& arguments, Console& console) {
  app::BenchRequest request{place_of(arguments), work_of(arguments), std::nullopt,
                            mode_of(arguments).value_or(MeasureMode::cold), arguments.texts("against")};
  if (!arguments.words().empty()) request.problems = read_problem_words(arguments);
  const fs::path program = reporter();
  if (arguments.has("benchmark_out")) {
    OutputFile::refuse_cache(arguments.text("benchmark_out"), app::cache_path(request.place));
    OutputFile::refuse_database(arguments.text("benchmark_out"));
  }
  watch_interrupts();
  Progress progress(console, false);
  const auto benchmarks = app::BenchRun::open(request, progress);
  if (!benchmarks) return ExitCode::partly;

  const app::BenchReport reported = app::report_by(program, flags_of(arguments), *benchmarks);
  if (interrupted()) return ExitCode::partly;
  if (!reported.done) {
    if (reported.end == "exit code 2") return ExitCode::usage;
    throw Error(fmt::format("{} ended with {} before it was done", program.string(), reported.end));
  }
  if (!reported.lost.empty()) throw Error(fmt::format("writing the report to {} failed", reported.lost));
  const auto failures = benchmarks->failures();
  for (const auto& [name, reason] : failures) console.say(fmt::format("{}: {}", name, reason));
  return failures.empty() ? ExitCode::done : ExitCode::failed;
}

Option flag(std::string name, std::string value, std::string help, std::vector<std::string> words = {}) {
  Option option;
  option.name = std::move(name);
  option.value = std::move(value);
  option.help = std::move(help);
  option.words = std::move(words);
  return option;
}

/// All flags of Google Benchmark, in its order.
void add_flags(std::vector<Option>& options) {
  const std::vector<std::string> truth{"true", "false"};
  options.push_back(flag("benchmark_list_tests", "[BOOL]", "Only list the benchmarks.", truth));
  options.push_back(
      flag("benchmark_filter", "REGEX", "Only benchmarks whose name matches; a leading - selects the others."));
  options.push_back(flag("benchmark_min_time", "SECONDS", "The shortest time of one repetition. Default: 0.5."));
  options.push_back(
      flag("benchmark_min_warmup_time", "SECONDS", "The time of a warm-up that is not counted. Default: 0."));
  options.push_back(
      flag("benchmark_repetitions", "N", "Repeat each, and report mean, median and deviation. Default: 1."));
  options.push_back(
      flag("benchmark_enable_random_interleaving", "[BOOL]", "Run the repetitions in random order.", truth));
  options.push_back(flag("benchmark_report_aggregates_only", "[BOOL]", "Report no single repetitions.", truth));
  options.push_back(flag("benchmark_display_aggregates_only", "[BOOL]",
                         "Print no single repetitions, but write them to --benchmark_out.", truth));
  options.push_back(flag("benchmark_format", "FORM", "console (default), json or csv.", {"console", "json", "csv"}));
  options.push_back(flag("benchmark_out", "FILE", "Also write the results to a file."));
  options.push_back(flag("benchmark_out_format", "FORM", "Form of that file: json (default), console or csv.",
                         {"json", "console", "csv"}));
  options.push_back(flag("benchmark_color", "WHEN", "auto (default), true or false.", {"auto", "true", "false"}));
  options.push_back(flag("benchmark_counters_tabular", "[BOOL]", "Print counters as columns.", truth));
  options.push_back(flag("benchmark_context", "KEY=VALUE,...", "Extra lines for the context."));
  options.push_back(
      flag("benchmark_perf_counters", "LIST", "Counters of the host's processor, if Google Benchmark supports them."));
  options.push_back(flag("benchmark_time_unit", "UNIT", "ns (default), us, ms or s.", {"ns", "us", "ms", "s"}));
  options.push_back(flag("v", "N", "The verbosity of Google Benchmark."));
}

}  // namespace

Verb bench_verb() {
  Verb verb;
  verb.name = "bench";
  verb.summary = "Time winners, the base and chosen configs through Google Benchmark";
  verb.usage = "[OP] [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "Times the cache's winners for this device and the base of each op, as sweeps measure; --against adds a config "
      "to each problem. If each dim has one value, that problem is timed, tuned or not; otherwise the matching tuned "
      "problems are; without OP, all. Each config is first checked against the reference. "
      "Nothing is written to the cache.",
      "The report is Google Benchmark's and takes all of its flags. Its compare.py reads the JSON (on Debian "
      "/usr/share/benchmark/compare.py, of libbenchmark-tools; it needs numpy and scipy). A benchmark's name is "
      "OP/DTYPE/ATTRIBUTE:VALUE/DIM:VALUE/MODE/ROLE; its label is the config. An iteration is a launch; its time is "
      "the device's, in the column CPU too. Counters: GB/s, TFLOP/s, the share of the bounding ceiling as in tables, "
      "registers, spilled bytes, the time of an empty launch, half the 95 % interval of the median as a "
      "share of it, SM clock and power.",
  };
  verb.options = {
      {.name = "against",
       .value = "CONFIG",
       .help = "Also time this config, with the role against, against_2, ….",
       .repeated = true,
       .takes = Takes::config},
      {.name = "device",
       .value = "NAME",
       .help = "auto (default: the first GPU, else the emulator), cpu, or cuda:N.",
       .takes = Takes::place},
      kMode,
  };
  add_flags(verb.options);
  verb.options.insert(
      verb.options.end(),
      {kJobs,
       kCompileTimeout,
       {"timeout", "SECONDS", "Stop a config that makes no progress for this long. Default: 10; 90 on the emulator."},
       kOps,
       kCache});
  verb.examples = {
      {"tilewright bench softmax dtype=bf16", "The winners of all bf16 shapes, and the base."},
      {"tilewright bench softmax rows=4096 cols=8192 --against "
       "\"onchip{num_warps=8,vec=8,rows_per_block=1,static_dims=0}\"",
       "One shape, tuned or not, and a config to compare with."},
      {"tilewright bench --benchmark_repetitions=9 --benchmark_out=after.json",
       "For python3 /usr/share/benchmark/compare.py benchmarks before.json after.json; before.json may be an "
       "export."},
  };
  verb.exit_codes =
      "0 all were timed, 1 some could not be timed or the report could not be written, 2 the command line or a "
      "definition is wrong, or no benchmark matches, 3 interrupted.";
  verb.run = run_bench;
  return verb;
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/chosen_problems.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/device_session.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/sweep_setup.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/selection.hpp"

namespace tilewright::cli {
namespace {

// As a sweep's on the emulator.
constexpr std::int64_t kMaxConfigsOnCpu = 24;

/// One output of one config, or a config of which no output was compared.
struct Line {
  std::string problem;
  std::string config;
  std::optional<OutputErrors> errors;
  TrialStatus status = TrialStatus::ok;
  std::string reason;
};

template <class Get>
void add(std::vector<Source<Line>>& sources, const Column& column, Get get) {
  sources.push_back({column, [get](const Line& line) { return line.errors ? Cell(get(*line.errors)) : Cell(); }});
}

Table table_of(const std::vector<Line>& lines) {
  Column config = column("config", "config");
  config.breakable = true;
  Column reason = column("reason", "reason");
  reason.breakable = true;
  std::vector<Source<Line>> sources{
      {common_column("shape_key", "problem"), [](const Line& line) { return Cell(line.problem); }},
      {config, [](const Line& line) { return Cell(line.config); }},
      {column("status", "status"), [](const Line& line) { return Cell(std::string(name(line.status))); }}};
  add(sources, column("output", "output"), [](const OutputErrors& errors) { return errors.output; });
  add(sources, data_column("dtype"), [](const OutputErrors& errors) { return std::string(name(errors.type)); });
  add(sources, column("elements", "elements", Unit::count), [](const OutputErrors& errors) { return errors.elements; });
  add(sources, column("wrong_elements", "off", Unit::count), [](const OutputErrors& errors) { return errors.wrong; });
  add(sources, column("max_absolute_error", "max abs"),
      [](const OutputErrors& errors) { return errors.accuracy.max_absolute; });
  add(sources, column("max_relative_error", "max rel"),
      [](const OutputErrors& errors) { return errors.accuracy.max_relative; });
  add(sources, column("norm_relative_error", "norm"),
      [](const OutputErrors& errors) { return errors.accuracy.norm_relative; });
  add(sources, column("norm_limit", "limit"), [](const OutputErrors& errors) { return errors.norm_limit; });
  add(sources, column("absolute_tolerance", "atol"),
      [](const OutputErrors& errors) { return errors.tolerance.absolute; });
  add(sources, column("relative_tolerance", "rtol"),
      [](const OutputErrors& errors) { return errors.tolerance.relative; });
  const bool all_right =
      std::all_of(lines.begin(), lines.end(), [](const Line& line) { return line.status == TrialStatus::ok; });
  if (all_right) reason.shown = Shown::programs;
  sources.push_back({reason, [](const Line& line) { return line.reason.empty() ? Cell() : Cell(line.reason); }});
  Table table;
  fill(table, sources, lines);
  return table;
}

/// What is checked of one problem.
std::vector<Candidate> configs_of(const Arguments& arguments, const ChosenProblem& chosen, const DeviceFacts& device) {
  const OpDefinition& definition = *chosen.definition;
  std::vector<Candidate> candidates;
  for (const std::string& typed : arguments.texts("config")) {
    if (typed == "all") {
      const auto most =
          static_cast<std::size_t>(arguments.integer("max-configs", device.is_cpu() ? kMaxConfigsOnCpu : 0, 0));
      for (Candidate& candidate :
           select_candidates(expand(definition, chosen.problem, device).legal, most, definition.base)) {
        candidates.push_back(std::move(candidate));
      }
    } else {
      candidates.push_back(resolve_config(definition, typed == "base" ? definition.base : Config::parse(typed)));
    }
  }
  if (candidates.empty() && !arguments.has("config")) {
    candidates.push_back(
        resolve_config(definition, chosen.winner ? chosen.winner->winner.trial.config : definition.base));
  }
  return candidates;
}

Line failure(const ChosenProblem& chosen, const Candidate& candidate, TrialStatus status, std::string reason) {
  return {chosen.problem.key(), candidate.config.text(), std::nullopt, status, std::move(reason)};
}

/// The lines of one config; nothing when interrupted.
std::vector<Line> check(DeviceSession& bench, const ChosenProblem& chosen, const Candidate& candidate) {
  const auto ready = bench.ready(*chosen.definition, chosen.problem, candidate);
  if (!ready) return {};
  if (!ready->build.ok) {
    return {failure(chosen, candidate, TrialStatus::compile_failed, first_error(ready->build.log))};
  }
  ConfigRunner* const runner = bench.set_up(*chosen.definition, chosen.problem, MeasureMode::cold);
  if (runner == nullptr) return {};
  try {
    Verdict verdict = runner->verify(ready->view());
    if (interrupted()) return {};
    if (verdict.right) {
      verdict.reason = runner->check_again(ready->view());
      verdict.right = verdict.reason.empty();
    }
    if (interrupted()) return {};
    const TrialStatus status = verdict.right ? TrialStatus::ok : TrialStatus::wrong_result;
    std::vector<Line> lines;
    for (const OutputErrors& errors : verdict.outputs) {
      lines.push_back({chosen.problem.key(), candidate.config.text(), errors, status, verdict.reason});
    }
    return lines;
  } catch (const UsageError& error) {
    return {failure(chosen, candidate, TrialStatus::exceeds_limits, error.what())};
  } catch (const DeviceError& error) {
    if (interrupted()) return {};
    return {failure(chosen, candidate, status_of(error), error.what())};
  }
}

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  (void)arguments.word(0, "the name of an op");
  (void)arguments.integer("max-configs", 0, 0);
  watch_interrupts();
  Catalogue catalogue = open_catalogue(arguments);
  const std::optional<Store> cache = open_if_there(arguments);
  const auto bench = DeviceSession::open(arguments, console, catalogue);
  if (!bench) return ExitCode::partly;
  if (cache) bench->look_in(*cache);
  const DeviceFacts& device = bench->device().facts();
  std::vector<std::string> notes;
  const std::vector<ChosenProblem> problems = choose_problems(arguments, catalogue, cache ? &*cache : nullptr, device,
                                                              mode_of(arguments).value_or(MeasureMode::cold), notes);
  for (const ChosenProblem& chosen : problems) check_sizes(*chosen.definition, {chosen.problem});

  std::vector<Line> lines;
  std::size_t configs = 0;
  for (const ChosenProblem& chosen : problems) {
    const std::vector<Candidate> candidates = configs_of(arguments, chosen, device);
    for (const Candidate& candidate : candidates) bench->request(*chosen.definition, chosen.problem, candidate);
    for (const Candidate& candidate : candidates) {
      std::vector<Line> more = check(*bench, chosen, candidate);
      if (more.empty()) break;
      ++configs;
      lines.insert(lines.end(), more.begin(), more.end());
    }
    if (interrupted()) break;
  }
  Table table = table_of(lines);
  table.title =
      fmt::format("{} against the reference, on {}", problems.front().definition->interface.op, device.fingerprint());
  const auto wrong =
      std::count_if(lines.begin(), lines.end(), [](const Line& line) { return line.status != TrialStatus::ok; });
  table.notes.push_back(wrong == 0
                            ? fmt::format("{} config{}: right on two sets of inputs.", configs, configs == 1 ? "" : "s")
                            : fmt::format("Of {} lines {} are not right.", lines.size(), wrong));
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  if (interrupted()) table.notes.emplace_back("Interrupted: what is missing was not checked.");
  console.print(table, format);
  if (wrong > 0) return ExitCode::failed;
  return interrupted() ? ExitCode::partly : ExitCode::done;
}

}  // namespace

Verb verify_verb() {
  Verb verb;
  verb.name = "verify";
  verb.summary = "Check configs against the op's reference on a device, with the errors of every output";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "Runs each config on every sample of the op and compares every element with the reference, which accumulates in "
      "fp64; then once more on other inputs, in place where the op allows that. Nothing is timed, and nothing is "
      "written to the cache.",
      "Where all dims are named, each with one value, that problem is checked, tuned or not: its winner on the device, "
      "or "
      "the op's base where it has none. Otherwise the winners of the tuned problems that have one of the values given "
      "are: "
      "dtype=bf16 cols=4096,8192.",
      "Errors, of all samples together: the largest absolute and relative error of an element, how many are off by "
      "more than atol + rtol·|reference|, and the error of the whole output norm-wise beside its limit.",
  };
  verb.options = {
      {.name = "config",
       .value = "CONFIG",
       .help = "This config instead; base is the op's fallback, all is every legal one.",
       .repeated = true,
       .takes = Takes::config},
      {"max-configs", "N",
       "Of all: so many, chosen over the whole space; 0: no bound. Default: 0, on the emulator 24."},
      {.name = "device",
       .value = "NAME",
       .help = "auto (default: the first GPU, else the emulator), cpu, or cuda:N.",
       .takes = Takes::place},
      {.name = "mode",
       .value = "MODE",
       .help = "Whose winners: those timed cold (default), hot, or by events.",
       .words = {"cold", "hot", "events"}},
      {"jobs", "N", "Compile workers. Default: one a core."},
      {"compile-timeout", "SECONDS", "Stop a compile that takes longer: compile_failed. Default: 120."},
      {"timeout", "SECONDS", "Stop a config that shows no progress for so long. Default: 10, on the emulator 90."},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright verify softmax rows=8 cols=100 dtype=f32 --device cpu", "On the emulator, without a GPU."},
      {"tilewright verify softmax dtype=bf16", "The winners of all bf16 shapes that are tuned on this GPU."},
      {"tilewright verify saxpy --ops ./my_ops n=1000 --config all", "Every config of an op of your own."},
  };
  verb.exit_codes =
      "0 all are right, 1 some are wrong or cannot be run, 2 the command line or a definition is wrong, 3 interrupted.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli

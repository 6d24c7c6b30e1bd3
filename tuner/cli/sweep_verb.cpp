// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>

#include "cache/error.hpp"
#include "cache/plan.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/problem_words.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/replay.hpp"
#include "tuner/cli/search_options.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/compile/compiler_processes.hpp"
#include "tuner/compile/host_compiler.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/report/units.hpp"
#include "tuner/report/winner_lines.hpp"
#include "tuner/sweep/device_lock.hpp"
#include "tuner/sweep/sweep.hpp"
#include "tuner/worker/device_process.hpp"

namespace tilewright::cli {
namespace {

// The emulator is there to try the whole road, not to rank a thousand configs: each costs a run of the host's compiler.
constexpr std::int64_t kMaxConfigsOnCpu = 24;

/// dtype and attributes with the values asked for, in the order typed.
using Choices = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_choices(Choices& choices, const std::string& name, const std::string& values) {
  auto found = std::find_if(choices.begin(), choices.end(), [&](const auto& choice) { return choice.first == name; });
  if (found == choices.end()) found = choices.insert(choices.end(), {name, {}});
  for (std::string& value : split_list(values)) found->second.push_back(std::move(value));
}

/// Every combination of the choices.
std::vector<OpSpec> specs_of(const OpInterface& interface, const Choices& choices) {
  std::vector<std::string> texts{""};
  for (const auto& [name, values] : choices) {
    std::vector<std::string> longer;
    for (const std::string& text : texts) {
      for (const std::string& value : values) {
        longer.push_back(fmt::format("{}{}{}={}", text, text.empty() ? "" : ",", name, value));
      }
    }
    texts = std::move(longer);
  }
  std::vector<OpSpec> specs;
  for (const std::string& text : texts) {
    specs.push_back(parse_spec(text.empty() ? interface.op : fmt::format("{}[{}]", interface.op, text), interface));
  }
  return specs;
}

/// Shapes and types of the command line, as problems.
std::vector<Problem> problems_of(const Arguments& arguments, const ProblemWords& words, const OpDefinition& definition,
                                 bool emulator) {
  const OpInterface& interface = definition.interface;
  Choices choices;
  std::string dims;
  for (const auto& [name, values] : words.named) {
    if (kind_of_name(name, interface) == NameKind::dim) {
      dims += fmt::format("{}{}={}", dims.empty() ? "" : " ", name, values);
    } else {
      add_choices(choices, name, values);
    }
  }
  if (arguments.has("dtype")) add_choices(choices, "dtype", arguments.text("dtype"));
  for (const std::string& typed : arguments.texts("attr")) {
    const std::size_t equals = typed.find('=');
    if (equals == std::string::npos || equals == 0) {
      throw UsageError(fmt::format("--attr takes NAME=VALUE, such as act=gelu, and was given '{}'", typed));
    }
    const std::string name = typed.substr(0, equals);
    if (kind_of_name(name, interface) != NameKind::attribute) {
      throw UsageError(fmt::format("{} is no attribute of {}: write {} behind the op", name, interface.op, typed));
    }
    add_choices(choices, name, typed.substr(equals + 1));
  }

  std::vector<std::string> texts = arguments.texts("shapes");
  if (!dims.empty()) texts.push_back(dims);
  std::vector<Problem> problems;
  for (const OpSpec& spec : specs_of(interface, choices)) {
    const auto add = [&](const std::vector<Problem>& more) {
      problems.insert(problems.end(), more.begin(), more.end());
    };
    for (const std::string& text : texts) add(parse_shapes(text, spec, interface));
    if (arguments.has("shapes-file")) add(read_shapes_csv(arguments.text("shapes-file"), spec, interface));
    if (texts.empty() && !arguments.has("shapes-file")) add(default_shapes(definition, spec, emulator));
  }
  return problems;
}

/// Refuses dims whose bytes or operations cannot be counted.
void check_sizes(const OpDefinition& definition, const std::vector<Problem>& problems) {
  for (const Problem& problem : problems) {
    static_cast<void>(plan_args(definition.interface, problem));
    try {
      static_cast<void>(definition.bytes_of(problem));
      static_cast<void>(definition.flops_of(problem));
    } catch (const DefinitionError& error) {
      throw UsageError(
          fmt::format("{} is too large to be counted; choose smaller dims: {}", problem.key(), error.what()));
    }
  }
}

/// Those of a few problems: one constraint forbids many shapes.
std::string refusals_text(const std::vector<std::string>& refusals) {
  constexpr std::size_t kTold = 5;
  const std::size_t told = std::min(kTold, refusals.size());
  std::string text =
      fmt::format("{}", fmt::join(refusals.begin(), refusals.begin() + static_cast<std::ptrdiff_t>(told), "\n"));
  if (refusals.size() > told) text += fmt::format("\nand {} more problems", refusals.size() - told);
  return text;
}

/// The winners of the problems that were swept, in their order.
Table table_of(const Store& store, const SweepRequest& request, const Workplace& device) {
  const std::string hash = request.definition->interface.hash();
  std::vector<WinnerLine> lines;
  std::vector<std::string> shown;
  for (const Problem& problem : request.problems) {
    if (std::find(shown.begin(), shown.end(), problem.key()) != shown.end()) continue;
    shown.push_back(problem.key());
    const ProblemKey key{problem, hash, device.facts().fingerprint()};
    auto row = store.winner_of(key, request.mode, WinnerRole::best);
    if (!row) continue;
    const Match match{Fit::exact, Freshness::fresh, DeviceFit::same_device};
    lines.push_back(winner_line(store, request.definition, std::move(*row), match));
  }
  return winners_table(fmt::format("Winners of {}", request.definition->interface.op), lines);
}

std::string summary_text(const SweepSummary& summary, const Store& store) {
  std::string text =
      fmt::format("{} problem{} in {}: {} configs measured", summary.problems, summary.problems == 1 ? "" : "s",
                  show_duration(summary.wall_seconds.count()), summary.measured);
  if (summary.failed > 0) text += fmt::format(" ({} failed)", summary.failed);
  text += fmt::format(", {} known before, {} binaries compiled (the compilers worked {})", summary.reused,
                      summary.compiled, show_duration(summary.compile_seconds.count()));
  return text + fmt::format("; cache {}", store.path().string());
}

/// The device, in a process of its own; nothing when interrupted meanwhile.
std::unique_ptr<DeviceProcess> open_workplace(const Arguments& arguments,
                                              std::function<void(const std::string&)> note) {
  DeviceProcess::Settings settings;
  settings.command = device_worker_command();
  settings.device = arguments.text("device", "auto");
  settings.timeout = std::chrono::seconds(arguments.integer("timeout", 0, 1));
  settings.interrupted = interrupted;
  settings.note = std::move(note);
  try {
    return std::make_unique<DeviceProcess>(std::move(settings));
  } catch (const DeviceError&) {
    if (!interrupted()) throw;
    return nullptr;
  }
}

/// Compiles in processes, each of which may use so much memory, and all of which end with an interrupt.
std::unique_ptr<Compiler> sweep_compiler(const Arguments& arguments, bool emulator) {
  constexpr std::size_t kCompileMemory = std::size_t{4} << 30;
  const std::chrono::seconds limit(arguments.integer("compile-timeout", 120, 1));
  if (emulator) {
    HostCompilerSettings settings = HostCompilerSettings::from_environment();
    settings.memory_bytes = kCompileMemory;
    settings.limit = limit;
    settings.interrupted = interrupted;
    return std::make_unique<HostCompiler>(std::move(settings));
  }
  CompilerProcesses::Settings settings{compile_worker_command(), NvrtcCompiler().version()};
  settings.limits.memory_bytes = kCompileMemory;
  settings.limit = limit;
  settings.interrupted = interrupted;
  return std::make_unique<CompilerProcesses>(std::move(settings));
}

/// --retry: failures that are tried again.
std::set<TrialStatus> retries_of(const Arguments& arguments) {
  static const std::vector<std::string> kAll{"compile_failed", "exceeds_limits", "wrong_result", "timed_out",
                                             "crashed"};
  std::set<TrialStatus> statuses;
  if (!arguments.has("retry")) return statuses;
  for (const std::string& word : split_list(arguments.text("retry"))) {
    if (word != "all" && std::find(kAll.begin(), kAll.end(), word) == kAll.end()) {
      throw UsageError(fmt::format("--retry {}: no such failure{}", word, suggestion(word, kAll)));
    }
    for (const std::string& status : kAll) {
      if (word == "all" || word == status) statuses.insert(trial_status_from(status).value());
    }
  }
  return statuses;
}

}  // namespace

ExitCode run_sweep_verb(const Arguments& arguments, Console& console) {
  if (arguments.has("replay")) return run_replay(arguments, console);
  watch_interrupts();
  const Format format = format_of(arguments);
  const ProblemWords words = read_problem_words(arguments);
  Catalogue catalogue = open_catalogue(arguments);
  SweepRequest request;
  request.definition = &catalogue.find(words.op);
  request.mode = mode_of(arguments).value_or(MeasureMode::cold);
  request.stop.budget = std::chrono::milliseconds(arguments.integer("budget-ms", 60, 1));
  request.jobs = static_cast<int>(std::min<std::int64_t>(arguments.integer("jobs", 0, 1), 1024));
  request.ceilings = !arguments.has("no-ceilings");
  request.again = arguments.has("again");
  request.retry = retries_of(arguments);
  read_search_options(arguments, request);
  request.command = arguments.command();
  // Read once before anything is opened, so that a slip of the pen costs no time; the grid depends on the device.
  (void)problems_of(arguments, words, *request.definition, false);

  const bool quiet = arguments.has("quiet");
  Progress progress(console, quiet);
  const auto note = [&](const std::string& line) { progress.note(line); };
  const std::unique_ptr<DeviceProcess> device = open_workplace(arguments, note);
  if (!device) {
    console.say("Interrupted before anything was measured.");
    return ExitCode::partly;
  }
  if (!device->said().empty() && !quiet) console.say(device->said());
  const bool emulator = device->facts().is_cpu();
  request.problems = problems_of(arguments, words, *request.definition, emulator);
  check_sizes(*request.definition, request.problems);
  request.max_configs = static_cast<std::size_t>(arguments.integer("max-configs", emulator ? kMaxConfigsOnCpu : 0, 0));

  const std::unique_ptr<Compiler> compiler = sweep_compiler(arguments, emulator);
  request.compiler = compiler.get();
  Store store(cache_path(arguments));
  SweepSummary summary;
  {
    const DeviceLock lock(device->gpu_uuid(), std::filesystem::temp_directory_path(), interrupted, note);
    summary = run_sweep(request, catalogue, *device, store, progress, interrupted);
  }
  progress.end();
  if (!quiet) console.say(summary_text(summary, store));
  Table table = table_of(store, request, *device);
  if (request.max_configs > 0) {
    table.notes.push_back(fmt::format("Of each problem's configs {} were considered; --max-configs 0 takes them all.",
                                      request.max_configs));
  }
  if (summary.interrupted) table.notes.push_back("Interrupted: what was measured is stored; run it again to go on.");
  if (summary.without_winner > 0) {
    table.notes.push_back(fmt::format("{} problems have no winner.", summary.without_winner));
  }
  if (!summary.refusals.empty() && summary.refusals.size() == summary.problems && !summary.interrupted) {
    throw Error(refusals_text(summary.refusals) + "\nName other shapes, or widen the constraints of the definition");
  }
  console.print(table, format);
  if (!summary.refusals.empty()) console.say(refusals_text(summary.refusals));
  return summary.interrupted || summary.without_winner > 0 ? ExitCode::partly : ExitCode::done;
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/show.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/app/lookup.hpp"
#include "tuner/app/stored_devices.hpp"
#include "tuner/app/winner_evidence.hpp"
#include "tuner/compile/host_compiler.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/request.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/report/op_tables.hpp"
#include "tuner/sweep/builder.hpp"

namespace tilewright::app {
namespace {

/// A config that is legal for a problem on a device, with its launch.
struct Legal {
  Candidate candidate;
  Problem problem;
  LaunchPlan plan;
};

/// The problem asked for; if dims are missing, the shapes of the definition's grid with the given dims that are inside
/// the domain. Throws UsageError if there are none.
std::vector<Problem> problems_of(const OpDefinition& definition, const ProblemWords& words, const DeviceFacts& device) {
  const OpInterface& interface = definition.interface;
  std::vector<std::string> left_out;
  for (const std::string& dim : interface.dims) {
    const auto names_it = [&](const auto& pair) { return pair.first == dim; };
    if (std::ranges::none_of(words.named, names_it)) left_out.push_back(dim);
  }
  if (left_out.empty()) return {to_problem(words, interface)};
  std::vector<Problem> problems;
  // Of a mistake in the words, each shape tells the same.
  std::optional<UsageError> refused;
  for (const Problem& shape : default_shapes(definition, to_spec(words, interface), device.is_cpu())) {
    ProblemWords whole = words;
    for (const std::string& dim : left_out) whole.named.emplace_back(dim, std::to_string(shape.dim(dim)));
    try {
      problems.push_back(to_problem(whole, interface));
    } catch (const UsageError& error) {
      if (!refused) refused = error;
    }
  }
  if (problems.empty()) throw UsageError(*refused);
  return problems;
}

/// The first of `problems` that the config is legal for; if there is none, `reason` is the first problem's.
std::optional<Legal> find_legal(const OpDefinition& definition, const Candidate& candidate,
                                const std::vector<Problem>& problems, const DeviceFacts& device, std::string& reason) {
  for (const Problem& problem : problems) {
    auto planned = make_plan(definition.interface, candidate.implementation->recipe, candidate.config, problem, device);
    if (auto* plan = std::get_if<LaunchPlan>(&planned)) return Legal{candidate, problem, std::move(*plan)};
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
Legal find_shown(const OpDefinition& definition, const Candidate& candidate, const ProblemWords& words,
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
                  possible ? "\nName a shape that it can serve, such as " + dims_text(possible->problem) : ""));
}

std::string extent_text(const Extent& extent) { return fmt::format("{}x{}x{}", extent[0], extent[1], extent[2]); }

/// The command that profiles the config's kernels on this problem. Nsight Compute repeats a kernel many times, hence
/// the timeout. In a cache of its own the config is alone and wins.
std::string profile_command(const ShownConfig& shown, const Place& place) {
  std::set<std::string> entries;
  for (const PlannedKernel& kernel : shown.plan.kernels) entries.insert(kernel.entry);
  return fmt::format(
      "ncu --target-processes all --set full --kernel-name \"regex:^({})$\" --launch-count {} "
      "tilewright sweep \"{}\" --config \"{}\" --again --no-ceilings --timeout 600 --cache profiled.db{}",
      fmt::join(entries, "|"), shown.plan.kernels.size(), shown.problem.key(), shown.config.text(), ops_options(place));
}

}  // namespace

std::string ShownConfig::error() const {
  return fmt::format("{} does not compile for {}: {}", config.text(), arch, first_error(result.log));
}

ShownConfig show_config(const ConfigRequest& request) {
  Catalogue catalogue = open_catalogue(request.place);
  const OpDefinition& definition = catalogue.find(request.problem.op);
  const Candidate candidate = resolve_config(definition, Config::parse(request.config));
  Legal legal = find_shown(definition, candidate, request.problem, facts_of_arch(request.arch));
  const GeneratedSource source =
      generate_source(definition, *candidate.implementation, candidate.config, legal.problem, legal.plan);
  ShownConfig shown{
      std::move(legal.problem), candidate.config, std::move(legal.plan), request.arch, source.text, {}, {}};
  if (!request.compiles) return shown;
  const CompileRequest compile = compile_request(source, request.arch, catalogue.builtin_dir());
  shown.result = request.arch == "cpu" ? HostCompiler().compile(compile) : NvrtcCompiler().compile(compile, shown.ptx);
  return shown;
}

Table table_of(const ShownConfig& shown, const Place& place) {
  const bool emulated = shown.arch == "cpu";
  Table table;
  table.title =
      fmt::format("{} on {}, {} by {}", shown.config.text(), shown.problem.key(), shown.arch, shown.result.compiler);
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
    for (const CompiledKernel& kernel : shown.result.kernels) {
      if (kernel.entry != planned.entry || emulated) continue;
      const KernelResources& used = kernel.resources;
      for (const int figure : {used.static_shared_bytes, used.registers, used.spill_store_bytes, used.spill_load_bytes,
                               used.local_bytes, used.max_threads}) {
        cells.emplace_back(std::int64_t{figure});
      }
    }
    cells.resize(table.columns.size());
    table.rows.push_back(std::move(cells));
  }
  if (emulated) table.notes.push_back("The emulator's compiler reports no registers: name a GPU with --arch sm_90a.");
  if (!emulated) table.advice.push_back({"Profile it:", {profile_command(shown, place)}});
  return table;
}

Evidence show_winner(const QueryRequest& request) {
  OpenPlace open(request.place);
  const Store& store = open.store();
  const OpInterface interface = interface_of(request.problem.op, store, request.place);
  const Problem problem = to_problem(request.problem, interface);
  const std::vector<std::string>& current = open.implementations(request.problem.op);
  std::vector<ServedLine> lines;
  std::vector<std::string> decisions;
  std::string obstacles;
  for (const DeviceFacts& device : choose_devices(store, request.device)) {
    Lookup found = look_up(store, interface, problem, device, current);
    if (!found.unread.empty()) throw CacheError(found.unread);
    if (found.served.row) {
      const Store::WinnerRow& row = *found.served.row;
      const Roofline roofline = row.winner.trial.timing ? open.roofline(row) : Roofline{};
      lines.push_back({device.fingerprint(), std::move(found.served), roofline});
      decisions.push_back(fmt::format("{}", fmt::join(found.decisions, "\n  ")));
    }
    if (!found.obstacle.empty()) obstacles += fmt::format("\n{}: {}", device.fingerprint(), found.obstacle);
  }
  std::string warning = open.warning(request.problem.op, !lines.empty());
  if (lines.empty() && !obstacles.empty()) {
    throw Error(fmt::format("no config of the cache can serve {}{}", problem.key(), obstacles));
  }
  if (lines.empty()) {
    throw Error(fmt::format("nothing is known for {}; tune it: tilewright sweep \"{}\"", problem.key(), problem.key()));
  }
  Evidence evidence{evidence_records(store, problem, lines), {}, std::move(warning)};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::string& text = evidence.texts.emplace_back(evidence_text(store, problem, lines[i]));
    if (decisions[i].empty()) continue;
    text += fmt::format("  {}\n", decisions[i]);
    evidence.records.notes.push_back(decisions[i]);
  }
  return evidence;
}

Table show_history(const QueryRequest& request) {
  const Store store = open_to_read(request.place);
  const OpInterface interface = interface_of(request.problem.op, store, request.place);
  const Problem problem = to_problem(request.problem, interface);
  Table table;
  table.title = fmt::format("Winners of {} over time, the latest first", problem.key());
  table.columns = {{"role", "role"},
                   {"served", "served", Unit::none, Shown::everywhere, false, false, false, true},
                   {"time_ns", "time", Unit::nanoseconds},
                   {"time_low_ns", "low", Unit::nanoseconds, Shown::programs},
                   {"time_high_ns", "high", Unit::nanoseconds, Shown::programs},
                   {"config", "config"},
                   {"measured_at", "", Unit::none, Shown::programs},
                   {"measured", "measured", Unit::none, Shown::people},
                   {"driver", "driver"},
                   {"compiler", "compiler"},
                   {"tilewright", "tilewright"},
                   {.name = "mode", .heading = "mode", .common = true},
                   {.name = "device", .heading = "device", .common = true},
                   {"gpu_uuid", "GPU", Unit::none, Shown::programs}};
  for (const DeviceFacts& device : choose_devices(store, request.device)) {
    for (const Store::FirstServed& served : store.served_first({problem, interface.hash(), device.fingerprint()})) {
      const Trial& trial = served.trial;
      const Timing timing = trial.timing.value_or(Timing{});
      const std::string driver = driver_text(trial.versions.driver);
      table.rows.push_back({std::string(name(served.role)), served.now, timing.median_ns, timing.low_ns, timing.high_ns,
                            trial.config.text(), trial.measured_at, show_moment(trial.measured_at),
                            driver.empty() ? Cell() : Cell(driver), trial.versions.compiler, trial.versions.tilewright,
                            std::string(name(trial.mode)), device.fingerprint(), trial.gpu_uuid});
    }
  }
  if (table.rows.empty()) {
    throw Error(fmt::format("{} itself never had a winner; `tilewright show \"{}\"` explains the config that serves it",
                            problem.key(), problem.key()));
  }
  return table;
}

ShownOp show_op(const std::string& op, const Place& place) {
  Catalogue catalogue = open_catalogue(place);
  const OpDefinition& definition = catalogue.find(op);
  return {op_table(definition), arguments_table(definition), parameters_table(definition)};
}

}  // namespace tilewright::app

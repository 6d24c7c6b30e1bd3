// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/configs_table.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/plan/plan.hpp"
#include "tuner/analysis/occupancy.hpp"
#include "tuner/report/problem_sources.hpp"
#include "tuner/report/roofline_columns.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright {
namespace {

using ConfigSources = std::vector<Source<ConfigLine>>;

/// Interfaces, recipes and builds, each read once.
class Library {
 public:
  explicit Library(const Store& store) : store_(store) {}

  std::optional<LaunchPlan> plan(const TriedProblem& problem, const TriedConfig& tried) {
    const auto& interface = kept(interfaces_, problem.key.interface_hash,
                                 [&](const std::string& hash) { return store_.interface_by_hash(hash); });
    const auto& stored = kept(implementations_, tried.implementation_hash,
                              [&](const std::string& hash) { return store_.implementation_by_hash(hash); });
    if (!interface || !stored) return std::nullopt;
    try {
      auto planned = make_plan(*interface, stored->recipe, tried.trial.config, problem.key.problem, problem.device);
      if (auto* plan = std::get_if<LaunchPlan>(&planned)) return std::move(*plan);
    } catch (const UsageError&) {
      // A recipe of another version may use features unknown here; then the launch is unknown.
    }
    return std::nullopt;
  }

  const std::optional<Build>& build(const std::string& key) {
    return kept(builds_, key, [&](const std::string& each) { return store_.build(each); });
  }

 private:
  template <class Map, class Read>
  static const typename Map::mapped_type& kept(Map& map, const std::string& key, const Read& read) {
    const auto found = map.find(key);
    return found != map.end() ? found->second : map.emplace(key, read(key)).first->second;
  }

  const Store& store_;
  std::map<std::string, std::optional<OpInterface>> interfaces_;
  std::map<std::string, std::optional<StoredImplementation>> implementations_;
  std::map<std::string, std::optional<Build>> builds_;
};

template <class Value>
void raise(std::optional<Value>& most, Value value) {
  most = most ? std::max(*most, value) : value;
}

const KernelFacts* facts_of(const std::optional<Build>& build, const std::string& entry) {
  if (!build || !build->ok) return nullptr;
  const auto found = std::find_if(build->kernels.begin(), build->kernels.end(),
                                  [&](const KernelFacts& kernel) { return kernel.entry == entry; });
  return found == build->kernels.end() ? nullptr : &*found;
}

ConfigNeeds needs_of(Library& library, const TriedProblem& problem, const TriedConfig& tried) {
  ConfigNeeds needs;
  static const std::optional<Build> kNone;
  const std::optional<Build>& build =
      tried.trial.build_key.empty() || problem.device.is_cpu() ? kNone : library.build(tried.trial.build_key);
  const auto plan = library.plan(problem, tried);
  if (!plan) return needs;
  for (const PlannedKernel& kernel : plan->kernels) {
    const KernelFacts* facts = facts_of(build, kernel.entry);
    const std::int64_t shared =
        std::int64_t{kernel.shared_bytes} + (facts != nullptr ? std::int64_t{facts->static_shared_bytes} : 0);
    raise(needs.shared_bytes, shared);
    if (facts == nullptr) continue;
    raise(needs.registers, std::int64_t{facts->registers});
    raise(needs.spill_bytes, std::int64_t{facts->spill_store_bytes} + facts->spill_load_bytes);
    const std::int64_t threads = std::int64_t{kernel.block[0]} * kernel.block[1] * kernel.block[2];
    const auto held = occupancy({threads, facts->registers, shared}, problem.device);
    if (held) needs.occupancy = std::min(needs.occupancy.value_or(1), *held);
  }
  return needs;
}

const Timing* timing_of(const ConfigLine& line) { return line.trial.timing ? &*line.trial.timing : nullptr; }

double time_or_last(const ConfigLine& line) {
  return line.trial.timing ? line.trial.timing->median_ns : std::numeric_limits<double>::infinity();
}

void add_time(ConfigSources& sources) {
  Column star = column("winner", "");
  star.mark = true;
  sources.push_back({star, [](const ConfigLine& line) { return Cell(line.winner); }});
  sources.push_back(
      {config_column("config", "config"), [](const ConfigLine& line) { return Cell(line.trial.config.text()); }});
  const auto time = [&](Column made, double Timing::*member) {
    sources.push_back({std::move(made), [member](const ConfigLine& line) {
                         return line.trial.timing ? Cell((*line.trial.timing).*member) : Cell();
                       }});
  };
  time(column("time_ns", "time", Unit::nanoseconds), &Timing::median_ns);
  sources.push_back({spare_column("half_interval_share", "±", Unit::share, Shown::people),
                     [](const ConfigLine& line) { return half_interval_cell(line.trial); }});
  time(data_column("time_low_ns"), &Timing::low_ns);
  time(data_column("time_high_ns"), &Timing::high_ns);
  time(data_column("time_min_ns"), &Timing::min_ns);
  time(data_column("floor_ns"), &Timing::floor_ns);
  sources.push_back({spare_column("ratio_to_best", "vs best", Unit::ratio), [](const ConfigLine& line) {
                       if (!line.trial.timing || !line.best_ns) return Cell();
                       return Cell(line.trial.timing->median_ns / *line.best_ns);
                     }});
}

void add_status(ConfigSources& sources) {
  Column status = common_column("status", "status");
  status.spare = true;
  sources.push_back({status, [](const ConfigLine& line) { return Cell(std::string(name(line.trial.status))); }});
  sources.push_back({data_column("reason"), [](const ConfigLine& line) {
                       return line.trial.reason.empty() ? Cell() : Cell(line.trial.reason);
                     }});
}

void add_needs(ConfigSources& sources) {
  sources.push_back(
      {spare_column("registers", "regs"), [](const ConfigLine& line) { return cell_of(line.needs.registers); }});
  sources.push_back({spare_column("shared_bytes", "shared", Unit::bytes),
                     [](const ConfigLine& line) { return cell_of(line.needs.shared_bytes); }});
  sources.push_back({spare_column("spill_bytes", "spills", Unit::bytes),
                     [](const ConfigLine& line) { return cell_of(line.needs.spill_bytes); }});
  sources.push_back({spare_column("occupancy", "occupancy", Unit::share),
                     [](const ConfigLine& line) { return cell_of(line.needs.occupancy); }});
}

void add_evidence(ConfigSources& sources) {
  const auto text = [&](Column made, auto&& of) {
    sources.push_back({std::move(made), [of](const ConfigLine& line) { return Cell(std::string(of(line))); }});
  };
  Column look = common_column("look", "look");
  look.spare = true;
  sources.push_back({look, [](const ConfigLine& line) {
                       return line.trial.timing ? Cell(std::string(name(line.trial.look))) : Cell();
                     }});
  text(common_column("mode", "mode"), [](const ConfigLine& line) { return name(line.mode); });
  text(common_column("device", "device"), [](const ConfigLine& line) { return line.device.fingerprint(); });
  text(data_column("gpu_uuid"), [](const ConfigLine& line) { return line.trial.gpu_uuid; });
  text(data_column("compiler"), [](const ConfigLine& line) { return line.trial.versions.compiler; });
  sources.push_back(
      {data_column("driver"), [](const ConfigLine& line) { return Cell(std::int64_t{line.trial.versions.driver}); }});
  text(data_column("tilewright"), [](const ConfigLine& line) { return line.trial.versions.tilewright; });
  sources.push_back({data_column("measured_at"), [](const ConfigLine& line) { return Cell(line.trial.measured_at); }});
}

}  // namespace

std::vector<ConfigLine> config_lines(const Store& store, const OpDefinition* definition,
                                     std::vector<TriedProblem> problems) {
  Library library(store);
  std::vector<ConfigLine> lines;
  Ceilings ceilings(store);
  for (TriedProblem& problem : problems) {
    const Roofline roofline = roofline_of(ceilings, definition, problem.key.interface_hash, problem.key.problem,
                                          problem.key.device_fingerprint, problem.mode);
    std::vector<ConfigLine> own;
    for (TriedConfig& tried : problem.configs) {
      ConfigLine line;
      line.needs = needs_of(library, problem, tried);
      line.problem = problem.key.problem;
      line.device = problem.device;
      line.mode = problem.mode;
      line.roofline = roofline;
      line.winner = problem.winner && *problem.winner == tried.trial.config;
      line.trial = std::move(tried.trial);
      own.push_back(std::move(line));
    }
    std::stable_sort(own.begin(), own.end(),
                     [](const ConfigLine& a, const ConfigLine& b) { return time_or_last(a) < time_or_last(b); });
    std::optional<double> best;
    if (!own.empty() && own.front().trial.timing) best = own.front().trial.timing->median_ns;
    for (ConfigLine& line : own) {
      line.best_ns = best;
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

Table configs_table(std::string title, const std::vector<ConfigLine>& lines) {
  Table table;
  table.title = std::move(title);
  ConfigSources sources;
  add_problem<ConfigLine>(sources, lines.empty() ? Problem{} : lines.front().problem,
                          [](const ConfigLine& line) -> const Problem& { return line.problem; });
  const std::size_t of_problem = sources.size();
  add_time(sources);
  const std::function<Placed(const ConfigLine&)> place = [](const ConfigLine& line) {
    return Placed{&line.roofline, timing_of(line)};
  };
  add_placed(sources, rate_sources(), place);
  add_status(sources);
  add_needs(sources);
  add_placed(sources, bound_sources(), place);
  add_evidence(sources);
  add_parameters<ConfigLine>(sources, lines, [](const ConfigLine& line) -> const Config& { return line.trial.config; });
  const bool one_problem = std::all_of(lines.begin(), lines.end(),
                                       [&](const ConfigLine& line) { return line.problem == lines.front().problem; });
  // The title then names the problem.
  for (std::size_t i = 0; one_problem && i < of_problem; ++i) sources[i].column.shown = Shown::programs;
  fill(table, sources, lines);
  const bool on_cpu =
      std::any_of(lines.begin(), lines.end(), [](const ConfigLine& line) { return line.device.is_cpu(); });
  if (on_cpu) table.notes.push_back(emulator_note());
  std::vector<Placed> placed;
  for (const ConfigLine& line : lines) placed.push_back(place(line));
  for (std::string& note : roofline_notes(placed)) table.notes.push_back(std::move(note));
  return table;
}

}  // namespace tilewright

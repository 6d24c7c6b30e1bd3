// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page_data.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cache/base/units.hpp"
#include "cache/base/version.hpp"
#include "tuner/report/evidence_table.hpp"
#include "tuner/report/timeline_data.hpp"

namespace tilewright {
namespace {

using Id = std::int64_t;

/// Ids of the file to places in the arrays of the page.
class Places {
 public:
  std::uint32_t add(Id id) { return places_.try_emplace(id, static_cast<std::uint32_t>(places_.size())).first->second; }
  /// One more than the place; 0: not there.
  [[nodiscard]] std::uint32_t after(Id id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? 0 : found->second + 1;
  }
  [[nodiscard]] std::uint32_t at(Id id) const { return places_.at(id); }
  [[nodiscard]] bool has(Id id) const { return places_.count(id) != 0; }

 private:
  std::unordered_map<Id, std::uint32_t> places_;
};

/// The page's arrays are made together, since they name each other by place.
class PageMaker {
 public:
  explicit PageMaker(const PageInput& input) : input_(input) {
    for (const PageOp& op : input.ops) ops_.emplace(op.interface.op, &op);
  }

  PageJson make() {
    PageJson page;
    page["title"] = input_.title;
    page["source"] = input_.source;
    page["made"] = show_moment(input_.made_at);
    page["version"] = version();
    page["notes"] = input_.notes;
    page["devices"] = devices();
    page["specs"] = specs();
    page["problems"] = problems();
    page["configs"] = configs();
    page["builds"] = builds();
    page["sweeps"] = sweeps();
    page["reasons"] = input_.history.reasons;
    page["modes"] = names<MeasureMode>({MeasureMode::cold, MeasureMode::hot, MeasureMode::events});
    page["statuses"] = names<TrialStatus>({TrialStatus::ok, TrialStatus::compile_failed, TrialStatus::exceeds_limits,
                                           TrialStatus::wrong_result, TrialStatus::timed_out, TrialStatus::crashed,
                                           TrialStatus::pruned});
    page["looks"] = names<LookLength>({LookLength::brief, LookLength::whole, LookLength::final});
    page["trials"] = trials();
    page["timeline"] = timeline_data(input_.history, shown_);
    page["winners"] = winners();
    return page;
  }

 private:
  template <class Value>
  static PageJson names(std::initializer_list<Value> values) {
    PageJson list = PageJson::array();
    for (const Value value : values) list.push_back(std::string(name(value)));
    return list;
  }

  PageJson devices() {
    PageJson list = PageJson::array();
    for (const auto& [id, facts] : input_.history.devices) {
      device_places_.add(id);
      PageJson device{{"fingerprint", facts.fingerprint()}, {"name", facts.name}, {"emulator", facts.is_cpu()}};
      PageJson rates = PageJson::object();
      if (const auto found = input_.rates.find(facts.fingerprint()); found != input_.rates.end()) {
        for (const ComputeRate& rate : found->second) rates[rate.unit] = rate.flops_per_second;
      }
      device["flops_per_second"] = std::move(rates);
      PageJson ceilings = PageJson::array();
      if (const auto found = input_.ceilings.find(facts.fingerprint()); found != input_.ceilings.end()) {
        for (const Ceiling& ceiling : found->second) {
          if (ceiling.best_ns() <= 0) continue;
          ceilings.push_back({{"mode", name(ceiling.mode)},
                              {"bytes", ceiling.bytes},
                              {"reads", ceiling.reads},
                              {"bytes_per_second", static_cast<double>(ceiling.bytes) / ceiling.best_ns() * 1e9}});
        }
      }
      device["ceilings"] = std::move(ceilings);
      list.push_back(std::move(device));
    }
    return list;
  }

  /// Of the interfaces in use: what is of older ones nothing serves.
  PageJson specs() {
    PageJson list = PageJson::array();
    for (const auto& [id, spec] : input_.history.specs) {
      const auto op = ops_.find(spec.spec.op);
      if (op == ops_.end() || op->second->interface.hash() != spec.interface_hash) continue;
      spec_places_.add(id);
      PageJson attributes = PageJson::object();
      for (const auto& [attribute, value] : spec.spec.attributes) attributes[attribute] = value;
      list.push_back({{"op", spec.spec.op},
                      {"dtype", name(spec.spec.dtype)},
                      {"attributes", std::move(attributes)},
                      {"dims", op->second->interface.dims}});
    }
    return list;
  }

  PageJson problems() {
    std::vector<std::uint32_t> specs;
    PageJson dims = PageJson::array();
    for (const auto& [id, problem] : input_.history.problems) {
      if (!spec_places_.has(problem.spec)) continue;
      const std::uint32_t place = problem_places_.add(id);
      problem_of_key_.emplace(Problem{input_.history.specs.at(problem.spec).spec, problem.dims}.key(), place);
      specs.push_back(spec_places_.at(problem.spec));
      PageJson sizes = PageJson::array();
      for (const auto& dim : problem.dims) sizes.push_back(dim.second);
      dims.push_back(std::move(sizes));
    }
    return {{"spec", packed(specs)}, {"dims", std::move(dims)}};
  }

  /// By text: the same config of older and newer code is one.
  PageJson configs() {
    PageJson list = PageJson::array();
    std::unordered_map<std::string, std::uint32_t> places;
    for (const auto& [id, config] : input_.history.configs) {
      const auto [place, is_new] = places.try_emplace(config.text, static_cast<std::uint32_t>(places.size()));
      if (is_new) list.push_back(config.text);
      config_of_.emplace(id, place->second);
    }
    return list;
  }

  PageJson builds() {
    std::vector<std::uint32_t> registers, spills;
    std::vector<float> milliseconds;
    for (const auto& [id, build] : input_.history.builds) {
      build_places_.add(id);
      registers.push_back(static_cast<std::uint32_t>(build.registers));
      spills.push_back(static_cast<std::uint32_t>(build.spill_bytes));
      milliseconds.push_back(static_cast<float>(build.milliseconds));
    }
    return {{"registers", packed(registers)}, {"spill_bytes", packed(spills)}, {"milliseconds", packed(milliseconds)}};
  }

  PageJson sweeps() {
    PageJson list = PageJson::array();
    for (const auto& [id, sweep] : input_.history.sweeps) {
      sweep_places_.add(id);
      list.push_back({{"command", sweep.command},
                      {"device", device_places_.after(sweep.device)},
                      {"started", sweep.started_at},
                      {"ended", sweep.ended_at ? PageJson(*sweep.ended_at) : PageJson()},
                      {"outcome", sweep.outcome}});
    }
    return list;
  }

  /// Whether a trial is the newest of its config's text on its problem, by the rule of tried_problems(): older code of
  /// an implementation is history once the newer was tried, and all there is until then.
  [[nodiscard]] std::vector<bool> newest_of_texts() const {
    const std::vector<History::TrialOf>& trials = input_.history.trials;
    // What was pruned says nothing against what was tried.
    const auto age = [&](std::size_t i) {
      return std::tuple(trials[i].status != TrialStatus::pruned, trials[i].measured_at, trials[i].id);
    };
    std::map<std::tuple<Id, Id, MeasureMode, std::uint32_t>, std::size_t> known;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (!trials[i].newest) continue;
      const auto [at, is_new] =
          known.try_emplace({trials[i].problem, trials[i].device, trials[i].mode, config_of_.at(trials[i].config)}, i);
      if (!is_new && age(i) > age(at->second)) at->second = i;
    }
    std::vector<bool> newest(trials.size());
    for (const auto& pair : known) newest[pair.second] = true;
    return newest;
  }

  PageJson trials() {
    struct {
      std::vector<std::uint32_t> problem, config, device, mode, status, look, counts, reason, build, sweep, measured,
          rounds, launches;
      std::vector<float> median, low, high;
    } columns;
    Id first = 0;
    for (const History::TrialOf& trial : input_.history.trials) {
      if (problem_places_.has(trial.problem) && (first == 0 || trial.measured_at < first)) first = trial.measured_at;
    }
    const auto small = [](auto number) { return static_cast<std::uint32_t>(number); };
    const std::vector<bool> newest = newest_of_texts();
    for (std::size_t i = 0; i < newest.size(); ++i) {
      const History::TrialOf& trial = input_.history.trials[i];
      if (!problem_places_.has(trial.problem)) continue;
      columns.problem.push_back(problem_places_.at(trial.problem));
      columns.config.push_back(config_of_.at(trial.config));
      columns.device.push_back(device_places_.at(trial.device));
      columns.mode.push_back(small(trial.mode));
      columns.status.push_back(small(trial.status));
      columns.look.push_back(small(trial.look));
      columns.counts.push_back(newest[i] ? 1 : 0);
      columns.reason.push_back(small(trial.reason));
      columns.build.push_back(build_places_.after(trial.build));
      columns.sweep.push_back(sweep_places_.after(trial.sweep));
      columns.measured.push_back(small(trial.measured_at - first));
      columns.rounds.push_back(small(trial.rounds));
      columns.launches.push_back(small(trial.launches_per_round));
      columns.median.push_back(static_cast<float>(trial.median_ns));
      columns.low.push_back(static_cast<float>(trial.low_ns));
      columns.high.push_back(static_cast<float>(trial.high_ns));
      trial_of_id_.emplace(trial.id, &trial);
      shown_.push_back(&trial);
    }
    return {{"count", columns.problem.size()},      {"first_at", first},
            {"problem", packed(columns.problem)},   {"config", packed(columns.config)},
            {"device", packed(columns.device)},     {"mode", packed(columns.mode)},
            {"status", packed(columns.status)},     {"look", packed(columns.look)},
            {"counts", packed(columns.counts)},     {"reason", packed(columns.reason)},
            {"build", packed(columns.build)},       {"sweep", packed(columns.sweep)},
            {"measured", packed(columns.measured)}, {"rounds", packed(columns.rounds)},
            {"launches", packed(columns.launches)}, {"median_ns", packed(columns.median)},
            {"low_ns", packed(columns.low)},        {"high_ns", packed(columns.high)}};
  }

  PageJson winners() {
    PageJson list = PageJson::array();
    for (const PageOp& op : input_.ops) {
      std::vector<EvidenceLine> evidence;
      std::vector<std::uint32_t> problems;
      for (const WinnerLine& line : op.winners) {
        EvidenceLine proof{&line.row.winner, nullptr, nullptr};
        if (const auto trial = trial_of_id_.find(line.row.winner.trial.id); trial != trial_of_id_.end()) {
          proof.trial = trial->second;
          const auto build = input_.history.builds.find(proof.trial->build);
          if (build != input_.history.builds.end()) proof.build = &build->second;
        }
        evidence.push_back(proof);
        problems.push_back(problem_of_key_.at(line.row.problem.key()));
      }
      list.push_back({{"op", op.interface.op},
                      {"count", op.winners.size()},
                      {"problem", packed(problems)},
                      {"columns", columns_of(winners_table(op.interface.op, op.winners))},
                      {"evidence", columns_of(evidence_table(evidence))}});
    }
    return list;
  }

  const PageInput& input_;
  std::map<std::string, const PageOp*> ops_;
  Places device_places_, spec_places_, problem_places_, build_places_, sweep_places_;
  std::unordered_map<Id, std::uint32_t> config_of_;
  std::unordered_map<std::string, std::uint32_t> problem_of_key_;
  std::unordered_map<Id, const History::TrialOf*> trial_of_id_;
  /// In the order of the page.
  std::vector<const History::TrialOf*> shown_;
};

}  // namespace

PageJson page_data(const PageInput& input) { return PageMaker(input).make(); }

}  // namespace tilewright

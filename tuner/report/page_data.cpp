// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page_data.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cache/base/units.hpp"
#include "cache/base/version.hpp"
#include "tuner/report/evidence_table.hpp"
#include "tuner/report/moments.hpp"

namespace tilewright {
namespace {

using Id = std::int64_t;

/// Maps ids of the cache to places in the arrays of the page.
class Places {
 public:
  std::uint32_t add(Id id) { return places_.try_emplace(id, static_cast<std::uint32_t>(places_.size())).first->second; }
  /// The place plus one; 0 if absent.
  [[nodiscard]] std::uint32_t after(Id id) const {
    const auto found = places_.find(id);
    return found == places_.end() ? 0 : found->second + 1;
  }
  [[nodiscard]] std::uint32_t at(Id id) const { return places_.at(id); }
  [[nodiscard]] bool has(Id id) const { return places_.count(id) != 0; }

 private:
  std::unordered_map<Id, std::uint32_t> places_;
};

/// The data of one op.
struct OfOp {
  const PageOp* op = nullptr;
  Places problems, builds;
  std::vector<const History::TrialOf*> trials;
  /// For each trial: whether it is the newest of its config's text on its problem.
  std::vector<bool> newest;
};

/// A trial's time, to five digits: further digits are noise, which does not compress.
float five_digits(double nanoseconds) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(nanoseconds));
  return std::bit_cast<float>((bits + 0x80U) & ~0xFFU);
}

/// The distance of an interval's end from the median, in hundred-thousandths of the median.
std::uint32_t distance(double median, double end) {
  return median > 0 && end > 0 ? bounded(std::llround(std::abs(median - end) / median * 1e5)) : 0;
}

/// Makes the parts of a page together, since they name each other by place.
class PageMaker {
 public:
  explicit PageMaker(const PageInput& input) : input_(input), moments_(input.history) {
    for (const PageOp& op : input.ops) ops_[op.interface.op].op = &op;
  }

  Page make() {
    Page page;
    PageJson& index = page.index;
    index["title"] = input_.title;
    index["source"] = input_.source;
    index["made"] = show_moment(input_.made_at);
    index["version"] = version();
    index["notes"] = input_.notes;
    index["devices"] = devices();
    index["specs"] = specs();
    index["sweeps"] = sweeps();
    index["gpus"] = input_.history.gpus;
    index["modes"] = names<MeasureMode>({MeasureMode::cold, MeasureMode::hot, MeasureMode::events});
    index["statuses"] = names<TrialStatus>({TrialStatus::ok, TrialStatus::compile_failed, TrialStatus::exceeds_limits,
                                            TrialStatus::wrong_result, TrialStatus::timed_out, TrialStatus::crashed,
                                            TrialStatus::pruned});
    index["looks"] = names<LookLength>({LookLength::brief, LookLength::whole, LookLength::final});
    share_out();
    index["first_at"] = first_at_;
    index["kinds"] = kinds();
    index["ops"] = PageJson::array();
    for (auto& [name, of] : ops_) {
      index["ops"].push_back(name);
      page.blocks[name + ".winners"] = winners_block(of);
      page.blocks[name + ".evidence"] = evidence_block(of);
      page.blocks[name + ".trials"] = trials_block(of);
    }
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
      // The fastest copy is the roof of a plot over all sizes.
      PageJson copies = PageJson::object();
      if (const auto found = input_.ceilings.find(facts.fingerprint()); found != input_.ceilings.end()) {
        for (const Ceiling& ceiling : found->second) {
          if (ceiling.best_ns() <= 0) continue;
          const double rate = static_cast<double>(ceiling.bytes) / ceiling.best_ns() * 1e9;
          const std::string mode(name(ceiling.mode));
          copies[mode] = std::max(copies.value(mode, 0.0), rate);
        }
      }
      device["bytes_per_second"] = std::move(copies);
      list.push_back(std::move(device));
    }
    return list;
  }

  /// The specs of the interfaces in use: nothing serves those of older ones.
  PageJson specs() {
    PageJson list = PageJson::array();
    for (const auto& [id, spec] : input_.history.specs) {
      const auto op = ops_.find(spec.spec.op);
      if (op == ops_.end() || op->second.op->interface.hash() != spec.interface_hash) continue;
      spec_places_.add(id);
      PageJson attributes = PageJson::object();
      for (const auto& [attribute, value] : spec.spec.attributes) attributes[attribute] = value;
      list.push_back({{"op", spec.spec.op},
                      {"dtype", name(spec.spec.dtype)},
                      {"attributes", std::move(attributes)},
                      {"dims", op->second.op->interface.dims}});
    }
    return list;
  }

  PageJson sweeps() {
    PageJson list = PageJson::array();
    for (const auto& [id, sweep] : input_.history.sweeps) {
      sweep_places_.add(id);
      list.push_back({{"command", sweep.command},
                      {"device", device_places_.after(sweep.device)},
                      {"started", sweep.started_at},
                      {"ended", sweep.ended_at ? PageJson(*sweep.ended_at) : PageJson()},
                      {"outcome", sweep.outcome},
                      {"first", static_cast<double>(moments_.first_of(id)) / 1e6}});
    }
    return list;
  }

  /// Whether a trial is the newest of its config's text on its problem, by the rule of tried_problems(): older code of
  /// an implementation counts until the newer code was tried.
  [[nodiscard]] std::vector<bool> newest_of_texts() const {
    const std::vector<History::TrialOf>& trials = input_.history.trials;
    // A pruned trial does not outdate a tried one.
    const auto age = [&](std::size_t i) {
      return std::tuple(trials[i].status != TrialStatus::pruned, trials[i].measured_at, trials[i].id);
    };
    std::map<std::tuple<Id, Id, MeasureMode, std::uint32_t>, std::size_t> known;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      if (!trials[i].newest) continue;
      const auto [at, is_new] = known.try_emplace(
          {trials[i].problem, trials[i].device, trials[i].mode, text_places_.at(trials[i].config)}, i);
      if (!is_new && age(i) > age(at->second)) at->second = i;
    }
    std::vector<bool> newest(trials.size());
    for (const auto& pair : known) newest[pair.second] = true;
    return newest;
  }

  /// Assigns problems, trials and builds to their ops.
  void share_out() {
    const History& history = input_.history;
    std::unordered_map<std::string, std::uint32_t> texts;
    for (const auto& [id, config] : history.configs) {
      text_places_.emplace(id, texts.try_emplace(config.text, static_cast<std::uint32_t>(texts.size())).first->second);
    }
    for (const auto& [id, problem] : history.problems) {
      if (!spec_places_.has(problem.spec)) continue;
      OfOp& of = ops_.at(history.specs.at(problem.spec).spec.op);
      of.problems.add(id);
      op_of_problem_.emplace(id, &of);
    }
    std::unordered_map<Id, OfOp*> op_of_build, op_of_sweep;
    const std::vector<bool> newest = newest_of_texts();
    for (std::size_t i = 0; i < newest.size(); ++i) {
      const History::TrialOf& trial = history.trials[i];
      const auto found = op_of_problem_.find(trial.problem);
      if (found == op_of_problem_.end()) continue;
      OfOp* of = found->second;
      of->trials.push_back(&trial);
      of->newest.push_back(newest[i]);
      op_of_build.try_emplace(trial.build, of);
      op_of_sweep.try_emplace(trial.sweep, of);
      if (first_at_ == 0 || trial.measured_at < first_at_) first_at_ = trial.measured_at;
    }
    for (const auto& [id, build] : history.builds) {
      const auto by_trial = op_of_build.find(id), by_sweep = op_of_sweep.find(build.sweep);
      if (by_trial != op_of_build.end()) {
        by_trial->second->builds.add(id);
      } else if (by_sweep != op_of_sweep.end()) {
        by_sweep->second->builds.add(id);
      }
    }
  }

  /// How much was tried, for each spec, device and mode; outcomes are those of each config's newest trial.
  PageJson kinds() {
    struct Kind {
      std::int64_t trials = 0, tried = 0, failed = 0, pruned = 0;
      std::set<Id> problems;
    };
    std::map<std::tuple<std::uint32_t, std::uint32_t, MeasureMode>, Kind> kinds;
    for (const auto& [name, of] : ops_) {
      for (std::size_t i = 0; i < of.trials.size(); ++i) {
        const History::TrialOf& trial = *of.trials[i];
        Kind& kind = kinds[{spec_places_.at(input_.history.problems.at(trial.problem).spec),
                            device_places_.at(trial.device), trial.mode}];
        ++kind.trials;
        if (!of.newest[i]) continue;
        kind.problems.insert(trial.problem);
        const bool pruned = trial.status == TrialStatus::pruned;
        ++(pruned ? kind.pruned : kind.tried);
        if (!pruned && trial.status != TrialStatus::ok) ++kind.failed;
      }
    }
    PageJson list = PageJson::array();
    for (const auto& [key, kind] : kinds) {
      const auto& [spec, device, mode] = key;
      list.push_back({{"spec", spec},
                      {"device", device},
                      {"mode", static_cast<int>(mode)},
                      {"problems", kind.problems.size()},
                      {"trials", kind.trials},
                      {"tried", kind.tried},
                      {"failed", kind.failed},
                      {"pruned", kind.pruned}});
    }
    return list;
  }

  std::string winners_block(OfOp& of) {
    Block block;
    std::vector<std::uint32_t> specs, served;
    PageJson dims = PageJson::array();
    std::unordered_map<std::string, std::uint32_t> places;
    for (const auto& [id, problem] : input_.history.problems) {
      if (!of.problems.has(id)) continue;
      places.emplace(Problem{input_.history.specs.at(problem.spec).spec, problem.dims}.key(), of.problems.at(id));
      specs.push_back(spec_places_.at(problem.spec));
      PageJson sizes = PageJson::array();
      for (const auto& dim : problem.dims) sizes.push_back(dim.second);
      dims.push_back(std::move(sizes));
    }
    for (const WinnerLine& line : of.op->winners) served.push_back(places.at(line.row.problem.key()));
    return block.compressed({{"problems", {{"spec", block.put(specs)}, {"dims", std::move(dims)}}},
                             {"count", served.size()},
                             {"problem", block.put(served)},
                             {"columns", block.put(winners_table(of.op->interface.op, of.op->winners))}});
  }

  std::string evidence_block(const OfOp& of) {
    std::unordered_map<Id, const History::TrialOf*> trials;
    for (const History::TrialOf* trial : of.trials) trials.emplace(trial->id, trial);
    std::vector<EvidenceLine> lines;
    for (const WinnerLine& line : of.op->winners) {
      EvidenceLine proof{&line.row.winner, nullptr, nullptr};
      if (const auto trial = trials.find(line.row.winner.trial.id); trial != trials.end()) {
        proof.trial = trial->second;
        const auto build = input_.history.builds.find(proof.trial->build);
        if (build != input_.history.builds.end()) proof.build = &build->second;
      }
      lines.push_back(proof);
    }
    Block block;
    return block.compressed({{"columns", block.put(evidence_table(lines))}});
  }

  std::string trials_block(const OfOp& of) {
    Block block;
    PageJson json;
    json["builds"] = builds(of, block);
    json["trials"] = trials(of, block, json);
    return block.compressed(json);
  }

  PageJson builds(const OfOp& of, Block& block) const {
    std::vector<std::uint32_t> registers, spills, began, worker, sweep;
    std::vector<float> milliseconds;
    for (const auto& [id, build] : input_.history.builds) {
      if (!of.builds.has(id)) continue;
      registers.push_back(static_cast<std::uint32_t>(build.registers));
      spills.push_back(static_cast<std::uint32_t>(build.spill_bytes));
      milliseconds.push_back(static_cast<float>(build.milliseconds));
      sweep.push_back(sweep_places_.after(build.sweep));
      began.push_back(moments_.ticks(build.sweep, build.began_us));
      worker.push_back(bounded(build.worker));
    }
    return {{"registers", block.put(registers)},
            {"spill_bytes", block.put(spills)},
            {"milliseconds", block.put(milliseconds)},
            {"sweep", block.put(sweep)},
            {"began", block.put(began)},
            {"worker", block.put(worker)}};
  }

  /// Config texts (shared by older and newer code) and reasons stand beside the columns, each once.
  PageJson trials(const OfOp& of, Block& block, PageJson& json) const {
    Places configs, reasons;
    json["configs"] = PageJson::array();
    json["reasons"] = PageJson::array();
    std::vector<std::uint32_t> newest(of.newest.begin(), of.newest.end());
    std::vector<float> median;
    for (const History::TrialOf* trial : of.trials) {
      const std::uint32_t text = text_places_.at(trial->config);
      if (!configs.has(text)) json["configs"].push_back(input_.history.configs.at(trial->config).text);
      if (!reasons.has(trial->reason)) json["reasons"].push_back(input_.history.reasons[std::size_t(trial->reason)]);
      configs.add(text);
      reasons.add(trial->reason);
      median.push_back(five_digits(trial->median_ns));
    }
    const auto column = [&](auto value) {
      std::vector<std::uint32_t> numbers;
      numbers.reserve(of.trials.size());
      for (const History::TrialOf* trial : of.trials) numbers.push_back(static_cast<std::uint32_t>(value(*trial)));
      return block.put(numbers);
    };
    using Trial = History::TrialOf;
    return {{"problem", column([&](const Trial& trial) { return of.problems.at(trial.problem); })},
            {"config", column([&](const Trial& trial) { return configs.at(text_places_.at(trial.config)); })},
            {"device", column([&](const Trial& trial) { return device_places_.at(trial.device); })},
            {"mode", column([](const Trial& trial) { return trial.mode; })},
            {"status", column([](const Trial& trial) { return trial.status; })},
            {"look", column([](const Trial& trial) { return trial.look; })},
            {"counts", block.put(newest)},
            {"reason", column([&](const Trial& trial) { return reasons.at(trial.reason); })},
            {"build", column([&](const Trial& trial) { return of.builds.after(trial.build); })},
            {"sweep", column([&](const Trial& trial) { return sweep_places_.after(trial.sweep); })},
            {"measured", column([&](const Trial& trial) { return bounded(trial.measured_at - first_at_); })},
            {"rounds", column([](const Trial& trial) { return trial.rounds; })},
            {"launches", column([](const Trial& trial) { return trial.launches_per_round; })},
            {"median_ns", block.put(median)},
            {"below", column([](const Trial& trial) { return distance(trial.median_ns, trial.low_ns); })},
            {"above", column([](const Trial& trial) { return distance(trial.median_ns, trial.high_ns); })},
            {"began", column([&](const Trial& trial) { return moments_.ticks(trial.sweep, trial.phases.began_us); })},
            {"set_up_us", column([](const Trial& trial) { return bounded(trial.phases.set_up_us); })},
            {"verify_us", column([](const Trial& trial) { return bounded(trial.phases.verify_us); })},
            {"measure_us", column([](const Trial& trial) { return bounded(trial.phases.measure_us); })},
            {"gpu", column([](const Trial& trial) { return trial.gpu; })}};
  }

  const PageInput& input_;
  const Moments moments_;
  std::map<std::string, OfOp> ops_;
  Places device_places_, spec_places_, sweep_places_;
  /// The place of a config's text, by the config's id.
  std::unordered_map<Id, std::uint32_t> text_places_;
  std::unordered_map<Id, OfOp*> op_of_problem_;
  std::int64_t first_at_ = 0;
};

}  // namespace

Page make_page(const PageInput& input) { return PageMaker(input).make(); }

}  // namespace tilewright

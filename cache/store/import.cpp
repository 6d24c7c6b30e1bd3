// SPDX-License-Identifier: Apache-2.0
#include "cache/store/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/store/evidence.hpp"
#include "cache/store/referred.hpp"

namespace tilewright {
namespace {

bool same_trial(const Trial& a, const Trial& b) {
  return a.config == b.config && a.measured_at == b.measured_at && a.gpu_uuid == b.gpu_uuid &&
         a.versions == b.versions && a.timing.has_value() == b.timing.has_value() &&
         (!a.timing || a.timing->median_ns == b.timing->median_ns);
}

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

/// The winners of one problem on one device in one mode.
using Group = std::vector<Store::WinnerRow>;

/// The time or failure that counts for each config of a problem; those of one implementation are read at once.
class TriedAt {
 public:
  TriedAt(const Store& store, const ProblemKey& key, MeasureMode mode) : store_(store), key_(key), mode_(mode) {}

  /// Null if there is none.
  const Trial* find(const ConfigId& config) {
    const auto [of, is_new] = tried_.try_emplace(config.implementation_hash);
    if (is_new) {
      for (Trial& trial : store_.trials(key_, {config.implementation_hash}, mode_)) {
        if (trial.status == TrialStatus::pruned || (trial.status == TrialStatus::ok && !trial.timing)) continue;
        Config tried = trial.config;
        of->second.insert_or_assign(std::move(tried), std::move(trial));
      }
    }
    const auto found = of->second.find(config.config);
    return found == of->second.end() ? nullptr : &found->second;
  }

 private:
  const Store& store_;
  const ProblemKey& key_;
  MeasureMode mode_;
  std::map<std::string, std::map<Config, Trial>> tried_;
};

/// What a cache knows of a config at a problem.
enum class Settled : std::uint8_t { timed, serves, failed };

class Import {
 public:
  Import(const Store& from, Store& to, std::vector<Conflict>* conflicts)
      : from_(from), to_(to), conflicts_(conflicts) {}

  std::vector<OpCounts> run(const WinnerSelection& filter) {
    thin_ = filter.thin;
    const std::vector<Group> all_groups = groups(filter);
    for (const Group& group : all_groups) move(group);
    put_models();
    put_pins(filter);
    for (const std::string& device : devices_) {
      for (const Ceiling& ceiling : from_.ceilings(device)) {
        if (!to_.ceiling(device, ceiling.bytes, ceiling.reads, ceiling.mode)) to_.put_ceiling(device, ceiling);
      }
      for (const ComputeRate& rate : from_.compute_rates(device)) {
        if (!to_.compute_rate(device, rate.unit)) to_.put_compute_rate(device, rate);
      }
    }
    std::vector<OpCounts> all;
    for (auto& [key, counts] : counts_) all.push_back(std::move(counts));
    return all;
  }

 private:
  std::vector<Group> groups(const WinnerSelection& filter) {
    std::map<std::tuple<std::string, std::string, MeasureMode>, std::size_t> places;
    std::vector<Group> groups;
    for (WinnerRow& row : selected_winners(from_, filter)) {
      const auto [place, is_new] =
          places.try_emplace({row.problem.key(), row.device.fingerprint(), row.mode}, groups.size());
      if (is_new) groups.emplace_back();
      groups[place->second].push_back(std::move(row));
    }
    return groups;
  }

  void move(const Group& group) {
    const Store::WinnerRow& first = group.front();  // the best: rows are ordered by role
    const std::string device = first.device.fingerprint();
    specs_.try_emplace({first.problem.spec.text(), first.interface_hash, device, first.mode}, &group);
    OpCounts& counts = counts_[{first.problem.spec.op, device}];
    counts.op = first.problem.spec.op;
    counts.device = device;
    devices_.insert(device);
    const ProblemKey key{first.problem, first.interface_hash, device};
    const std::vector<Winner> there = to_.winners(key, first.mode);
    if (!there.empty()) {
      if (same_trial(there.front().trial, first.winner.trial)) {
        put_others(key, first.mode, false);
        return void(++counts.same);
      }
      Winner theirs = first.winner, ours = there.front();
      theirs.trial = referred(from_.trial(theirs.trial.id), from_, "a trial");
      ours.trial = referred(to_.trial(ours.trial.id), to_, "a trial");
      const bool is_better = better_evidence(theirs, ours);
      if (conflicts_ != nullptr && ours.trial.config != theirs.trial.config) {
        conflicts_->push_back({first.problem.key(), device, first.mode, ours.trial, theirs.trial, is_better});
      }
      if (!is_better) {
        put_others(key, first.mode, false);
        return void(++counts.kept);
      }
    }
    put(key, group);
    ++(there.empty() ? counts.added : counts.replaced);
  }

  /// A model learned from more shapes is worth more; of equals the later.
  void put_models() {
    for (const auto& [key_of_spec, group] : specs_) {
      const Store::WinnerRow& any = group->front();
      const ProblemKey key{any.problem, any.interface_hash, any.device.fingerprint()};
      const auto theirs = from_.learned(key, any.mode);
      const auto ours = theirs ? to_.learned(key, any.mode) : nullptr;
      if (!theirs) continue;
      const auto worth = [](const Learned& learned) { return std::pair(learned.model->shapes(), learned.learned_at); };
      if (ours && worth(*ours) >= worth(*theirs)) continue;
      for (const std::string& hash : theirs->model->space().implementations) {
        if (auto stored = from_.implementation_by_hash(hash)) to_.add_implementation(key.interface_hash, *stored);
      }
      const bool is_put = to_.put_loss_model(key, any.mode, *theirs->model, theirs->learned_at);
      OpCounts& counts = counts_[{any.problem.spec.op, key.device_fingerprint}];
      ++(is_put ? counts.models : counts.newer_models);
    }
  }

  /// The pins of specs with winners here; the newer stands. A pinned config brings the trials that have its binary.
  void put_pins(const WinnerSelection& filter) {
    for (const Store::PinRow& row : from_.list_pins()) {
      const Pin& pin = row.pin;
      const ProblemKey& key = row.key;
      const bool is_selected = std::ranges::any_of(specs_, [&](const auto& spec) {
        const auto& [text, interface, device, mode] = spec.first;
        return text == key.problem.spec.text() && interface == key.interface_hash && device == key.device_fingerprint;
      });
      if (!is_selected || (pin.is_of_problem && !filter.takes(key.problem, key.device_fingerprint))) continue;
      put_interface(key.interface_hash);
      to_.add_implementation(key.interface_hash, referred(from_.implementation_by_hash(pin.config.implementation_hash),
                                                          from_, "an implementation"));
      to_.put_pin(row);
      for (const MeasureMode mode : {MeasureMode::cold, MeasureMode::hot, MeasureMode::events}) {
        if (pin.kind == PinKind::pin) put_binaries_of(row, mode);
      }
    }
  }

  void put_binaries_of(const Store::PinRow& row, MeasureMode mode) {
    ProblemKey key = row.key;
    std::vector<std::vector<std::int64_t>> shapes{shape_of(key.problem)};
    if (!row.pin.is_of_problem) {
      shapes = from_.tuned_shapes(key, mode);
      for (const std::string& dim : referred(from_.interface_by_hash(key.interface_hash), from_, "an interface").dims) {
        key.problem.dims.emplace_back(dim, 0);
      }
    }
    for (const std::vector<std::int64_t>& shape : shapes) {
      for (std::size_t d = 0; d < shape.size(); ++d) key.problem.dims[d].second = shape[d];
      const auto timed = from_.timed(key, mode, row.pin.config);
      if (!timed || !timed->winner.trial.timing || builds_.contains(timed->winner.trial.build_key)) continue;
      if (!timed->winner.trial.build_key.empty()) put_trial(key, *timed);
    }
  }

  void put_interface(const std::string& hash) {
    if (!interfaces_.insert(hash).second) return;
    to_.add_older_interface(referred(from_.interface_by_hash(hash), from_, "an interface"));
  }

  void put(const ProblemKey& key, const Group& group) {
    put_interface(key.interface_hash);
    to_.put_device(group.front().device);
    std::map<std::int64_t, std::int64_t> trials;  // best and dynamic may be one
    std::vector<Winner> winners;
    for (const Store::WinnerRow& row : group) {
      Winner winner = row.winner;
      const auto [place, is_new] = trials.try_emplace(winner.trial.id, 0);
      if (is_new) place->second = put_trial(key, row);
      winner.trial.id = place->second;
      // The rules that forbid the rest of the space are the same for all roles, and long.
      if (&row != &group.front()) winner.choice.forbidden.clear();
      winners.push_back(std::move(winner));
    }
    to_.put_winners(key, group.front().mode, winners);
    put_others(key, group.front().mode, true);
  }

  /// The other configs of a problem, on their way from one cache into the other.
  struct Others {
    const ProblemKey& key;
    MeasureMode mode;
    std::unordered_map<ConfigId, Settled> settled;
    TriedAt tried, tried_there;
    bool winners_are_put = false;
    /// Only spares and failures come along.
    bool served_alone = false;
  };

  /// Brings the spares of a shape, and what was seen of its other configs: models are learned from their times, and a
  /// config that failed must not be proposed. Of winners that were not put, the times.
  void put_others(const ProblemKey& key, MeasureMode mode, bool winners_are_put) {
    Others others{key,
                  mode,
                  settled_configs(key, mode),
                  {from_, key, mode},
                  {to_, key, mode},
                  winners_are_put,
                  thin_ && (from_.learned(key, mode) != nullptr || spares_of(key, mode).empty())};
    for (const ShapeSummary& shape : from_.known_shapes(key, mode, {shape_of(key.problem)})) {
      for (const ConfigSummary& known : shape.configs) put_other(others, known);
    }
  }

  void put_other(Others& others, const ConfigSummary& known) {
    const ProblemKey& key = others.key;
    const MeasureMode mode = others.mode;
    if (known.role && others.winners_are_put) return;
    const bool is_kept = known.is_spare && !failed_there(key, mode).contains(known.id);
    if (!is_kept && (!is_in_use(key, known.id) || (others.served_alone && !known.has_failed))) return;
    const auto there = others.settled.find(known.id);
    const bool is_there = there != others.settled.end();
    const Trial* trial = others.tried.find(known.id);
    if (is_there && !outdates(known, trial, there->second, others.tried_there)) trial = nullptr;
    const bool is_spare = is_kept && !(is_there && there->second == Settled::serves);
    if (trial == nullptr && !is_spare) return;
    if (implementations_.insert(known.id.implementation_hash).second) {
      add_implementation(key, known.id.implementation_hash);
    }
    if (trial != nullptr) put_seen(key, mode, known.id, *trial);
    if (is_spare) put_spare(key, mode, known.id);
    // A winner is listed once a role.
    others.settled[known.id] = known.has_failed ? Settled::failed : is_kept ? Settled::serves : Settled::timed;
  }

  /// True if a trial replaces what `to` knows of its config: one of both is a failure, and the trial is the later.
  static bool outdates(const ConfigSummary& known, const Trial* trial, Settled there, TriedAt& tried_there) {
    if (trial == nullptr || known.has_failed == (there == Settled::failed)) return false;
    const Trial* const other = tried_there.find(known.id);
    return other == nullptr || trial->measured_at > other->measured_at;
  }

  /// True for an implementation that can be compiled from sources that `from` has seen last.
  bool is_in_use(const ProblemKey& key, const ConfigId& config) {
    const auto [place, is_new] = in_use_.try_emplace(key.interface_hash);
    if (is_new) place->second = from_.implementations_in_use(key.interface_hash);
    return place->second.contains(config.implementation_hash);
  }

  /// The configs that `to` knows.
  std::unordered_map<ConfigId, Settled> settled_configs(const ProblemKey& key, MeasureMode mode) const {
    std::unordered_map<ConfigId, Settled> settled;
    for (const ShapeSummary& shape : to_.known_shapes(key, mode, {shape_of(key.problem)})) {
      for (const ConfigSummary& known : shape.configs) {
        settled[known.id] = known.has_failed               ? Settled::failed
                            : known.role || known.is_spare ? Settled::serves
                                                           : Settled::timed;
      }
    }
    return settled;
  }

  /// The time of a config that is a spare somewhere comes with its build and readings; others come alone.
  void put_seen(const ProblemKey& key, MeasureMode mode, const ConfigId& config, Trial trial) {
    trial.sweep = 0;
    trial.phases.reset();
    if (trial.status != TrialStatus::ok || !spares_of(key, mode).contains(config) ||
        failed_there(key, mode).contains(config)) {
      trial.build_key.clear();
      trial.accuracy.reset();
      trial.readings = {};
    }
    put_build(trial.build_key);
    to_.put_trial(key, config.implementation_hash, trial);
  }

  void put_spare(const ProblemKey& key, MeasureMode mode, const ConfigId& config) {
    const std::string build = from_.build_of_spare(key, mode, config);
    put_build(build);
    to_.put_spare(key, mode, config, build);
  }

  /// All spares of a spec.
  const ConfigIds& spares_of(const ProblemKey& key, MeasureMode mode) {
    const auto [place, is_new] =
        spares_.try_emplace({key.problem.spec.text(), key.interface_hash, key.device_fingerprint, mode});
    if (!is_new) return place->second;
    for (const ShapeSummary& shape : from_.known_shapes(key, mode, from_.tuned_shapes(key, mode))) {
      for (const ConfigSummary& known : shape.configs) {
        if (known.is_spare) place->second.insert(known.id);
      }
    }
    return place->second;
  }

  /// A config that failed in `to` is no spare there.
  const ConfigIds& failed_there(const ProblemKey& key, MeasureMode mode) {
    const auto [place, is_new] = failed_there_.try_emplace({key.interface_hash, key.device_fingerprint, mode});
    if (is_new) place->second = to_.failed_configs(key, mode);
    return place->second;
  }

  void add_implementation(const ProblemKey& key, const std::string& hash) {
    to_.add_implementation(key.interface_hash,
                           referred(from_.implementation_by_hash(hash), from_, "an implementation"));
  }

  /// The build of a trial that was timed: it has a binary.
  void put_build(const std::string& key) {
    if (key.empty() || !builds_.insert(key).second) return;
    Build build = referred(from_.build(key), from_, "a build");
    build.log.clear();
    build.sweep = 0;
    build.worker.reset();
    build.began_us.reset();
    to_.put_build(build, from_.binary(build.binary_hash));
  }

  std::int64_t put_trial(const ProblemKey& key, const Store::WinnerRow& row) {
    add_implementation(key, row.implementation_hash);
    // The trial may have come from `to` in the first place. Without its build it only tells a time.
    for (const Trial& known : to_.trials(key, {row.implementation_hash}, row.mode)) {
      const bool has_build = !known.build_key.empty() || row.winner.trial.build_key.empty();
      if (known.status == TrialStatus::ok && has_build && same_trial(known, row.winner.trial)) return known.id;
    }
    Trial trial = referred(from_.trial(row.winner.trial.id), from_, "a trial");
    trial.sweep = 0;  // a sweep of another cache
    trial.phases.reset();
    put_build(trial.build_key);
    return to_.put_trial(key, row.implementation_hash, trial);
  }

  const Store& from_;
  Store& to_;
  std::vector<Conflict>* conflicts_;
  bool thin_ = false;
  std::map<std::pair<std::string, std::string>, OpCounts> counts_;
  std::set<std::string> devices_;
  std::set<std::string> interfaces_;
  std::set<std::string> builds_;
  std::set<std::string> implementations_;
  std::map<std::string, std::set<std::string>> in_use_;
  using SpecKey = std::tuple<std::string, std::string, std::string, MeasureMode>;
  std::map<SpecKey, const Group*> specs_;
  std::map<SpecKey, ConfigIds> spares_;
  std::map<std::tuple<std::string, std::string, MeasureMode>, ConfigIds> failed_there_;
};

}  // namespace

bool WinnerSelection::takes(const Problem& problem, const std::string& device) const {
  return listed(ops, problem.spec.op) && listed(devices, device) && (!wanted || wanted(problem));
}

std::vector<WinnerRow> selected_winners(const Store& store, const WinnerSelection& filter) {
  std::map<std::string, std::string> newest;
  std::vector<WinnerRow> taken;
  for (WinnerRow& row : store.list_winners({})) {
    const std::string& op = row.problem.spec.op;
    if (!filter.takes(row.problem, row.device.fingerprint())) continue;
    if (newest.count(op) == 0) newest[op] = referred(store.interface_of(op), store, "an interface").hash();
    if (row.interface_hash == newest[op]) taken.push_back(std::move(row));
  }
  return taken;
}

std::vector<OpCounts> import_winners(const Store& from, Store& to, const WinnerSelection& filter,
                                     std::vector<Conflict>* conflicts) {
  Store::Batch batch(to);
  std::vector<OpCounts> done = Import(from, to, conflicts).run(filter);
  batch.commit();
  return done;
}

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/party.hpp"

#include <algorithm>
#include <utility>

#include "cache/base/version.hpp"
#include "tuner/sweep/ceiling.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// A ceiling needs the best copy, not a ranking of all: short looks, and on the emulator, where each config costs a run
// of the host's compiler, few.
constexpr std::chrono::nanoseconds kCeilingBudget = std::chrono::milliseconds(20);
constexpr std::size_t kCeilingConfigsOnCpu = 4;
// How many builds are asked for ahead of the measuring, for each compile worker.
constexpr std::size_t kAheadPerWorker = 8;
// And of how many stops: ceilings are stops as well.
constexpr std::size_t kStopsAhead = 4;
// Among so many of those to come one is looked for whose binaries are there.
constexpr std::size_t kErrandsBeside = 4;
// Of several devices each must find so many more for each that one has under way.
constexpr std::size_t kErrandsForEach = 2;
// Of a problem's share of the budget, what its looks may take before the final.
constexpr double kShareOfLooks = 0.8;
// A problem over which so many devices were lost is no other device's.
constexpr int kMostLosses = 2;

}  // namespace

SweepRow::SweepRow(Store& store, const std::string& command, const std::string& fingerprint)
    : store_(store), id_(store.begin_sweep(command, fingerprint)) {}

SweepRow::~SweepRow() {
  try {
    store_.end_sweep(id_, outcome_);
  } catch (const Error&) {  // NOLINT: what broke the cache has been or will be told by the sweep itself
  }
}

Party::Party(Journey& journey, const Workplace& device)
    : journey_(journey),
      fingerprint_(device.facts().fingerprint()),
      row_(introduce(device), journey.request.command, fingerprint_) {
  make_settings(device);
  make_stops();
}

Store& Party::introduce(const Workplace& device) {
  put_definition(*journey_.request.definition);
  journey_.store.put_device(device.facts());
  return journey_.store;
}

void Party::put_definition(const OpDefinition& definition) {
  journey_.store.put_interface(definition.interface);
  const std::string hash = definition.interface.hash();
  for (const Implementation& implementation : definition.implementations) {
    journey_.store.put_implementation(hash, {implementation.hash, implementation.recipe});
  }
}

void Party::make_settings(const Workplace& device) {
  const SweepRequest& request = journey_.request;
  tuning_.facts = device.facts();
  tuning_.store = &journey_.store;
  tuning_.builder = &journey_.builder;
  tuning_.trial.mode = request.mode;
  tuning_.stop = request.stop;
  tuning_.regime = request.regime;
  tuning_.trial.versions = {device.driver_version(), request.compiler->version(), version()};
  tuning_.trial.sweep = row_.id();
  tuning_.trial.interrupted = journey_.stopped;
  tuning_.max_configs = request.max_configs;
  tuning_.only = &request.only;
  tuning_.strategy = request.strategy;
  tuning_.seed = request.seed;
  tuning_.max_trials = request.max_trials;
  tuning_.prune = request.prune;
  tuning_.again = request.again;
  tuning_.retry = request.retry;
  tuning_.note = [this](const std::string& line) { journey_.listener.note(line); };
  measuring_ = tuning_;
  measuring_.stop.budget = std::min(request.stop.budget, kCeilingBudget);
  measuring_.max_configs = device.facts().is_cpu() ? kCeilingConfigsOnCpu : 0;
  measuring_.strategy = request.strategy == "exhaustive" ? "exhaustive" : "race";
  measuring_.max_trials = 0;
  measuring_.regime = Regime::burst;
  measuring_.again = false;
  measuring_.only = nullptr;
  tuning_.rechecks = &request.rechecks;
  // All of those that led are timed, whatever bounds a search.
  leading_ = tuning_;
  leading_.leading = true;
  leading_.only = &leaders_;
  leading_.strategy = "race";
  leading_.max_trials = 0;
  leading_.max_configs = 0;
  for (const auto& [where, recheck] : request.rechecks) {
    if (where.first == fingerprint_) leaders_[where.second] = recheck.leaders;
  }
}

void Party::make_stops() {
  SweepRequest request = journey_.request;
  if (!request.rechecks.empty()) {
    std::erase_if(request.problems, [&](const Problem& problem) { return leaders_.count(problem.key()) == 0; });
  }
  const OpDefinition* copy = request.ceilings ? find_measure(kCopyOp) : nullptr;
  if (request.ceilings && copy == nullptr) {
    journey_.listener.note("there is no op named copy: ceilings are those of the device's own copy alone");
  }
  stops_ = plan_stops(request, copy);
  // The emulator's rates say nothing of any processor.
  if (request.ceilings && !tuning_.facts.is_cpu() && !stops_.empty()) add_rates(request);
  problems_ = static_cast<std::size_t>(std::count_if(stops_.begin(), stops_.end(), is_tuned));
  for (std::size_t i = 0; i < stops_.size(); ++i) {
    if (stops_[i].goal != Stop::Goal::ceiling) errands_.push_back({i, i, 0});
    errands_.back().end = i + 1;
  }
}

void Party::add_rates(const SweepRequest& request) {
  for (const std::string& unit : units_of(request)) {
    if (journey_.store.compute_rate(fingerprint_, unit)) continue;
    const OpDefinition* op = find_measure(op_of_rate(unit));
    auto stop = op != nullptr ? rate_stop(*op, unit) : std::nullopt;
    if (stop) stops_.push_back(*std::move(stop));
  }
}

const OpDefinition* Party::find_measure(const char* name) {
  const std::vector<std::string> names = journey_.catalogue.names();
  if (std::find(names.begin(), names.end(), name) == names.end()) return nullptr;
  const OpDefinition& definition = journey_.catalogue.find(name);
  put_definition(definition);
  return &definition;
}

bool Party::is_for_another(const Errand& errand, const std::string& uuid) const {
  const Stop& stop = stops_[errand.first];
  const std::string home = stop.run ? stop.run->home() : "";
  return home != uuid && std::find(members_.begin(), members_.end(), home) != members_.end();
}

std::optional<Party::Errand> Party::hand_out(const std::deque<Errand>::iterator& chosen) {
  const Errand errand = *chosen;
  errands_.erase(chosen);
  ++under_way_;
  return errand;
}

std::optional<Party::Errand> Party::take(const std::string& uuid) {
  if (errands_.empty()) return std::nullopt;
  // Where each belongs is known when it was prepared: those that the others will take.
  const std::size_t soon = devices_ > 1 ? std::min(devices_ + 1, errands_.size()) : 0;
  for (std::size_t i = 0; i < soon; ++i) prepare(stops_[errands_[i].first]);
  const auto chosen = std::find_if_not(errands_.begin(), errands_.end(),
                                       [&](const Errand& each) { return is_for_another(each, uuid); });
  return hand_out(chosen == errands_.end() ? errands_.begin() : chosen);
}

std::optional<Party::Errand> Party::take_beside(const std::string& uuid, std::size_t open,
                                                const std::function<bool(Stop&)>& suits) {
  if (devices_ > 1 && errands_.size() < kErrandsForEach * devices_ * open) return std::nullopt;
  const auto end = errands_.begin() + static_cast<std::ptrdiff_t>(std::min(kErrandsBeside, errands_.size()));
  const auto chosen = std::find_if(errands_.begin(), end, [&](const Errand& each) {
    Stop& stop = stops_[each.first];
    prepare(stop);
    return stop.run && !is_for_another(each, uuid) && suits(stop);
  });
  if (chosen == end) return std::nullopt;
  return hand_out(chosen);
}

bool Party::give_back(Errand errand, std::size_t at, bool guilty) {
  --under_way_;
  errand.first = at;
  if (!guilty || ++errand.losses < kMostLosses) {
    errands_.push_front(errand);
    return true;
  }
  if (is_tuned(stops_[at])) ++journey_.summary.without_winner;
  return false;
}

void Party::expect(const std::string& uuid) {
  if (std::find(members_.begin(), members_.end(), uuid) == members_.end()) members_.push_back(uuid);
}

void Party::join(const std::string& uuid) {
  ++devices_;
  expect(uuid);
}

void Party::leave(const std::string& uuid) {
  --devices_;
  std::erase(members_, uuid);
}

std::size_t Party::problems_left() const {
  return static_cast<std::size_t>(std::count_if(errands_.begin(), errands_.end(),
                                                [&](const Errand& errand) { return is_tuned(stops_[errand.first]); }));
}

bool Party::needs_ceiling(const Stop& stop) {
  if (stops_[stop.of].unservable) return false;
  return stops_[stop.of].had_work ||
         !journey_.store.ceiling(fingerprint_, stop.bytes, stop.reads, journey_.request.mode);
}

void Party::prepare(Stop& stop) {
  if (stop.run || stop.skipped) return;
  if (stop.goal == Stop::Goal::ceiling && (stop.definition == nullptr || !needs_ceiling(stop))) {
    stop.skipped = stop.definition != nullptr;
    return;
  }
  stop.run = std::make_unique<ProblemRun>(setting_of(stop), *stop.definition, stop.problem);
  stop.had_work = stop.had_work || stop.run->has_work();
  stop.unservable = is_tuned(stop) && stop.run->candidates() == 0;
}

bool Party::compile_stop(Stop& stop) {
  const std::size_t most = kAheadPerWorker * static_cast<std::size_t>(journey_.builder.workers());
  prepare(stop);
  return !stop.run || stop.run->compile_ahead(most);
}

void Party::compile_ahead(const std::vector<std::pair<Errand, std::size_t>>& under_way) {
  std::vector<std::size_t> ahead;
  for (const auto& [errand, at] : under_way) {
    for (std::size_t i = at; i < errand.end; ++i) ahead.push_back(i);
  }
  const std::size_t most = std::max(kStopsAhead, ahead.size());
  for (const Errand& next : errands_) {
    if (ahead.size() >= most) break;
    for (std::size_t i = next.first; i < next.end; ++i) ahead.push_back(i);
  }
  ahead.resize(std::min(ahead.size(), most));
  for (const std::size_t i : ahead) {
    if (journey_.stopped() || !compile_stop(stops_[i])) return;
  }
}

std::chrono::steady_clock::time_point Party::begin(Stop& stop) {
  const std::size_t before = begun_;
  if (!stop.ordinal) stop.ordinal = begun_++;
  if (journey_.request.budget.count() == 0) return Clock::time_point::max();
  const auto now = Clock::now();
  const auto left = std::max(*journey_.start + journey_.request.budget - now, Clock::duration::zero());
  // Devices work on as many problems at once.
  const std::size_t to_come = std::max<std::size_t>(problems_ - std::min(before, problems_ - 1), 1);
  const std::size_t at_once = std::clamp<std::size_t>(devices_, 1, to_come);
  const auto share =
      std::chrono::duration<double, std::nano>(left) * static_cast<double>(at_once) / static_cast<double>(to_come);
  return now + std::chrono::duration_cast<Clock::duration>(kShareOfLooks * share);
}

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/device_group.hpp"

#include <algorithm>
#include <utility>

#include "cache/base/version.hpp"
#include "tuner/sweep/ceiling.hpp"

namespace tilewright {
namespace {

using Clock = std::chrono::steady_clock;

// A ceiling needs only the best copy, not a ranking: short looks. On the emulator also few configs, because each costs
// a run of the host's compiler.
constexpr std::chrono::nanoseconds kCeilingBudget = std::chrono::milliseconds(20);
constexpr std::size_t kCeilingConfigsOnCpu = 4;
// Builds requested ahead of measuring, per compile worker.
constexpr std::size_t kAheadPerWorker = 8;
// Steps whose builds are requested ahead, including ceilings.
constexpr std::size_t kStepsAhead = 4;
// The items at the head of the queue that are searched for one with ready binaries.
constexpr std::size_t kItemsBeside = 4;
// Items that must remain in the queue per device and item in flight before a device takes another.
constexpr std::size_t kItemsForEach = 2;
// The search's share of a problem's time budget. The rest is for the final.
constexpr double kShareOfLooks = 0.8;
// A problem that lost this many devices is dropped.
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

DeviceGroup::DeviceGroup(SweepContext& context, const TrialDevice& device)
    : context_(context),
      fingerprint_(device.facts().fingerprint()),
      row_(store_subjects(device), context.request.command, fingerprint_) {
  make_settings(device);
  make_steps();
}

Store& DeviceGroup::store_subjects(const TrialDevice& device) {
  put_definition(*context_.request.definition);
  context_.store.put_device(device.facts());
  return context_.store;
}

void DeviceGroup::put_definition(const OpDefinition& definition) {
  context_.store.put_interface(definition.interface);
  const std::string hash = definition.interface.hash();
  for (const Implementation& implementation : definition.implementations) {
    context_.store.put_implementation(hash, {implementation.hash, implementation.recipe});
  }
}

void DeviceGroup::make_settings(const TrialDevice& device) {
  const SweepRequest& request = context_.request;
  static_cast<SearchOptions&>(tuning_) = request;
  tuning_.facts = device.facts();
  tuning_.store = &context_.store;
  tuning_.builder = &context_.builder;
  tuning_.trial.mode = request.mode;
  tuning_.trial.versions = {device.driver_version(), request.compiler->version(), version()};
  tuning_.trial.sweep = row_.id();
  tuning_.trial.interrupted = context_.stopped;
  tuning_.only = &request.only;
  tuning_.note = [this](const std::string& line) { context_.listener.note(line); };
  measuring_ = tuning_;
  measuring_.stop.budget = std::min(request.stop.budget, kCeilingBudget);
  measuring_.max_configs = device.facts().is_cpu() ? kCeilingConfigsOnCpu : 0;
  measuring_.strategy = request.strategy == "exhaustive" ? "exhaustive" : "race";
  measuring_.max_trials = 0;
  measuring_.regime = Regime::burst;
  measuring_.again = false;
  measuring_.only = nullptr;
  tuning_.rechecks = &request.rechecks;
  // All former leaders are timed, whatever limits the search.
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

void DeviceGroup::make_steps() {
  SweepRequest request = context_.request;
  if (!request.rechecks.empty()) {
    std::erase_if(request.problems, [&](const Problem& problem) { return leaders_.count(problem.key()) == 0; });
  }
  const OpDefinition* copy = request.ceilings ? find_measure(kCopyOp) : nullptr;
  if (request.ceilings && copy == nullptr) {
    context_.listener.note("there is no op named copy: ceilings are those of the device's own copy alone");
  }
  steps_ = plan_steps(request, copy);
  // The emulator's rates describe no processor.
  if (request.ceilings && !tuning_.facts.is_cpu() && !steps_.empty()) add_rates(request);
  problems_ = static_cast<std::size_t>(std::count_if(steps_.begin(), steps_.end(), is_tuned));
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (steps_[i].goal != Step::Goal::ceiling) queue_.push_back({i, i, 0});
    queue_.back().end = i + 1;
  }
}

void DeviceGroup::add_rates(const SweepRequest& request) {
  for (const std::string& unit : units_of(request)) {
    if (context_.store.compute_rate(fingerprint_, unit)) continue;
    const OpDefinition* op = find_measure(op_of_rate(unit));
    auto step = op != nullptr ? rate_step(*op, unit) : std::nullopt;
    if (step) steps_.push_back(*std::move(step));
  }
}

const OpDefinition* DeviceGroup::find_measure(const char* name) {
  const std::vector<std::string> names = context_.catalogue.names();
  if (std::find(names.begin(), names.end(), name) == names.end()) return nullptr;
  const OpDefinition& definition = context_.catalogue.find(name);
  put_definition(definition);
  return &definition;
}

bool DeviceGroup::is_for_another(const WorkItem& item, const std::string& uuid) const {
  const Step& step = steps_[item.first];
  const std::string home = step.run ? step.run->home() : "";
  return home != uuid && std::find(members_.begin(), members_.end(), home) != members_.end();
}

std::optional<DeviceGroup::WorkItem> DeviceGroup::hand_out(const std::deque<WorkItem>::iterator& chosen) {
  const WorkItem item = *chosen;
  queue_.erase(chosen);
  ++in_flight_;
  return item;
}

std::optional<DeviceGroup::WorkItem> DeviceGroup::take(const std::string& uuid) {
  if (queue_.empty()) return std::nullopt;
  // A prepared step knows which GPU began it, so prepare those that the other devices will take.
  const std::size_t soon = devices_ > 1 ? std::min(devices_ + 1, queue_.size()) : 0;
  for (std::size_t i = 0; i < soon; ++i) prepare(steps_[queue_[i].first]);
  const auto chosen =
      std::find_if_not(queue_.begin(), queue_.end(), [&](const WorkItem& each) { return is_for_another(each, uuid); });
  return hand_out(chosen == queue_.end() ? queue_.begin() : chosen);
}

std::optional<DeviceGroup::WorkItem> DeviceGroup::take_beside(const std::string& uuid, std::size_t open,
                                                              const std::function<bool(Step&)>& suits) {
  if (devices_ > 1 && queue_.size() < kItemsForEach * devices_ * open) return std::nullopt;
  const auto end = queue_.begin() + static_cast<std::ptrdiff_t>(std::min(kItemsBeside, queue_.size()));
  const auto chosen = std::find_if(queue_.begin(), end, [&](const WorkItem& each) {
    Step& step = steps_[each.first];
    prepare(step);
    return step.run && !is_for_another(each, uuid) && suits(step);
  });
  if (chosen == end) return std::nullopt;
  return hand_out(chosen);
}

bool DeviceGroup::give_back(WorkItem item, std::size_t at, bool at_fault) {
  --in_flight_;
  item.first = at;
  if (!at_fault || ++item.losses < kMostLosses) {
    queue_.push_front(item);
    return true;
  }
  if (is_tuned(steps_[at])) ++context_.summary.without_winner;
  return false;
}

void DeviceGroup::expect(const std::string& uuid) {
  if (std::find(members_.begin(), members_.end(), uuid) == members_.end()) members_.push_back(uuid);
}

void DeviceGroup::join(const std::string& uuid) {
  ++devices_;
  expect(uuid);
}

void DeviceGroup::leave(const std::string& uuid) {
  --devices_;
  std::erase(members_, uuid);
}

std::size_t DeviceGroup::problems_left() const {
  return static_cast<std::size_t>(
      std::count_if(queue_.begin(), queue_.end(), [&](const WorkItem& item) { return is_tuned(steps_[item.first]); }));
}

bool DeviceGroup::needs_ceiling(const Step& step) {
  const Step& problem = steps_[step.of];
  if (problem.unservable) return false;
  const auto traffic = std::pair(step.bytes, step.reads);
  if (const auto taken = ceilings_.find(traffic); taken != ceilings_.end()) return taken->second == &step;
  if (!problem.had_work && context_.store.ceiling(fingerprint_, step.bytes, step.reads, context_.request.mode)) {
    return false;
  }
  ceilings_.emplace(traffic, &step);
  return true;
}

void DeviceGroup::prepare(Step& step) {
  if (step.run || step.skipped) return;
  if (step.goal == Step::Goal::ceiling && (step.definition == nullptr || !needs_ceiling(step))) {
    step.skipped = step.definition != nullptr;
    return;
  }
  step.run = std::make_unique<ProblemRun>(setting_of(step), *step.definition, step.problem);
  step.had_work = step.had_work || step.run->has_work();
  step.unservable = is_tuned(step) && step.run->candidates() == 0;
}

bool DeviceGroup::compile_step(Step& step) {
  const std::size_t most = kAheadPerWorker * static_cast<std::size_t>(context_.builder.workers());
  prepare(step);
  return !step.run || step.run->compile_ahead(most);
}

void DeviceGroup::compile_ahead(const std::vector<std::pair<WorkItem, std::size_t>>& in_flight) {
  std::vector<std::size_t> ahead;
  for (const auto& [item, at] : in_flight) {
    for (std::size_t i = at; i < item.end; ++i) ahead.push_back(i);
  }
  const std::size_t most = std::max(kStepsAhead, ahead.size());
  for (const WorkItem& next : queue_) {
    if (ahead.size() >= most) break;
    for (std::size_t i = next.first; i < next.end; ++i) {
      if (!steps_[i].skipped) ahead.push_back(i);
    }
  }
  ahead.resize(std::min(ahead.size(), most));
  for (const std::size_t i : ahead) {
    if (context_.stopped() || !compile_step(steps_[i])) return;
  }
}

std::chrono::steady_clock::time_point DeviceGroup::begin(Step& step) {
  const std::size_t before = begun_;
  if (!step.ordinal) step.ordinal = begun_++;
  if (context_.request.budget.count() == 0) return Clock::time_point::max();
  const auto now = Clock::now();
  const auto left = std::max(*context_.start + context_.request.budget - now, Clock::duration::zero());
  // Devices work on different problems at the same time.
  const std::size_t to_come = std::max<std::size_t>(problems_ - std::min(before, problems_ - 1), 1);
  const std::size_t at_once = std::clamp<std::size_t>(devices_, 1, to_come);
  const auto share =
      std::chrono::duration<double, std::nano>(left) * static_cast<double>(at_once) / static_cast<double>(to_come);
  return now + std::chrono::duration_cast<Clock::duration>(kShareOfLooks * share);
}

}  // namespace tilewright

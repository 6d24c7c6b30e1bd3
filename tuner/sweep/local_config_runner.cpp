// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/local_config_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "cache/driver/profiler.hpp"
#include "tuner/process/moment.hpp"
#include "tuner/sweep/builder.hpp"
#include "tuner/sweep/ceiling.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/limits.hpp"

namespace tilewright {
namespace {

// The length of rounds is estimated by launches for this long, or by this many.
constexpr std::chrono::duration<double, std::nano> kLook = std::chrono::microseconds(300);
constexpr int kMostLooked = 32;
// Filling a cache takes less than a thousandth of a launch this long.
constexpr double kCacheDoesNotShowNs = 5e7;
constexpr std::uint64_t kOtherSeed = 2;

/// A phase of a trial on a profiler's timeline.
ProfilerRange range_of(const char* phase, const Problem& problem, const Config& config) {
  return ProfilerRange([&] { return fmt::format("{} {} {}", phase, problem.key(), config.text()); });
}

/// The workspaces of one executable, cleared if the definition asks for it.
std::vector<std::unique_ptr<DeviceBuffer>> make_workspaces(Device& device, const LaunchPlan& plan) {
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  for (const PlannedWorkspace& workspace : plan.workspaces) {
    buffers.push_back(device.allocate(std::max<std::size_t>(workspace.bytes, 1), "workspace " + workspace.name));
    if (workspace.zero != WorkspaceRecipe::Zero::never) {
      device.fill(buffers.back()->address(), 0, buffers.back()->bytes());
    }
  }
  return buffers;
}

std::vector<Address> addresses_of(const std::vector<std::unique_ptr<DeviceBuffer>>& buffers) {
  std::vector<Address> addresses;
  for (const auto& buffer : buffers) addresses.push_back(buffer->address());
  return addresses;
}

}  // namespace

LocalConfigRunner::LocalConfigRunner(Device& device, MemoryPool& pool, Floors& floors, const OpDefinition& definition,
                                     const Problem& problem, const CompileResult& reference, TrialSetting setting)
    : device_(device),
      pool_(pool),
      floors_(floors),
      definition_(definition),
      problem_(problem),
      reference_(reference),
      setting_(std::move(setting)),
      rest_(rest_for(device.facts(), definition.flops_of(problem), definition.bytes_of(problem))),
      watch_([&device] { return device.readings(); }, setting_.interrupted) {
  in_pool([this] { make_verifier(); });
  pool_.add(*this);
}

LocalConfigRunner::~LocalConfigRunner() { pool_.remove(*this); }

void LocalConfigRunner::count_held(std::size_t free_before) {
  held_ += free_before - std::min(free_before, device_.free_bytes());
}

void LocalConfigRunner::in_pool_afresh(const std::function<void()>& work) {
  try {
    in_pool(work);
  } catch (const DeviceError& error) {
    if (error.status() != kOutOfMemory || held_ == 0) throw;
    evict();
    in_pool(work);
  }
}

void LocalConfigRunner::make_verifier() {
  const ProfilerRange range([this] { return "reference " + problem_.key(); });
  const std::size_t free_before = device_.free_bytes();
  verifier_ = std::make_unique<Verifier>(device_, definition_, problem_, reference_, ArgumentSet::Options(), got_on());
  count_held(free_before);
}

void LocalConfigRunner::evict() {
  sets_.clear();
  pristine_.clear();
  other_verifier_.reset();
  verifier_.reset();
  held_ = 0;
}

void LocalConfigRunner::renew() {
  // Frees all memory first, because there may not be enough for two of each.
  evict();
  make_verifier();
  spoilt_ = false;
}

Verdict LocalConfigRunner::checked_by(Verifier& verifier, const Loaded& loaded) {
  const std::size_t free_before = device_.free_bytes();
  Verdict verdict = verifier.check(*loaded.executable, addresses_of(loaded.workspaces));
  count_held(free_before);
  return verdict;
}

Verdict LocalConfigRunner::check(const Loaded& loaded) {
  if (spoilt_ || !verifier_) renew();
  Verdict verdict = checked_by(*verifier_, loaded);
  if (verdict.right) return verdict;
  if (!verdict.damaged && !verifier_->sound()) {
    renew();
    verdict = checked_by(*verifier_, loaded);
  }
  spoilt_ = verdict.damaged || (!verdict.right && !verifier_->sound());
  return verdict;
}

LocalConfigRunner::Loaded LocalConfigRunner::load(const CompiledConfig& config) {
  Loaded loaded;
  loaded.executable = device_.load(config.binary, config.build->kernels, definition_.interface,
                                   config.implementation->recipe, config.config, problem_);
  loaded.workspaces = make_workspaces(device_, loaded.executable->plan());
  return loaded;
}

StopRule LocalConfigRunner::with_rest(StopRule rule) const {
  rule.rest = rest_;
  return rule;
}

// Called when the first config is timed: if all configs fail, one set is enough.
void LocalConfigRunner::make_sets() {
  if (!sets_.empty()) return;
  const std::size_t free_before = device_.free_bytes();
  try {
    fill_sets();
  } catch (...) {
    // All or none.
    sets_.clear();
    pristine_.clear();
    throw;
  }
  count_held(free_before);
}

void LocalConfigRunner::fill_sets() {
  sets_.push_back(
      std::make_unique<ArgumentSet>(device_, definition_, problem_, ArgumentSet::Options{.reference = &reference_}));
  // The copies for restoring take the same again.
  const ArgumentSet& first = *sets_.front();
  const std::size_t each = 2 * first.bytes();
  // Gaps between rows use memory but no cache.
  const std::size_t touched = std::min(total_bytes(first.args()), first.bytes());
  const double share = static_cast<double>(touched) / static_cast<double>(std::max<std::size_t>(first.bytes(), 1));
  const auto room = static_cast<std::size_t>(share * static_cast<double>(device_.free_bytes() / 2));
  // Whole turns of the draws, so that a round has all of them equally.
  const int draws = static_cast<int>(definition_.draws);
  const int count = (input_sets_for(device_.facts(), touched, room, setting_.mode) + draws - 1) / draws * draws;
  for (int i = 1; i < count && device_.free_bytes() > each; ++i) {
    const ArgumentSet::Options options{.seed = static_cast<std::uint64_t>(i) + 1, .reference = &reference_};
    sets_.push_back(std::make_unique<ArgumentSet>(device_, definition_, problem_, options));
  }
  // If memory ended within a turn.
  const std::size_t turn = static_cast<std::size_t>(draws);
  if (sets_.size() > turn) sets_.resize(sets_.size() / turn * turn);
  for (const auto& set : sets_) {
    for (std::size_t i = 0; i < set->args().size(); ++i) {
      const PlannedArg& arg = set->args()[i];
      if (arg.role != ArgRole::inout) continue;
      const std::size_t bytes = set->tensor(i).bytes;
      Pristine pristine{device_.allocate(bytes, "copy of " + arg.name), {set->values()[i], 0, bytes}};
      pristine.restore.source = pristine.copy->address();
      device_.copy(pristine.restore.source, pristine.restore.destination, bytes);
      pristine_.push_back(std::move(pristine));
    }
  }
}

double LocalConfigRunner::estimate_ns(DeviceExecutable& executable, RoundsRequest request) {
  request.loose = true;
  const int most = request.restore.empty() ? kMostLooked : std::min(kMostLooked, static_cast<int>(request.sets.size()));
  for (request.launches = 1;;) {
    const double estimate = device_.rounds(executable, request)->run();
    // A single launch may look much longer than it is.
    const int wanted = estimate > 0 ? static_cast<int>(std::min(kLook.count() / estimate, double{kMostLooked})) : 1;
    if (std::min(wanted, most) < 2 * request.launches) return estimate;
    request.launches = std::min(wanted, most);
  }
}

void LocalConfigRunner::make_rounds(Loaded& loaded) {
  make_sets();
  // Verification uses strides exactly as aligned as the config claims. The sample's strides may be less aligned.
  sets_.front()->require_alignment(loaded.executable->plan().args);
  static_cast<void>(interrupted());
  std::vector<LaunchArgs> args;
  for (const auto& set : sets_) args.push_back({set->values(), addresses_of(loaded.workspaces)});
  std::vector<Restore> restore;
  for (const Pristine& pristine : pristine_) restore.push_back(pristine.restore);

  RoundsRequest request{.mode = setting_.mode, .launches = 1, .sets = args, .restore = restore};
  const auto set_count = static_cast<int>(args.size());
  const int draws = std::min(static_cast<int>(definition_.draws), set_count);
  if (setting_.mode == MeasureMode::events) {
    request.launches = draws;
  } else {
    // Making a graph takes longer than running it, so one of the right length is made directly.
    const double estimate = estimate_ns(*loaded.executable, request);
    const int turn = estimate < kCacheDoesNotShowNs ? set_count : draws;
    request.launches = launches_for(estimate, kRoundTarget, turn);
    // Inputs are restored only between rounds, so no set may be used twice in one.
    if (!restore.empty()) request.launches = std::min(request.launches, set_count);
  }
  loaded.rounds = device_.rounds(*loaded.executable, request);
  loaded.launches = request.launches;
}

void LocalConfigRunner::complete(Timing& timing, const Loaded& loaded, const DisturbanceWatch::Seen& seen) {
  timing.readings = seen.readings;
  timing.disturbed = seen.disturbed;
  timing.launches_per_round = loaded.launches;
  timing.input_sets = static_cast<int>(sets_.size());
  timing.floor_ns = floors_.ns(setting_.mode, loaded.launches, setting_.interrupted);
}

Timing LocalConfigRunner::time(Loaded& loaded, const StopRule& rule) {
  make_rounds(loaded);
  Timing timing;
  const DisturbanceWatch::Seen seen =
      watch_.over([&] { timing = measure(*loaded.rounds, with_rest(rule), setting_.interrupted); });
  complete(timing, loaded, seen);
  return timing;
}

Timing LocalConfigRunner::time(const CompiledConfig& config, const StopRule& rule) {
  const ProfilerRange range = range_of("measure", problem_, config.config);
  Loaded loaded = load(config);
  return time(loaded, rule);
}

std::vector<Timing> LocalConfigRunner::time_together(std::span<const CompiledConfig> configs, const StopRule& rule) {
  const ProfilerRange range([&] {
    std::string text = "final " + problem_.key();
    for (const CompiledConfig& config : configs) text += " " + config.config.text();
    return text;
  });
  std::vector<Timing> timings(configs.size());
  std::vector<Loaded> loaded(configs.size());
  std::vector<std::size_t> places;
  std::vector<Rounds*> rounds;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    try {
      in_pool([&] {
        loaded[i] = {};
        loaded[i] = load(configs[i]);
        make_rounds(loaded[i]);
      });
    } catch (const DeviceError&) {
      if (!still_answers(device_)) throw;
      loaded[i] = {};
      continue;
    }
    places.push_back(i);
    rounds.push_back(loaded[i].rounds.get());
  }
  std::vector<Timing> measured;
  const DisturbanceWatch::Seen seen =
      watch_.over([&] { measured = measure_together(rounds, with_rest(rule), setting_.interrupted); });
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (measured[i].rounds_ns.empty()) continue;
    complete(measured[i], loaded[places[i]], seen);
    timings[places[i]] = std::move(measured[i]);
  }
  return timings;
}

void LocalConfigRunner::try_config(const CompiledConfig& config, const StopRule& rule, Trial& trial) {
  const auto planned =
      make_plan(definition_.interface, config.implementation->recipe, config.config, problem_, device_.facts());
  if (const auto* illegal = std::get_if<Illegal>(&planned)) throw UsageError(illegal->reason);
  if (auto reason = exceeded_limit(std::get<LaunchPlan>(planned), config.build->kernels, device_.facts())) {
    trial.status = TrialStatus::exceeds_limits;
    trial.reason = std::move(*reason);
    return;
  }
  Loaded loaded = load(config);
  if (interrupted()) return;
  const Verdict verdict = [&] {
    const ProfilerRange range = range_of("verify", problem_, config.config);
    return check(loaded);
  }();
  trial.accuracy = verdict.accuracy;
  if (!verdict.right) {
    trial.status = TrialStatus::wrong_result;
    trial.reason = verdict.reason;
    return;
  }
  if (interrupted()) return;
  trial.phases->verify_us = moment_us() - trial.phases->began_us;
  const ProfilerRange range = range_of("measure", problem_, config.config);
  trial.timing = time(loaded, rule);
  trial.readings = trial.timing->readings;
  trial.reason = trial.timing->disturbed;
}

Trial begin_trial(const TrialSetting& setting, const std::string& gpu_uuid, const Config& config, const Build& build) {
  Trial trial;
  trial.config = config;
  trial.mode = setting.mode;
  trial.gpu_uuid = gpu_uuid;
  trial.versions = setting.versions;
  trial.build_key = build.key;
  trial.sweep = setting.sweep;
  trial.measured_at = std::time(nullptr);
  if (build.ok) return trial;
  trial.status = TrialStatus::compile_failed;
  trial.reason = first_error(build.log);
  return trial;
}

Trial LocalConfigRunner::run(const Implementation& implementation, const Config& config, const Build& build,
                             std::span<const std::byte> binary, const StopRule& rule) {
  Trial trial = begin_trial(setting_, device_.gpu_uuid(), config, build);
  if (!build.ok) return trial;
  Phases& phases = trial.phases.emplace();
  phases.began_us = moment_us();
  try {
    in_pool_afresh([&] { try_config({&implementation, config, &build, binary}, rule, trial); });
  } catch (const DeviceError& error) {
    trial.status = status_of(error);
    trial.reason = error.what();
  } catch (const UsageError& error) {
    // Legal by its constraints, but not with the real residency, which is known only after loading.
    trial.status = TrialStatus::exceeds_limits;
    trial.reason = error.what();
  }
  if (trial.status != TrialStatus::ok) trial.timing.reset();
  const std::int64_t took = moment_us() - phases.began_us;
  (phases.verify_us == 0 ? phases.verify_us : phases.measure_us) = took - phases.verify_us;
  return trial;
}

Verdict LocalConfigRunner::verify(const CompiledConfig& config) {
  const ProfilerRange range = range_of("verify", problem_, config.config);
  return check(load(config));
}

void LocalConfigRunner::drop_other_verifier() {
  const std::size_t free_before = device_.free_bytes();
  other_verifier_.reset();
  const std::size_t free_now = device_.free_bytes();
  held_ -= std::min(held_, free_now - std::min(free_now, free_before));
}

Verdict LocalConfigRunner::check_on_other_data(const Loaded& loaded) {
  if (!other_verifier_) {
    const ArgumentSet::Options options{.seed = kOtherSeed, .in_place = true};
    const std::size_t free_before = device_.free_bytes();
    other_verifier_ = std::make_unique<Verifier>(device_, definition_, problem_, reference_, options, got_on());
    count_held(free_before);
  }
  return checked_by(*other_verifier_, loaded);
}

std::string LocalConfigRunner::check_again(const CompiledConfig& config) {
  const ProfilerRange range = range_of("verify", problem_, config.config);
  Verdict verdict;
  in_pool_afresh([&] {
    const Loaded loaded = load(config);
    verdict = check_on_other_data(loaded);
    if (verdict.right) return;
    // As in check().
    if (!verdict.damaged && !other_verifier_->sound()) {
      drop_other_verifier();
      verdict = check_on_other_data(loaded);
    }
    if (verdict.damaged || (!verdict.right && !other_verifier_->sound())) drop_other_verifier();
  });
  return verdict.right ? "" : "on other data, after timing: " + verdict.reason;
}

std::unique_ptr<ConfigRunner> LocalTrialDevice::set_up(const OpDefinition& definition, const Problem& problem,
                                                       const CompileResult& reference, const TrialSetting& setting) {
  return std::make_unique<LocalConfigRunner>(device_, pool_, floors_, definition, problem, reference, setting);
}

double LocalTrialDevice::memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                   const std::function<bool()>& interrupted) {
  return tilewright::memcpy_ns(device_, bytes, mode, rule, interrupted);
}

bool LocalTrialDevice::answers() { return still_answers(device_); }

}  // namespace tilewright

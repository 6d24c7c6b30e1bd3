// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/launcher.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "cache/base/content_hash.hpp"
#include "cache/base/json_text.hpp"
#include "cache/base/sha256.hpp"
#include "cache/driver/driver_table.hpp"
#include "cache/driver/stream.hpp"
#include "cache/launch/errors.hpp"
#include "cache/launch/pinned_file.hpp"
#include "cache/model/device_name.hpp"

namespace tilewright::launch {

namespace {

/// Compiled configs stay loaded, so a program with ever new shapes needs a bound.
constexpr std::size_t kMostCompiled = 1024;

/// Without the compiler: binaries come with the cache, so only the driver can have changed.
Versions versions_here(const cuda::Driver* driver) {
  return {.driver = driver != nullptr ? driver->version() : 0, .compiler = {}, .tilewright = {}};
}

/// Finds the pinned file now and keeps to it.
LauncherOptions pinned(LauncherOptions options) {
  if (options.snapshot.empty()) return options;
  options.cache = pinned_file(options.cache, options.snapshot);
  options.watch = std::chrono::milliseconds(0);
  return options;
}

}  // namespace

std::uint64_t current_context(const cuda::Driver& driver) {
  unsigned long long id = 0;
  const int status = driver.table().ctx_get_id(nullptr, &id);
  if (status == cuda::kSuccess) return id;
  throw DeviceError(
      fmt::format("no CUDA context is current on this thread ({}): make one current first, with cudaSetDevice and "
                  "cudaFree(0), or cuCtxSetCurrent",
                  driver.describe(status)),
      status);
}

Launcher::Launcher(LauncherOptions options)
    : options_(pinned(std::move(options))),
      resolver_(Sources(options_.cache, options_.fallback, options_.allow_shared_cache)),
      misses_(options_.misses) {
  if (!options_.snapshot.empty()) {
    hash_ = options_.snapshot;
    hashed_ = identity_of(options_.cache);
  }
  // An unknown device is reported now, not at the first query. A GPU of this machine may still appear.
  if (!options_.device.empty() && !gpu_index(options_.device)) query_device();
  if (options_.jit) {
    jit_ = std::make_unique<Jit>(options_.ops);
    resolver_.allow_compiles();
  }
  if (log_.is_on()) {
    const std::string& why = resolver_.sources().cache_error();
    log_.write(why.empty() ? fmt::format("opened {}", resolver_.sources().title())
                           : fmt::format("opened {} as the fallback: {}", resolver_.sources().title(), why));
  }
  watch_ = std::make_unique<PeriodicTask>(options_.watch, [this] { refresh_quietly(); });
}

Op& Launcher::op(const std::string& spec) {
  process_.require_own_process();
  const std::lock_guard lock(mutex_);
  OpIdentity identity = resolver_.identify(spec);
  const std::string key = identity.interface_hash + identity.spec.text();
  const auto found = ops_.find(key);
  if (found != ops_.end()) return *found->second;
  return *ops_.emplace(key, std::make_unique<Op>(*this, std::move(identity))).first->second;
}

void Launcher::refresh() {
  process_.require_own_process();
  if (!options_.snapshot.empty()) return;
  const std::lock_guard turn(refreshing_);
  Sources& sources = resolver_.sources();
  Sources::Changes changes;
  {
    const std::lock_guard lock(mutex_);
    changes = sources.changes();
  }
  // Reading a new file takes long; new shapes are looked up meanwhile.
  Sources::Reopened reopened = sources.reopen(changes);
  std::vector<Place> launched;
  {
    const std::lock_guard lock(mutex_);
    if (!sources.exchange(reopened)) return;
    launched = places();
  }
  // Each shape is launched as before until its own look-up is done.
  for (const Place& place : launched) {
    const std::unique_lock lock = lock_after_others();
    if (is_ending_) return;
    if (!plan_again(place)) place.op->table().forget(place.key);
  }
  if (log_.is_on()) log_.write(fmt::format("looked up {} shapes again, since the cache has changed", launched.size()));
}

std::unique_lock<std::mutex> Launcher::lock_after_others() {
  // A thread that releases a mutex and locks it again overtakes the threads that it woke.
  while (waiting_ > 0) std::this_thread::yield();
  return std::unique_lock(mutex_);
}

std::vector<Launcher::Place> Launcher::places() const {
  std::vector<Place> all;
  for (const auto& [name, op] : ops_) {
    for (const PlanKey& key : op->table().keys()) all.push_back({op.get(), key});
  }
  return all;
}

void Launcher::refresh_quietly() noexcept {
  try {
    refresh();
  } catch (const std::exception& error) {
    // The old state stays in use; a call of refresh() reports the error.
    log_.write(error.what());
  }
}

std::string Launcher::snapshot() {
  process_.require_own_process();
  const std::lock_guard turn(refreshing_);
  std::set<std::string> plans;
  std::string why;
  {
    const std::lock_guard lock(mutex_);
    for (const Place& place : places()) {
      const ReadyPlan* const plan = place.op->table().find(place.key);
      if (plan == nullptr) continue;
      plans.insert(fmt::format("{} {} {}", place.op->problem_of(place.key).key(),
                               contexts_.at(place.key.context).device.fingerprint(), plan->origin));
    }
    Sources& sources = resolver_.sources();
    if (sources.cache() == nullptr) {
      why = sources.cache_error();
    } else if (sources.changes().cache != Sources::Changes::File::none) {
      why = "the cache has changed since it was read: call tw_refresh";
    }
  }
  const std::filesystem::path& file = options_.cache;
  if (std::error_code ignored;
      why.empty() && std::filesystem::exists(wal_of(std::filesystem::canonical(file, ignored)), ignored)) {
    why = "tuners write the cache, so it has no lasting hash";
  } else if (const auto identity = identity_of(file); why.empty() && (!hashed_ || hashed_ != identity)) {
    hash_ = sha256_file(file);
    hashed_ = identity;
  }
  JsonText json;
  json.add("cache", file.string());
  if (why.empty()) {
    json.add("snapshot", "sha256:" + hash_);
  } else {
    json.add("snapshot", std::optional<double>());
    json.add("why", why);
  }
  json.add("pinned", !options_.snapshot.empty());
  json.add("plans", static_cast<std::int64_t>(plans.size()));
  json.add("plans_digest", content_hash(fmt::format("{}", fmt::join(plans, "\n"))));
  return json.text();
}

void Launcher::set_workspace(cuda::Stream stream, cuda::Address address, std::size_t bytes) {
  process_.require_own_process();
  const cuda::Driver& driver = cuda::Driver::get();
  constexpr cuda::Address kAlignment = 256;
  if (address % kAlignment != 0) {
    throw UsageError(fmt::format("a workspace must be aligned to {} bytes; {:#x} is not", kAlignment, address));
  }
  workspaces_.give(current_context(driver), stream, address, bytes);
}

const DeviceFacts& Launcher::facts(const cuda::Driver& driver, int device) {
  const auto found = facts_.find(device);
  if (found != facts_.end()) return found->second;
  return facts_.emplace(device, driver.facts(device)).first->second;
}

const Launcher::Context& Launcher::context_of(const cuda::Driver& driver, std::uint64_t id) {
  const auto found = contexts_.find(id);
  if (found != contexts_.end()) return found->second;
  cuda::Context handle = nullptr;
  cuda::DeviceId device = 0;
  driver.call("asking for the current context", driver.table().ctx_get_current, &handle);
  driver.call("asking for the current context's GPU", driver.table().ctx_get_device, &device);
  return contexts_.emplace(id, Context{handle, facts(driver, device)}).first->second;
}

const ReadyPlan& Launcher::resolve(Op& op, const PlanKey& key, const Problem& problem, const Alignments& alignments) {
  process_.require_own_process();
  ++waiting_;
  const std::lock_guard lock(mutex_);
  --waiting_;
  // Another thread may have made the plan meanwhile.
  if (const ReadyPlan* plan = op.table().find(key)) return *plan;
  const cuda::Driver& driver = cuda::Driver::get();
  const DeviceFacts& device = context_of(driver, key.context).device;
  // A shape's first launch may be under capture.
  const cuda::CaptureRelaxed relaxed(driver);
  const Versions versions = versions_here(&driver);
  const Clock::time_point asked = Clock::now();
  const auto [chosen, plan] =
      resolver_.resolve(driver, {op.identity(), problem, device, versions, alignments}, op.table().last(key));
  note(problem, chosen, asked);
  if (chosen.wanted) compile(*chosen.wanted, problem, {&op, key});
  const bool is_exact =
      chosen.choice && chosen.choice->match.fit == Fit::exact && chosen.choice->match.device == DeviceFit::same_device;
  if (!is_exact) misses_.record(problem.key(), device.fingerprint());
  if (!chosen.choice) throw NoMatchError(chosen.why);
  op.table().put(key, plan);
  return *plan;
}

void Launcher::compile(const PlannedWinner& wanted, const Problem& problem, const Place& place) {
  const DeviceFacts& device = contexts_.at(place.key.context).device;
  const std::string key = Resolver::compile_key(wanted, problem, device);
  if (const auto asked = asked_.find(key); asked != asked_.end()) return asked->second.push_back(place);
  if (compiles_ >= kMostCompiled) return;
  Jit::Job job{problem.key(), wanted.row.winner.trial.config.text(), place.op->identity().interface_hash,
               wanted.row.implementation_hash, to_json(device).dump()};
  const auto done = [this, key](Jit::Compiled* binary, const std::string& why) { compiled(key, binary, why); };
  asked_[key].push_back(place);
  if (jit_->submit(std::move(job), done)) {
    ++compiles_;
  } else {
    asked_.erase(key);
  }
}

void Launcher::compiled(const std::string& key, Jit::Compiled* binary, const std::string& why) noexcept {
  try {
    std::vector<Place> waiting;
    {
      const std::lock_guard lock(mutex_);
      waiting = std::move(asked_.extract(key).mapped());
      if (binary == nullptr) {
        log_.write(why);
        for (const Place& place : waiting) compile_errors_[place.op->problem_of(place.key).key()] = why;
        // No other config is compiled right away: the same obstacle may stop all.
        return resolver_.keep(key, {}, {});
      }
      resolver_.keep(key, std::move(binary->binary), std::move(binary->kernels));
    }
    for (const Place& place : waiting) {
      const std::unique_lock lock = lock_after_others();
      if (is_ending_) return;
      // A place that a refresh left without a plan finds the compiled config at its next launch. The others keep their
      // plan if the compiled config cannot be loaded.
      if (place.op->table().find(place.key) != nullptr) static_cast<void>(plan_again(place));
    }
  } catch (const std::exception&) {
    // The previous plans keep serving.
  }
}

bool Launcher::plan_again(const Place& place) noexcept try {
  const Context& context = contexts_.at(place.key.context);
  const cuda::Driver& driver = cuda::Driver::get();
  // The context may have ended, and another may have its handle.
  const cuda::CurrentContext current(driver, context.handle);
  if (current_context(driver) != place.key.context) return false;
  // Other threads' launches may be under capture.
  const cuda::CaptureRelaxed relaxed(driver);
  const Problem problem = place.op->problem_of(place.key);
  const Versions versions = versions_here(&driver);
  PlanTable& table = place.op->table();
  const Clock::time_point asked = Clock::now();
  auto [chosen, plan] = resolver_.resolve(
      driver, {place.op->identity(), problem, context.device, versions, place.op->alignments_of(place.key.alignment)},
      table.last(place.key));
  note(problem, chosen, asked);
  if (chosen.wanted) compile(*chosen.wanted, problem, place);
  if (!chosen.choice) return false;
  table.put(place.key, std::move(plan));
  return true;
} catch (const std::exception&) {
  return false;
}

void Launcher::note(const Problem& problem, const Chosen& chosen, Clock::time_point asked) {
  const Match match = chosen.choice ? chosen.choice->match : Match{};
  ++answers_.at(static_cast<std::size_t>(match.fit));
  if (chosen.choice && match.freshness == Freshness::stale) ++stale_;
  if (chosen.choice && match.device != DeviceFit::same_device) ++of_other_devices_;
  if (!log_.is_on()) return;
  const std::chrono::duration<double, std::milli> took = Clock::now() - asked;
  std::string line = fmt::format("{}: {} in {:.1f} ms: ", problem.key(), match.text(), took.count());
  if (chosen.choice) {
    const WinnerRow& row = chosen.choice->row;
    line += fmt::format("{}, tuned for {}", row.winner.trial.config.text(), row.problem.key());
  } else {
    line += chosen.why;
  }
  if (!chosen.unread.empty()) line += fmt::format("; not read: {}", chosen.unread);
  log_.write(line);
}

std::string Launcher::counts() {
  process_.require_own_process();
  const std::lock_guard lock(mutex_);
  JsonText json;
  for (const Fit fit : {Fit::exact, Fit::nearest, Fit::base_default, Fit::none}) {
    json.add(name(fit), answers_.at(static_cast<std::size_t>(fit)));
  }
  return json.add("stale", stale_).add("same_architecture", of_other_devices_).text();
}

std::string Launcher::stored_devices_text() {
  std::vector<std::string> known;
  for (const DeviceFacts& device : resolver_.sources().devices()) known.push_back(device.fingerprint());
  return known.empty() ? "it has none" : fmt::format("it has: {}", fmt::join(known, "; "));
}

std::optional<DeviceFacts> Launcher::stored_device(const std::string& text) {
  std::vector<DeviceFacts> named;
  for (DeviceFacts& device : resolver_.sources().devices()) {
    if (device.fingerprint() == text) return std::move(device);
    if (device.name == text) named.push_back(std::move(device));
  }
  if (named.size() == 1) return std::move(named.front());
  return std::nullopt;
}

DeviceFacts Launcher::query_device() {
  if (options_.device == "cpu") return emulator_facts();
  if (const std::optional<int> index = gpu_index(options_.device)) return facts(cuda::Driver::get(), *index);
  if (!options_.device.empty()) {
    if (std::optional<DeviceFacts> device = stored_device(options_.device)) return std::move(*device);
    throw UsageError(fmt::format("'{}' is not cuda:N, cpu, or one device of {}; {}", options_.device,
                                 resolver_.sources().title(), stored_devices_text()));
  }
  std::string why;
  const cuda::Driver* driver = cuda::Driver::find(&why);
  if (driver != nullptr) {
    cuda::DeviceId device = 0;
    if (driver->table().ctx_get_device(&device) == cuda::kSuccess) return facts(*driver, device);
    if (driver->device_count() > 0) return facts(*driver, 0);
    why = "this machine has no GPU";
  }
  throw DeviceError(
      fmt::format("{}; name the device to answer for in the launcher's option `device`: cpu, or a device of {}; {}",
                  why, resolver_.sources().title(), stored_devices_text()));
}

Launcher::Answer Launcher::answer(const Op& op, const Problem& problem) {
  process_.require_own_process();
  const std::lock_guard lock(mutex_);
  DeviceFacts device = query_device();
  // The driver's version is known only if the device is of this machine.
  const bool is_here = options_.device.empty() || gpu_index(options_.device).has_value();
  const Versions versions = versions_here(is_here ? cuda::Driver::find() : nullptr);
  Resolver::Answer answer = resolver_.choose({op.identity(), problem, device, versions, {}});
  const auto error = compile_errors_.find(problem.key());
  return {std::move(answer), std::move(device), error == compile_errors_.end() ? std::string() : error->second,
          misses_.problem()};
}

}  // namespace tilewright::launch

// SPDX-License-Identifier: Apache-2.0
#include "tuner/worker/device_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

constexpr const char* kAll = "all";

}  // namespace

DevicePool::DevicePool(const std::vector<std::string>& names, const DeviceProcess::Settings& settings)
    : settings_(settings) {
  std::unique_lock lock(mutex_);
  // With "all", the first GPU's sight has the number of GPUs.
  const bool all = names.front() == kAll;
  for (const std::string& name : names) begin(all ? "auto" : name, all);
  const auto failed = [this] { return std::ranges::all_of(doors_, &Door::failed); };
  changed_.wait(lock, [&] { return !open_.empty() || failed(); });
  if (open_.empty()) std::rethrow_exception(first_failure_);
}

DevicePool::~DevicePool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  for (Door& door : doors_) door.opener.join();
  std::vector<std::jthread> closing;
  for (Door& door : doors_) closing.emplace_back([&door] { door.process.reset(); });
}

void DevicePool::begin(const std::string& name, bool all) {
  Door& door = doors_.emplace_back();
  door.name = name;
  door.opener = std::jthread([this, &door, all] { open(door, all); });
}

void DevicePool::open(Door& door, bool all) {
  DeviceProcess::Settings own = settings_;
  own.device = door.name;
  own.interrupted = [this] { return closing_ || (settings_.interrupted && settings_.interrupted()); };
  // A process that is started anew sees its device again. The other GPUs are begun once.
  own.seen = [this, &door, begins_others = all](const DeviceSight& sight) mutable {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    door.sight = sight;
    if (std::exchange(begins_others, false)) {
      door.name = "cuda:0";
      for (int i = 1; i < sight.gpus; ++i) begin(fmt::format("cuda:{}", i), false);
    }
    changed_.notify_all();
  };
  try {
    auto process = std::make_unique<DeviceProcess>(std::move(own));
    const std::lock_guard lock(mutex_);
    door.process = std::move(process);
    open_.push_back(door.process.get());
    // Earlier failures are notes now that a device has opened; if none had, the first would be thrown.
    if (open_.size() == 1 && settings_.note) std::ranges::for_each(lost_, settings_.note);
  } catch (const std::exception& error) {
    fail(door, error.what());
  }
  changed_.notify_all();
}

void DevicePool::fail(Door& door, const std::string& why) {
  const std::lock_guard lock(mutex_);
  door.failed = true;
  if (!first_failure_) first_failure_ = std::current_exception();
  if (closing_) return;
  lost_.push_back(fmt::format("{} could not be opened: {}", door.name, why));
  if (!open_.empty() && settings_.note) settings_.note(lost_.back());
}

Devices::State DevicePool::state() {
  const std::lock_guard lock(mutex_);
  State now;
  now.open.assign(open_.begin(), open_.end());
  for (const Door& door : doors_) {
    if (door.process || door.failed) continue;
    now.awaited.push_back(
        {door.name, door.sight ? door.sight->facts.fingerprint() : "", door.sight ? door.sight->uuid : ""});
  }
  return now;
}

DeviceProcess& DevicePool::first() {
  const std::lock_guard lock(mutex_);
  return *open_.front();
}

void DevicePool::wait_for_all() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return std::ranges::all_of(doors_, [](const Door& door) { return door.process || door.failed; });
  });
}

std::vector<std::string> DevicePool::fingerprints() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return std::ranges::all_of(doors_, [](const Door& door) { return door.process || door.failed || door.sight; });
  });
  std::vector<std::string> found;
  for (const Door& door : doors_) {
    if (door.failed) continue;
    std::string fingerprint = (door.process ? door.process->facts() : door.sight->facts).fingerprint();
    if (std::ranges::find(found, fingerprint) == found.end()) found.push_back(std::move(fingerprint));
  }
  return found;
}

std::vector<std::string> DevicePool::lost() {
  const std::lock_guard lock(mutex_);
  return lost_;
}

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tuner/sweep/devices.hpp"
#include "tuner/worker/device_process.hpp"

/// Devices that are opened at once, each in a process of its own and by a thread of its own. The first one that is open
/// can be used; the others come when they are. May be used by one thread.
namespace tilewright {

class DevicePool : public Devices {
 public:
  /// Opens the devices of these names; "all" alone is every GPU, or the emulator where there is none. Waits for the
  /// first. Throws the first failure where none can be opened. `settings.note` hears of devices that cannot be opened
  /// beside others; any thread may call it.
  DevicePool(const std::vector<std::string>& names, const DeviceProcess::Settings& settings);
  /// Gives up devices that are still being opened. All processes end at the same time.
  ~DevicePool() override;

  [[nodiscard]] State state() override;
  /// The one that came first.
  [[nodiscard]] DeviceProcess& first();
  /// Waits until every device is open or could not be opened.
  void wait_for_all();
  /// Of the devices, each once, also of those that are still being opened.
  [[nodiscard]] std::vector<std::string> fingerprints();
  /// The devices that could not be opened so far, in words.
  [[nodiscard]] std::vector<std::string> lost();

 private:
  /// One device on its way. Stays where it is.
  struct Door {
    std::string name;
    std::optional<DeviceSight> sight;
    std::unique_ptr<DeviceProcess> process;
    bool failed = false;
    std::jthread opener;
  };

  /// With the lock.
  void begin(const std::string& name, bool all);
  void open(Door& door, bool all);
  void fail(Door& door, const std::string& why);

  DeviceProcess::Settings settings_;
  std::atomic<bool> closing_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Door> doors_;
  /// In the order in which they came.
  std::vector<DeviceProcess*> open_;
  std::vector<std::string> lost_;
  std::exception_ptr first_failure_;
};

}  // namespace tilewright

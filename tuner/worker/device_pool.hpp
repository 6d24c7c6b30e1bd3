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

/// Devices opened in parallel, each by its own thread in its own process. The first open device can be used while the
/// others are still opening. One thread.
namespace tilewright {

class DevicePool : public Devices {
 public:
  /// Opens the named devices; "all" alone means all GPUs, or the emulator without any. Waits for the first to open.
  /// Throws the first failure if none opens. If some open, `settings.note` hears of the others' failures, from any
  /// thread.
  DevicePool(const std::vector<std::string>& names, const DeviceProcess::Settings& settings);
  /// Abandons devices that are still opening. Ends all processes in parallel.
  ~DevicePool() override;

  [[nodiscard]] State state() override;
  /// The device that opened first.
  [[nodiscard]] DeviceProcess& first();
  /// Waits until each device is open or has failed to open.
  void wait_for_all();
  /// The distinct fingerprints of the devices, including those still opening; waits until they are known.
  [[nodiscard]] std::vector<std::string> fingerprints();
  /// Messages about the devices that failed to open so far.
  [[nodiscard]] std::vector<std::string> lost();

 private:
  /// A device with the thread that opens it. Its address is stable.
  struct Door {
    std::string name;
    std::optional<DeviceSight> sight;
    std::unique_ptr<DeviceProcess> process;
    bool failed = false;
    std::jthread opener;
  };

  /// The caller holds mutex_.
  void begin(const std::string& name, bool all);
  void open(Door& door, bool all);
  void fail(Door& door, const std::string& why);

  DeviceProcess::Settings settings_;
  std::atomic<bool> closing_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Door> doors_;
  /// In the order in which they opened.
  std::vector<DeviceProcess*> open_;
  std::vector<std::string> lost_;
  std::exception_ptr first_failure_;
};

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cli/arguments.hpp"
#include "tuner/worker/device_process.hpp"

/// The devices of a sweep, each in a process of its own: --device and --devices.
namespace tilewright::cli {

/// The names that these options say: one without --devices; "all" alone is all GPUs. Throws UsageError for what cannot be
/// swept together: both options, a device twice, the emulator with a GPU.
[[nodiscard]] std::vector<std::string> device_names(const Arguments& arguments);

class Workplaces {
 public:
  /// Opens the devices of these names at once. One of several that cannot be opened is lost. Throws what opening throws where
  /// none can be. `note` may be called by any thread.
  Workplaces(const std::vector<std::string>& names, const DeviceProcess::Settings& settings);
  Workplaces(const Workplaces&) = delete;
  Workplaces& operator=(const Workplaces&) = delete;
  /// Their processes end at the same time, which takes one of them a moment.
  ~Workplaces();

  /// One at least.
  [[nodiscard]] std::vector<Workplace*> all() const;
  [[nodiscard]] const DeviceProcess& first() const { return *processes_.front(); }
  /// Of the devices, each once.
  [[nodiscard]] std::vector<std::string> fingerprints() const;
  /// What could not be opened, in words.
  [[nodiscard]] const std::vector<std::string>& lost() const noexcept { return lost_; }

 private:
  void open(const std::vector<std::string>& names, const DeviceProcess::Settings& settings);

  std::vector<std::unique_ptr<DeviceProcess>> processes_;
  std::vector<std::string> lost_;
};

/// As the options say; null when interrupted meanwhile.
[[nodiscard]] std::unique_ptr<Workplaces> open_workplaces(const Arguments& arguments,
                                                          std::function<void(const std::string&)> note);

}  // namespace tilewright::cli

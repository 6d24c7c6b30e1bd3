// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tuner/sweep/config_runner.hpp"

/// The devices of a sweep: some are there when it begins, others may come while it is under way, so that one that opens
/// slowly holds none of the rest up.
namespace tilewright {

class Devices {
 public:
  /// One that is still being opened.
  struct Awaited {
    std::string name;
    /// Of the device, as far as it is known before it is open; else empty.
    std::string fingerprint;
    std::string uuid;
  };
  struct State {
    /// In the order in which they came; they stay where they are.
    std::vector<TrialDevice*> open;
    std::vector<Awaited> awaited;
  };

  Devices() = default;
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  virtual ~Devices() = default;

  /// Asked by one thread, often while anything is awaited. One that cannot be opened is awaited no more.
  [[nodiscard]] virtual State state() = 0;
};

/// Those that are all open.
class OpenDevices : public Devices {
 public:
  explicit OpenDevices(std::span<TrialDevice* const> open) : open_(open.begin(), open.end()) {}
  [[nodiscard]] State state() override { return {open_, {}}; }

 private:
  std::vector<TrialDevice*> open_;
};

}  // namespace tilewright

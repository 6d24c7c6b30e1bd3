// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tuner/sweep/config_runner.hpp"

/// The devices of a sweep. Some are open when it begins and others may join later, so that a slow one delays no other.
namespace tilewright {

class Devices {
 public:
  /// A device that is still being opened.
  struct Awaited {
    std::string name;
    /// The device's, as far as known before it is open; else empty.
    std::string fingerprint;
    std::string uuid;
  };
  struct State {
    /// In the order they came. The pointers stay valid.
    std::vector<TrialDevice*> open;
    std::vector<Awaited> awaited;
  };

  Devices() = default;
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;
  virtual ~Devices() = default;

  /// Called by one thread, often while devices are awaited. A device that cannot be opened is no longer awaited.
  [[nodiscard]] virtual State state() = 0;
};

/// Devices that are all open.
class OpenDevices : public Devices {
 public:
  explicit OpenDevices(std::span<TrialDevice* const> open) : open_(open.begin(), open.end()) {}
  [[nodiscard]] State state() override { return {open_, {}}; }

 private:
  std::vector<TrialDevice*> open_;
};

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/compile/compiler.hpp"
#include "tuner/definition/definition.hpp"
#include "tuner/measure/measure.hpp"
#include "tuner/verify/verify.hpp"

/// A sweep's view of a device: to set problems up on it, and to try configs on them. By a device of this process
/// (trial_runner.hpp), or by one that a process of its own opened (worker/device_process.hpp). Belong to the sweep's
/// thread.
namespace tilewright {

/// The settings that all trials of a sweep share.
struct TrialSetting {
  MeasureMode mode = MeasureMode::cold;
  Versions versions;
  std::int64_t sweep = 0;
  std::function<bool()> interrupted;
};

/// A config that is known to be right, with the build that it runs. What is pointed to must outlive the call.
struct CompiledConfig {
  const Implementation* implementation = nullptr;
  Config config;
  const Build* build = nullptr;
  std::span<const std::byte> binary;
};

class ConfigRunner {
 public:
  ConfigRunner() = default;
  ConfigRunner(const ConfigRunner&) = delete;
  ConfigRunner& operator=(const ConfigRunner&) = delete;
  virtual ~ConfigRunner() = default;

  /// Load, verify, measure by `rule`. Whatever the config does wrong is the trial's status, never an exception; a trial
  /// cut short by an interrupt has no timing and must not be stored. `binary` is empty when the build failed.
  [[nodiscard]] virtual Trial run(const Implementation& implementation, const Config& config, const Build& build,
                                  std::span<const std::byte> binary, const StopRule& rule) = 0;

  /// Times configs in turns, a round of each (A B C A B C…), so that a clock that drifts is the same for all of them.
  /// One Timing for each, in their order, of equally many rounds, kept in the order in which they ran: round i of one
  /// is next to round i of every other. `rule.budget` is of one config: together they take as many. A config that fails
  /// here, or that memory does not suffice for, has a Timing without rounds; so have all when interrupted before the
  /// first.
  [[nodiscard]] virtual std::vector<Timing> time_together(std::span<const CompiledConfig> configs,
                                                          const StopRule& rule) = 0;

  /// Times a config that is known to be right, alone. Throws DeviceError when it fails.
  [[nodiscard]] virtual Timing time(const CompiledConfig& config, const StopRule& rule) = 0;

  /// Checks a config and no more, with the errors of each output. Throws UsageError when it is illegal here,
  /// DeviceError when it fails. A verdict without outputs when interrupted.
  [[nodiscard]] virtual Verdict verify(const CompiledConfig& config) = 0;

  /// Checks a config again on other data, in place where the op allows that. Empty when it is right, else the reason.
  /// Throws DeviceError when it fails.
  [[nodiscard]] virtual std::string check_again(const CompiledConfig& config) = 0;
};

/// A device, wherever it is opened.
class TrialDevice {
 public:
  TrialDevice() = default;
  TrialDevice(const TrialDevice&) = delete;
  TrialDevice& operator=(const TrialDevice&) = delete;
  virtual ~TrialDevice() = default;

  [[nodiscard]] virtual const DeviceFacts& facts() const noexcept = 0;
  /// "cuda:0" or "cpu".
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;
  /// Empty on the emulator.
  [[nodiscard]] virtual const std::string& gpu_uuid() const noexcept = 0;
  /// As in Versions::driver.
  [[nodiscard]] virtual int driver_version() const noexcept = 0;

  /// Makes the problem's inputs and runs its reference. Throws DeviceError when that cannot be done, as when memory
  /// does not suffice; nothing when interrupted. `definition` and this must outlive the result.
  [[nodiscard]] virtual std::unique_ptr<ConfigRunner> set_up(const OpDefinition& definition, const Problem& problem,
                                                             const CompileResult& reference,
                                                             const TrialSetting& setting) = 0;
  /// As sweep/ceiling.hpp's memcpy_ns.
  [[nodiscard]] virtual double memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                         const std::function<bool()>& interrupted) = 0;
  /// Lets go of the device, where that is possible, until it is asked for something again: a tuner that waits must not
  /// be another one's second process on the GPU.
  virtual void leave() {}
  /// Asked after a failure: false when nothing more can be measured here.
  [[nodiscard]] virtual bool answers() = 0;
};

}  // namespace tilewright

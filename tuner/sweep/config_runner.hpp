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

/// A sweep's interface to a device: sets up problems and tries configs on them. The device belongs to this process
/// (local_config_runner.hpp) or to a worker process (worker/device_process.hpp). For the sweep's thread.
namespace tilewright {

/// The settings that all trials of a sweep share.
struct TrialSetting {
  MeasureMode mode = MeasureMode::cold;
  Versions versions;
  std::int64_t sweep = 0;
  std::function<bool()> interrupted;
};

/// A verified config with the build that it runs. Its pointers must outlive the call.
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

  /// Loads, verifies, and measures by `rule`. The config's faults become the trial's status, not an exception. A trial
  /// cut short by an interrupt has no timing and must not be stored. `binary` is empty if the build failed.
  [[nodiscard]] virtual Trial run(const Implementation& implementation, const Config& config, const Build& build,
                                  std::span<const std::byte> binary, const StopRule& rule) = 0;

  /// Times configs in turns, a round of each (A B C A B C…), so that clock drift affects all equally. Returns one
  /// Timing per config, in their order, with equally many rounds in the order they ran: rounds i are adjacent.
  /// `rule.budget` is per config. A config that fails here, or for which memory runs out, has a Timing without rounds,
  /// as have all if interrupted before the first round.
  [[nodiscard]] virtual std::vector<Timing> time_together(std::span<const CompiledConfig> configs,
                                                          const StopRule& rule) = 0;

  /// Times a verified config alone. Throws DeviceError if it fails.
  [[nodiscard]] virtual Timing time(const CompiledConfig& config, const StopRule& rule) = 0;

  /// Only verifies a config, with the errors of each output. Throws UsageError if the config is illegal here,
  /// DeviceError if it fails. Returns a verdict without outputs if interrupted.
  [[nodiscard]] virtual Verdict verify(const CompiledConfig& config) = 0;

  /// Verifies a config again on other data, in place of each input that the op allows. Returns the fault, or an empty
  /// text. Throws DeviceError if it fails.
  [[nodiscard]] virtual std::string check_again(const CompiledConfig& config) = 0;
};

/// A device of this process or of another one.
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

  /// Makes the problem's inputs and runs its reference. Null if interrupted. Throws DeviceError on failure, such as too
  /// little memory. `definition` and this object must outlive the result.
  [[nodiscard]] virtual std::unique_ptr<ConfigRunner> set_up(const OpDefinition& definition, const Problem& problem,
                                                             const CompileResult& reference,
                                                             const TrialSetting& setting) = 0;
  /// As memcpy_ns() in sweep/ceiling.hpp.
  [[nodiscard]] virtual double memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                         const std::function<bool()>& interrupted) = 0;
  /// Releases the device until the next call, if possible: a waiting tuner must not be a second process on the GPU.
  virtual void leave() {}
  /// Whether the device can still measure after a failure.
  [[nodiscard]] virtual bool answers() = 0;
};

}  // namespace tilewright

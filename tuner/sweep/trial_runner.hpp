// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/bench/bench.hpp"
#include "tuner/definition/definition.hpp"
#include "tuner/device/device.hpp"
#include "tuner/verify/verify.hpp"

/// One problem on one device, made ready: its inputs, its reference result and its rotating input sets are made once
/// and serve every config. Runs on the device's thread.
namespace tilewright {

/// What all trials of a sweep share.
struct TrialSetting {
  MeasureMode mode = MeasureMode::cold;
  StopRule stop;
  Versions versions;
  std::int64_t sweep = 0;
  std::function<bool()> interrupted;
};

class TrialRunner {
 public:
  /// Allocates, fills and runs the reference. Throws DeviceError when memory does not suffice.
  TrialRunner(Device& device, const OpDefinition& definition, const Problem& problem, const CompileResult& reference,
              TrialSetting setting);

  /// Load, verify, measure. Whatever the config does wrong is the trial's status, never an exception; a trial cut short
  /// by an interrupt has no timing and must not be stored. `binary` is empty when the build failed.
  [[nodiscard]] Trial run(const Implementation& implementation, const Config& config, const Build& build,
                          std::span<const std::byte> binary);

  /// Checks a config again on other data, in place where the op allows that. Empty when it is right, else the reason.
  [[nodiscard]] std::string check_again(const Implementation& implementation, const Config& config, const Build& build,
                                        std::span<const std::byte> binary);

  /// Times a config that is known to be right.
  [[nodiscard]] Timing time(const Implementation& implementation, const Config& config, const Build& build,
                            std::span<const std::byte> binary);

 private:
  /// An inout tensor's first content, for the rounds to put back.
  struct Pristine {
    std::unique_ptr<DeviceBuffer> copy;
    Restore restore;
  };

  [[nodiscard]] std::unique_ptr<DeviceExecutable> load(const Implementation& implementation, const Config& config,
                                                       const Build& build, std::span<const std::byte> binary);
  void make_sets();
  [[nodiscard]] Timing time(DeviceExecutable& executable, std::span<const Address> workspaces);
  /// Rounds of as many launches as make one long enough to time; sets `request.launches`.
  [[nodiscard]] std::unique_ptr<Rounds> long_enough(DeviceExecutable& executable, RoundsRequest& request,
                                                    double estimate_ns);
  [[nodiscard]] double floor_ns(int launches);
  void try_config(const Implementation& implementation, const Config& config, const Build& build,
                  std::span<const std::byte> binary, Trial& trial);

  Device& device_;
  const OpDefinition& definition_;
  Problem problem_;
  CompileResult reference_;
  TrialSetting setting_;
  Verifier verifier_;
  std::unique_ptr<Verifier> other_verifier_;
  std::vector<std::unique_ptr<ArgumentSet>> sets_;
  std::vector<Pristine> pristine_;
  std::map<int, double> floors_;
};

}  // namespace tilewright

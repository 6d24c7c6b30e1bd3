// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tuner/worker/device_process.hpp"

/// One problem that is set up in a DeviceProcess. When that process is lost, the problem is set up again in the next
/// one.
namespace tilewright {

class RemoteConfigRunner : public ConfigRunner {
 public:
  /// `process` and `definition` must outlive it.
  RemoteConfigRunner(DeviceProcess& process, const OpDefinition& definition, const Problem& problem,
                     CompileResult reference, TrialSetting setting);
  ~RemoteConfigRunner() override;

  /// Sets the problem up where it is not. False when interrupted. Throws DeviceError when it cannot be.
  [[nodiscard]] bool set_up();

  /// A config that crashes its process, or reports a crash, is tried once more in a new one, and `crashed` only if that
  /// happens again. One that does not get on is `timed_out` at once.
  [[nodiscard]] Trial run(const Implementation& implementation, const Config& config, const Build& build,
                          std::span<const std::byte> binary, const StopRule& rule) override;
  [[nodiscard]] std::vector<Timing> time_together(std::span<const CompiledConfig> configs,
                                                  const StopRule& rule) override;
  [[nodiscard]] Timing time(const CompiledConfig& config, const StopRule& rule) override;
  [[nodiscard]] Verdict verify(const CompiledConfig& config) override;
  [[nodiscard]] std::string check_again(const CompiledConfig& config) override;

 private:
  using Answer = DeviceProcess::Answer;
  /// Asks about the problem, which is set up first where that is needed.
  [[nodiscard]] Answer ask(Message question, std::chrono::milliseconds patience);
  /// The same, a second time in a new process when the first one is lost or its answer is none that `read` can read.
  /// Throws what the worker threw, and DeviceError when it is lost twice or does not get on. Does not read when
  /// interrupted.
  void ask_twice(const Message& question, const std::string& what, const std::function<void(const Message&)>& read);
  /// The longest silence of a config.
  [[nodiscard]] std::chrono::milliseconds patience() const;
  void learn(const Trial& trial);

  DeviceProcess& process_;
  const OpDefinition& definition_;
  Problem problem_;
  CompileResult reference_;
  TrialSetting setting_;
  std::int64_t id_;
  /// Of the process that it is set up in; 0: none.
  int generation_ = 0;
  std::chrono::nanoseconds set_up_took_{0};
  /// A round of the best config so far, in all; 0: none is known.
  double best_round_ns_ = 0;
};

}  // namespace tilewright

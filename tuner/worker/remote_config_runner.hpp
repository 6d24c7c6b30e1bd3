// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tuner/worker/device_process.hpp"

/// A problem set up in a DeviceProcess. If that process is lost, the problem is set up again in the next one. One
/// thread.
namespace tilewright {

class RemoteConfigRunner : public ConfigRunner {
 public:
  /// `process` and `definition` must outlive it.
  RemoteConfigRunner(DeviceProcess& process, const OpDefinition& definition, const Problem& problem,
                     CompileResult reference, TrialSetting setting);
  ~RemoteConfigRunner() override;

  /// Sets the problem up, unless the current process has it. Returns false on interrupt. Throws DeviceError on failure.
  [[nodiscard]] bool set_up();

  /// A config that crashes its process, or reports a crash, is tried once more in a new process, and is `crashed` if it
  /// crashes again. A config without progress is `timed_out` at once.
  [[nodiscard]] Trial run(const Implementation& implementation, const Config& config, const Build& build,
                          std::span<const std::byte> binary, const StopRule& rule) override;
  [[nodiscard]] std::vector<Timing> time_together(std::span<const CompiledConfig> configs,
                                                  const StopRule& rule) override;
  [[nodiscard]] Timing time(const CompiledConfig& config, const StopRule& rule) override;
  [[nodiscard]] Verdict verify(const CompiledConfig& config) override;
  [[nodiscard]] std::string check_again(const CompiledConfig& config) override;

 private:
  using Answer = DeviceProcess::Answer;
  /// Asks about the problem, after setting it up if needed.
  [[nodiscard]] Answer ask(Message question, std::chrono::milliseconds patience);
  /// Asks, and once more in a new process if the first is lost or `read` cannot read its answer. Throws the worker's
  /// error, and DeviceError if the second fails, too, or makes no progress. On interrupt `read` is not called.
  void ask_twice(const Message& question, const std::string& what, const std::function<void(const Message&)>& read);
  /// The longest silence that a config may take.
  [[nodiscard]] std::chrono::milliseconds patience() const;
  void learn(const Trial& trial);

  DeviceProcess& process_;
  const OpDefinition& definition_;
  Problem problem_;
  CompileResult reference_;
  TrialSetting setting_;
  std::int64_t id_;
  /// Generation of the process that has the problem; 0: none.
  int generation_ = 0;
  std::chrono::nanoseconds set_up_took_{0};
  /// Time of a whole round of the best config so far; 0: unknown.
  double best_round_ns_ = 0;
};

}  // namespace tilewright

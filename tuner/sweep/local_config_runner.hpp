// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tuner/device/device.hpp"
#include "tuner/measure/disturbance_watch.hpp"
#include "tuner/sweep/config_runner.hpp"
#include "tuner/sweep/floors.hpp"
#include "tuner/sweep/memory_pool.hpp"
#include "tuner/verify/verify.hpp"

/// One problem that is set up on a device of this process. Its inputs, reference result and rotating input sets serve
/// all configs. Belongs to the device's thread.
namespace tilewright {

/// A trial before it runs, with all known fields; `compile_failed` with the reason if the build failed.
[[nodiscard]] Trial begin_trial(const TrialSetting& setting, const std::string& gpu_uuid, const Config& config,
                                const Build& build);

class LocalConfigRunner : public ConfigRunner, private MemoryPool::User {
 public:
  /// Allocates, fills and runs the reference. Throws DeviceError if memory runs out. `device`, its memory pool, its
  /// floors and `definition` must outlive the runner.
  LocalConfigRunner(Device& device, MemoryPool& pool, Floors& floors, const OpDefinition& definition,
                    const Problem& problem, const CompileResult& reference, TrialSetting setting);
  ~LocalConfigRunner() override;

  /// Ignores `rule.rest`: a device that computes without pause rests after each round as the problem needs.
  [[nodiscard]] Trial run(const Implementation& implementation, const Config& config, const Build& build,
                          std::span<const std::byte> binary, const StopRule& rule) override;
  [[nodiscard]] std::vector<Timing> time_together(std::span<const CompiledConfig> configs,
                                                  const StopRule& rule) override;
  [[nodiscard]] Timing time(const CompiledConfig& config, const StopRule& rule) override;
  [[nodiscard]] Verdict verify(const CompiledConfig& config) override;
  [[nodiscard]] std::string check_again(const CompiledConfig& config) override;

 private:
  /// An inout tensor's initial content, restored before rounds.
  struct Pristine {
    std::unique_ptr<DeviceBuffer> copy;
    Restore restore;
  };

  /// A config on the device, with its workspaces and the inputs of its rounds.
  struct Loaded {
    std::unique_ptr<DeviceExecutable> executable;
    std::vector<std::unique_ptr<DeviceBuffer>> workspaces;
    std::unique_ptr<Rounds> rounds;
    int launches = 1;
  };

  void evict() override;
  [[nodiscard]] std::size_t held() const override { return held_; }
  /// Calls `work` with as much memory as possible.
  void in_pool(const std::function<void()>& work) { pool_.use(*this, work, setting_.interrupted); }
  /// As in_pool(). If memory runs out, calls `work` once more with nothing else of this problem in memory.
  void in_pool_afresh(const std::function<void()>& work);
  /// Counts the memory taken since `free_before` bytes were free.
  void count_held(std::size_t free_before);
  void make_verifier();
  /// Makes inputs, reference and input sets again.
  void renew();
  /// A verdict, with the tensors counted that it is the first to need.
  [[nodiscard]] Verdict checked_by(Verifier& verifier, const Loaded& loaded);
  /// Verifies a config. If it wrote outside its outputs, or if another config damaged the reference, everything is made
  /// again before the next verdict.
  [[nodiscard]] Verdict check(const Loaded& loaded);
  /// Verifies a config on other data, in place of each input that the op allows.
  [[nodiscard]] Verdict check_on_other_data(const Loaded& loaded);
  void drop_other_verifier();
  /// Called between steps, so that a waiting process sees progress.
  [[nodiscard]] bool interrupted() const { return setting_.interrupted && setting_.interrupted(); }
  /// Reports progress during the reference, which may take seconds that are not the config's.
  [[nodiscard]] std::function<void()> got_on() const {
    return [this] { static_cast<void>(interrupted()); };
  }
  [[nodiscard]] Loaded load(const CompiledConfig& config);
  [[nodiscard]] StopRule with_rest(StopRule rule) const;
  void make_sets();
  void fill_sets();
  void make_rounds(Loaded& loaded);
  /// Adds the known facts of the rounds to their statistics.
  void complete(Timing& timing, const Loaded& loaded, const DisturbanceWatch::Seen& seen);
  [[nodiscard]] Timing time(Loaded& loaded, const StopRule& rule);
  /// An estimate of a launch's time.
  [[nodiscard]] double estimate_ns(DeviceExecutable& executable, RoundsRequest request);
  void try_config(const CompiledConfig& config, const StopRule& rule, Trial& trial);

  Device& device_;
  MemoryPool& pool_;
  Floors& floors_;
  const OpDefinition& definition_;
  Problem problem_;
  CompileResult reference_;
  TrialSetting setting_;
  int rest_;
  DisturbanceWatch watch_;
  std::unique_ptr<Verifier> verifier_;
  bool spoilt_ = false;
  std::unique_ptr<Verifier> other_verifier_;
  std::vector<std::unique_ptr<ArgumentSet>> sets_;
  std::vector<Pristine> pristine_;
  std::size_t held_ = 0;
};

/// A device of this process, for a sweep.
class LocalTrialDevice : public TrialDevice {
 public:
  /// `device` must outlive it.
  explicit LocalTrialDevice(Device& device) : device_(device), pool_(device), floors_(device), name_(device.name()) {}

  [[nodiscard]] const DeviceFacts& facts() const noexcept override { return device_.facts(); }
  [[nodiscard]] const std::string& name() const noexcept override { return name_; }
  [[nodiscard]] const std::string& gpu_uuid() const noexcept override { return device_.gpu_uuid(); }
  [[nodiscard]] int driver_version() const noexcept override { return device_.driver_version(); }
  [[nodiscard]] std::unique_ptr<ConfigRunner> set_up(const OpDefinition& definition, const Problem& problem,
                                                     const CompileResult& reference,
                                                     const TrialSetting& setting) override;
  [[nodiscard]] double memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                 const std::function<bool()>& interrupted) override;
  [[nodiscard]] bool answers() override;

 private:
  Device& device_;
  MemoryPool pool_;
  Floors floors_;
  std::string name_;
};

}  // namespace tilewright

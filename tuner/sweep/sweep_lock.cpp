// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/sweep_lock.hpp"

#include <utility>

namespace tilewright {
namespace {

class UnlockedConfigRunner : public ConfigRunner {
 public:
  UnlockedConfigRunner(std::unique_ptr<ConfigRunner> runner, SweepLock& lock)
      : runner_(std::move(runner)), lock_(lock) {}
  ~UnlockedConfigRunner() override {
    const SweepLock::Released released(lock_);
    runner_.reset();
  }

  [[nodiscard]] Trial run(const Implementation& implementation, const Config& config, const Build& build,
                          std::span<const std::byte> binary, const StopRule& rule) override {
    const SweepLock::Released released(lock_);
    return runner_->run(implementation, config, build, binary, rule);
  }
  [[nodiscard]] std::vector<Timing> time_together(std::span<const CompiledConfig> configs,
                                                  const StopRule& rule) override {
    const SweepLock::Released released(lock_);
    return runner_->time_together(configs, rule);
  }
  [[nodiscard]] Timing time(const CompiledConfig& config, const StopRule& rule) override {
    const SweepLock::Released released(lock_);
    return runner_->time(config, rule);
  }
  [[nodiscard]] Verdict verify(const CompiledConfig& config) override {
    const SweepLock::Released released(lock_);
    return runner_->verify(config);
  }
  [[nodiscard]] std::string check_again(const CompiledConfig& config) override {
    const SweepLock::Released released(lock_);
    return runner_->check_again(config);
  }

 private:
  std::unique_ptr<ConfigRunner> runner_;
  SweepLock& lock_;
};

}  // namespace

void SweepLock::lock() {
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = next_++;
  served_.wait(lock, [&] { return serving_ == ticket; });
}

void SweepLock::unlock() {
  {
    const std::lock_guard lock(mutex_);
    ++serving_;
  }
  served_.notify_all();
}

std::unique_ptr<ConfigRunner> UnlockedTrialDevice::set_up(const OpDefinition& definition, const Problem& problem,
                                                          const CompileResult& reference, const TrialSetting& setting) {
  std::unique_ptr<ConfigRunner> runner;
  {
    const SweepLock::Released released(lock_);
    runner = device_.set_up(definition, problem, reference, setting);
  }
  if (!runner) return nullptr;
  return std::make_unique<UnlockedConfigRunner>(std::move(runner), lock_);
}

double UnlockedTrialDevice::memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                      const std::function<bool()>& interrupted) {
  const SweepLock::Released released(lock_);
  return device_.memcpy_ns(bytes, mode, rule, interrupted);
}

bool UnlockedTrialDevice::answers() {
  const SweepLock::Released released(lock_);
  return device_.answers();
}

}  // namespace tilewright

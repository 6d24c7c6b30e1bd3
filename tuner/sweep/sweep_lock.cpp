// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/sweep_lock.hpp"

#include <utility>

namespace tilewright {
namespace {

class UnlockedTrials : public Trials {
 public:
  UnlockedTrials(std::unique_ptr<Trials> trials, SweepLock& lock) : trials_(std::move(trials)), lock_(lock) {}
  ~UnlockedTrials() override {
    const SweepLock::Released released(lock_);
    trials_.reset();
  }

  [[nodiscard]] Trial run(const Implementation& implementation, const Config& config, const Build& build,
                          std::span<const std::byte> binary, const StopRule& rule) override {
    const SweepLock::Released released(lock_);
    return trials_->run(implementation, config, build, binary, rule);
  }
  [[nodiscard]] std::vector<Timing> time_together(std::span<const Finalist> finalists, const StopRule& rule) override {
    const SweepLock::Released released(lock_);
    return trials_->time_together(finalists, rule);
  }
  [[nodiscard]] Timing time(const Finalist& config, const StopRule& rule) override {
    const SweepLock::Released released(lock_);
    return trials_->time(config, rule);
  }
  [[nodiscard]] Verdict verify(const Finalist& config) override {
    const SweepLock::Released released(lock_);
    return trials_->verify(config);
  }
  [[nodiscard]] std::string check_again(const Finalist& config) override {
    const SweepLock::Released released(lock_);
    return trials_->check_again(config);
  }

 private:
  std::unique_ptr<Trials> trials_;
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

std::unique_ptr<Trials> UnlockedTrialDevice::set_up(const OpDefinition& definition, const Problem& problem,
                                                    const CompileResult& reference, const TrialSetting& setting) {
  std::unique_ptr<Trials> trials;
  {
    const SweepLock::Released released(lock_);
    trials = device_.set_up(definition, problem, reference, setting);
  }
  if (!trials) return nullptr;
  return std::make_unique<UnlockedTrials>(std::move(trials), lock_);
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

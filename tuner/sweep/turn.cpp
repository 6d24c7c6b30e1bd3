// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/turn.hpp"

#include <utility>

namespace tilewright {
namespace {

class AwayTrials : public Trials {
 public:
  AwayTrials(std::unique_ptr<Trials> trials, Turn& turn) : trials_(std::move(trials)), turn_(turn) {}
  ~AwayTrials() override {
    const Turn::Away away(turn_);
    trials_.reset();
  }

  [[nodiscard]] Trial run(const Implementation& implementation, const Config& config, const Build& build,
                          std::span<const std::byte> binary, const StopRule& rule) override {
    const Turn::Away away(turn_);
    return trials_->run(implementation, config, build, binary, rule);
  }
  [[nodiscard]] std::vector<Timing> time_together(std::span<const Finalist> finalists, const StopRule& rule) override {
    const Turn::Away away(turn_);
    return trials_->time_together(finalists, rule);
  }
  [[nodiscard]] Timing time(const Finalist& config, const StopRule& rule) override {
    const Turn::Away away(turn_);
    return trials_->time(config, rule);
  }
  [[nodiscard]] Verdict verify(const Finalist& config) override {
    const Turn::Away away(turn_);
    return trials_->verify(config);
  }
  [[nodiscard]] std::string check_again(const Finalist& config) override {
    const Turn::Away away(turn_);
    return trials_->check_again(config);
  }

 private:
  std::unique_ptr<Trials> trials_;
  Turn& turn_;
};

}  // namespace

void Turn::take() {
  std::unique_lock lock(mutex_);
  const std::uint64_t mine = next_++;
  served_.wait(lock, [&] { return serving_ == mine; });
}

void Turn::give() {
  {
    const std::lock_guard lock(mutex_);
    ++serving_;
  }
  served_.notify_all();
}

std::unique_ptr<Trials> AwayWorkplace::set_up(const OpDefinition& definition, const Problem& problem,
                                              const CompileResult& reference, const TrialSetting& setting) {
  std::unique_ptr<Trials> trials;
  {
    const Turn::Away away(turn_);
    trials = workplace_.set_up(definition, problem, reference, setting);
  }
  if (!trials) return nullptr;
  return std::make_unique<AwayTrials>(std::move(trials), turn_);
}

double AwayWorkplace::memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                const std::function<bool()>& interrupted) {
  const Turn::Away away(turn_);
  return workplace_.memcpy_ns(bytes, mode, rule, interrupted);
}

bool AwayWorkplace::answers() {
  const Turn::Away away(turn_);
  return workplace_.answers();
}

}  // namespace tilewright

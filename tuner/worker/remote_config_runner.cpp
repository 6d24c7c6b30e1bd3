// SPDX-License-Identifier: Apache-2.0
#include "tuner/worker/remote_config_runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tuner/process/moment.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/local_config_runner.hpp"

namespace tilewright {
namespace {

// Some fp64 references take minutes on the emulator.
constexpr std::chrono::minutes kPatienceToSetUp{10};
// Time a config may need besides its launches: loading, workspaces, its graph, a host that is busy compiling.
constexpr std::chrono::seconds kLeastPatience{5};
// A config this many times slower than the best is not worth waiting for.
constexpr double kMuchSlower = 200;

/// Reads a config's outcome into `trial`: crashed if the message is empty or garbled. Throws errors of the host, which
/// are not the config's fault.
void read_outcome(const Message& message, Trial& trial) {
  Trial read = trial;
  try {
    understand([&] {
      if (message.contains("status")) {
        read_trial(message, read);
      } else if (message.contains("thrown")) {
        if (message.at("thrown") == "host") throw_if_error(message);
        const DeviceError error(message.at("text").get<std::string>(), message.at("code").get<int>());
        read.status = status_of(error);
        read.reason = error.what();
      } else {
        read.status = TrialStatus::crashed;
      }
    });
    trial = std::move(read);
  } catch (const GarbledMessage& garbled) {
    trial.status = TrialStatus::crashed;
    trial.reason = garbled.what();
  }
}

}  // namespace

RemoteConfigRunner::RemoteConfigRunner(DeviceProcess& process, const OpDefinition& definition, const Problem& problem,
                                       CompileResult reference, TrialSetting setting)
    : process_(process),
      definition_(definition),
      problem_(problem),
      reference_(std::move(reference)),
      setting_(std::move(setting)),
      id_(process.next_problem()) {}

RemoteConfigRunner::~RemoteConfigRunner() {
  try {
    if (generation_ == 0 || process_.generation() != generation_) return;
    (void)process_.ask({{"do", "release"}, {"problem", id_}}, process_.timeout());
  } catch (const std::exception&) {  // NOLINT: a process that is lost holds nothing
  }
}

bool RemoteConfigRunner::set_up() {
  if (generation_ != 0 && process_.generation() == generation_) return true;
  const auto start = std::chrono::steady_clock::now();
  const Message question{{"do", "set_up"},
                         {"problem", id_},
                         {"key", problem_.key()},
                         {"mode", std::string(name(setting_.mode))},
                         {"definition", to_message(definition_)},
                         {"reference", to_message(reference_)}};
  // Two attempts: another problem may have caused the first process's end.
  for (int attempt = 0;; ++attempt) {
    const Answer answer = process_.ask(question, kPatienceToSetUp);
    if (answer.kind == Answer::Kind::interrupted) return false;
    if (answer.kind == Answer::Kind::message) {
      understand([&] { throw_if_error(answer.message); });
      break;
    }
    if (attempt > 0 || answer.kind == Answer::Kind::late) {
      throw DeviceError(fmt::format("setting up {} failed: {}", problem_.key(), answer.reason));
    }
  }
  generation_ = process_.generation();
  set_up_took_ = std::chrono::steady_clock::now() - start;
  return true;
}

RemoteConfigRunner::Answer RemoteConfigRunner::ask(Message question, std::chrono::milliseconds patience) {
  if (!set_up()) return {Answer::Kind::interrupted, {}, "it was interrupted"};
  question["problem"] = id_;
  return process_.ask(question, patience);
}

std::chrono::milliseconds RemoteConfigRunner::patience() const {
  if (best_round_ns_ <= 0 || process_.facts().is_cpu()) return process_.timeout();
  const auto slow = std::chrono::nanoseconds(static_cast<std::int64_t>(kMuchSlower * best_round_ns_));
  return std::min(process_.timeout(),
                  std::chrono::ceil<std::chrono::milliseconds>(kLeastPatience + 2 * set_up_took_ + slow));
}

void RemoteConfigRunner::learn(const Trial& trial) {
  if (trial.status != TrialStatus::ok || !trial.timing) return;
  // A round has one launch for each input set.
  const double round = trial.timing->median_ns * std::max(1, trial.timing->input_sets);
  best_round_ns_ = best_round_ns_ > 0 ? std::min(best_round_ns_, round) : round;
}

Trial RemoteConfigRunner::run(const Implementation& implementation, const Config& config, const Build& build,
                              std::span<const std::byte> binary, const StopRule& rule) {
  Trial trial = begin_trial(setting_, process_.gpu_uuid(), config, build);
  if (!build.ok) return trial;
  Message question = to_message(CompiledConfig{&implementation, config, &build, binary});
  question["do"] = "run";
  question["rule"] = to_message(rule);
  std::string first;
  Phases given_up{.began_us = moment_us()};
  for (int attempt = 0; attempt < 2; ++attempt) {
    const Answer answer = ask(question, patience());
    if (answer.kind == Answer::Kind::interrupted) return trial;
    trial.reason = answer.reason;
    given_up.verify_us = moment_us() - given_up.began_us;
    trial.phases = given_up;
    if (answer.kind == Answer::Kind::late) {
      trial.status = TrialStatus::timed_out;
      return trial;
    }
    read_outcome(answer.message, trial);
    if (trial.status != TrialStatus::crashed) break;
    first = trial.reason;
    // Retry in a fresh process; if that crashes, too, the next config starts in a fresh one as well.
    process_.discard();
  }
  if (trial.status != TrialStatus::crashed && !first.empty()) {
    process_.note(
        fmt::format("{} on {} crashed once, and not again in a new process: {}", config.text(), problem_.key(), first));
  }
  learn(trial);
  return trial;
}

void RemoteConfigRunner::ask_twice(const Message& question, const std::string& what,
                                   const std::function<void(const Message&)>& read) {
  for (int attempt = 0;; ++attempt) {
    Answer answer = ask(question, process_.timeout());
    if (answer.kind == Answer::Kind::interrupted) return;
    if (answer.kind == Answer::Kind::message) {
      try {
        return understand([&] {
          throw_if_error(answer.message);
          read(answer.message);
        });
      } catch (const GarbledMessage& garbled) {
        process_.discard();
        answer = {Answer::Kind::lost, {}, garbled.what()};
      }
    }
    if (answer.kind == Answer::Kind::late) {
      throw DeviceError(fmt::format("{} on {} timed out: {}", what, problem_.key(), answer.reason));
    }
    if (attempt > 0) throw DeviceError(fmt::format("{} on {} failed: {}", what, problem_.key(), answer.reason));
  }
}

std::vector<Timing> RemoteConfigRunner::time_together(std::span<const CompiledConfig> configs, const StopRule& rule) {
  std::vector<Timing> timings(configs.size());
  Message sent = Message::array();
  for (const CompiledConfig& config : configs) sent.push_back(to_message(config));
  const Message question{{"do", "time_together"}, {"configs", std::move(sent)}, {"rule", to_message(rule)}};
  try {
    ask_twice(question, fmt::format("timing {} configs in turns", configs.size()), [&](const Message& answer) {
      std::vector<Timing> read;
      for (std::size_t i = 0; i < timings.size(); ++i) read.push_back(timing_from(answer.at("timings").at(i)));
      timings = std::move(read);
    });
  } catch (const DeviceLost&) {
    throw;
  } catch (const DeviceError& error) {
    process_.note(error.what());
  }
  return timings;
}

Timing RemoteConfigRunner::time(const CompiledConfig& config, const StopRule& rule) {
  Message question = to_message(config);
  question["do"] = "time";
  question["rule"] = to_message(rule);
  Timing timing;
  ask_twice(question, "timing " + config.config.text(),
            [&](const Message& answer) { timing = timing_from(answer.at("timing")); });
  return timing;
}

Verdict RemoteConfigRunner::verify(const CompiledConfig& config) {
  Message question = to_message(config);
  question["do"] = "verify";
  question["rule"] = to_message(StopRule());
  Verdict verdict;
  ask_twice(question, "checking " + config.config.text(),
            [&](const Message& answer) { verdict = verdict_from(answer); });
  return verdict;
}

std::string RemoteConfigRunner::check_again(const CompiledConfig& config) {
  Message question = to_message(config);
  question["do"] = "check_again";
  question["rule"] = to_message(StopRule());
  std::string reason;
  ask_twice(question, "checking " + config.config.text(),
            [&](const Message& answer) { answer.at("reason").get_to(reason); });
  return reason;
}

}  // namespace tilewright

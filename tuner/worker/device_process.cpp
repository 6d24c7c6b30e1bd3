// SPDX-License-Identifier: Apache-2.0
#include "tuner/worker/device_process.hpp"

#include <fmt/format.h>

#include <thread>
#include <utility>

#include "tuner/sweep/failure.hpp"
#include "tuner/worker/remote_config_runner.hpp"

namespace tilewright {
namespace {

// Opening a GPU takes a second, or many seconds on a host with many GPUs.
constexpr std::chrono::seconds kPatienceToOpen{120};
constexpr std::chrono::seconds kPatienceToCopy{60};
constexpr std::chrono::seconds kTimeout{10};
constexpr std::chrono::seconds kTimeoutOnCpu{90};
constexpr int kStarts = 3;
constexpr std::chrono::seconds kBetweenStarts{1};

}  // namespace

DeviceProcess::DeviceProcess(Settings settings) : settings_(std::move(settings)) {
  ++generation_;
  greeting_ = greeted();
  settings_.device = greeting_.name;
  if (!greeting_.unwatched.empty()) {
    note(fmt::format("clocks, temperature and other processes of {} cannot be read: {}", greeting_.name,
                     greeting_.unwatched));
  }
  if (settings_.timeout.count() <= 0) settings_.timeout = greeting_.facts.is_cpu() ? kTimeoutOnCpu : kTimeout;
}

DeviceProcess::~DeviceProcess() = default;

DeviceProcess::Answer DeviceProcess::begin() {
  std::vector<std::string> command = settings_.command;
  command.push_back(settings_.device);
  process_ = std::make_unique<WorkerProcess>(command);
  Answer answer = wait(kPatienceToOpen);
  if (answer.kind == Answer::Kind::message && answer.message.contains("sight")) {
    const auto seen = understand([&] {
      const Message& sight = answer.message.at("sight");
      return DeviceSight{device_facts_from_json(sight.at("facts")), sight.at("uuid"), sight.at("gpus")};
    });
    if (settings_.seen) settings_.seen(seen);
    answer = wait(kPatienceToOpen);
  }
  return answer;
}

DeviceProcess::Greeting DeviceProcess::greeted() {
  Answer answer = begin();
  // Try once more: the cause may not be the device.
  if (answer.kind == Answer::Kind::lost) answer = begin();
  if (answer.kind != Answer::Kind::message) {
    throw DeviceError(fmt::format("opening {} failed: {}", settings_.device, answer.reason));
  }
  const Message& message = answer.message;
  if (message.contains("thrown")) process_.reset();
  return understand([&]() -> Greeting {
    throw_if_error(message);
    return {device_facts_from_json(message.at("facts")),
            message.at("name"),
            message.at("uuid"),
            message.at("driver"),
            message.at("said"),
            message.at("gpus"),
            message.at("unwatched")};
  });
}

// Several attempts: a GPU may need a moment after a context died in an error.
bool DeviceProcess::start() {
  std::string reason;
  for (int i = 0; i < kStarts; ++i) {
    if (i > 0) std::this_thread::sleep_for(kBetweenStarts);
    if (is_interrupted()) return false;
    ++generation_;
    try {
      const Greeting greeting = greeted();
      if (greeting.uuid == greeting_.uuid && greeting.facts == greeting_.facts) return true;
      process_.reset();
      reason = fmt::format("it is another GPU now ({} {})", greeting.facts.fingerprint(), greeting.uuid);
    } catch (const Error& error) {
      reason = error.what();
    }
  }
  if (is_interrupted()) return false;
  throw DeviceLost(fmt::format(
      "{} no longer answers: {}\nWhat was measured is stored: run the same command once more, and it goes on "
      "from there",
      greeting_.name, reason));
}

void DeviceProcess::discard() {
  if (!process_) return;
  process_->kill();
  (void)process_->end(settings_.interrupted);
  process_.reset();
}

DeviceProcess::Answer DeviceProcess::ask(const Message& question, std::chrono::milliseconds patience) {
  if (is_interrupted() || (!process_ && !start())) return {Answer::Kind::interrupted, {}, "it was interrupted"};
  const auto sent = process_->channel().send(question, Channel::Clock::now() + patience, settings_.interrupted);
  Answer answer = sent == Channel::Received::message ? wait(patience) : end(sent, patience);
  if (answer.kind != Answer::Kind::message) return answer;
  try {
    understand([&] {
      if (!answer.message.value("lost", false)) return;
      answer.reason = answer.message.contains("text") ? answer.message.at("text") : answer.message.at("reason");
      answer.kind = Answer::Kind::lost;
    });
  } catch (const GarbledMessage& garbled) {
    answer = {Answer::Kind::lost, {}, garbled.what()};
  }
  if (answer.kind == Answer::Kind::lost) discard();
  return answer;
}

DeviceProcess::Answer DeviceProcess::wait(std::chrono::milliseconds patience) {
  for (;;) {
    Answer answer;
    const auto got =
        process_->channel().receive(answer.message, Channel::Clock::now() + patience, settings_.interrupted);
    if (got != Channel::Received::message) return end(got, patience);
    if (!answer.message.contains("beat")) return answer;
  }
}

DeviceProcess::Answer DeviceProcess::end(Channel::Received why, std::chrono::milliseconds patience) {
  Answer answer;
  switch (why) {
    case Channel::Received::message:
    case Channel::Received::end:
      answer.kind = Answer::Kind::lost;
      answer.reason = fmt::format("its process ended with {}", process_->end(settings_.interrupted));
      break;
    case Channel::Received::garbled:
      answer.kind = Answer::Kind::lost;
      answer.reason = "its process sent an invalid message, and was stopped";
      discard();
      break;
    case Channel::Received::late:
      answer.kind = Answer::Kind::late;
      answer.reason = fmt::format("it made no progress for {:.3g} s, and was stopped",
                                  std::chrono::duration<double>(patience).count());
      process_->kill();
      (void)process_->end(settings_.interrupted);
      break;
    case Channel::Received::interrupted:
      answer.kind = Answer::Kind::interrupted;
      answer.reason = "it was interrupted";
      process_->kill();
      break;
  }
  process_.reset();
  return answer;
}

std::unique_ptr<ConfigRunner> DeviceProcess::set_up(const OpDefinition& definition, const Problem& problem,
                                                    const CompileResult& reference, const TrialSetting& setting) {
  auto trials = std::make_unique<RemoteConfigRunner>(*this, definition, problem, reference, setting);
  if (!trials->set_up()) return nullptr;
  return trials;
}

double DeviceProcess::memcpy_ns(std::int64_t bytes, MeasureMode mode, const StopRule& rule,
                                const std::function<bool()>&) {
  const Answer answer = ask({{"do", "memcpy"},
                             {"problem", 0},
                             {"bytes", bytes},
                             {"mode", std::string(tilewright::name(mode))},
                             {"rule", to_message(rule)}},
                            kPatienceToCopy);
  if (answer.kind == Answer::Kind::interrupted) return 0;
  if (answer.kind != Answer::Kind::message) throw DeviceError("copying on the device failed: " + answer.reason);
  return understand([&] {
    throw_if_error(answer.message);
    return answer.message.at("ns").get<double>();
  });
}

}  // namespace tilewright

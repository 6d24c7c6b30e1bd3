// SPDX-License-Identifier: Apache-2.0
#include "tuner/worker/serve_device.hpp"

#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "tuner/device/cuda_device.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/local_config_runner.hpp"
#include "tuner/worker/messages.hpp"

namespace tilewright {
namespace {

// Well below the parent's patience.
constexpr std::chrono::milliseconds kBeat{100};

class Server {
 public:
  Server(const OpenDevice& open, int socket, const SeeDevice& see) : parent_(socket), open_(open), see_(see) {}

  int serve() {
    if (!greet()) return 1;
    prepare();
    Message message;
    while (parent_.receive(message) == Channel::Received::message) {
      if (!parent_.send(answer(message))) return 1;
    }
    return 0;
  }

 private:
  /// A problem that is set up. Its runner refers to its definition, so the address must be stable.
  struct Place {
    OpDefinition definition;
    std::unique_ptr<ConfigRunner> runner;
  };

  bool greet() {
    try {
      if (const auto sight = see_ ? see_() : std::nullopt) {
        if (!parent_.send(
                {{"sight", {{"facts", to_json(sight->facts)}, {"uuid", sight->uuid}, {"gpus", sight->gpus}}}}))
          return false;
      }
      std::string said;
      device_ = open_(&said);
      trial_device_.emplace(*device_);
      return parent_.send({{"facts", to_json(device_->facts())},
                           {"name", std::string(device_->name())},
                           {"uuid", device_->gpu_uuid()},
                           {"driver", device_->driver_version()},
                           {"said", said},
                           {"unwatched", device_->unwatched()},
                           {"gpus", device_->facts().is_cpu() ? 0 : count_cuda_devices()}});
    } catch (const std::exception& error) {
      (void)parent_.send(error_message(error, true));
      return false;
    }
  }

  /// Compiles the device's tools while the parent compiles its first kernels.
  void prepare() {
    try {
      (void)device_->tools();
    } catch (const std::exception&) {
      // The first problem fails again and reports it.
    }
  }

  Message answer(const Message& message) {
    try {
      return carry_out(message);
    } catch (const std::bad_alloc&) {
      return error_message(Error("the host's memory is exhausted; give it more, or tune smaller problems"), false);
    } catch (const DeviceError& error) {
      return error_message(error, !still_answers(*device_));
    } catch (const std::exception& error) {
      return error_message(error, false);
    }
  }

  Message carry_out(const Message& message) {
    const auto what = message.at("do").get<std::string>();
    const auto id = message.at("problem").get<std::int64_t>();
    if (what == "set_up") return set_up(id, message);
    if (what == "release") {
      places_.erase(id);
      return Message::object();
    }
    if (what == "memcpy") {
      return {{"ns", trial_device_->memcpy_ns(message.at("bytes"), mode_from(message), rule_from(message.at("rule")),
                                              [this] { return beat(); })}};
    }
    Place& place = places_.at(id);
    const StopRule rule = rule_from(message.at("rule"));
    if (what == "time_together") return time_together(place, message, rule);
    const OwnedCompiledConfig config = compiled_config_from(message, place.definition);
    if (what == "run") return run(place, config, rule);
    if (what == "time") return {{"timing", to_message(place.runner->time(config.view(), rule))}};
    if (what == "verify") return to_message(place.runner->verify(config.view()));
    return {{"reason", place.runner->check_again(config.view())}};
  }

  static MeasureMode mode_from(const Message& message) {
    return measure_mode_from(message.at("mode").get<std::string>()).value();
  }

  Message set_up(std::int64_t id, const Message& message) {
    // Frees the earlier set-up's memory first.
    places_.erase(id);
    Place& place = places_[id];
    try {
      place.definition = definition_from(message.at("definition"));
      const Problem problem = parse_problem(message.at("key").get<std::string>(), place.definition.interface);
      TrialSetting setting;
      setting.mode = mode_from(message);
      setting.interrupted = [this] { return beat(); };
      place.runner = trial_device_->set_up(place.definition, problem, reference_from(message.at("reference")), setting);
    } catch (...) {
      places_.erase(id);
      throw;
    }
    return Message::object();
  }

  Message run(Place& place, const OwnedCompiledConfig& config, const StopRule& rule) {
    const Trial trial = place.runner->run(*config.implementation, config.config, config.build, config.binary, rule);
    Message answer = to_message(trial);
    answer["lost"] = trial.status != TrialStatus::ok && !still_answers(*device_);
    return answer;
  }

  static Message time_together(Place& place, const Message& message, const StopRule& rule) {
    std::vector<OwnedCompiledConfig> owned;
    for (const Message& config : message.at("configs")) owned.push_back(compiled_config_from(config, place.definition));
    std::vector<CompiledConfig> configs;
    for (const OwnedCompiledConfig& config : owned) configs.push_back(config.view());
    Message timings = Message::array();
    for (const Timing& timing : place.runner->time_together(configs, rule)) timings.push_back(to_message(timing));
    return {{"timings", std::move(timings)}};
  }

  /// Sends a beat if one is due. Returns false, since an interrupt kills this process instead.
  bool beat() {
    const auto now = Channel::Clock::now();
    if (now - last_beat_ < kBeat) return false;
    last_beat_ = now;
    (void)parent_.send({{"beat", true}});
    return false;
  }

  Channel parent_;
  const OpenDevice& open_;
  const SeeDevice& see_;
  std::unique_ptr<Device> device_;
  std::optional<LocalTrialDevice> trial_device_;
  std::map<std::int64_t, Place> places_;
  Channel::Clock::time_point last_beat_;
};

}  // namespace

int serve_device(const OpenDevice& open, int socket, const SeeDevice& see) { return Server(open, socket, see).serve(); }

}  // namespace tilewright

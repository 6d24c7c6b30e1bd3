// SPDX-License-Identifier: Apache-2.0
#include "tuner/worker/messages.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/sweep/builder.hpp"

namespace tilewright {
namespace {

template <class T>
Message maybe(const std::optional<T>& value) {
  return value ? Message(*value) : Message(nullptr);
}

template <class T>
std::optional<T> maybe_from(const Message& message) {
  return message.is_null() ? std::nullopt : std::optional(message.get<T>());
}

Message to_message(const DeviceReadings& readings) {
  return Message::array({maybe(readings.sm_clock_mhz), maybe(readings.memory_clock_mhz), maybe(readings.temperature_c),
                         maybe(readings.power_mw), maybe(readings.throttle_reasons), maybe(readings.other_processes)});
}

Message to_message(const Phases& phases) {
  return Message::array({phases.began_us, phases.set_up_us, phases.verify_us, phases.measure_us});
}

Phases phases_from(const Message& message) { return {message.at(0), message.at(1), message.at(2), message.at(3)}; }

Message to_message(const Accuracy& accuracy) {
  return Message::array({accuracy.max_absolute, accuracy.max_relative, accuracy.norm_relative});
}

Accuracy accuracy_from(const Message& message) { return {message.at(0), message.at(1), message.at(2)}; }

DeviceReadings readings_from(const Message& message) {
  DeviceReadings readings;
  readings.sm_clock_mhz = maybe_from<int>(message.at(0));
  readings.memory_clock_mhz = maybe_from<int>(message.at(1));
  readings.temperature_c = maybe_from<int>(message.at(2));
  readings.power_mw = maybe_from<int>(message.at(3));
  readings.throttle_reasons = maybe_from<std::uint64_t>(message.at(4));
  readings.other_processes = maybe_from<int>(message.at(5));
  return readings;
}

}  // namespace

Message to_message(const std::vector<KernelFacts>& kernels) {
  Message list = Message::array();
  for (const KernelFacts& kernel : kernels) {
    list.push_back(Message::array({kernel.entry, kernel.symbol, kernel.registers, kernel.spill_store_bytes,
                                   kernel.spill_load_bytes, kernel.local_bytes, kernel.static_shared_bytes}));
  }
  return list;
}

std::vector<KernelFacts> kernels_from(const Message& message) {
  std::vector<KernelFacts> kernels;
  for (const Message& kernel : message) {
    kernels.push_back(
        {kernel.at(0), kernel.at(1), kernel.at(2), kernel.at(3), kernel.at(4), kernel.at(5), kernel.at(6)});
  }
  return kernels;
}

Message to_message(const StopRule& rule) {
  return Message::array({rule.relative_interval, rule.min_rounds, rule.max_rounds, std::int64_t{rule.budget.count()},
                         rule.rest, rule.give_up_ns, std::int64_t{rule.load.count()}});
}

StopRule rule_from(const Message& message) {
  StopRule rule;
  rule.relative_interval = message.at(0);
  rule.min_rounds = message.at(1);
  rule.max_rounds = message.at(2);
  rule.budget = std::chrono::nanoseconds(message.at(3).get<std::int64_t>());
  rule.rest = message.at(4);
  rule.give_up_ns = message.at(5);
  rule.load = std::chrono::nanoseconds(message.at(6).get<std::int64_t>());
  return rule;
}

Message to_message(const Timing& timing) {
  return {{"median", timing.median_ns},   {"low", timing.low_ns},       {"high", timing.high_ns},
          {"min", timing.min_ns},         {"rounds", timing.rounds_ns}, {"launches", timing.launches_per_round},
          {"sets", timing.input_sets},    {"floor", timing.floor_ns},   {"readings", to_message(timing.readings)},
          {"disturbed", timing.disturbed}};
}

Timing timing_from(const Message& message) {
  Timing timing;
  message.at("median").get_to(timing.median_ns);
  message.at("low").get_to(timing.low_ns);
  message.at("high").get_to(timing.high_ns);
  message.at("min").get_to(timing.min_ns);
  message.at("rounds").get_to(timing.rounds_ns);
  message.at("launches").get_to(timing.launches_per_round);
  message.at("sets").get_to(timing.input_sets);
  message.at("floor").get_to(timing.floor_ns);
  timing.readings = readings_from(message.at("readings"));
  message.at("disturbed").get_to(timing.disturbed);
  return timing;
}

Message to_message(const CompileResult& reference) {
  return {{"binary", to_message(std::span<const std::byte>(reference.binary))},
          {"kernels", to_message(kernel_facts(reference))}};
}

CompileResult reference_from(const Message& message) {
  Build build;
  build.ok = true;
  build.kernels = kernels_from(message.at("kernels"));
  return to_compile_result(build, bytes_from(message.at("binary")));
}

Message to_message(const CompiledConfig& config) {
  return {{"implementation", config.implementation->recipe.name},
          {"config", config.config.text()},
          {"kernels", to_message(config.build->kernels)},
          {"binary", to_message(config.binary)}};
}

OwnedCompiledConfig compiled_config_from(const Message& message, const OpDefinition& definition) {
  OwnedCompiledConfig compiled;
  compiled.config = Config::parse(message.at("config").get<std::string>());
  compiled.build.ok = true;
  compiled.build.kernels = kernels_from(message.at("kernels"));
  compiled.binary = bytes_from(message.at("binary"));
  compiled.implementation = &definition.implementation(message.at("implementation").get<std::string>());
  return compiled;
}

Message to_message(const Verdict& verdict) {
  Message outputs = Message::array();
  for (const OutputErrors& output : verdict.outputs) {
    outputs.push_back(Message::array({output.output, std::string(name(output.type)), output.elements, output.wrong,
                                      to_message(output.accuracy), output.tolerance.absolute, output.tolerance.relative,
                                      output.norm_limit}));
  }
  return {{"right", verdict.right},
          {"reason", verdict.reason},
          {"accuracy", to_message(verdict.accuracy)},
          {"outputs", std::move(outputs)},
          {"damaged", verdict.damaged}};
}

Verdict verdict_from(const Message& message) {
  Verdict verdict;
  message.at("right").get_to(verdict.right);
  message.at("reason").get_to(verdict.reason);
  verdict.accuracy = accuracy_from(message.at("accuracy"));
  for (const Message& output : message.at("outputs")) {
    verdict.outputs.push_back({output.at(0),
                               dtype_from(output.at(1).get<std::string>()).value(),
                               output.at(2),
                               output.at(3),
                               accuracy_from(output.at(4)),
                               {output.at(5), output.at(6)},
                               output.at(7)});
  }
  message.at("damaged").get_to(verdict.damaged);
  return verdict;
}

Message to_message(const Trial& trial) {
  Message accuracy;
  if (trial.accuracy) accuracy = to_message(*trial.accuracy);
  return {{"status", std::string(name(trial.status))},
          {"reason", trial.reason},
          {"timing", trial.timing ? to_message(*trial.timing) : Message(nullptr)},
          {"accuracy", std::move(accuracy)},
          {"phases", trial.phases ? to_message(*trial.phases) : Message(nullptr)},
          {"readings", to_message(trial.readings)}};
}

void read_trial(const Message& message, Trial& trial) {
  trial.status = trial_status_from(message.at("status").get<std::string>()).value();
  message.at("reason").get_to(trial.reason);
  trial.timing.reset();
  if (const Message& timing = message.at("timing"); !timing.is_null()) trial.timing = timing_from(timing);
  trial.accuracy.reset();
  if (const Message& accuracy = message.at("accuracy"); !accuracy.is_null()) {
    trial.accuracy = accuracy_from(accuracy);
  }
  trial.phases.reset();
  if (const Message& phases = message.at("phases"); !phases.is_null()) trial.phases = phases_from(phases);
  trial.readings = readings_from(message.at("readings"));
}

Message error_message(const std::exception& error, bool lost) {
  // Other errors: faults of the host, such as a full disk, and unforeseen exceptions.
  std::string kind = dynamic_cast<const Error*>(&error) != nullptr ? "host" : "error";
  int code = 0;
  if (const auto* device = dynamic_cast<const DeviceError*>(&error)) {
    kind = "device";
    code = device->status();
  } else if (dynamic_cast<const UsageError*>(&error) != nullptr) {
    kind = "usage";
  }
  return {{"thrown", kind}, {"text", error.what()}, {"code", code}, {"lost", lost}};
}

void throw_if_error(const Message& message) {
  if (!message.contains("thrown")) return;
  const auto kind = message.at("thrown").get<std::string>();
  const auto text = message.at("text").get<std::string>();
  if (kind == "device") throw DeviceError(text, message.at("code").get<int>());
  if (kind == "usage") throw UsageError(text);
  throw Error(text);
}

}  // namespace tilewright

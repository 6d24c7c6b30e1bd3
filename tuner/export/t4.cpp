// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/t4.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cache/base/version.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kNsPerMs = 1e6;
constexpr double kUsPerMs = 1e3;

Json measurement(const char* name, Json value, const char* unit) {
  return {{"name", name}, {"value", std::move(value)}, {"unit", unit}};
}

/// Adds a finite number: JSON has neither infinity nor NaN.
void add_number(Json& measurements, const char* name, double value, const char* unit) {
  if (std::isfinite(value)) measurements.push_back(measurement(name, value, unit));
}

Json configuration_of(const Config& config) {
  Json configuration{{"implementation", config.implementation}};
  for (const auto& [parameter, value] : config.values) configuration[parameter] = value;
  return configuration;
}

Json times_of(const TrialRecord& record) {
  Json times = Json::object();
  if (record.build != nullptr) times["compilation_time"] = record.build->milliseconds;
  if (record.trial.phases) {
    times["framework"] = static_cast<double>(record.trial.phases->set_up_us) / kUsPerMs;
    times["validation"] = static_cast<double>(record.trial.phases->verify_us) / kUsPerMs;
  }
  Json runtimes = Json::array();
  if (record.trial.timing) {
    for (const double round : record.trial.timing->rounds_ns) runtimes.push_back(round / kNsPerMs);
  }
  times["runtimes"] = std::move(runtimes);
  return times;
}

void add_roofline(Json& measurements, const Roofline& roofline, const Timing& timing) {
  if (roofline.bytes) {
    add_number(measurements, "GB/s", static_cast<double>(*roofline.bytes) / timing.median_ns, "GB/s");
  }
  if (roofline.flops) {
    add_number(measurements, "GFLOP/s", static_cast<double>(*roofline.flops) / timing.median_ns, "GFLOP/s");
  }
  if (const auto intensity = intensity_of(roofline)) add_number(measurements, "flop/byte", *intensity, "");
  if (const auto bound = bound_of(roofline, &timing)) {
    measurements.push_back(measurement("bound", std::string(name(*bound)), ""));
  }
  if (const auto share = share_of_ceiling(roofline, &timing)) add_number(measurements, "share_of_ceiling", *share, "");
}

Json measurements_of(const TrialRecord& record) {
  const Trial& trial = record.trial;
  Json measurements = Json::array();
  // One file may hold the trials of many problems.
  measurements.push_back(measurement("problem", record.problem.key(), ""));
  measurements.push_back(measurement("device", record.device->fingerprint(), ""));
  measurements.push_back(measurement("mode", std::string(name(trial.mode)), ""));
  measurements.push_back(measurement("look", std::string(name(trial.look)), ""));
  measurements.push_back(measurement("status", std::string(name(trial.status)), ""));
  if (!trial.reason.empty()) measurements.push_back(measurement("reason", trial.reason, ""));
  if (trial.timing) {
    add_number(measurements, "time", trial.timing->median_ns / kNsPerMs, "ms");
    add_number(measurements, "time_low", trial.timing->low_ns / kNsPerMs, "ms");
    add_number(measurements, "time_high", trial.timing->high_ns / kNsPerMs, "ms");
    add_roofline(measurements, record.roofline, *trial.timing);
  }
  if (trial.accuracy) {
    add_number(measurements, "max_absolute_error", trial.accuracy->max_absolute, "");
    add_number(measurements, "norm_relative_error", trial.accuracy->norm_relative, "");
  }
  if (record.build != nullptr && record.build->registers > 0) {
    measurements.push_back(measurement("registers", record.build->registers, ""));
    measurements.push_back(measurement("spill", record.build->spill_bytes, "B"));
  }
  if (trial.readings.sm_clock_mhz)
    measurements.push_back(measurement("core_freq", *trial.readings.sm_clock_mhz, "MHz"));
  if (trial.readings.power_mw) measurements.push_back(measurement("power", *trial.readings.power_mw / 1e3, "W"));
  return measurements;
}

std::string timestamp_of(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}+00:00", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

Json result_of(const TrialRecord& record) {
  Json result;
  result["timestamp"] = timestamp_of(record.trial.measured_at);
  result["configuration"] = configuration_of(record.trial.config);
  result["objectives"] = {"time"};
  result["times"] = times_of(record);
  result["invalidity"] = t4_invalidity(record.trial.status);
  result["correctness"] = record.trial.status == TrialStatus::ok ? 1 : 0;
  result["measurements"] = measurements_of(record);
  return result;
}

/// The devices and versions that the trials were made with.
class Metadata {
 public:
  void add(const TrialRecord& record) {
    const std::string fingerprint = record.device->fingerprint();
    if (!devices_.contains(fingerprint)) devices_[fingerprint] = Json::parse(to_json(*record.device).dump());
    const Versions& versions = record.trial.versions;
    requirements_["tilewright==" + versions.tilewright] = true;
    if (!versions.compiler.empty()) requirements_[versions.compiler] = true;
    if (versions.driver != 0) {
      requirements_[fmt::format("CUDA driver {}", driver_text(versions.driver))] = true;
    }
  }

  [[nodiscard]] Json json() const {
    Json requirements = Json::array();
    for (const auto& pair : requirements_) requirements.push_back(pair.first);
    Json metadata;
    metadata["environment"] = {{"device_query", devices_}, {"requirements", std::move(requirements)}};
    return metadata;
  }

 private:
  Json devices_ = Json::object();
  std::map<std::string, bool> requirements_;
};

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace

const char* t4_invalidity(TrialStatus status) noexcept {
  switch (status) {
    case TrialStatus::ok:
      return "correct";
    case TrialStatus::compile_failed:
      return "compile";
    case TrialStatus::exceeds_limits:
      return "constraints";
    case TrialStatus::wrong_result:
      return "correctness";
    case TrialStatus::timed_out:
      return "timeout";
    case TrialStatus::crashed:
      return "runtime";
    case TrialStatus::pruned:
      break;
  }
  return nullptr;
}

T4Counts write_t4(const TrialRecords& records, const Write& write) {
  T4Counts counts;
  Metadata metadata;
  write("{\"schema_version\":\"1.0.0\",\"results\":[");
  records.visit([&](const TrialRecord& record) {
    if (t4_invalidity(record.trial.status) == nullptr) {
      ++counts.pruned;
      return;
    }
    metadata.add(record);
    write(counts.results++ == 0 ? "\n" : ",\n");
    write(text_of(result_of(record)));
  });
  write("\n],\"metadata\":");
  write(text_of(metadata.json()));
  write("}\n");
  return counts;
}

}  // namespace tilewright

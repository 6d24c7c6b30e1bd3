// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/google_benchmark.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

#include "cache/base/version.hpp"
#include "tuner/export/benchmark_counters.hpp"

namespace tilewright {
namespace {

using Json = nlohmann::ordered_json;

Json benchmark_of(const BenchmarkLine& of, std::size_t index) {
  const WinnerLine& line = of.line;
  const Winner& winner = line.row.winner;
  const std::string name = benchmark_name(line.row.problem, line.row.mode, benchmark_role(winner.role)) + kManualTime;
  Timing timing = winner.trial.timing.value();
  timing.readings = winner.trial.readings;
  Json entry{{"name", name},
             {"family_index", index},
             {"per_family_instance_index", 0},
             {"run_name", name},
             {"run_type", "iteration"},
             {"repetitions", 1},
             {"repetition_index", 0},
             {"threads", 1},
             {"iterations", static_cast<std::int64_t>(timing.rounds_ns.size()) * timing.launches_per_round},
             {"real_time", timing.median_ns},
             {"cpu_time", timing.median_ns},
             {"time_unit", "ns"},
             {"label", winner.trial.config.text()}};
  for (const auto& [counter, value] : benchmark_counters(line, of.build, timing)) {
    entry[counter] = value;
  }
  return entry;
}

}  // namespace

std::string benchmark_name(const Problem& problem, MeasureMode mode, const std::string& role) {
  std::string text = fmt::format("{}/{}", problem.spec.op, name(problem.spec.dtype));
  for (const auto& [attribute, value] : problem.spec.attributes) text += fmt::format("/{}:{}", attribute, value);
  for (const auto& [dim, value] : problem.dims) text += fmt::format("/{}:{}", dim, value);
  return fmt::format("{}/{}/{}", text, name(mode), role);
}

std::string benchmark_role(WinnerRole role) { return role == WinnerRole::best ? "winner" : std::string(name(role)); }

std::string google_benchmark_text(const Store& store, const std::vector<BenchmarkLine>& lines) {
  Json all;
  all["context"] = {{"date", fmt::format("{:%Y-%m-%dT%H:%M:%S}+00:00", fmt::gmtime(std::time(nullptr)))},
                    {"executable", "tilewright export"},
                    {"tilewright", std::string(version())},
                    {"cache", store.path().string()}};
  if (!lines.empty()) {
    const WinnerLine& first = lines.front().line;
    all["context"]["device"] = first.row.device.fingerprint();
    all["context"]["gpu_uuid"] = first.row.winner.trial.gpu_uuid;
    all["context"]["driver"] = first.row.winner.trial.versions.driver;
    all["context"]["compiler"] = first.row.winner.trial.versions.compiler;
  }
  all["context"]["library_build_type"] = "release";
  all["benchmarks"] = Json::array();
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].line.row.winner.trial.timing) all["benchmarks"].push_back(benchmark_of(lines[i], i));
  }
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tilewright

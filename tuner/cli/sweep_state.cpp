// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/sweep_state.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/units.hpp"

namespace tilewright::cli {
namespace {

// Trials before the time to go is estimated.
constexpr std::size_t kTrialsBeforeGuess = 10;
constexpr std::size_t kBar = 20;

std::string count(std::size_t number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// "1980 MHz, 54 °C, 312 W"
std::string readings_text(const DeviceReadings& readings) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (readings.sm_clock_mhz) add(fmt::format("{} MHz", *readings.sm_clock_mhz));
  if (readings.temperature_c) add(fmt::format("{} °C", *readings.temperature_c));
  if (readings.power_mw) add(fmt::format("{} W", (*readings.power_mw + 500) / 1000));
  return text;
}

std::string bar(std::size_t done, std::size_t of) {
  const std::size_t filled = of == 0 ? kBar : kBar * std::min(done, of) / of;
  return fmt::format("[{}{}]", std::string(filled, '='), std::string(kBar - filled, ' '));
}

/// "best 41.20 µs, 1.3 % less than before, 12 configs ago: onchip{…}"
std::string best_text(const ProblemState& problem) {
  if (!problem.best) return "best: none yet";
  const double now_ns = problem.best->timing->median_ns;
  std::string text = "best " + show_time(now_ns);
  if (problem.before_ns > now_ns) {
    text += fmt::format(", {} less than before", show_share((problem.before_ns - now_ns) / problem.before_ns));
  }
  if (const std::size_t ago = problem.done - problem.best_at; ago > 0)
    text += fmt::format(", {} ago", count(ago, "config"));
  return fmt::format("{}: {}", text, problem.best->config.text());
}

std::string head_of(const SweepState& state) {
  std::string text =
      fmt::format("{}/{}, {}", state.finished, count(state.problems, "problem"), count(state.tried, "config"));
  if (state.compiling > 0) text += fmt::format(", {} compiling", state.compiling);
  text += fmt::format(", {}", show_duration(state.seconds));
  if (const auto left = seconds_to_go(state)) text += fmt::format(", {} to go", show_duration(*left));
  return text;
}

/// Text that may be cut stands last.
void add_lane(const LaneState& lane, std::size_t columns, std::vector<std::string>& lines) {
  const std::string name = lane.device.empty() ? "" : lane.device + " ";
  const std::string readings = readings_text(lane.readings);
  if (lane.problems.empty()) {
    if (!lane.device.empty()) lines.push_back(name + "waits");
    return;
  }
  const ProblemState& problem = lane.problems.front();
  std::string line = fmt::format("{}{} {}/{}", name, bar(problem.done, problem.configs), problem.done, problem.configs);
  if (lane.problems.size() > 1) line += fmt::format(" (+{})", lane.problems.size() - 1);
  if (!readings.empty()) line += "  " + readings;
  // A key that does not fit stands on its own line.
  if (display_width(line) + 2 + display_width(problem.key) <= columns) {
    lines.push_back(line + "  " + problem.key);
  } else {
    lines.push_back(line);
    lines.push_back("  " + problem.key);
  }
  lines.push_back("  " + best_text(problem));
}

}  // namespace

std::string failures_text(const std::map<TrialStatus, std::size_t>& failures) {
  std::string text;
  for (const auto& [status, number] : failures) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", number, name(status));
  }
  return text;
}

std::optional<double> seconds_to_go(const SweepState& state) {
  if (state.tried < kTrialsBeforeGuess || state.begun == 0) return std::nullopt;
  std::size_t left = 0;
  std::size_t new_configs = 0;
  std::size_t under_way = 0;
  for (const LaneState& lane : state.lanes) {
    for (const ProblemState& problem : lane.problems) {
      left += problem.configs - std::min(problem.done, problem.configs);
      new_configs += problem.configs - std::min(problem.known, problem.configs);
      ++under_way;
    }
  }
  if (under_way == 0) return std::nullopt;
  const double each = state.seconds / static_cast<double>(state.tried);
  const auto to_come = static_cast<double>(state.problems - std::min(state.begun, state.problems));
  const double like_these = static_cast<double>(new_configs) / static_cast<double>(under_way);
  return each * (static_cast<double>(left) + to_come * like_these);
}

std::vector<std::string> block_lines(const SweepState& state, std::size_t columns) {
  std::vector<std::string> lines{head_of(state)};
  for (const LaneState& lane : state.lanes) add_lane(lane, columns, lines);
  if (!state.failures.empty()) lines.push_back("failed: " + failures_text(state.failures));
  return lines;
}

std::string log_line(const SweepState& state, const LaneState& lane) {
  if (lane.problems.empty()) return "";
  const ProblemState& problem = lane.problems.front();
  std::string line = fmt::format("{}{}{}/{} {}: {}/{} configs", lane.device, lane.device.empty() ? "" : " ",
                                 problem.index, state.problems, problem.key, problem.done, problem.configs);
  if (problem.failed > 0) line += fmt::format(", {} failed", problem.failed);
  if (state.compiling > 0) line += fmt::format(", {} compiling", state.compiling);
  if (const auto left = seconds_to_go(state)) line += fmt::format(", {} to go", show_duration(*left));
  if (problem.best) {
    line += fmt::format("; best {} {}", show_time(problem.best->timing->median_ns), problem.best->config.text());
  }
  if (const std::string readings = readings_text(lane.readings); !readings.empty()) line += "; " + readings;
  return line;
}

}  // namespace tilewright::cli

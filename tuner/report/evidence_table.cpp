// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/evidence_table.hpp"

#include <fmt/format.h>

#include <map>
#include <string>

#include "cache/base/units.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright {
namespace {

using EvidenceSources = std::vector<Source<EvidenceLine>>;

Cell text_cell(const std::string& text) { return text.empty() ? Cell() : Cell(text); }
Cell count_cell(int count) { return std::int64_t{count}; }
Cell reading_cell(const std::optional<int>& reading) { return reading ? Cell(std::int64_t{*reading}) : Cell(); }

template <class Value>
Cell timing_cell(const EvidenceLine& line, Value Timing::*member) {
  const auto& timing = line.winner->trial.timing;
  if (!timing) return {};
  if constexpr (std::is_same_v<Value, int>) {
    return count_cell((*timing).*member);
  } else {
    return (*timing).*member;
  }
}

Cell margin_cell(const EvidenceLine& line, double Selection::*member) {
  const double margin = line.winner->choice.*member;
  return margin > 0 ? Cell(margin) : Cell();
}

Cell tied_cell(const EvidenceLine& line) {
  std::string text;
  for (const Config& config : line.winner->choice.tied) text += (text.empty() ? "" : "\n") + config.text();
  return text_cell(text);
}

/// One line for each reason.
template <class Count>
Cell counts_cell(const std::map<std::string, Count>& counts) {
  std::string text;
  for (const auto& [reason, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : "\n", count, reason);
  return text_cell(text);
}

void add_choice(EvidenceSources& sources) {
  sources.push_back(
      {column("strategy", "chosen by"), [](const EvidenceLine& line) { return text_cell(line.winner->strategy); }});
  sources.push_back({column("configs_considered", "configs considered"),
                     [](const EvidenceLine& line) { return count_cell(line.winner->configs_considered); }});
  sources.push_back({column("configs_failed", "configs failed"),
                     [](const EvidenceLine& line) { return count_cell(line.winner->configs_failed); }});
  sources.push_back({column("pruned", "not looked at to the end"),
                     [](const EvidenceLine& line) { return counts_cell(line.winner->choice.pruned); }});
  sources.push_back({column("forbidden", "of the space, no configs here"),
                     [](const EvidenceLine& line) { return counts_cell(line.winner->choice.forbidden); }});
  sources.push_back({column("finalists", "timed in turns at the end"), [](const EvidenceLine& line) {
                       const int finalists = line.winner->choice.finalists;
                       return finalists > 0 ? count_cell(finalists) : Cell();
                     }});
  sources.push_back({column("finalists_without_rounds", "of these, without rounds"),
                     [](const EvidenceLine& line) { return without_rounds_cell(*line.winner); }});
  sources.push_back({column("margin_low", "runner-up at least", Unit::ratio),
                     [](const EvidenceLine& line) { return margin_cell(line, &Selection::margin_low); }});
  sources.push_back({column("margin_high", "runner-up at most", Unit::ratio),
                     [](const EvidenceLine& line) { return margin_cell(line, &Selection::margin_high); }});
  sources.push_back({column("tied", "tied with it"), tied_cell});
  sources.push_back({column("tie_broken_by", "tie broken by the winner of"),
                     [](const EvidenceLine& line) { return text_cell(line.winner->choice.tie_broken_by); }});
  sources.push_back({column("chosen_at", "chosen"), [](const EvidenceLine& line) {
                       return line.winner->choice.at > 0 ? Cell(show_moment(line.winner->choice.at)) : Cell();
                     }});
}

void add_measurement(EvidenceSources& sources) {
  sources.push_back({column("rounds", "rounds"), [](const EvidenceLine& line) {
                       return line.trial != nullptr && line.trial->rounds > 0 ? count_cell(line.trial->rounds) : Cell();
                     }});
  sources.push_back({column("launches_per_round", "launches a round"),
                     [](const EvidenceLine& line) { return timing_cell(line, &Timing::launches_per_round); }});
  sources.push_back({column("input_sets", "input sets"),
                     [](const EvidenceLine& line) { return timing_cell(line, &Timing::input_sets); }});
  sources.push_back({column("fastest_round_ns", "fastest round", Unit::nanoseconds),
                     [](const EvidenceLine& line) { return timing_cell(line, &Timing::min_ns); }});
  sources.push_back({column("empty_launch_ns", "empty launch", Unit::nanoseconds),
                     [](const EvidenceLine& line) { return timing_cell(line, &Timing::floor_ns); }});
  sources.push_back({column("largest_error", "largest error"), [](const EvidenceLine& line) {
                       const auto& accuracy = line.winner->trial.accuracy;
                       return accuracy ? Cell(accuracy->max_absolute) : Cell();
                     }});
  sources.push_back({column("norm_error", "error norm-wise"), [](const EvidenceLine& line) {
                       const auto& accuracy = line.winner->trial.accuracy;
                       return accuracy ? Cell(accuracy->norm_relative) : Cell();
                     }});
}

void add_binary(EvidenceSources& sources) {
  const auto of_build = [](auto&& cell) {
    return [cell](const EvidenceLine& line) { return line.build != nullptr ? cell(*line.build) : Cell(); };
  };
  sources.push_back({column("registers", "registers"), of_build([](const History::BuildOf& build) {
                       return build.registers > 0 ? count_cell(build.registers) : Cell();
                     })});
  sources.push_back({column("spill_bytes", "spilled", Unit::bytes), of_build([](const History::BuildOf& build) {
                       return build.registers > 0 ? count_cell(build.spill_bytes) : Cell();
                     })});
  sources.push_back({column("compile_ns", "compiled in", Unit::nanoseconds),
                     of_build([](const History::BuildOf& build) { return Cell(build.milliseconds * 1e6); })});
  sources.push_back({column("compiler", "compiler"),
                     [](const EvidenceLine& line) { return text_cell(line.winner->trial.versions.compiler); }});
}

void add_machine(EvidenceSources& sources) {
  sources.push_back({column("driver", "CUDA driver"), [](const EvidenceLine& line) {
                       return text_cell(driver_text(line.winner->trial.versions.driver));
                     }});
  sources.push_back({column("tilewright", "Tilewright"),
                     [](const EvidenceLine& line) { return text_cell(line.winner->trial.versions.tilewright); }});
  sources.push_back({column("measured", "measured"),
                     [](const EvidenceLine& line) { return Cell(show_moment(line.winner->trial.measured_at)); }});
  const auto reading = [&](const char* name, const char* heading, std::optional<int> DeviceReadings::*member) {
    sources.push_back({column(name, heading), [member](const EvidenceLine& line) {
                         return reading_cell(line.winner->trial.readings.*member);
                       }});
  };
  reading("sm_clock_mhz", "SM clock, MHz", &DeviceReadings::sm_clock_mhz);
  reading("memory_clock_mhz", "memory clock, MHz", &DeviceReadings::memory_clock_mhz);
  reading("temperature_c", "temperature, °C", &DeviceReadings::temperature_c);
  reading("power_mw", "power, mW", &DeviceReadings::power_mw);
  sources.push_back({column("throttle_reasons", "throttle reasons"), [](const EvidenceLine& line) {
                       const auto& bits = line.winner->trial.readings.throttle_reasons;
                       return bits ? Cell(fmt::format("0x{:x}", *bits)) : Cell();
                     }});
}

}  // namespace

Table evidence_table(const std::vector<EvidenceLine>& lines) {
  Table table;
  table.title = "Evidence";
  EvidenceSources sources;
  add_choice(sources);
  add_measurement(sources);
  add_binary(sources);
  add_machine(sources);
  fill(table, sources, lines);
  return table;
}

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/winner_evidence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "cache/base/units.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/measure/disturbance_watch.hpp"
#include "tuner/report/evidence_table.hpp"
#include "tuner/report/roofline_columns.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright::app {
namespace {

/// How certain the distance to the runner-up is.
std::string margin_text(const Selection& choice) {
  if (choice.margin_high <= 0) return "";
  const auto percent = [](double ratio) { return fmt::format("{:+.2f} %", 100 * (ratio - 1)); };
  return fmt::format(" (95 % interval of the rounds' ratio {} to {})", percent(choice.margin_low),
                     percent(choice.margin_high));
}

std::string tie_text(const Selection& choice) {
  if (choice.tied.empty()) return "";
  std::string text = "  tied with it, not told apart:";
  for (const Config& config : choice.tied) text += "\n    " + config.text();
  return text + (choice.tie_broken_by.empty()
                     ? "\n  the first of these in the definition is taken\n"
                     : fmt::format("\n  the one that serves {} is taken, the nearest shape that any of these serves\n",
                                   choice.tie_broken_by));
}

/// The points of the space that are no configs, by the rules that forbid most.
std::string forbidden_text(const Selection& choice) {
  constexpr std::size_t kRulesTold = 3;
  std::vector<std::pair<std::string, std::int64_t>> rules(choice.forbidden.begin(), choice.forbidden.end());
  if (rules.empty()) return "";
  std::stable_sort(rules.begin(), rules.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::int64_t sum = 0;
  std::string told;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    sum += rules[i].second;
    if (i < kRulesTold) told += fmt::format("{}{} {}", i == 0 ? "" : ", ", rules[i].second, rules[i].first);
  }
  if (rules.size() > kRulesTold) told += fmt::format(", and {} more rules", rules.size() - kRulesTold);
  return fmt::format("  {} more points of the space are no configs for this problem here: {}\n", sum, told);
}

std::string choice_text(const Problem& problem, const MatchedRow& served) {
  const Store::WinnerRow& row = *served.row;
  const Winner& winner = row.winner;
  std::string text = fmt::format("{} is served by {}\n", problem.key(), winner.trial.config.text());
  text += fmt::format("  match: {}\n", served.match.text());
  if (served.match.fit != Fit::exact) {
    if (winner.trial.timing) {
      return text +
             fmt::format("  This problem was never tuned: the figures below were measured on {}.\n", row.problem.key());
    }
    return text +
           fmt::format(
               "  This problem was never tuned, and nobody has timed the served config: a model expects the least loss "
               "of it. Its binary was made for {}.\n",
               row.problem.key());
  }
  text += fmt::format("  chosen by {} among {}, {} of which failed{}\n", winner.strategy,
                      counted(winner.configs_considered, "config"), winner.configs_failed,
                      winner.choice.at > 0 ? ", " + show_moment(winner.choice.at) : "");
  text += forbidden_text(winner.choice);
  if (const auto& recheck = winner.choice.recheck) {
    text += fmt::format("  the {} leaders were timed again {}, since {}\n", recheck->leaders, show_moment(recheck->at),
                        recheck->why);
  }
  for (const auto& [reason, count] : winner.choice.pruned) text += fmt::format("  {} {}\n", count, reason);
  if (winner.choice.finalists > 1) {
    text += fmt::format("  the {} finalists were timed in turns at the end, while nothing compiled\n",
                        winner.choice.finalists);
  } else if (winner.choice.finalists == 1) {
    text += "  the only finalist, it was timed once more at the end, while nothing compiled\n";
  }
  if (const int bare = winner.choice.without_rounds; bare > 0) {
    text +=
        fmt::format("  partial evidence: of {} only the times were kept, not the rounds\n", counted(bare, "finalist"));
  }
  if (!winner.runner_up || !winner.runner_up_ratio) return text + "  there was no other config to compare it with\n";
  const double ratio = *winner.runner_up_ratio;
  const std::string distance = ratio >= 1
                                   ? fmt::format("{} slower", show_share(ratio - 1))
                                   : fmt::format("{} faster, but their intervals overlap", show_share(1 - ratio));
  text += fmt::format("  runner-up {}: {}{}\n", winner.runner_up->text(), distance, margin_text(winner.choice));
  return text + tie_text(winner.choice);
}

std::string time_text(const Winner& winner, const std::optional<Trial>& trial, MeasureMode mode) {
  if (!winner.trial.timing) return "";
  const Timing& timing = *winner.trial.timing;
  std::string text = fmt::format("  time {} (median; 95 % interval {} to {}; fastest round {}), {} mode\n",
                                 show_time(timing.median_ns), show_time(timing.low_ns), show_time(timing.high_ns),
                                 show_time(timing.min_ns), name(mode));
  const std::size_t rounds = trial && trial->timing ? trial->timing->rounds_ns.size() : 0;
  text +=
      fmt::format("  from {} of {} (input sets: {}); an empty launch takes {}{}\n", counted(rounds, "round"),
                  timing.launches_per_round == 1 ? "1 launch" : fmt::format("{} launches", timing.launches_per_round),
                  timing.input_sets, show_time(timing.floor_ns),
                  timing.launch_bound() ? ", so this time is the launch's and not the kernel's" : "");
  if (winner.base_ns && timing.median_ns > 0) {
    text += fmt::format("  the op's base takes {}: {}\n", show_time(*winner.base_ns),
                        show_ratio(*winner.base_ns / timing.median_ns));
  }
  return text;
}

/// The columns that a table has for people, as far as they are known:
/// "  GB/s 3951, of ceiling 97.5 %, bound memory, …".
std::string roofline_text(const ServedLine& line) {
  const auto& timing = line.served.row->winner.trial.timing;
  const Placed placed{&line.roofline, timing ? &*timing : nullptr};
  std::string text;
  for (const auto& sources : {rate_sources(), bound_sources()}) {
    for (const Source<Placed>& source : sources) {
      const Column& column = source.column;
      const Cell value = source.cell(placed);
      if (column.shown == Shown::programs || std::holds_alternative<std::monostate>(value)) continue;
      text += fmt::format("{}{} {}", text.empty() ? "  " : ", ", column.heading, show_cell(value, column.unit));
    }
  }
  if (line.roofline.draws > 1) {
    const auto& names = line.roofline.draw_names;
    text += fmt::format("\n  timed on {} kinds of inputs{} in turns; bytes and operations are their mean",
                        line.roofline.draws, names.empty() ? "" : fmt::format(" ({})", fmt::join(names, "; ")));
  }
  return text.empty() ? "" : text + "\n";
}

/// The finalists after a second of load each, and the regime that chose among them.
std::string load_text(const Selection& choice) {
  const std::string served = fmt::format("  served: the fastest in {}", name(choice.regime));
  if (choice.sustained.empty()) return served + "; not measured under load (sweep --regime sustained)\n";
  std::string text = served + "; under load:\n";
  for (const Sustained& each : choice.sustained) {
    text += fmt::format("    {} (95 % interval {} to {})", show_time(each.median_ns), show_time(each.low_ns),
                        show_time(each.high_ns));
    if (each.sm_clock_mhz > 0) text += fmt::format(", {} MHz", each.sm_clock_mhz);
    if (each.power_mw > 0) text += fmt::format(", {} W", each.power_mw / 1000);
    if (each.throttle_reasons > 0)
      text += fmt::format(", clock limited by: {}", clock_reasons_text(each.throttle_reasons));
    text += fmt::format(": {}\n", each.config.text());
  }
  return text;
}

std::string build_text(const Store& store, const Trial& trial) {
  const auto build = store.build(trial.build_key);
  if (!build) return "";
  std::string text = fmt::format("  binary for {} by {}, compiled in {}\n", build->arch, build->compiler,
                                 show_time(build->milliseconds * 1e6));
  for (const KernelFacts& kernel : build->kernels) {
    if (kernel.registers == 0) continue;
    text +=
        fmt::format("    {}: {} registers, {} bytes spilled, {} bytes of static shared memory\n", kernel.entry,
                    kernel.registers, kernel.spill_store_bytes + kernel.spill_load_bytes, kernel.static_shared_bytes);
  }
  return text;
}

std::string machine_text(const Store::WinnerRow& row) {
  const Trial& trial = row.winner.trial;
  std::string text = trial.timing ? fmt::format("  measured {}", show_moment(trial.measured_at)) : "  winners measured";
  text += fmt::format(" on {}", row.device.fingerprint());
  if (!trial.gpu_uuid.empty()) text += fmt::format(" ({})", trial.gpu_uuid);
  text += fmt::format(", Tilewright {}", trial.versions.tilewright);
  if (trial.versions.driver != 0) {
    text += fmt::format(", CUDA driver {}", driver_text(trial.versions.driver));
  }
  text += "\n";
  const DeviceReadings& readings = trial.readings;
  std::string state;
  if (readings.sm_clock_mhz) state += fmt::format(" SM clock {} MHz,", *readings.sm_clock_mhz);
  if (readings.temperature_c) state += fmt::format(" {} °C,", *readings.temperature_c);
  if (readings.power_mw) state += fmt::format(" {} W,", *readings.power_mw / 1000);
  if (readings.throttle_reasons) {
    const std::string reasons = clock_reasons_text(*readings.throttle_reasons);
    state += fmt::format(" clock limited by: {},", reasons.empty() ? "nothing" : reasons);
  }
  if (!state.empty()) {
    state.back() = '\n';
    text += "  then:" + state;
  }
  if (!trial.reason.empty()) text += fmt::format("  {}\n", trial.reason);
  return text;
}

}  // namespace

std::string evidence_text(const Store& store, const Problem& problem, const ServedLine& line) {
  const MatchedRow& served = line.served;
  const Store::WinnerRow& row = *served.row;
  std::string text = choice_text(problem, served);
  text += time_text(row.winner, store.trial(row.winner.trial.id), row.mode);
  text += roofline_text(line);
  if (served.match.fit == Fit::exact) text += load_text(row.winner.choice);
  if (const auto& accuracy = row.winner.trial.accuracy) {
    text += fmt::format("  right: largest error {:.3g}, norm-wise {:.3g} of the reference\n", accuracy->max_absolute,
                        accuracy->norm_relative);
  }
  text += build_text(store, row.winner.trial) + machine_text(row);
  if (row.device.is_cpu()) text += "  " + emulator_note() + "\n";
  return text;
}

Table evidence_records(const Store& store, const Problem& problem, const std::vector<ServedLine>& lines) {
  struct Proof {
    Winner winner;
    History::TrialOf trial;
    std::optional<History::BuildOf> build;
  };
  std::vector<Proof> proofs;
  for (const ServedLine& line : lines) {
    Proof& proof = proofs.emplace_back();
    if (!line.served.row) continue;
    proof.winner = line.served.row->winner;
    // A choice for another problem is no evidence here.
    if (line.served.match.fit != Fit::exact) proof.winner.choice = {};
    const auto trial = store.trial(proof.winner.trial.id);
    if (trial && trial->timing) proof.trial.rounds = static_cast<std::int32_t>(trial->timing->rounds_ns.size());
    if (const auto build = store.build(proof.winner.trial.build_key)) proof.build = build_of(*build);
  }
  std::vector<EvidenceLine> evidence;
  for (const Proof& proof : proofs) {
    evidence.push_back({&proof.winner, &proof.trial, proof.build ? &*proof.build : nullptr});
  }
  Table table = served_table(problem, lines);
  const Table more = evidence_table(evidence);
  const std::vector<Column> known = table.columns;
  for (std::size_t i = 0; i < more.columns.size(); ++i) {
    const auto is_it = [&](const Column& column) { return column.name == more.columns[i].name; };
    if (std::any_of(known.begin(), known.end(), is_it)) continue;
    table.columns.push_back(more.columns[i]);
    for (std::size_t row = 0; row < table.rows.size(); ++row) table.rows[row].push_back(more.rows[row][i]);
  }
  return table;
}

}  // namespace tilewright::app

// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/fusion_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "cache/base/units.hpp"
#include "tuner/report/roofline_columns.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/report/winners_table.hpp"

namespace tilewright {
namespace {

/// A line of the table, with its account.
struct Entry {
  const FusionAccount* account = nullptr;
  const FusionLine* line = nullptr;
  /// "step", "chain", "fused".
  const char* kind = "step";
};
using FusionSources = std::vector<Source<Entry>>;

const Timing* timing_of(const Entry& shown) {
  return shown.line->trial && shown.line->trial->timing ? &*shown.line->trial->timing : nullptr;
}

/// The sum of the steps; a figure that a step lacks stays empty.
FusionLine chain_of(const FusionAccount& account) {
  FusionLine chain;
  chain.name = "chain";
  chain.bytes = account.chain_bytes();
  chain.flops = account.chain_flops();
  const auto all = [&](auto&& has) { return std::all_of(account.steps.begin(), account.steps.end(), has); };
  if (all([](const FusionLine& line) { return line.predicted_ns.has_value(); })) {
    chain.predicted_ns = 0;
    for (const FusionLine& line : account.steps) *chain.predicted_ns += *line.predicted_ns;
  }
  if (all([](const FusionLine& line) { return line.trial.has_value(); })) {
    Timing& timing = chain.trial.emplace().timing.emplace();
    for (const FusionLine& line : account.steps) {
      timing.median_ns += line.trial->timing->median_ns;
      timing.low_ns += line.trial->timing->low_ns;
      timing.high_ns += line.trial->timing->high_ns;
    }
  } else {
    chain.estimate = account.chain_time();
  }
  return chain;
}

void add_lines(FusionSources& sources) {
  sources.push_back({data_column("kind"), [](const Entry& shown) { return Cell(shown.kind); }});
  sources.push_back({column("name", "step"), [](const Entry& shown) { return Cell(shown.line->name); }});
  sources.push_back({column("op", "op"), [](const Entry& shown) {
                       return shown.line->problem ? Cell(shown.line->problem->spec.op) : Cell();
                     }});
  sources.push_back(
      {column("bytes", "bytes", Unit::bytes), [](const Entry& shown) { return Cell(shown.line->bytes); }});
  sources.push_back(
      {column("flops", "flops", Unit::count), [](const Entry& shown) { return Cell(shown.line->flops); }});
  sources.push_back({spare_column("flop_per_byte", "flop/byte", Unit::rate), [](const Entry& shown) {
                       if (shown.line->bytes <= 0) return Cell();
                       return Cell(static_cast<double>(shown.line->flops) / static_cast<double>(shown.line->bytes));
                     }});
  sources.push_back({spare_column("predicted_ns", "predicted", Unit::nanoseconds),
                     [](const Entry& shown) { return cell_of(shown.line->predicted_ns); }});
  sources.push_back({spare_column("estimated_ns", "estimated", Unit::nanoseconds), [](const Entry& shown) {
                       return shown.line->estimate ? Cell(shown.line->estimate->ns) : Cell();
                     }});
  sources.push_back({spare_column("time_ns", "measured", Unit::nanoseconds), [](const Entry& shown) {
                       return timing_of(shown) != nullptr ? Cell(timing_of(shown)->median_ns) : Cell();
                     }});
  sources.push_back({spare_column("half_interval_share", "±", Unit::share, Shown::people), [](const Entry& shown) {
                       if (shown.line->trial) return half_interval_cell(*shown.line->trial);
                       const auto& estimate = shown.line->estimate;
                       return estimate ? Cell((estimate->high_ns - estimate->low_ns) / 2 / estimate->ns) : Cell();
                     }});
  for (const auto& [name, member] :
       {std::pair("time_low_ns", &Timing::low_ns), std::pair("time_high_ns", &Timing::high_ns)}) {
    sources.push_back({data_column(name), [member = member](const Entry& shown) {
                         return timing_of(shown) != nullptr ? Cell((*timing_of(shown)).*member) : Cell();
                       }});
  }
  for (const auto& [name, member] : {std::pair("estimated_low_ns", &EstimatedTime::low_ns),
                                     std::pair("estimated_high_ns", &EstimatedTime::high_ns)}) {
    sources.push_back({data_column(name), [member = member](const Entry& shown) {
                         return shown.line->estimate ? Cell((*shown.line->estimate).*member) : Cell();
                       }});
  }
  sources.push_back({spare_column("share_of_ceiling", "of ceiling", Unit::share), [](const Entry& shown) {
                       return cell_of(share_of_ceiling(shown.line->roofline, timing_of(shown)));
                     }});
  sources.push_back({spare_column("bound", "bound"), [](const Entry& shown) {
                       const auto bound = bound_of(shown.line->roofline, timing_of(shown));
                       return bound ? Cell(std::string(name(*bound))) : Cell();
                     }});
  Column problem = column("problem", "problem");
  problem.breakable = true;
  problem.spare = true;
  sources.push_back(
      {problem, [](const Entry& shown) { return shown.line->problem ? Cell(shown.line->problem->key()) : Cell(); }});
  sources.push_back({data_column("config"), [](const Entry& shown) {
                       const bool has = shown.line->trial && !shown.line->trial->config.implementation.empty();
                       return has ? Cell(shown.line->trial->config.text()) : Cell();
                     }});
}

/// Adds the columns that only the fused line fills.
void add_account(FusionSources& sources) {
  const auto add = [&](const std::string& name, std::function<Cell(const FusionAccount&)> cell) {
    sources.push_back({data_column(name), [cell = std::move(cell)](const Entry& shown) {
                         return shown.kind == std::string_view("fused") ? cell(*shown.account) : Cell();
                       }});
  };
  add("traffic_ratio", [](const FusionAccount& account) { return Cell(account.traffic_ratio()); });
  add("predicted_speedup", [](const FusionAccount& account) { return cell_of(account.predicted()); });
  const auto speed_up = [&](const std::string& name, std::optional<SpeedUp> (FusionAccount::*of)() const) {
    for (const auto& [ending, member] :
         {std::pair("", &SpeedUp::ratio), std::pair("_low", &SpeedUp::low), std::pair("_high", &SpeedUp::high)}) {
      add(name + ending, [of, member = member](const FusionAccount& account) {
        const auto ratio = (account.*of)();
        return ratio ? Cell((*ratio).*member) : Cell();
      });
    }
  };
  speed_up("estimated_speedup", &FusionAccount::estimated);
  speed_up("measured_speedup", &FusionAccount::measured);
  add("chain_bound", [](const FusionAccount& account) {
    const auto bound = account.bound();
    return bound ? Cell(std::string(name(*bound))) : Cell();
  });
  add("parallel_axes", [](const FusionAccount& account) {
    const auto axes = account.common_axes();
    return axes ? Cell(fmt::format("{}", fmt::join(*axes, ","))) : Cell();
  });
  add("shared_needed_bytes", [](const FusionAccount& account) { return cell_of(account.shared_needed); });
  add("shared_used_bytes", [](const FusionAccount& account) { return cell_of(account.shared_used); });
  add("shared_available_bytes", [](const FusionAccount& account) { return cell_of(account.shared_available); });
  add("worth_fusing", [](const FusionAccount& account) {
    const FusionVerdict verdict = account.verdict();
    return verdict == FusionVerdict::either ? Cell() : Cell(verdict == FusionVerdict::worth_it);
  });
  add("verdict_by", [](const FusionAccount& account) { return Cell(std::string(name(account.basis()))); });
}

std::string bounded_text(const SpeedUp& ratio) {
  return fmt::format("{} ({} to {})", show_ratio(ratio.ratio), show_ratio(ratio.low), show_ratio(ratio.high));
}

std::string verdict_text(const FusionAccount& account) {
  const FusionVerdict verdict = account.verdict();
  if (const FusionBasis basis = account.basis(); basis != FusionBasis::predicted) {
    const bool is_measured = basis == FusionBasis::measured;
    if (verdict == FusionVerdict::either) {
      return is_measured ? "either: no difference is measured"
                         : "either: the estimates from winners around differ by less than their error (--measure)";
    }
    const char* how = is_measured ? "measured" : "estimated from winners around";
    return verdict == FusionVerdict::worth_it ? fmt::format("worth fusing: it is {} to be faster", how)
                                              : fmt::format("not worth fusing: it is {} to be slower", how);
  }
  const auto predicted = account.predicted_by_ceilings();
  std::vector<std::string> against;
  if (predicted && *predicted < kLeastPredicted) {
    against.push_back(
        fmt::format("the ceilings promise {} and not {}", show_ratio(*predicted), show_ratio(kLeastPredicted)));
  }
  for (const FusionReason& reason : account.reasons()) {
    if (reason.holds.value_or(true) || (predicted && reason.is_of_time)) continue;
    against.push_back(reason.name == "traffic"         ? "it saves too little traffic"
                      : reason.name == "bound by"      ? "computing bounds the chain"
                      : reason.name == "parallel axis" ? "no parallel axis is shared"
                                                       : "too little fits on chip");
  }
  if (verdict == FusionVerdict::worth_it) {
    return predicted ? "worth fusing: it is predicted by ceilings to be faster" : "worth fusing";
  }
  return fmt::format("not worth fusing: {}", fmt::join(against, ", and "));
}

std::string missing_text(const FusionAccount& account) {
  std::vector<std::string> without_op;
  std::vector<std::string> untimed;
  for (const FusionLine& line : account.steps) {
    if (!line.problem) without_op.push_back(line.name);
    if (line.problem && !line.trial) untimed.push_back(line.name);
  }
  if (!account.fused.trial) untimed.emplace_back("fused");
  if (!without_op.empty()) return fmt::format("not, since no op does {}", fmt::join(without_op, " and "));
  return fmt::format("not yet: {} to be timed (--measure)", fmt::join(untimed, ", "));
}

}  // namespace

Table fusion_table(const FusionAccount& account) {
  const FusionLine chain = chain_of(account);
  std::vector<Entry> lines;
  for (const FusionLine& step : account.steps) lines.push_back({&account, &step, "step"});
  lines.push_back({&account, &chain, "chain"});
  lines.push_back({&account, &account.fused, "fused"});
  Table table;
  table.title = fmt::format("Fusion of {}{}", account.problem.key(),
                            account.device ? fmt::format(" on {}", account.device->fingerprint()) : "");
  FusionSources sources;
  sources.push_back({data_column("device"), [](const Entry& shown) {
                       return shown.account->device ? Cell(shown.account->device->fingerprint()) : Cell();
                     }});
  add_lines(sources);
  add_account(sources);
  fill(table, sources, lines);
  return table;
}

Table fusion_table(const std::vector<FusionAccount>& accounts) {
  Table table = fusion_table(accounts.front());
  if (accounts.size() > 1) table.title = fmt::format("Fusion of {}", accounts.front().problem.key());
  for (std::size_t i = 1; i < accounts.size(); ++i) {
    for (std::vector<Cell>& row : fusion_table(accounts[i]).rows) table.rows.push_back(std::move(row));
  }
  return table;
}

Table verdict_table(const FusionAccount& account) {
  Table table;
  table.as_records = true;
  std::vector<Cell> cells;
  const auto add = [&](const std::string& name, std::string text) {
    table.columns.push_back(column(name, name));
    table.columns.back().breakable = true;
    cells.emplace_back(std::move(text));
  };
  for (const FusionReason& reason : account.reasons()) {
    const char* mark = !reason.holds ? "?" : *reason.holds ? "+" : "-";
    add(reason.name, fmt::format("{} {}", mark, reason.text));
  }
  const auto measured = account.measured();
  const auto predicted = account.predicted();
  const bool modelled = account.fused.predicted_ns.has_value();
  add("predicted",
      !predicted ? "  not known: computing bounds, and no ceiling is measured"
                 : fmt::format("  {}{}", show_ratio(*predicted),
                               modelled ? ", by the measured ceilings" : ", by traffic alone: no ceiling is measured"));
  if (const auto estimated = account.estimated()) {
    add("estimated", fmt::format("  {}, from winners around", bounded_text(*estimated)));
  }
  add("measured", "  " + (measured ? bounded_text(*measured) : missing_text(account)));
  add("verdict", "  " + verdict_text(account));
  table.rows.push_back(std::move(cells));
  if (measured || account.estimated()) {
    table.notes.push_back(
        "Steps were timed one by one with inputs in memory; in a chain small ones may find them in the L2.");
  }
  if (account.device && account.device->is_cpu() && measured) table.notes.push_back(emulator_note());
  return table;
}

}  // namespace tilewright

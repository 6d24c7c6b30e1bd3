// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/winners_table.hpp"

#include <algorithm>
#include <utility>

#include "tuner/report/sources.hpp"

namespace tilewright {
namespace {

using Sources = std::vector<Source<WinnerLine>>;

const Winner& winner(const WinnerLine& line) { return line.row.winner; }

/// Positive, or 0 where there is none.
double median(const WinnerLine& line) {
  const auto& timing = winner(line).trial.timing;
  return timing ? timing->median_ns : 0;
}

/// Amount a nanosecond is 10^9 a second: GB/s for bytes, GFLOP/s for operations.
Cell giga_per_second(const WinnerLine& line, const std::optional<std::int64_t>& amount) {
  if (!amount || median(line) <= 0) return {};
  return static_cast<double>(*amount) / median(line);
}

double ceiling_ns(const WinnerLine& line) { return line.ceiling ? line.ceiling->best_ns() : 0; }

Cell share_of_ceiling(const WinnerLine& line) {
  if (ceiling_ns(line) <= 0 || median(line) <= 0) return {};
  return ceiling_ns(line) / median(line);
}

bool launch_bound(const WinnerLine& line) {
  const auto& timing = winner(line).trial.timing;
  return timing && timing->launch_bound();
}

void add_problem(Sources& sources, const Problem& first) {
  sources.push_back({data_column("shape_key"), [](const WinnerLine& line) { return Cell(line.row.problem.key()); }});
  sources.push_back({data_column("op"), [](const WinnerLine& line) { return Cell(line.row.problem.spec.op); }});
  sources.push_back({common_column("dtype", "dtype"),
                     [](const WinnerLine& line) { return Cell(std::string(name(line.row.problem.spec.dtype))); }});
  for (const auto& pair : first.spec.attributes) {
    sources.push_back({common_column(pair.first, pair.first), [attribute = pair.first](const WinnerLine& line) {
                         const std::string* found = line.row.problem.spec.attribute(attribute);
                         return found != nullptr ? Cell(*found) : Cell();
                       }});
  }
  for (const auto& pair : first.dims) {
    sources.push_back({column(pair.first, pair.first),
                       [dim = pair.first](const WinnerLine& line) { return Cell(line.row.problem.dim(dim)); }});
  }
}

void add_time(Sources& sources) {
  Column config = column("winner", "winner");
  config.breakable = true;
  sources.push_back({config, [](const WinnerLine& line) { return Cell(winner(line).trial.config.text()); }});
  sources.push_back({column("time_ns", "time", Unit::nanoseconds),
                     [](const WinnerLine& line) { return time_cell(winner(line), &Timing::median_ns); }});
  sources.push_back({people_column("half_interval_share", "±", Unit::share),
                     [](const WinnerLine& line) { return half_interval_cell(winner(line)); }});
  for (const auto& [name, member] :
       {std::pair("time_low_ns", &Timing::low_ns), std::pair("time_high_ns", &Timing::high_ns),
        std::pair("floor_ns", &Timing::floor_ns)}) {
    sources.push_back(
        {data_column(name), [member = member](const WinnerLine& line) { return time_cell(winner(line), member); }});
  }
  sources.push_back({data_column("launch_bound"), [](const WinnerLine& line) { return Cell(launch_bound(line)); }});
}

/// By what the time is bound. The most telling first: text drops from the right what does not fit.
void add_bound(Sources& sources) {
  sources.push_back({spare_column("bound", "bound"), [](const WinnerLine& line) {
                       const auto bound = bound_of(line);
                       return bound ? Cell(std::string(name(*bound))) : Cell();
                     }});
  sources.push_back({spare_column("flop_per_byte", "flop/byte", Unit::rate),
                     [](const WinnerLine& line) { return cell_of(intensity_of(line)); }});
  sources.push_back(
      {data_column("ridge_flop_per_byte"), [](const WinnerLine& line) { return cell_of(ridge_of(line)); }});
  sources.push_back(
      {spare_column("bytes", "bytes", Unit::bytes), [](const WinnerLine& line) { return cell_of(line.bytes); }});
  sources.push_back(
      {spare_column("flops", "flops", Unit::count), [](const WinnerLine& line) { return cell_of(line.flops); }});
}

void add_ceiling(Sources& sources) {
  sources.push_back({column("gb_per_s", "GB/s", Unit::rate),
                     [](const WinnerLine& line) { return giga_per_second(line, line.bytes); }});
  sources.push_back(
      {data_column("gflop_per_s"), [](const WinnerLine& line) { return giga_per_second(line, line.flops); }});
  sources.push_back({data_column("ceiling_ns"),
                     [](const WinnerLine& line) { return ceiling_ns(line) > 0 ? Cell(ceiling_ns(line)) : Cell(); }});
  sources.push_back({data_column("ceiling_reads_per_write"), [](const WinnerLine& line) {
                       return line.ceiling ? Cell(std::int64_t{line.ceiling->reads}) : Cell();
                     }});
  sources.push_back({column("share_of_ceiling", "of ceiling", Unit::share), share_of_ceiling});
  add_bound(sources);
  sources.push_back({data_column("base_ns"), [](const WinnerLine& line) { return cell_of(winner(line).base_ns); }});
  sources.push_back({column("speedup_over_base", "vs base", Unit::ratio),
                     [](const WinnerLine& line) { return speedup_cell(winner(line)); }});
}

void add_evidence(Sources& sources) {
  sources.push_back({data_column("runner_up"), [](const WinnerLine& line) { return runner_up_cell(winner(line)); }});
  sources.push_back(
      {data_column("runner_up_ratio"), [](const WinnerLine& line) { return cell_of(winner(line).runner_up_ratio); }});
  sources.push_back(
      {common_column("mode", "mode"), [](const WinnerLine& line) { return Cell(std::string(name(line.row.mode))); }});
  sources.push_back({common_column("regime", "regime"),
                     [](const WinnerLine& line) { return Cell(std::string(name(winner(line).choice.regime))); }});
  sources.push_back({common_column("match", "match"), [](const WinnerLine& line) { return Cell(line.match.text()); }});
  sources.push_back(
      {common_column("device", "device"), [](const WinnerLine& line) { return Cell(line.row.device.fingerprint()); }});
  sources.push_back({data_column("timed_by"), [](const WinnerLine& line) {
                       return Cell(std::string(line.row.device.is_cpu() ? "emulator" : "gpu"));
                     }});
  sources.push_back(
      {data_column("gpu_uuid"), [](const WinnerLine& line) { return Cell(winner(line).trial.gpu_uuid); }});
  sources.push_back(
      {data_column("measured_at"), [](const WinnerLine& line) { return Cell(winner(line).trial.measured_at); }});
}

std::vector<std::string> notes_of(const std::vector<WinnerLine>& lines) {
  std::vector<std::string> notes;
  const auto on_cpu = [](const WinnerLine& line) { return line.row.device.is_cpu(); };
  if (std::any_of(lines.begin(), lines.end(), on_cpu)) notes.push_back(emulator_note());
  const auto bound = std::count_if(lines.begin(), lines.end(), launch_bound);
  if (bound > 0) {
    notes.push_back(std::to_string(bound) + (bound == 1 ? " time is" : " times are") +
                    " launch-bound (within twice an empty kernel's): the launch is what was timed.");
  }
  return notes;
}

}  // namespace

std::string_view name(Bound bound) noexcept {
  return bound == Bound::launch ? "launch" : bound == Bound::memory ? "memory" : "compute";
}

std::optional<double> intensity_of(const WinnerLine& line) {
  if (!line.bytes || !line.flops || *line.bytes <= 0) return std::nullopt;
  return static_cast<double>(*line.flops) / static_cast<double>(*line.bytes);
}

std::optional<double> ridge_of(const WinnerLine& line) {
  if (!line.rate || ceiling_ns(line) <= 0 || line.ceiling->bytes <= 0) return std::nullopt;
  const double bytes_per_second = static_cast<double>(line.ceiling->bytes) / ceiling_ns(line) * 1e9;
  return line.rate->flops_per_second / bytes_per_second;
}

std::optional<Bound> bound_of(const WinnerLine& line) {
  if (launch_bound(line)) return Bound::launch;
  const auto intensity = intensity_of(line);
  if (intensity && *intensity == 0) return Bound::memory;
  const auto ridge = ridge_of(line);
  if (!intensity || !ridge) return std::nullopt;
  return *intensity > *ridge ? Bound::compute : Bound::memory;
}

const std::string& emulator_note() {
  static const std::string kNote =
      "Times of device cpu are the emulator's on this machine's processor: they say nothing about a GPU.";
  return kNote;
}

Table winners_table(std::string title, const std::vector<WinnerLine>& lines) {
  Table table;
  table.title = std::move(title);
  Sources sources;
  add_problem(sources, lines.empty() ? Problem{} : lines.front().row.problem);
  add_time(sources);
  add_ceiling(sources);
  add_evidence(sources);
  fill(table, sources, lines);
  table.notes = notes_of(lines);
  return table;
}

}  // namespace tilewright

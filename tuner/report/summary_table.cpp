// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/summary_table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "cache/base/units.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright {
namespace {

/// The winners of one row.
struct Group {
  const WinnerLine* first = nullptr;
  std::int64_t problems = 0;
  std::int64_t launch_bound = 0;
  std::vector<double> shares;
  double speedup_logs = 0;
  std::int64_t speedups = 0;
  std::int64_t newest = 0;
};

void add(Group& group, const WinnerLine& line) {
  const Winner& winner = line.row.winner;
  const Timing* timing = winner.trial.timing ? &*winner.trial.timing : nullptr;
  ++group.problems;
  if (timing != nullptr && timing->launch_bound()) ++group.launch_bound;
  if (const auto share = share_of_ceiling(line, timing)) group.shares.push_back(*share);
  if (winner.base_ns && *winner.base_ns > 0 && timing != nullptr && timing->median_ns > 0) {
    group.speedup_logs += std::log(*winner.base_ns / timing->median_ns);
    ++group.speedups;
  }
  group.newest = std::max(group.newest, winner.trial.measured_at);
}

/// The share at `part` of the sorted shares: at 0.5, half of the problems are nearer to their ceiling.
Cell share_at(const Group& group, double part) {
  if (group.shares.empty()) return {};
  return Cell(group.shares[static_cast<std::size_t>(part * static_cast<double>(group.shares.size() - 1))]);
}

std::string attributes_of(const OpSpec& spec) {
  std::string text;
  for (const auto& [attribute, value] : spec.attributes) text += (text.empty() ? "" : ", ") + attribute + "=" + value;
  return text;
}

std::vector<Source<Group>> sources_of(bool attributes) {
  const auto spec = [](const Group& group) -> const OpSpec& { return group.first->row.problem.spec; };
  std::vector<Source<Group>> sources{
      {common_column("op", "op"), [spec](const Group& group) { return Cell(spec(group).op); }},
      {common_column("dtype", "dtype"),
       [spec](const Group& group) { return Cell(std::string(name(spec(group).dtype))); }}};
  if (attributes) {
    Column column = common_column("attributes", "attributes");
    column.breakable = true;
    sources.push_back({column, [spec](const Group& group) { return Cell(attributes_of(spec(group))); }});
  }
  const std::vector<Source<Group>> more{
      {column("problems", "problems"), [](const Group& group) { return Cell(group.problems); }},
      {column("share_at_median", "of ceiling", Unit::share), [](const Group& group) { return share_at(group, 0.5); }},
      {spare_column("share_at_tenth", "p10", Unit::share), [](const Group& group) { return share_at(group, 0.1); }},
      {spare_column("shares", "with ceiling"),
       [](const Group& group) { return Cell(static_cast<std::int64_t>(group.shares.size())); }},
      {spare_column("launch_bound", "launch-bound"), [](const Group& group) { return Cell(group.launch_bound); }},
      {column("speedup_over_base", "vs base", Unit::ratio),
       [](const Group& group) {
         if (group.speedups == 0) return Cell();
         return Cell(std::exp(group.speedup_logs / static_cast<double>(group.speedups)));
       }},
      {people_column("newest", "newest"),
       [](const Group& group) { return group.newest > 0 ? Cell(show_moment(group.newest).substr(0, 10)) : Cell(); }},
      {data_column("newest_measured_at"), [](const Group& group) { return Cell(group.newest); }},
      {common_column("mode", "mode"),
       [](const Group& group) { return Cell(std::string(name(group.first->row.mode))); }},
      {common_column("device", "device"),
       [](const Group& group) { return Cell(group.first->row.device.fingerprint()); }}};
  sources.insert(sources.end(), more.begin(), more.end());
  return sources;
}

}  // namespace

Table summary_table(std::string title, const std::vector<WinnerLine>& lines, bool attributes) {
  using Key = std::tuple<std::string, DType, std::string, MeasureMode, std::string>;
  std::map<Key, std::size_t> known;
  std::vector<Group> groups;
  for (const WinnerLine& line : lines) {
    const OpSpec& spec = line.row.problem.spec;
    const Key key{spec.op, spec.dtype, attributes ? attributes_of(spec) : "", line.row.mode,
                  line.row.device.fingerprint()};
    const auto [at, is_new] = known.emplace(key, groups.size());
    if (is_new) groups.emplace_back().first = &line;
    add(groups[at->second], line);
  }
  for (Group& group : groups) std::sort(group.shares.begin(), group.shares.end());
  Table table;
  table.title = std::move(title);
  fill(table, sources_of(attributes), groups);
  if (!groups.empty()) {
    table.notes.push_back(
        "of ceiling: the share that half of the problems with one exceed. vs base: the geometric mean.");
  }
  const auto on_cpu = [](const WinnerLine& line) { return line.row.device.is_cpu(); };
  if (std::any_of(lines.begin(), lines.end(), on_cpu)) table.notes.push_back(emulator_note());
  return table;
}

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tuner/app/commands.hpp"
#include "tuner/app/lookup.hpp"
#include "tuner/app/stored_devices.hpp"

namespace tilewright::app {

bool QueryResult::is_served() const {
  return std::ranges::any_of(lines, [](const ServedLine& line) { return line.served.match.fit != Fit::none; });
}

QueryResult query(const QueryRequest& request) {
  const Store store = open_to_read(request.place);
  const OpInterface interface = interface_of(request.problem.op, store, request.place);
  QueryResult result{to_problem(request.problem, interface), {}, {}, {}, {}};
  const std::vector<std::string> current = current_implementations(request.problem.op, request.place);
  for (const DeviceFacts& device : choose_devices(store, request.device)) {
    const std::string asked = device.name.rfind("sm_", 0) == 0 ? device.name : device.fingerprint();
    Lookup found = look_up(store, interface, result.problem, device, current);
    ServedLine& line = result.lines.emplace_back(ServedLine{asked, std::move(found.served)});
    if (line.served.row) line.roofline = roofline_of(store, *line.served.row, request.place);
    if (!found.obstacle.empty()) result.obstacles.push_back(fmt::format("{}: {}", asked, found.obstacle));
    for (const std::string& each : found.decisions) result.decisions.push_back(fmt::format("{}: {}", asked, each));
    if (!found.unread.empty()) result.unread.push_back(fmt::format("{}: passed over: {}", asked, found.unread));
  }
  return result;
}

Table table_of(const QueryResult& result, const Place& place) {
  Table table = served_table(result.problem, result.lines);
  table.notes.insert(table.notes.end(), result.decisions.begin(), result.decisions.end());
  table.notes.insert(table.notes.end(), result.unread.begin(), result.unread.end());
  table.notes.insert(table.notes.end(), result.obstacles.begin(), result.obstacles.end());
  if (result.obstacles.empty() && !result.is_served()) {
    table.advice.push_back({"Nothing is known for this problem; tune it:",
                            {fmt::format("tilewright sweep \"{}\"{}", result.problem.key(), cache_option(place))}});
  }
  return table;
}

}  // namespace tilewright::app

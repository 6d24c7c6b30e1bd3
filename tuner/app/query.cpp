// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/app/lookup.hpp"
#include "tuner/app/stored_devices.hpp"
#include "tuner/sweep/failure.hpp"

namespace tilewright::app {
namespace {

/// How the op's base failed on a problem of the spec of `asked`, with the current sources; empty if it did not, or if
/// the op's definition is not here.
std::string failure_of_base(const Store& store, const ProblemKey& asked, const std::vector<std::string>& current,
                            const OpDefinition* definition) {
  if (definition == nullptr) return {};
  for (const Store::Tried& tried : store.tried(asked.problem.spec.op)) {
    const ProblemKey& key = tried.key;
    if (key.problem.spec != asked.problem.spec || key.interface_hash != asked.interface_hash ||
        key.device_fingerprint != asked.device_fingerprint) {
      continue;
    }
    for (const Trial& trial : store.trials(key, current, tried.mode)) {
      if (trial.config == definition->base && is_failure(trial.status)) return base_failure(key.problem, trial);
    }
  }
  return {};
}

/// All combinations of dtypes and attribute values.
std::vector<OpSpec> specs_of(const OpInterface& interface) {
  std::vector<OpSpec> specs;
  for (const DType dtype : interface.dtypes) specs.push_back({interface.op, dtype, {}});
  for (const Attribute& attribute : interface.attributes) {
    std::vector<OpSpec> longer;
    for (const OpSpec& spec : specs) {
      for (const std::string& value : attribute.values) {
        longer.push_back(spec);
        longer.back().attributes.emplace_back(attribute.name, value);
      }
    }
    specs = std::move(longer);
  }
  return specs;
}

/// warm_up() for one op.
void warm_op(OpenPlace& open, const std::string& op, const std::function<bool()>& cancelled) {
  const Store& store = open.store();
  const OpInterface interface = store.interface_of(op).value();
  for (const OpSpec& spec : specs_of(interface)) {
    Problem problem{spec, {}};
    for (const std::string& dim : interface.dims) problem.dims.emplace_back(dim, 1024);
    for (const DeviceFacts& device : store.devices()) {
      if (cancelled()) return;
      const ProblemKey key{problem, interface.hash(), device.fingerprint()};
      const std::vector<ShapeDims> tuned = store.tuned_near(key, MeasureMode::cold, 1);
      if (tuned.empty()) continue;
      for (std::size_t i = 0; i < problem.dims.size(); ++i) problem.dims[i].second = tuned.front()[i];
      ++problem.dims.front().second;
      static_cast<void>(query(open, read_problem_words({problem.key()}), key.device_fingerprint));
    }
  }
}

}  // namespace

bool QueryResult::is_served() const {
  return std::ranges::any_of(lines, [](const ServedLine& line) { return line.served.match.fit != Fit::none; });
}

QueryResult query(const QueryRequest& request) {
  OpenPlace open(request.place);
  return query(open, request.problem, request.device);
}

QueryResult query(OpenPlace& open, const ProblemWords& words, const std::string& device_name) {
  const Store& store = open.store();
  const OpInterface interface = interface_of(words.op, store, open.place());
  QueryResult result{to_problem(words, interface), {}, {}, {}, {}};
  const std::vector<std::string>& current = open.implementations(words.op);
  for (const DeviceFacts& device : choose_devices(store, device_name)) {
    const std::string asked = device.name.rfind("sm_", 0) == 0 ? device.name : device.fingerprint();
    Lookup found = look_up(store, interface, result.problem, device, current);
    ServedLine& line = result.lines.emplace_back(ServedLine{asked, std::move(found.served)});
    line.expected = std::move(found.expected);
    line.own_bytes = bytes_of(interface, result.problem);
    // An untimed config is kept with another shape, whose bytes say nothing here.
    if (line.served.row && line.served.row->winner.trial.timing) line.roofline = open.roofline(*line.served.row);
    if (!line.served.row && found.obstacle.empty()) {
      found.obstacle = failure_of_base(store, {result.problem, interface.hash(), device.fingerprint()}, current,
                                       open.definition(words.op));
    }
    if (!found.obstacle.empty()) result.obstacles.push_back(fmt::format("{}: {}", asked, found.obstacle));
    for (const std::string& each : found.decisions) result.decisions.push_back(fmt::format("{}: {}", asked, each));
    if (!found.unread.empty()) result.unread.push_back(fmt::format("{}: passed over: {}", asked, found.unread));
  }
  result.warning = open.warning(words.op, result.is_served());
  return result;
}

void warm_up(OpenPlace& open, const std::function<bool()>& cancelled) {
  const Store& store = open.store();
  for (const std::string& op : store.ops()) {
    if (cancelled()) return;
    try {
      warm_op(open, op, cancelled);
    } catch (const Error&) {  // A query reports it.
    }
  }
}

Table table_of(const QueryResult& result, const Place& place) {
  Table table = served_table(result.problem, result.lines);
  if (!result.warning.empty()) table.notes.push_back(result.warning);
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

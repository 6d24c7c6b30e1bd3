// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "cache/version.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/report/winner_lines.hpp"

namespace tilewright::cli {
namespace {

/// The op's definition, or null when it is not on this machine: a cache may come from another.
const OpDefinition* definition_of(const std::string& op, Catalogue& catalogue, const Store& store) {
  const std::vector<std::string> names = catalogue.names();
  if (std::find(names.begin(), names.end(), op) != names.end()) return &catalogue.find(op);
  const std::vector<std::string> stored = store.ops();
  if (std::find(stored.begin(), stored.end(), op) != stored.end()) return nullptr;
  return &catalogue.find(op);  // throws, and says what is near
}

Freshness judge(const Store::WinnerRow& row, const std::vector<std::string>& current) {
  const bool retired =
      !current.empty() && std::find(current.begin(), current.end(), row.implementation_hash) == current.end();
  return retired || row.winner.trial.versions.tilewright != version() ? Freshness::stale : Freshness::fresh;
}

std::vector<DType> dtypes_of(const Arguments& arguments, const OpInterface& interface) {
  std::vector<DType> dtypes;
  if (!arguments.has("dtype")) return dtypes;
  for (const std::string& typed : split_list(arguments.text("dtype"))) {
    dtypes.push_back(parse_spec(fmt::format("{}[dtype={}]", interface.op, typed), interface).dtype);
  }
  return dtypes;
}

template <class Value>
bool holds(const std::vector<Value>& values, const Value& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

ExitCode run_table_verb(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const std::string& op = arguments.word(0, "the name of an op");
  arguments.require_at_most(1);
  const MeasureMode mode = mode_of(arguments).value_or(MeasureMode::cold);
  Catalogue catalogue = open_catalogue(arguments);
  const Store store = open_to_read(arguments);
  const OpDefinition* definition = definition_of(op, catalogue, store);
  const auto stored = store.interface_of(op);
  const OpInterface interface = stored ? *stored : definition->interface;
  const std::vector<DType> dtypes = dtypes_of(arguments, interface);
  std::vector<std::string> devices;
  for (const DeviceFacts& device : choose_devices(store, arguments.text("device"))) {
    devices.push_back(device.fingerprint());
  }

  const std::string hash = interface.hash();
  const std::vector<std::string> current = current_hashes(definition);
  std::vector<WinnerLine> lines;
  std::size_t retired = 0;
  for (Store::WinnerRow& row :
       store.list_winners({.op = op, .fingerprint = {}, .mode = mode, .role = WinnerRole::best})) {
    if (!holds(devices, row.device.fingerprint())) continue;
    if (!dtypes.empty() && !holds(dtypes, row.problem.spec.dtype)) continue;
    if (row.interface_hash != hash) {
      ++retired;
      continue;
    }
    const Match match{Fit::exact, judge(row, current), DeviceFit::same_device};
    lines.push_back(winner_line(store, definition, std::move(row), match));
  }

  Table table = winners_table(fmt::format("Winners of {}", op), lines);
  if (definition == nullptr) {
    table.notes.push_back(
        fmt::format("The definition of {} is not on this machine, so bandwidths and ceilings are not "
                    "known; name its folder with --ops DIR.",
                    op));
  }
  if (retired > 0) {
    table.notes.push_back(fmt::format("{} winners of an older interface of {} are left out.", retired, op));
  }
  if (lines.empty()) table.notes.push_back(fmt::format("No winner fits; make some: tilewright sweep {}", op));
  console.print(table, format);
  return lines.empty() ? ExitCode::failed : ExitCode::done;
}

}  // namespace tilewright::cli

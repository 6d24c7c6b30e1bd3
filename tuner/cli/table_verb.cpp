// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/stored_winners.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

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

ExitCode run(const Arguments& arguments, Console& console) {
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

  StoredWinners winners = stored_winners(store, interface, definition, devices, mode);
  std::vector<WinnerLine>& lines = winners.lines;
  std::erase_if(lines,
                [&](const WinnerLine& line) { return !dtypes.empty() && !holds(dtypes, line.row.problem.spec.dtype); });

  Table table = winners_table(fmt::format("Winners of {}", op), lines);
  if (definition == nullptr) table.notes.push_back(no_definition_note(op));
  if (winners.retired > 0) {
    table.notes.push_back(fmt::format("{} winners of an older interface of {} are left out.", winners.retired, op));
  }
  if (lines.empty()) table.notes.push_back(fmt::format("No winner fits; make some: tilewright sweep {}", op));
  console.print(table, format);
  return lines.empty() ? ExitCode::failed : ExitCode::done;
}

}  // namespace

Verb table_verb() {
  Verb verb;
  verb.name = "table";
  verb.summary = "Print the winners of an op over all shapes in the cache";
  verb.usage = "OP [OPTION...]";
  verb.description = {
      "Shape, winner, time with its 95 % interval, GB/s, share of the ceiling of the same traffic, what the time is "
      "bound by, speed-up over "
      "the "
      "op's base, match and device. A time of device cpu is the emulator's.",
  };
  verb.options = {
      {"dtype", "LIST", "Only these types."}, kDevice, kMode, kOps, kCache, kFormat,
  };
  verb.examples = {{"tilewright table softmax --dtype bf16 --format csv", "For a spreadsheet."}};
  verb.exit_codes = "0 done, 1 there is no winner to print or the cache cannot be read, 2 the command line is wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli

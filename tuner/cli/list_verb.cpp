// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/sweep_misses.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/report/op_tables.hpp"

namespace tilewright::cli {
namespace {

/// Configs of all implementations before any constraint.
std::int64_t space_size(const OpDefinition& definition) {
  std::int64_t total = 0;
  for (const Implementation& implementation : definition.implementations) {
    std::int64_t size = 1;
    for (const Parameter& parameter : implementation.space) size *= static_cast<std::int64_t>(parameter.values.size());
    total += size;
  }
  return total;
}

std::int64_t tuned_problems(const std::optional<Store>& store, const std::string& op) {
  if (!store) return 0;
  std::set<std::string> keys;
  for (const Store::WinnerRow& row :
       store->list_winners({.op = op, .fingerprint = {}, .mode = {}, .role = WinnerRole::best})) {
    keys.insert(row.problem.key());
  }
  return static_cast<std::int64_t>(keys.size());
}

std::vector<Cell> op_cells(const OpDefinition& definition, Cell tuned) {
  std::vector<std::string> implementations;
  for (const Implementation& implementation : definition.implementations) {
    implementations.push_back(implementation.recipe.name);
  }
  return {definition.interface.op,
          fmt::format("{}", fmt::join(definition.interface.dims, ", ")),
          dtypes_text(definition.interface),
          attributes_text(definition.interface),
          fmt::format("{}", fmt::join(implementations, ", ")),
          space_size(definition),
          std::move(tuned),
          definition.summary,
          definition.file.string()};
}

ExitCode list_ops(const Arguments& arguments, Console& console) {
  Catalogue catalogue = open_catalogue(arguments);
  std::string unusable;
  const std::optional<Store> store = cache_if_usable(arguments, unusable);
  Table table;
  table.title = "Ops";
  table.columns = {{"op", "op"},
                   {"dims", "dims"},
                   {"dtypes", "dtypes"},
                   {.name = "attributes", .heading = "attributes", .common = true, .breakable = true, .spare = true},
                   {.name = "implementations", .heading = "implementations", .breakable = true, .spare = true},
                   {.name = "configs", .heading = "configs", .spare = true},
                   {"problems_tuned", "tuned"},
                   {"summary", "summary", Unit::none, Shown::everywhere, false, true},
                   {"file", "", Unit::none, Shown::programs}};
  ExitCode code = ExitCode::done;
  for (const std::string& op : catalogue.names()) {
    try {
      table.rows.push_back(op_cells(catalogue.find(op), unusable.empty() ? Cell(tuned_problems(store, op)) : Cell()));
    } catch (const UsageError& mistakes) {
      // One op with mistakes does not hide the others.
      console.say(fmt::format("{} is left out:\n{}", op, mistakes.what()));
      code = ExitCode::partly;
    }
  }
  if (!unusable.empty()) table.notes.push_back(fmt::format("What is tuned is not known: {}", unusable));
  table.notes.push_back("Tune one: tilewright sweep OP. Configs are counted before constraints.");
  console.print(table, format_of(arguments));
  return code;
}

ExitCode list_devices(const Arguments& arguments, Console& console) {
  const Store store = open_to_read(arguments);
  std::map<std::string, std::set<std::string>> served;
  for (const Store::WinnerRow& row :
       store.list_winners({.op = {}, .fingerprint = {}, .mode = {}, .role = WinnerRole::best})) {
    served[row.device.fingerprint()].insert(row.problem.key());
  }
  Table table;
  table.title = "Devices of the cache";
  table.columns = {{"name", "name"},
                   {"compute_capability", "compute capability"},
                   {"sm_count", "SMs"},
                   {"memory_bytes", "memory", Unit::bytes},
                   {"l2_bytes", "L2", Unit::bytes},
                   {"problems_tuned", "tuned"},
                   {"fingerprint", "", Unit::none, Shown::programs}};
  for (const DeviceFacts& device : store.devices()) {
    const auto tuned = static_cast<std::int64_t>(served[device.fingerprint()].size());
    if (device.is_cpu()) {
      table.rows.push_back({device.name, Cell(), Cell(), Cell(), Cell(), tuned, device.fingerprint()});
      continue;
    }
    table.rows.push_back({device.name, std::int64_t{device.compute_capability}, std::int64_t{device.sm_count},
                          device.memory_bytes, device.l2_bytes, tuned, device.fingerprint()});
  }
  if (table.rows.empty()) table.notes.push_back("There is none yet; tune something: tilewright sweep OP");
  console.print(table, format_of(arguments));
  return ExitCode::done;
}

ExitCode run(const Arguments& arguments, Console& console) {
  arguments.require_at_most(1);
  (void)format_of(arguments);
  const std::string what = arguments.words().empty() ? "ops" : arguments.words().front();
  if (what == "ops") return list_ops(arguments, console);
  if (what == "devices") return list_devices(arguments, console);
  if (what == "misses") return list_misses(arguments, console);
  throw UsageError(fmt::format("there is no list of '{}'{}", what, suggestion(what, {"ops", "devices", "misses"})));
}

}  // namespace

Verb list_verb() {
  Verb verb;
  verb.name = "list";
  verb.summary = "List the ops that can be tuned, the devices of the cache, or the misses";
  verb.usage = "[ops|devices|misses] [OPTION...]";
  verb.description = {
      "ops (default): each op with its dims, types, attributes, implementations, the size of its space and how many of "
      "its problems have a winner in the cache. devices: those that the cache has trials of. misses: shapes that "
      "applications asked for and that had no exact winner, the most asked first.",
  };
  verb.options = {kOps, kCache, kFormat};
  verb.examples = {{"tilewright list --ops ./my_ops", "Your own ops among the built-in ones."}};
  verb.exit_codes = "0 done, 1 failed, 2 the command line is wrong, 3 some definition has mistakes.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli

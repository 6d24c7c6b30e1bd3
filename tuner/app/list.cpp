// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "cache/store/sweep_list.hpp"
#include "tuner/report/op_tables.hpp"

namespace tilewright::app {
namespace {

/// The number of configs of all implementations, before any constraint.
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
  std::vector<std::string> implementations, hashes;
  for (const Implementation& implementation : definition.implementations) {
    implementations.push_back(implementation.recipe.name);
    hashes.push_back(implementation.hash);
  }
  return {definition.interface.op,
          fmt::format("{}", fmt::join(definition.interface.dims, ", ")),
          dtypes_text(definition.interface),
          attributes_text(definition.interface),
          fmt::format("{}", fmt::join(implementations, ", ")),
          space_size(definition),
          std::move(tuned),
          definition.summary,
          definition.file.string(),
          definition.interface.hash(),
          fmt::format("{}", fmt::join(hashes, ","))};
}

}  // namespace

ListedOps list_ops(const Place& place) {
  Catalogue catalogue = open_catalogue(place);
  ListedOps listed;
  std::string unusable;
  const std::optional<Store> store = cache_if_usable(place, unusable);
  Table& table = listed.table;
  table.title = "Ops";
  table.columns = {{"op", "op"},
                   {"dims", "dims"},
                   {"dtypes", "dtypes"},
                   {.name = "attributes", .heading = "attributes", .common = true, .breakable = true, .spare = true},
                   {.name = "implementations", .heading = "implementations", .breakable = true, .spare = true},
                   {.name = "configs", .heading = "configs", .spare = true},
                   {"problems_tuned", "tuned"},
                   {"summary", "summary", Unit::none, Shown::everywhere, false, true},
                   {"file", "", Unit::none, Shown::programs},
                   {"interface_hash", "", Unit::none, Shown::programs},
                   {"implementation_hashes", "", Unit::none, Shown::programs}};
  for (const std::string& op : catalogue.names()) {
    try {
      table.rows.push_back(op_cells(catalogue.find(op), unusable.empty() ? Cell(tuned_problems(store, op)) : Cell()));
    } catch (const UsageError& mistakes) {
      // One op with mistakes does not hide the others.
      listed.left_out.push_back(fmt::format("{} is left out:\n{}", op, mistakes.what()));
    }
  }
  if (!unusable.empty()) table.notes.push_back(fmt::format("The tuned problems are not known: {}", unusable));
  table.notes.push_back("Tune one: tilewright sweep OP. Configs are counted before constraints.");
  return listed;
}

Table list_devices(const Place& place) {
  const Store store = open_to_read(place);
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
  return table;
}

Table list_sweeps(const Place& place) {
  Table table;
  table.title = "Sweeps";
  table.columns = {{"id", "id"},
                   {"started_at", "started"},
                   {"ended_at", "ended"},
                   {"outcome", "outcome"},
                   {"trials", "trials"},
                   {.name = "command", .heading = "command", .breakable = true},
                   {.name = "device", .heading = "device", .common = true}};
  for (const StoredSweep& row : tilewright::list_sweeps(cache_path(place))) {
    table.rows.push_back({row.id, iso_moment(row.started_at), row.ended_at ? Cell(iso_moment(*row.ended_at)) : Cell(),
                          row.outcome.empty() ? Cell() : Cell(row.outcome), row.trials, row.command,
                          row.device_fingerprint});
  }
  table.notes.push_back(table.rows.empty() ? "There is none yet; tune something: tilewright sweep OP"
                                           : "A sweep without an outcome is running, or was killed.");
  return table;
}

}  // namespace tilewright::app

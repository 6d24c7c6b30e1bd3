// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/pin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "cache/base/visible.hpp"
#include "cache/plan/plan.hpp"
#include "cache/serve/choose.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/app/stored_devices.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright::app {
namespace {

constexpr std::size_t kLongestReason = 1000;

std::string name_of(const ProblemKey& key) {
  return key.problem.dims.empty() ? key.problem.spec.text() : key.problem.key();
}

void require_reason(const PinRequest& request) {
  if (request.kind != PinKind::free && request.reason.empty()) {
    throw UsageError("give the reason of a pin or ban: --reason TEXT");
  }
  if (request.reason.size() > kLongestReason || visible_line(request.reason) != request.reason) {
    throw UsageError(
        fmt::format("a reason is one line of at most {} characters, without control characters", kLongestReason));
  }
}

Problem problem_of(const ProblemWords& words, const OpInterface& interface) {
  const bool has_dims = std::ranges::any_of(
      words.named, [&](const auto& named) { return kind_of_name(named.first, interface) == NameKind::dim; });
  return has_dims ? to_problem(words, interface) : Problem{to_spec(words, interface), {}};
}

/// Compares the values in any order.
bool same_config(Config a, Config b) {
  std::ranges::sort(a.values);
  std::ranges::sort(b.values);
  return a == b;
}

/// Configs of one text differ if their implementation was edited; the last tried comes first.
std::vector<ConfigId> known_configs(const Store& store, const ProblemKey& key, const Config& config) {
  std::vector<ConfigId> known = store.tried_configs(key, config.implementation);
  std::erase_if(known, [&](const ConfigId& each) { return !same_config(each.config, config); });
  return known;
}

/// The sweep that makes a binary of the config.
std::string sweep_command(const PinRequest& request, const ProblemKey& key, const Config& config) {
  return fmt::format("tilewright sweep {} --config {} --again{}", shell_word(name_of(key)), shell_word(config.text()),
                     cache_option(request.place));
}

/// Throws UsageError if the config, just pinned, would not be served.
void require_served(const Store& store, const OpInterface& interface, const PinRequest& request, const ProblemKey& key,
                    const DeviceFacts& device, const ConfigId& id) {
  if (store.has_binary(key, id)) {
    if (key.problem.dims.empty()) return;
    const auto stored = store.implementation_by_hash(id.implementation_hash);
    const auto planned = make_plan(interface, stored.value().recipe, id.config, key.problem, device);
    if (const auto* const illegal = std::get_if<Illegal>(&planned)) {
      throw UsageError(fmt::format("{} cannot serve {} on {}: {}. Pin one that can: tilewright table {} --all{}",
                                   id.config.text(), key.problem.key(), device.name, illegal->reason,
                                   shell_word(key.problem.key()), cache_option(request.place)));
    }
    const Chosen chosen = choose(store, interface, {key.problem, key.interface_hash, device});
    if (chosen.choice && chosen.pin && chosen.choice->row.winner.trial.config == id.config) return;
  }
  throw UsageError(fmt::format("the cache has no binary of {} that can serve {} on {}. Make one: {}", id.config.text(),
                               name_of(key), device.name, sweep_command(request, key, id.config)));
}

/// The decisions for exactly this problem or spec on its device.
std::vector<Store::PinRow> pins_of(const Store& store, const ProblemKey& key) {
  std::vector<Store::PinRow> pins = store.list_pins();
  std::erase_if(pins, [&](const Store::PinRow& row) {
    return row.key.interface_hash != key.interface_hash || row.key.device_fingerprint != key.device_fingerprint ||
           name_of(row.key) != name_of(key);
  });
  return pins;
}

}  // namespace

std::vector<Store::PinRow> decide(const PinRequest& request) {
  require_reason(request);
  const std::filesystem::path path = cache_path(request.place);
  if (!std::filesystem::exists(path)) (void)open_to_read(request.place);  // Throws, with how to make one.
  Store store(path, {.access = StoreAccess::write});
  const OpInterface interface = interface_of(request.problem.op, store, request.place);
  const Config config = Config::parse(request.config);
  ProblemKey key{problem_of(request.problem, interface), interface.hash(), {}};
  std::vector<Store::PinRow> standing;
  std::size_t decided = 0;
  Store::Batch batch(store);
  for (const DeviceFacts& device : choose_devices(store, request.device)) {
    key.device_fingerprint = device.fingerprint();
    std::vector<ConfigId> ids = known_configs(store, key, config);
    if (request.kind == PinKind::pin && ids.size() > 1) ids.resize(1);
    if (request.kind == PinKind::free) {
      ids.clear();
      for (const Store::PinRow& row : pins_of(store, key)) {
        if (row.pin.kind != PinKind::free && same_config(row.pin.config.config, config)) ids.push_back(row.pin.config);
      }
    }
    for (const ConfigId& id : ids) {
      store.put_pin({{request.kind, id, !key.problem.dims.empty(), request.reason, 0}, key});
      if (request.kind == PinKind::pin) require_served(store, interface, request, key, device, id);
      ++decided;
    }
    for (Store::PinRow& row : pins_of(store, key)) standing.push_back(std::move(row));
  }
  if (decided == 0 && request.kind == PinKind::free) {
    throw UsageError(fmt::format("there is no pin or ban of {} for {}; list them: tilewright pin{}", config.text(),
                                 name_of(key), cache_option(request.place)));
  }
  if (decided == 0) {
    throw UsageError(
        fmt::format("the cache has never tried {} for {}. Name one that `tilewright table {} --all{}` "
                    "lists, or try it: {}",
                    config.text(), request.problem.op, request.problem.op, cache_option(request.place),
                    sweep_command(request, key, config)));
  }
  batch.commit();
  std::erase_if(standing, [](const Store::PinRow& row) { return row.pin.kind == PinKind::free; });
  return standing;
}

std::vector<Store::PinRow> list_pins(const Place& place) {
  std::vector<Store::PinRow> pins = open_to_read(place).list_pins();
  std::erase_if(pins, [](const Store::PinRow& row) { return row.pin.kind == PinKind::free; });
  return pins;
}

void note_decisions(const Store& store, const std::string& op, Table& table) {
  const std::vector<Store::PinRow> all = store.list_pins();
  const bool any = std::ranges::any_of(
      all, [&](const Store::PinRow& row) { return row.pin.kind != PinKind::free && row.key.problem.spec.op == op; });
  if (any) {
    table.notes.push_back(
        fmt::format("The pins and bans of {} do not count here, so that changing one needs no new measuring or "
                    "learning. List them: tilewright pin",
                    op));
  }
}

Table table_of(const std::vector<Store::PinRow>& pins) {
  Table table;
  table.title = "Pins and bans";
  const std::vector<Source<Store::PinRow>> sources{
      {column("kind", ""),
       [](const Store::PinRow& row) { return Cell(std::string(row.pin.kind == PinKind::pin ? "pinned" : "banned")); }},
      {column("config", "config"), [](const Store::PinRow& row) { return Cell(row.pin.config.config.text()); }},
      {column("problem", "for"), [](const Store::PinRow& row) { return Cell(name_of(row.key)); }},
      {people_column("when", "since"), [](const Store::PinRow& row) { return Cell(show_moment(row.pin.since)); }},
      {data_column("since"), [](const Store::PinRow& row) { return Cell(row.pin.since); }},
      {column("reason", "reason"), [](const Store::PinRow& row) { return Cell(row.pin.reason); }},
      {common_column("device", "device"), [](const Store::PinRow& row) { return Cell(row.key.device_fingerprint); }},
      {data_column("implementation"),
       [](const Store::PinRow& row) { return Cell(row.pin.config.implementation_hash); }}};
  fill(table, sources, pins);
  if (pins.empty()) table.notes.emplace_back("None: the fastest config is served.");
  return table;
}

}  // namespace tilewright::app

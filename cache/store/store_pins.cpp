// SPDX-License-Identifier: Apache-2.0
// People's decisions about configs.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/base/visible.hpp"
#include "cache/store/ids.hpp"
#include "cache/store/store_impl.hpp"

namespace tilewright {
namespace {

std::string_view name_of(PinKind kind) { return kind == PinKind::pin ? "pin" : kind == PinKind::ban ? "ban" : "free"; }

PinKind decode_kind(const std::string& text) {
  for (const PinKind kind : {PinKind::pin, PinKind::ban, PinKind::free}) {
    if (text == name_of(kind)) return kind;
  }
  throw BadRow(fmt::format("'{}' is not a kind of pin", text));
}

constexpr const char* kPinColumns = "k.kind, k.problem IS NOT NULL, m.hash, c.text, k.reason, k.since";

/// Decodes the columns above. The reason may come from a file that somebody else made.
Pin decode_pin(const Query& row) {
  return {decode_kind(row.text(0)),
          {row.text(2), decode_config(row.text(3))},
          row.integer(1) != 0,
          visible(row.text(4)),
          row.integer(5)};
}

}  // namespace

void Store::put_pin(const PinRow& row) {
  impl_->writing("store a pin", [&, &database = impl_->database] {
    const auto& [pin, key] = row;
    const std::int64_t interface = ids::need_interface(database, key.interface_hash);
    const std::int64_t device = ids::need_device(database, key.device_fingerprint);
    const std::int64_t implementation = ids::need_implementation(database, interface, pin.config.implementation_hash);
    const std::int64_t config = ids::add_config(database, implementation, pin.config.config);
    std::optional<std::int64_t> problem;
    if (!key.problem.dims.empty()) problem = ids::add_problem(database, key).problem;
    const std::int64_t spec = ids::add_spec(database, interface, key.problem.spec);
    std::int64_t since = pin.since;
    if (since == 0) {
      // A damaged pin gives way too, and so does one made by a clock ahead.
      constexpr const char* kSame = "FROM pins WHERE spec = ? AND ifnull(problem, 0) = ? AND device = ? AND config = ?";
      static const std::string kSelect = fmt::format("SELECT since {}", kSame),
                               kDelete = fmt::format("DELETE {}", kSame);
      since = now_seconds();
      {
        Query before = database.query(kSelect.c_str(), spec, problem.value_or(0), device, config);
        while (before.next()) since = std::max(since, before.integer(0) + 1);
      }
      database.run(kDelete.c_str(), spec, problem.value_or(0), device, config);
    }
    database.run(
        "INSERT INTO pins (kind, spec, problem, device, config, reason, since) VALUES (?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (spec, ifnull(problem, 0), device, config) DO UPDATE SET kind = excluded.kind, "
        "reason = excluded.reason, since = excluded.since WHERE intact AND (excluded.since > since OR "
        "(excluded.since = since AND (excluded.kind, excluded.reason) < (kind, reason)))",
        name_of(pin.kind), spec, problem, device, config, pin.reason, since);
  });
}

Pins Store::pins(const ProblemKey& key) const {
  return impl_->reading("read pins", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    Pins found;
    const auto interface = ids::find_interface(database, key.interface_hash);
    const auto spec = interface ? ids::find_spec(database, *interface, key.problem.spec) : std::nullopt;
    const auto device = ids::find_device(database, key.device_fingerprint);
    if (!spec || !device) return found;
    static const std::string kSql = fmt::format(
        "SELECT {}, k.id, k.checksum = row_hash('pins', k.id, k.kind, k.spec, k.problem, k.device, k.config, k.reason, "
        "k.since) FROM pins k JOIN configs c ON c.id = k.config AND c.intact JOIN implementations m ON m.id = "
        "c.implementation AND m.intact WHERE k.spec = ? AND k.device = ? AND (k.problem IS NULL OR k.problem = ?) "
        "ORDER BY k.problem IS NULL, k.since DESC, k.id",
        kPinColumns);
    std::map<std::pair<std::string, std::string>, bool> decided;
    Query row = database.query(kSql.c_str(), *spec, *device, ids::find_problem(database, key));
    while (row.next()) {
      // A damaged pin leaves the others valid.
      if (row.integer(7) == 0) {
        found.unread = damage("read pins", path(), fmt::format("row {} of the table pins", row.integer(6))).what();
        continue;
      }
      if (decided.emplace(std::pair(row.text(2), row.text(3)), true).second) found.pins.push_back(decode_pin(row));
    }
    std::erase_if(found.pins, [](const Pin& pin) { return pin.kind == PinKind::free; });
    return found;
  });
}

std::vector<Store::PinRow> Store::list_pins() const {
  return impl_->reading("list pins", [&, &database = impl_->database] {
    static const std::string kSql = fmt::format(
        "SELECT {}, s.op, s.dtype, s.attributes, p.dims, i.hash, d.fingerprint FROM pins k JOIN configs c ON c.id = "
        "k.config JOIN implementations m ON m.id = c.implementation JOIN specs s ON s.id = k.spec JOIN interfaces i ON "
        "i.id = s.interface JOIN devices d ON d.id = k.device LEFT JOIN problems p ON p.id = k.problem "
        "WHERE k.intact AND c.intact AND m.intact AND s.intact AND i.intact AND d.intact "
        "ORDER BY s.text, d.fingerprint, k.problem, k.since, k.id",
        kPinColumns);
    std::vector<PinRow> rows;
    Query row = database.query(kSql.c_str());
    while (row.next()) {
      PinRow& made = rows.emplace_back(PinRow{decode_pin(row), {}});
      made.key.problem.spec = decode_spec(row.text(6), row.text(7), row.text(8));
      if (made.pin.is_of_problem) made.key.problem.dims = decode_dims(row.text(9));
      made.key.interface_hash = row.text(10);
      made.key.device_fingerprint = row.text(11);
    }
    return rows;
  });
}

std::vector<ConfigId> Store::tried_configs(const ProblemKey& key, const std::string& implementation) const {
  return impl_->reading("list the tried configs", [&, &database = impl_->database] {
    std::vector<ConfigId> configs;
    Query row = database.query(
        "SELECT m.hash, c.text FROM (SELECT config, device, measured_at FROM trials WHERE status <> 'pruned' UNION ALL "
        "SELECT config, device, 0 FROM spares) t JOIN devices d ON d.id = t.device AND d.fingerprint = ? JOIN configs "
        "c ON c.id = t.config JOIN implementations m ON m.id = c.implementation AND m.name = ? JOIN interfaces i ON "
        "i.id = m.interface AND i.hash = ? WHERE c.intact AND m.intact GROUP BY c.id ORDER BY max(t.measured_at) DESC",
        key.device_fingerprint, implementation, key.interface_hash);
    while (row.next()) configs.push_back({row.text(0), decode_config(row.text(1))});
    return configs;
  });
}

bool Store::has_binary(const ProblemKey& key, const ConfigId& config) const {
  return impl_->reading("look for a binary", [&, &database = impl_->database] {
    Query row = database.query(
        "SELECT 1 FROM interfaces i JOIN specs s ON s.interface = i.id JOIN problems p ON p.spec = s.id "
        "JOIN (SELECT problem, device, config FROM trials WHERE build IS NOT NULL AND status = 'ok' UNION ALL SELECT "
        "problem, device, config FROM spares) t ON t.problem = p.id JOIN devices d ON d.id = t.device "
        "JOIN configs c ON c.id = t.config JOIN implementations m ON m.id = c.implementation "
        "WHERE i.hash = ? AND s.text = ? AND d.fingerprint = ? AND m.hash = ? AND c.text = ? LIMIT 1",
        key.interface_hash, key.problem.spec.text(), key.device_fingerprint, config.implementation_hash,
        config.config.text());
    return row.next();
  });
}

}  // namespace tilewright

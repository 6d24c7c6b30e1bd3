// SPDX-License-Identifier: Apache-2.0
// The models learned from an op's trials, kept by spec, and the configs that can serve.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "cache/base/content_hash.hpp"
#include "cache/store/ids.hpp"
#include "cache/store/newest.hpp"
#include "cache/store/store_impl.hpp"
#include "cache/store/stored_binaries.hpp"

namespace tilewright {
namespace {

using Models = std::map<std::string, std::shared_ptr<const LossModel>>;

/// Null if another program has learned it.
std::shared_ptr<const LossModel> decode_model(std::span<const std::byte> bytes, const std::string& hash) {
  try {
    std::optional<LossModel> model = LossModel::decode(bytes);
    return model ? std::make_shared<const LossModel>(*std::move(model)) : nullptr;
  } catch (const UsageError& bad) {
    throw BadRow(fmt::format("the loss model {}: {}", hash, bad.what()));
  }
}

/// The configs that can serve: winners first, then spares, as servers_of() has them. nullopt if the model, learned at
/// that time, does not know the implementation of a later winner: it is then out of date.
std::optional<std::vector<StoredConfig>> read_servers(Database& database, std::int64_t spec, std::int64_t device,
                                                      MeasureMode mode, const LossModel& model,
                                                      std::int64_t learned_at) {
  const std::vector<std::string>& known = model.space().implementations;
  std::vector<StoredConfig> servers;
  std::set<std::int64_t> taken;
  struct Server {
    StoredConfig stored;
    std::int64_t config;
    /// The config's text.
    std::string text;
  };
  // Sorted by shape, whichever came first: a config without specialised dims belongs to its first shape.
  const auto add = [&](std::vector<Server> found) {
    std::ranges::sort(found, [](const Server& one, const Server& other) {
      return std::tie(one.stored.tuned_for, one.stored.role, one.text) <
             std::tie(other.stored.tuned_for, other.stored.role, other.text);
    });
    for (Server& server : found) {
      if (server.stored.id.config.specialised() || taken.insert(server.config).second) {
        servers.push_back(std::move(server.stored));
      }
    }
  };
  const auto server_of = [](Query& row, std::optional<WinnerRole> role) {
    std::string text = row.text(2);
    return Server{
        {decode_shape(row.text(0)), role, {row.text(3), decode_config(text)}}, row.integer(1), std::move(text)};
  };
  std::vector<Server> winners, spares;
  Query winner = database.query(
      "SELECT p.dims, c.id, c.text, m.hash, w.role, t.measured_at FROM winners w JOIN problems p ON p.id = w.problem "
      "JOIN trials t ON t.id = w.trial JOIN configs c ON c.id = t.config "
      "JOIN implementations m ON m.id = c.implementation WHERE w.spec = ? AND w.device = ? AND w.mode = ? "
      "AND w.role <> 'base' AND w.position = 0 AND t.build IS NOT NULL "
      "AND w.intact AND p.intact AND t.intact AND c.intact AND m.intact",
      spec, device, name(mode));
  while (winner.next()) {
    const bool is_known = std::ranges::find(known, winner.text(3)) != known.end();
    if (!is_known && winner.integer(5) > learned_at) return std::nullopt;
    if (is_known) winners.push_back(server_of(winner, decode_role(winner.text(4))));
  }
  static const std::string kSpares = fmt::format(
      "SELECT p.dims, c.id, c.text, m.hash FROM spares t JOIN problems p ON p.id = t.problem "
      "JOIN configs c ON c.id = t.config JOIN implementations m ON m.id = c.implementation "
      "WHERE t.spec = ? AND t.device = ? AND t.mode = ? AND t.intact AND p.intact AND c.intact AND m.intact "
      "AND NOT {}",
      kFailedSomewhere);
  Query spare = database.query(kSpares.c_str(), spec, device, name(mode));
  while (spare.next()) spares.push_back(server_of(spare, std::nullopt));
  add(std::move(winners));
  add(std::move(spares));
  return servers;
}

/// Null if there is no model, or if it cannot serve.
std::shared_ptr<const Learned> read_learned(Database& database, const ids::SpecOnDevice& at, MeasureMode mode,
                                            std::size_t dims, Models& models) {
  Query row = database.query(
      "SELECT b.hash, b.size, b.data, b.dictionary, l.learned_at FROM loss_models l JOIN binaries b ON b.id = l.binary "
      "WHERE l.spec = ? AND l.device = ? AND l.mode = ? AND l.intact AND b.intact",
      at.spec, at.device, name(mode));
  if (!row.next()) return nullptr;
  const std::string hash = row.text(0);
  auto model = models.find(hash);
  if (model == models.end()) model = models.emplace(hash, decode_model(read_binary(database, row), hash)).first;
  if (!model->second) return nullptr;
  if (model->second->space().dims != dims) throw BadRow("a loss model has another number of dims than the op");
  auto servers = read_servers(database, at.spec, at.device, mode, *model->second, row.integer(4));
  if (!servers) return nullptr;
  return std::make_shared<const Learned>(Learned{model->second, row.integer(4), *std::move(servers)});
}

/// True if a newer program has learned the stored model. An unreadable model need not stay.
bool has_newer_model(Database& database, std::int64_t spec, std::int64_t device, MeasureMode mode) {
  Query row = database.query(
      "SELECT b.hash, b.size, b.data, b.dictionary FROM loss_models l JOIN binaries b ON b.id = l.binary "
      "WHERE l.spec = ? AND l.device = ? AND l.mode = ?",
      spec, device, name(mode));
  if (!row.next()) return false;
  try {
    return LossModel::is_newer(read_binary(database, row));
  } catch (const BadRow&) {
    return false;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace

void check_loss_models(Database& database) {
  Query models =
      database.query("SELECT hash, size, data, dictionary FROM binaries WHERE id IN (SELECT binary FROM loss_models)");
  while (models.next()) (void)decode_model(read_binary(database, models), models.text(0));
}

std::vector<std::string> implementations_of_models(Database& database) {
  std::vector<std::string> hashes;
  Query models =
      database.query("SELECT hash, size, data, dictionary FROM binaries WHERE id IN (SELECT binary FROM loss_models)");
  while (models.next()) {
    const auto model = decode_model(read_binary(database, models), models.text(0));
    if (model)
      hashes.insert(hashes.end(), model->space().implementations.begin(), model->space().implementations.end());
  }
  return hashes;
}

bool Store::put_loss_model(const ProblemKey& key, MeasureMode mode, const LossModel& model, std::int64_t learned_at) {
  return impl_->writing("store a loss model", [&, &database = impl_->database] {
    const std::int64_t interface = ids::need_interface(database, key.interface_hash);
    const auto spec = ids::find_spec(database, interface, key.problem.spec);
    if (!spec) {
      throw CacheError(
          fmt::format("{} has no problem of {} to learn from: sweep some first", title(), key.problem.spec.text()));
    }
    const std::int64_t device = ids::need_device(database, key.device_fingerprint);
    if (has_newer_model(database, *spec, device, mode)) return false;
    const std::vector<std::byte> bytes = model.encode();
    database.run(
        "INSERT INTO loss_models (spec, device, mode, shapes, learned_at, binary) VALUES (?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (spec, device, mode) DO UPDATE SET shapes = excluded.shapes, learned_at = excluded.learned_at, "
        "binary = excluded.binary WHERE intact",
        *spec, device, name(mode), static_cast<std::int64_t>(model.shapes()),
        learned_at == 0 ? now_seconds() : learned_at,
        add_binary(database, content_hash(bytes), bytes.size(), compress_binary(bytes)));
    return true;
  });
}

std::shared_ptr<const Learned> Store::learned(const ProblemKey& key, MeasureMode mode) const {
  return impl_->reading("read a loss model", [&, &database = impl_->database]() -> std::shared_ptr<const Learned> {
    const auto snapshot = database.begin_read();
    const auto at = ids::find_spec_on_device(database, key);
    if (!at) return nullptr;
    return impl_->keep(&Impl::Kept::learned, {at->spec, at->device, mode},
                       [&] { return read_learned(database, *at, mode, key.problem.dims.size(), impl_->models); });
  });
}

}  // namespace tilewright

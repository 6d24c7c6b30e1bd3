// SPDX-License-Identifier: Apache-2.0
#include "cache/store/ids.hpp"

#include <fmt/format.h>

#include "cache/store/codecs.hpp"
#include "cache/store/sqlite/faults.hpp"

namespace tilewright::ids {
namespace {

template <class... Values>
std::optional<std::int64_t> find(Database& database, const char* sql, const Values&... values) {
  Query query = database.query(sql, values...);
  if (!query.next()) return std::nullopt;
  return query.integer(0);
}

std::int64_t need(Database& database, std::optional<std::int64_t> id, std::string_view what, std::string_view name,
                  std::string_view first) {
  if (id) return *id;
  throw fault("store a row", database.path(), fmt::format("holds no {} '{}'", what, name),
              fmt::format("Nothing was written. {} comes first", first));
}

}  // namespace

std::optional<std::int64_t> find_device(Database& database, const std::string& fingerprint) {
  return find(database, "SELECT id FROM devices WHERE fingerprint = ? AND intact", fingerprint);
}

std::int64_t need_device(Database& database, const std::string& fingerprint) {
  return need(database, find_device(database, fingerprint), "device", fingerprint, "Store::put_device");
}

std::optional<std::int64_t> find_interface(Database& database, const std::string& hash) {
  return find(database, "SELECT id FROM interfaces WHERE hash = ? AND intact", hash);
}

std::int64_t need_interface(Database& database, const std::string& hash) {
  return need(database, find_interface(database, hash), "interface", hash, "Store::put_interface");
}

std::optional<std::int64_t> find_implementation(Database& database, std::int64_t interface, const std::string& hash) {
  return find(database, "SELECT id FROM implementations WHERE hash = ? AND interface = ? AND intact", hash, interface);
}

std::int64_t need_implementation(Database& database, std::int64_t interface, const std::string& hash) {
  return need(database, find_implementation(database, interface, hash), "implementation (of this interface)", hash,
              "Store::put_implementation");
}

std::int64_t need_build(Database& database, const std::string& key) {
  return need(database, find(database, "SELECT id FROM builds WHERE key = ? AND intact", key), "build", key,
              "Store::put_build");
}

std::int64_t need_sweep(Database& database, std::int64_t sweep) {
  return need(database, find(database, "SELECT id FROM sweeps WHERE id = ? AND intact", sweep), "sweep",
              std::to_string(sweep), "Store::begin_sweep");
}

std::optional<std::int64_t> find_spec(Database& database, std::int64_t interface, const OpSpec& spec) {
  return find(database, "SELECT id FROM specs WHERE interface = ? AND text = ? AND intact", interface, spec.text());
}

std::optional<SpecOnDevice> find_spec_on_device(Database& database, const ProblemKey& key) {
  const auto interface = find_interface(database, key.interface_hash);
  const auto spec = interface ? find_spec(database, *interface, key.problem.spec) : std::nullopt;
  const auto device = find_device(database, key.device_fingerprint);
  if (!spec || !device) return std::nullopt;
  return SpecOnDevice{*spec, *device};
}

std::optional<std::int64_t> find_problem(Database& database, const ProblemKey& key) {
  return find(database,
              "SELECT p.id FROM interfaces i JOIN specs s ON s.interface = i.id JOIN problems p ON p.spec = s.id "
              "WHERE i.hash = ? AND s.text = ? AND p.dims = ? AND i.intact AND s.intact AND p.intact",
              key.interface_hash, key.problem.spec.text(), encode_dims(key.problem));
}

std::int64_t add_spec(Database& database, std::int64_t interface, const OpSpec& spec) {
  if (const auto id = find_spec(database, interface, spec)) return *id;
  database.run("INSERT INTO specs (interface, op, dtype, attributes, text) VALUES (?, ?, ?, ?, ?)", interface, spec.op,
               name(spec.dtype), encode_attributes(spec), spec.text());
  return database.last_id();
}

ProblemIds add_problem(Database& database, const ProblemKey& key) {
  const std::int64_t interface = need_interface(database, key.interface_hash);
  const std::int64_t spec = add_spec(database, interface, key.problem.spec);
  const std::string dims = encode_dims(key.problem);
  std::optional<std::int64_t> problem =
      find(database, "SELECT id FROM problems WHERE spec = ? AND dims = ? AND intact", spec, dims);
  if (!problem) {
    database.run("INSERT INTO problems (spec, dims) VALUES (?, ?)", spec, dims);
    problem = database.last_id();
  }
  return {interface, spec, *problem};
}

std::int64_t add_config(Database& database, std::int64_t implementation, const Config& config) {
  const std::string text = config.text();
  if (const auto id = find(database, "SELECT id FROM configs WHERE implementation = ? AND text = ? AND intact",
                           implementation, text)) {
    return *id;
  }
  database.run("INSERT INTO configs (implementation, text) VALUES (?, ?)", implementation, text);
  return database.last_id();
}

std::int64_t add_versions(Database& database, const Versions& versions) {
  if (const auto id =
          find(database, "SELECT id FROM versions WHERE driver = ? AND compiler = ? AND tilewright = ? AND intact",
               versions.driver, versions.compiler, versions.tilewright)) {
    return *id;
  }
  database.run("INSERT INTO versions (driver, compiler, tilewright) VALUES (?, ?, ?)", versions.driver,
               versions.compiler, versions.tilewright);
  return database.last_id();
}

std::int64_t add_gpu(Database& database, const std::string& uuid) {
  if (const auto id = find(database, "SELECT id FROM gpus WHERE uuid = ? AND intact", uuid)) return *id;
  database.run("INSERT INTO gpus (uuid) VALUES (?)", uuid);
  return database.last_id();
}

}  // namespace tilewright::ids

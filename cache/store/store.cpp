// SPDX-License-Identifier: Apache-2.0
#include "cache/store/store.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <map>
#include <string_view>
#include <vector>

#include "cache/base/content_hash.hpp"
#include "cache/base/environment.hpp"
#include "cache/base/file_facts.hpp"
#include "cache/store/ids.hpp"
#include "cache/store/store_impl.hpp"
#include "cache/store/stored_binaries.hpp"

namespace tilewright {
std::filesystem::path default_cache_path() {
  if (const auto named = environment("TILEWRIGHT_CACHE"); !named.empty()) return named;
  if (const std::filesystem::path folder = user_cache_folder(); !folder.empty()) return folder / "cache.db";
  throw CacheError(
      "cannot tell where the cache is: neither TILEWRIGHT_CACHE nor XDG_CACHE_HOME nor HOME is set. Name the file with "
      "TILEWRIGHT_CACHE=FILE.",
      0, CacheFault::unnamed);
}

Store::Store(const std::filesystem::path& path, StoreOptions options) : impl_(std::make_unique<Impl>(path, options)) {
  impl_->version_at_opening = data_version();
}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

const std::filesystem::path& Store::path() const noexcept { return impl_->database.path(); }

void Store::put_interface(const OpInterface& interface) {
  impl_->writing("store an interface", [&, &database = impl_->database] {
    const std::string hash = interface.hash();
    Query newest = database.query("SELECT hash, sequence FROM interfaces WHERE op = ? ORDER BY sequence DESC LIMIT 1",
                                  interface.op);
    const bool any = newest.next();
    // One that only came with a pack has a number below 0, which gives way to that of another pack.
    if (any && newest.text(0) == hash && newest.integer(1) > 0) return;
    // An interface that comes back (a reverted definition) is the newest again.
    database.run(
        "INSERT INTO interfaces (hash, op, definition, sequence) VALUES (?, ?, ?, ?) "
        "ON CONFLICT (hash) DO UPDATE SET sequence = excluded.sequence WHERE intact",
        hash, interface.op, encode_interface(interface), any ? std::max<std::int64_t>(newest.integer(1), 0) + 1 : 1);
  });
}

void Store::add_older_interface(const OpInterface& interface) {
  impl_->writing("store an interface", [&, &database = impl_->database] {
    database.run(
        "INSERT INTO interfaces (hash, op, definition, sequence) "
        "VALUES (?1, ?2, ?3, (SELECT coalesce(min(sequence), 2) - 1 FROM interfaces WHERE op = ?2)) "
        "ON CONFLICT (hash) DO NOTHING",
        interface.hash(), interface.op, encode_interface(interface));
  });
}

namespace {

// Statements are kept by their addresses. The first replaces the recipe of an existing implementation.
constexpr const char* kPutImplementation =
    "INSERT INTO implementations (interface, hash, name, recipe) VALUES (?, ?, ?, ?) ON CONFLICT (hash, interface) "
    "DO UPDATE SET recipe = excluded.recipe WHERE recipe <> excluded.recipe AND intact";
constexpr const char* kAddImplementation =
    "INSERT INTO implementations (interface, hash, name, recipe) VALUES (?, ?, ?, ?) ON CONFLICT (hash, interface) "
    "DO NOTHING";

void insert_implementation(Database& database, const char* sql, const std::string& interface_hash,
                           const StoredImplementation& implementation) {
  const std::int64_t interface = ids::need_interface(database, interface_hash);
  database.run(sql, interface, implementation.hash, implementation.recipe.name, encode_recipe(implementation.recipe));
}

}  // namespace

void Store::put_implementation(const std::string& interface_hash, const StoredImplementation& implementation) {
  impl_->writing("store an implementation",
                 [&] { insert_implementation(impl_->database, kPutImplementation, interface_hash, implementation); });
}

void Store::add_implementation(const std::string& interface_hash, const StoredImplementation& implementation) {
  impl_->writing("store an implementation",
                 [&] { insert_implementation(impl_->database, kAddImplementation, interface_hash, implementation); });
}

void Store::put_device(const DeviceFacts& device) {
  impl_->writing("store a device", [&, &database = impl_->database] {
    database.run(
        "INSERT INTO devices (fingerprint, compute_capability, facts) VALUES (?, ?, ?) "
        "ON CONFLICT (fingerprint) DO NOTHING",
        device.fingerprint(), device.compute_capability, encode_facts(device));
  });
}

std::optional<OpInterface> Store::interface_of(const std::string& op) const {
  return impl_->reading("read an interface", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    return impl_->keep(&Impl::Kept::newest_interfaces, op, [&]() -> std::optional<OpInterface> {
      Query query = database.query(
          "SELECT definition FROM interfaces WHERE op = ? AND intact ORDER BY sequence DESC LIMIT 1", op);
      if (!query.next()) return std::nullopt;
      return decode_interface(query.text(0));
    });
  });
}

std::optional<OpInterface> Store::interface_by_hash(const std::string& hash) const {
  return impl_->reading("read an interface", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    return impl_->keep(&Impl::Kept::interfaces, hash, [&]() -> std::optional<OpInterface> {
      Query query = database.query("SELECT definition, hash FROM interfaces WHERE hash = ? AND intact", hash);
      if (!query.next()) return std::nullopt;
      if (query.text(1) != hash) throw BadRow("an index of the interfaces leads to another row");
      return decode_interface(query.text(0));
    });
  });
}

std::optional<StoredImplementation> Store::implementation_by_hash(const std::string& hash) const {
  return impl_->reading("read an implementation", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    return impl_->keep(&Impl::Kept::implementations, hash, [&]() -> std::optional<StoredImplementation> {
      Query query = database.query("SELECT recipe, hash FROM implementations WHERE hash = ? AND intact LIMIT 1", hash);
      if (!query.next()) return std::nullopt;
      if (query.text(1) != hash) throw BadRow("an index of the implementations leads to another row");
      return StoredImplementation{hash, decode_recipe(query.text(0))};
    });
  });
}

std::set<std::string> Store::implementations_in_use(const std::string& interface_hash) const {
  return impl_->reading("list implementations", [&, &database = impl_->database] {
    std::map<std::string, std::string> newest;
    Query query = database.query(
        "SELECT m.name, m.hash FROM trials t JOIN configs c ON c.id = t.config JOIN implementations m ON m.id = "
        "c.implementation JOIN interfaces i ON i.id = m.interface WHERE i.hash = ? AND t.status <> 'pruned' AND "
        "m.intact GROUP BY m.id ORDER BY max(t.measured_at), m.id",
        interface_hash);
    while (query.next()) newest[query.text(0)] = query.text(1);
    std::set<std::string> hashes;
    for (const auto& [name, hash] : newest) hashes.insert(hash);
    return hashes;
  });
}

std::vector<DeviceFacts> Store::devices() const {
  return impl_->reading("list devices", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    std::optional<std::vector<DeviceFacts>>& kept = impl_->current().devices;
    if (kept) return *kept;
    std::vector<DeviceFacts> devices;
    Query query = database.query("SELECT facts FROM devices WHERE intact ORDER BY id");
    while (query.next()) devices.push_back(decode_facts(query.text(0)));
    return kept.emplace(std::move(devices));
  });
}

std::vector<std::string> Store::ops() const {
  return impl_->reading("list ops", [&, &database = impl_->database] {
    std::vector<std::string> ops;
    Query query = database.query("SELECT DISTINCT op FROM interfaces ORDER BY op");
    while (query.next()) ops.push_back(query.text(0));
    return ops;
  });
}

std::optional<Build> Store::build(const std::string& key) const {
  return impl_->reading("read a build", [&, &database = impl_->database]() -> std::optional<Build> {
    Query query = database.query(
        "SELECT d.ok, b.hash, d.kernels, d.log, d.compiler, d.arch, d.milliseconds, d.sweep, d.worker, d.began_us, "
        "d.key FROM builds d LEFT JOIN binaries b ON b.id = d.binary AND b.intact WHERE d.key = ? AND d.intact",
        key);
    if (!query.next()) return std::nullopt;
    if (query.text(10) != key) throw BadRow("an index of the builds leads to another row");
    return Build{key,
                 query.integer(0) != 0,
                 query.text(1),
                 decode_kernels(query.text(2)),
                 query.text(3),
                 query.text(4),
                 query.text(5),
                 query.real(6),
                 query.integer(7),
                 query.maybe_small(8),
                 query.maybe_integer(9)};
  });
}

void Store::put_build(const Build& build, std::span<const std::byte> binary) {
  constexpr const char* kDoing = "store a build";
  // Hashed and compressed before the lock is taken, so that others may write meanwhile.
  const std::string hash = build.ok ? content_hash(binary) : std::string();
  if (build.ok == binary.empty() || (!build.binary_hash.empty() && build.binary_hash != hash)) {
    throw fault(kDoing, path(), fmt::format("was given build {} with a binary that does not belong to it", build.key),
                "Nothing was written. A build that is ok has a binary of its hash, a failed one has none");
  }
  const std::vector<std::byte> frame = build.ok ? compress_binary(binary) : std::vector<std::byte>();
  impl_->writing(kDoing, [&, &database = impl_->database] {
    std::optional<std::int64_t> binary_id;
    if (build.ok) binary_id = add_binary(database, hash, binary.size(), frame);
    std::optional<std::int64_t> sweep;
    if (build.sweep != 0) sweep = ids::need_sweep(database, build.sweep);
    // A successful build stays: trials point at it. A failed one may do better the next time, and one that was compiled
    // here replaces an imported one.
    database.run(
        "INSERT INTO builds (key, ok, binary, kernels, log, compiler, arch, milliseconds, sweep, worker, began_us) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "ON CONFLICT (key) DO UPDATE SET ok = excluded.ok, binary = excluded.binary, kernels = excluded.kernels, "
        "log = excluded.log, compiler = excluded.compiler, arch = excluded.arch, milliseconds = excluded.milliseconds, "
        "sweep = excluded.sweep, worker = excluded.worker, began_us = excluded.began_us "
        "WHERE intact AND (builds.ok = 0 OR (builds.began_us IS NULL AND excluded.began_us IS NOT NULL))",
        build.key, build.ok ? 1 : 0, binary_id, encode_kernels(build.kernels), build.log, build.compiler, build.arch,
        build.milliseconds, sweep, build.worker, build.began_us);
  });
}

std::vector<std::byte> Store::binary(const std::string& content_hash) const {
  constexpr const char* kDoing = "read a binary";
  return impl_->reading(kDoing, [&, &database = impl_->database] {
    Query query =
        database.query("SELECT hash, size, data, dictionary FROM binaries WHERE hash = ? AND intact", content_hash);
    if (!query.next()) {
      throw fault(kDoing, path(), fmt::format("holds no binary {}", content_hash),
                  "Run `tilewright sweep` for the op again: it compiles missing binaries");
    }
    if (query.text(0) != content_hash) throw BadRow("an index of the binaries leads to another row");
    return read_binary(database, query);
  });
}

std::int64_t Store::data_version() const {
  return impl_->reading("look for changes", [&, &database = impl_->database] {
    Query query = database.query("PRAGMA data_version");
    query.next();
    // A reopened file counts from the start again.
    return query.integer(0) + (database.generation() << 32);
  });
}

bool Store::outdated() const { return impl_->database.outdated(); }

std::string Store::title() const { return "the cache " + path().string(); }

std::uint64_t Store::winners_state() const {
  return impl_->reading("look for new winners", [&, &database = impl_->database] {
    const auto snapshot = database.begin_read();
    const FileIdentity file = identity_of(path()).value_or(FileIdentity{});
    std::vector<std::uint64_t> state{file.device, file.inode};
    const auto add = [&](Query&& query) {
      while (query.next()) state.push_back(static_cast<std::uint64_t>(query.integer(0)));
    };
    // The trials of a running sweep do not count.
    add(database.query("SELECT count(ended_at) FROM sweeps"));
    add(database.query("SELECT ifnull((SELECT iif(sweep IS NULL, id, 0) FROM trials ORDER BY id DESC LIMIT 1), 0)"));
    add(database.query("SELECT ifnull(max(id), 0) FROM spares"));
    add(database.query("SELECT binary FROM loss_models ORDER BY id"));
    add(database.query("SELECT id FROM pins UNION ALL SELECT since FROM pins"));
    // Ids of winners are not used again.
    add(database.query("SELECT ifnull(max(id), 0) FROM winners UNION ALL SELECT count(*) FROM winners"));
    add(database.query("SELECT ifnull(max(id), 0) FROM packs"));
    return XXH3_64bits(state.data(), state.size() * sizeof(std::uint64_t));
  });
}

bool Store::changed() const { return outdated() || data_version() != impl_->version_at_opening; }

}  // namespace tilewright

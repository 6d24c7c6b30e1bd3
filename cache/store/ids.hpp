// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cache/store/sqlite/database.hpp"
#include "cache/store/store.hpp"

/// From names (hashes, fingerprints, shape keys) to row ids: by unique indices, one small query each. `find_…` returns
/// nullopt if there is no such row; `need_…` throws CacheError that says what to store first; `add_…` makes a missing
/// row inside the caller's write transaction.
namespace tilewright::ids {

[[nodiscard]] std::optional<std::int64_t> find_device(Database& database, const std::string& fingerprint);
[[nodiscard]] std::int64_t need_device(Database& database, const std::string& fingerprint);

[[nodiscard]] std::optional<std::int64_t> find_interface(Database& database, const std::string& hash);
[[nodiscard]] std::int64_t need_interface(Database& database, const std::string& hash);

[[nodiscard]] std::optional<std::int64_t> find_implementation(Database& database, std::int64_t interface,
                                                              const std::string& hash);
[[nodiscard]] std::int64_t need_implementation(Database& database, std::int64_t interface, const std::string& hash);

[[nodiscard]] std::int64_t need_build(Database& database, const std::string& key);
[[nodiscard]] std::int64_t need_sweep(Database& database, std::int64_t sweep);

[[nodiscard]] std::optional<std::int64_t> find_spec(Database& database, std::int64_t interface, const OpSpec& spec);
/// The ids of a key's spec and device; its dims are ignored.
struct SpecOnDevice {
  std::int64_t spec = 0, device = 0;
};
[[nodiscard]] std::optional<SpecOnDevice> find_spec_on_device(Database& database, const ProblemKey& key);
/// The id of the problem under its interface; the device is ignored.
[[nodiscard]] std::optional<std::int64_t> find_problem(Database& database, const ProblemKey& key);

[[nodiscard]] std::int64_t add_spec(Database& database, std::int64_t interface, const OpSpec& spec);

struct ProblemIds {
  std::int64_t interface = 0;
  std::int64_t spec = 0;
  std::int64_t problem = 0;
};
[[nodiscard]] ProblemIds add_problem(Database& database, const ProblemKey& key);
[[nodiscard]] std::int64_t add_config(Database& database, std::int64_t implementation, const Config& config);
[[nodiscard]] std::int64_t add_versions(Database& database, const Versions& versions);
[[nodiscard]] std::int64_t add_gpu(Database& database, const std::string& uuid);

}  // namespace tilewright::ids

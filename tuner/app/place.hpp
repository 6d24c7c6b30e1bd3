// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/definition/catalogue.hpp"

/// The files that a request is about: its cache and its ops.
namespace tilewright::app {

struct Place {
  /// nullopt: the default (cache/store/store.hpp).
  std::optional<std::filesystem::path> cache;
  /// Folders of ops, searched before the built-in ones.
  std::vector<std::filesystem::path> ops;
};

[[nodiscard]] std::filesystem::path cache_path(const Place& place);
/// Opens the cache for reading, also of an older schema. Throws CacheError; without a cache it says how to make one.
[[nodiscard]] Store open_to_read(const Place& place);
/// Throws CacheError if others may write the cache, unless TILEWRIGHT_ALLOW_SHARED_CACHE=1. Call it before binaries of
/// the cache run.
void require_own_cache(const std::filesystem::path& path);
/// Whether the file begins as an SQLite database does.
[[nodiscard]] bool is_database(const std::filesystem::path& file);
/// Opens the cache, for requests that work without one. nullopt if there is no file, or if the default cache cannot be
/// used; then `why` has the reason. Throws CacheError if a named cache exists and cannot be used.
[[nodiscard]] std::optional<Store> cache_if_usable(const Place& place, std::string& why);
/// Throws UsageError if a path of ops is not a folder.
[[nodiscard]] Catalogue open_catalogue(const Place& place);
/// The op's interface in the cache, which needs no definition file; else the definition's, which tells a wrong name
/// from an untuned op.
[[nodiscard]] OpInterface interface_of(const std::string& op, const Store& store, const Place& place);

}  // namespace tilewright::app

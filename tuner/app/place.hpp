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
  /// Nothing: the default (cache/store/store.hpp).
  std::optional<std::filesystem::path> cache;
  /// Folders of ops, searched before the built-in ones.
  std::vector<std::filesystem::path> ops;
};

[[nodiscard]] std::filesystem::path cache_path(const Place& place);
/// The cache for reading, also of an older schema; throws CacheError that says how to make one.
[[nodiscard]] Store open_to_read(const Place& place);
/// Throws CacheError where others may write the cache, unless TILEWRIGHT_ALLOW_SHARED_CACHE=1. To be asked before
/// binaries of it run.
void require_own_cache(const std::filesystem::path& path);
/// Whether the file begins as a database does.
[[nodiscard]] bool is_database(const std::filesystem::path& file);
/// The cache, for requests that work without one. Nothing where no file is there, or where the default cache cannot be
/// used; then `why` says why. Throws CacheError where the named file is there and cannot be used.
[[nodiscard]] std::optional<Store> cache_if_usable(const Place& place, std::string& why);
/// Throws UsageError for a path that is no folder.
[[nodiscard]] Catalogue open_catalogue(const Place& place);
/// The cache's interface, which costs no definition file; else the definition's, so that a wrong name is told from an
/// op that was never tuned.
[[nodiscard]] OpInterface interface_of(const std::string& op, const Store& store, const Place& place);

}  // namespace tilewright::app

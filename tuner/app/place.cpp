// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/place.hpp"

#include <exception>
#include <string_view>
#include <utility>

#include "cache/base/environment.hpp"
#include "cache/base/file_facts.hpp"
#include "cache/store/sqlite/first_bytes.hpp"
#include "tuner/definition/kernels_dir.hpp"

namespace tilewright::app {

std::filesystem::path cache_path(const Place& place) { return place.cache ? *place.cache : default_cache_path(); }

Store open_to_read(const Place& place) { return Store(cache_path(place), {.access = StoreAccess::read_older}); }

void require_own_cache(const std::filesystem::path& path) {
  refuse_shared_cache(path, is_set("TILEWRIGHT_ALLOW_SHARED_CACHE"));
}

std::optional<Store> cache_if_usable(const Place& place, std::string& why) {
  try {
    if (!std::filesystem::exists(cache_path(place))) return std::nullopt;
    return open_to_read(place);
  } catch (const std::exception& refusal) {
    if (place.cache) throw;
    why = refusal.what();
    return std::nullopt;
  }
}

Catalogue open_catalogue(const Place& place) { return Catalogue(place.ops, kernels_dir()); }

OpInterface interface_of(const std::string& op, const Store& store, const Place& place) {
  if (auto stored = store.interface_of(op)) return std::move(*stored);
  return open_catalogue(place).find(op).interface;
}

bool is_database(const std::filesystem::path& file) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return first_bytes(file, kMagic.size()) == kMagic;
}

}  // namespace tilewright::app

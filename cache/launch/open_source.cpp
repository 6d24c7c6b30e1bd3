// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/open_source.hpp"

#include <fmt/format.h>

#include "cache/bundle/bundle.hpp"
#include "cache/store/file_facts.hpp"
#include "cache/store/store.hpp"

namespace tilewright::launch {

std::unique_ptr<WinnerSource> open_source(const std::filesystem::path& path, bool allow_shared) {
  if (!allow_shared && writable_by_others(path)) {
    throw CacheError(fmt::format(
        "the cache {} can be changed by other users, and what it holds runs on the GPU as this program's code: "
        "take their right away (chmod go-w), or allow it with TILEWRIGHT_ALLOW_SHARED_CACHE=1",
        path.string()));
  }
  if (Bundle::is_one(path)) return std::make_unique<Bundle>(path);
  return std::make_unique<Store>(path, StoreOptions{.access = StoreAccess::read});
}

}  // namespace tilewright::launch

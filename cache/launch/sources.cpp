// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tilewright::launch {

Sources::Sources(std::filesystem::path cache, std::optional<std::filesystem::path> fallback, bool allow_shared)
    : cache_(std::move(cache), allow_shared) {
  if (fallback) fallback_.emplace(std::move(*fallback), allow_shared);
  try {
    static_cast<void>(cache_.get());
  } catch (const CacheError& error) {
    if (!fallback_) throw;
    cache_error_ = error.what();
    if (this->fallback() == nullptr) throw CacheError(fmt::format("{}. {}", cache_error_, fallback_error_));
  }
}

const WinnerSource* Sources::fallback() {
  if (!fallback_) return nullptr;
  try {
    const WinnerSource& source = fallback_->get();
    fallback_error_.clear();
    return &source;
  } catch (const CacheError& error) {
    fallback_error_ = fmt::format("Nor can the fallback be used: {}", error.what());
    return nullptr;
  }
}

const std::filesystem::path& Sources::path_of(const WinnerSource& source) {
  return &source == cache() ? cache_.path() : fallback_->path();
}

std::string Sources::title() {
  std::string title;
  for (const WinnerSource* source : {cache(), fallback()}) {
    if (source != nullptr) title += (title.empty() ? "" : " and ") + source->title();
  }
  return title;
}

std::vector<DeviceFacts> Sources::devices() {
  std::vector<DeviceFacts> all;
  for (const WinnerSource* source : {cache(), fallback()}) {
    if (source == nullptr) continue;
    for (DeviceFacts& device : source->devices()) {
      const auto is_this = [&](const DeviceFacts& other) { return other.fingerprint() == device.fingerprint(); };
      if (std::ranges::none_of(all, is_this)) all.push_back(std::move(device));
    }
  }
  return all;
}

Sources::Changes Sources::changes() const {
  using File = Changes::File;
  const auto change_of = [](const SourceFile& file) {
    if (!file.is_open()) return File::was_never_open;
    return file.has_changed() ? File::changed : File::none;
  };
  Changes changes{.cache = change_of(cache_)};
  // A fallback that is neither open nor failed was never needed.
  if (fallback_ && (fallback_->is_open() || !fallback_error_.empty())) changes.fallback = change_of(*fallback_);
  return changes;
}

Sources::Reopened Sources::reopen(const Changes& changes) const {
  using File = Changes::File;
  Reopened reopened;
  try {
    if (changes.cache != File::none) reopened.cache = cache_.reopen();
  } catch (const CacheError&) {
    if (changes.cache != File::was_never_open) throw;
  }
  try {
    if (changes.fallback != File::none) reopened.fallback = fallback_->reopen();
  } catch (const CacheError&) {
    if (changes.fallback != File::was_never_open && !reopened.cache) throw;
  }
  return reopened;
}

bool Sources::exchange(Reopened& reopened) {
  bool differs = false;
  if (reopened.cache) {
    differs = cache_.exchange(*reopened.cache);
    cache_error_.clear();
  }
  if (reopened.fallback) {
    differs = fallback_->exchange(*reopened.fallback) || differs;
    fallback_error_.clear();
  }
  return differs;
}

}  // namespace tilewright::launch

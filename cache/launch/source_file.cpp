// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/source_file.hpp"

#include <utility>

#include "cache/base/file_facts.hpp"
#include "cache/store/bundle/bundle.hpp"
#include "cache/store/store.hpp"

namespace tilewright::launch {
namespace {

std::unique_ptr<WinnerSource> open(const std::filesystem::path& path, bool allow_shared) {
  refuse_shared_cache(path, allow_shared);
  if (Bundle::is_one(path)) return std::make_unique<Bundle>(path);
  return std::make_unique<Store>(path, StoreOptions{.access = StoreAccess::read});
}

}  // namespace

SourceFile::SourceFile(std::filesystem::path path, bool allow_shared)
    : path_(std::move(path)), allow_shared_(allow_shared) {}

const WinnerSource& SourceFile::get() {
  if (!source_) source_ = open(path_, allow_shared_);
  return *source_;
}

SourceFile::Reopened SourceFile::reopen() const {
  Reopened reopened{.source = open(path_, allow_shared_)};
  reopened.winners_state = reopened.source->winners_state();
  return reopened;
}

bool SourceFile::exchange(Reopened& reopened) {
  std::swap(source_, reopened.source);
  std::swap(winners_state_, reopened.winners_state);
  return winners_state_ == 0 || winners_state_ != reopened.winners_state;
}

}  // namespace tilewright::launch

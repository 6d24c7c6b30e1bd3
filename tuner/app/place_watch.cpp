// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/place_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include "tuner/definition/kernels_dir.hpp"

namespace tilewright::app {

/// Names, sizes and times of all files of ops.
std::string PlaceWatch::ops_now() const {
  std::vector<std::filesystem::path> folders = place_.ops;
  folders.push_back(kernels_dir());
  std::vector<std::string> files;
  for (const std::filesystem::path& folder : folders) {
    std::error_code ignored;
    for (auto each = std::filesystem::recursive_directory_iterator(folder, ignored);
         each != std::filesystem::recursive_directory_iterator(); each.increment(ignored)) {
      if (!each->is_regular_file(ignored)) continue;
      files.push_back(fmt::format("{} {} {}", each->path().string(), each->file_size(ignored),
                                  each->last_write_time(ignored).time_since_epoch().count()));
    }
  }
  std::ranges::sort(files);
  return fmt::format("{}", fmt::join(files, "\n"));
}

void PlaceWatch::renew() {
  opened_for_ = winners_state_ = ++state_;
  idle_.clear();
}

PlaceWatch::Lease PlaceWatch::open() {
  std::unique_lock lock(mutex_);
  const std::uint64_t opened_for = opened_for_;
  std::unique_ptr<OpenPlace> place;
  if (!idle_.empty()) {
    place = std::move(idle_.back());
    idle_.pop_back();
  }
  lock.unlock();
  if (place == nullptr) place = std::make_unique<OpenPlace>(place_);
  return {place.release(), [this, opened_for](OpenPlace* given) {
            std::unique_ptr<OpenPlace> back(given);
            const std::lock_guard guard(mutex_);
            if (opened_for == opened_for_) idle_.push_back(std::move(back));
          }};
}

std::uint64_t PlaceWatch::state() {
  const std::lock_guard lock(mutex_);
  look();
  return state_;
}

std::uint64_t PlaceWatch::winners_state() {
  const std::lock_guard lock(mutex_);
  look();
  return winners_state_;
}

void PlaceWatch::look() {
  if (!store_ || store_->outdated()) {
    store_.reset();
    // Kept once it is read, so that after a failure the next call looks again.
    Store opened = open_to_read(place_);
    version_ = opened.data_version();
    winners_hash_ = opened.winners_state();
    store_.emplace(std::move(opened));
    renew();
  } else if (const std::int64_t version = store_->data_version(); version != version_) {
    const std::uint64_t winners = store_->winners_state();
    version_ = version;
    ++state_;
    if (winners != winners_hash_) {
      winners_hash_ = winners;
      winners_state_ = state_;
    }
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_ > std::chrono::seconds(1)) {
    looked_ = now;
    if (std::string ops = ops_now(); ops != ops_) {
      ops_ = std::move(ops);
      renew();
    }
  }
}

}  // namespace tilewright::app

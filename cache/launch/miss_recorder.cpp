// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/miss_recorder.hpp"

#include <ctime>
#include <exception>
#include <vector>

namespace tilewright::launch {

MissRecorder::MissRecorder(std::optional<std::filesystem::path> path) {
  if (path) file_.emplace(std::move(*path));
}

MissRecorder::~MissRecorder() { write(); }

void MissRecorder::record(const std::string& shape_key, const std::string& device_fingerprint) noexcept try {
  const std::lock_guard lock(mutex_);
  if (!file_) return;
  const std::int64_t now = std::time(nullptr);
  const auto known = waiting_.find({shape_key, device_fingerprint});
  if (known != waiting_.end()) {
    ++known->second.count;
    known->second.last_at = now;
  } else if (waiting_.size() < kMostWaiting) {
    waiting_.emplace(std::pair(shape_key, device_fingerprint), Miss{shape_key, device_fingerprint, 1, now, now});
  }
  write();
} catch (const std::exception&) {
  // Out of memory: the miss is lost, and the launch continues.
}

void MissRecorder::write() noexcept {
  if (!file_ || waiting_.empty()) return;
  try {
    std::vector<Miss> misses;
    for (const auto& [key, miss] : waiting_) misses.push_back(miss);
    if (file_->append(misses)) waiting_.clear();
  } catch (const std::exception& error) {
    try {
      problem_ = error.what();
    } catch (const std::exception&) {
      problem_.clear();
    }
    file_.reset();
    waiting_.clear();
  }
}

std::string MissRecorder::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

std::size_t MissRecorder::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

}  // namespace tilewright::launch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "cache/store/miss_file.hpp"

/// Tells the file of misses what was asked for and not served exactly, from the slow road of a launch. Never fails a
/// launch and never waits: while another process has the file locked, misses stay in memory, a bounded number of them,
/// until the next one or the end. A file that cannot be used is tried no further; problem() says why. For any number of
/// threads.
namespace tilewright::launch {

class MissRecorder {
 public:
  /// Shapes that may wait in memory; those beyond it are forgotten.
  static constexpr std::size_t kMostWaiting = 4096;

  /// Nothing: no miss is recorded.
  explicit MissRecorder(std::optional<std::filesystem::path> path);
  ~MissRecorder();
  MissRecorder(const MissRecorder&) = delete;
  MissRecorder& operator=(const MissRecorder&) = delete;

  void record(const std::string& shape_key, const std::string& device_fingerprint) noexcept;

  /// Why nothing is recorded any more; empty while all is well.
  [[nodiscard]] std::string problem() const;
  /// Shapes that wait in memory.
  [[nodiscard]] std::size_t waiting() const;

 private:
  /// With the lock held.
  void write() noexcept;

  mutable std::mutex mutex_;
  std::optional<MissFile> file_;
  std::map<std::pair<std::string, std::string>, Miss> waiting_;
  std::string problem_;
};

}  // namespace tilewright::launch

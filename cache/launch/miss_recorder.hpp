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

/// Writes shapes that were not served exactly to the file of misses, at their first launch. It neither fails nor delays
/// a launch: while another process locks the file, misses wait in memory until the next miss or the destructor. After a
/// failure the file is not tried again; problem() says why. Any number of threads.
namespace tilewright::launch {

class MissRecorder {
 public:
  /// Most shapes that wait in memory; more are dropped.
  static constexpr std::size_t kMostWaiting = 4096;

  /// nullopt: no miss is recorded.
  explicit MissRecorder(std::optional<std::filesystem::path> path);
  ~MissRecorder();
  MissRecorder(const MissRecorder&) = delete;
  MissRecorder& operator=(const MissRecorder&) = delete;

  void record(const std::string& shape_key, const std::string& device_fingerprint) noexcept;

  /// Why recording has stopped; empty while it works.
  [[nodiscard]] std::string problem() const;
  /// The number of shapes that wait in memory.
  [[nodiscard]] std::size_t waiting() const;

 private:
  /// The lock is held.
  void write() noexcept;

  mutable std::mutex mutex_;
  std::optional<MissFile> file_;
  std::map<std::pair<std::string, std::string>, Miss> waiting_;
  std::string problem_;
};

}  // namespace tilewright::launch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "cache/base/descriptor.hpp"

namespace tilewright::app {

/// The default port of a service.
inline constexpr std::uint16_t kServicePort = 8470;

/// A lock that lets one service run on a cache: two would tune the same jobs. The operating system releases it when the
/// process ends. The locked file is `CACHE-service` beside the cache; it stays.
class ServiceLock {
 public:
  /// Waits up to two seconds for a service that is ending. Throws Error, with what to do, if another service has the
  /// lock or the file cannot be made.
  explicit ServiceLock(const std::filesystem::path& cache);
  /// Whether a service has the cache now; makes no file.
  [[nodiscard]] static bool is_held(const std::filesystem::path& cache) noexcept;

 private:
  Descriptor held_;
};

}  // namespace tilewright::app

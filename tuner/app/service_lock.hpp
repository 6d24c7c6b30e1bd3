// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>

#include "cache/base/descriptor.hpp"

namespace tilewright::app {

/// The port of a service unless told otherwise.
inline constexpr std::uint16_t kServicePort = 8470;

/// One service a cache: two would tune the same jobs. The operating system lets go of it when the process ends, however
/// it ends. The file `CACHE-service` beside the cache is what is locked; it stays.
class ServiceLock {
 public:
  /// Throws Error that says what to do where another service has it, or the file cannot be made.
  explicit ServiceLock(const std::filesystem::path& cache);
  /// Whether a service has the cache now; nothing is made.
  [[nodiscard]] static bool is_held(const std::filesystem::path& cache) noexcept;

 private:
  Descriptor held_;
};

}  // namespace tilewright::app

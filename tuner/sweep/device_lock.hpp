// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

/// Keeps two tuners of one host off one GPU: each would spoil the other's times. A lock file by the GPU's UUID; the
/// operating system lets go of it when the process ends, however it ends.
namespace tilewright {

/// The same for all users and jobs of a host, as TMPDIR is not.
inline constexpr const char* kLockFolder = "/tmp";

class DeviceLock {
 public:
  /// Waits for the GPU until it is free or `interrupted`; `note` is told once that it waits. An empty `uuid` (the
  /// emulator) needs no lock. Where no lock file can be made, `note` says so and the GPU is used without one.
  DeviceLock(const std::string& uuid, const std::filesystem::path& folder, const std::function<bool()>& interrupted,
             const std::function<void(const std::string&)>& note);

 private:
  struct Close {
    void operator()(int* descriptor) const noexcept;
  };
  std::unique_ptr<int, Close> held_;
};

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "cache/base/descriptor.hpp"

/// Keeps two tuners of one host off one GPU: each would spoil the other's times. The operating system lets go of the
/// lock when the process ends, however it ends. docs/security.md says which sweeps exclude each other.
namespace tilewright {

/// The places where the lock of a GPU may be.
struct LockPlaces {
  /// The driver's: a folder for each GPU, with a file `information` that has its UUID and the number of its node. The
  /// node itself is locked: it is there for all users and containers that use the GPU, and none of them can plant one.
  std::filesystem::path gpus = "/proc/driver/nvidia/gpus";
  std::filesystem::path nodes = "/dev";
  /// Without a node, a file in this folder, which is made where it is missing. It must belong to this user alone.
  std::filesystem::path own;
};
/// Those of this machine. The own folder is XDG_RUNTIME_DIR where that is this user's alone, else one in /tmp with the
/// user's number in its name.
[[nodiscard]] LockPlaces lock_places();

class DeviceLock {
 public:
  /// Waits for the GPU until it is free or `interrupted`; `note` hears once that it waits. An empty `uuid` (the
  /// emulator) needs no lock. Where no lock file can be made or locked, `note` says so and the GPU is used without one.
  /// Throws Error that names a folder or file in the lock's place that is not this user's alone: somebody planted it.
  DeviceLock(const std::string& uuid, const LockPlaces& places, const std::function<bool()>& interrupted,
             const std::function<void(const std::string&)>& note);

 private:
  Descriptor held_;
};

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "cache/base/descriptor.hpp"

/// Keeps two tuners of one host off one GPU, where they would spoil each other's times. The operating system releases
/// the lock when the process ends. docs/security.md says which sweeps exclude each other.
namespace tilewright {

/// The places for a GPU's lock.
struct LockPlaces {
  /// The driver's folder: one folder per GPU with a file `information`, which has its UUID and node number. The node is
  /// locked: all users and containers of the GPU see it, and none can plant one.
  std::filesystem::path gpus = "/proc/driver/nvidia/gpus";
  std::filesystem::path nodes = "/dev";
  /// Without a node: a folder for a lock file, made if missing. It must belong only to this user.
  std::filesystem::path own;
};
/// This machine's places. `own` is XDG_RUNTIME_DIR if that belongs only to this user, else a folder in /tmp with the
/// user's number in its name.
[[nodiscard]] LockPlaces lock_places();

class DeviceLock {
 public:
  /// Waits until the GPU is free or `interrupted`. `note` hears once that it waits. An empty `uuid` (the emulator)
  /// needs no lock. If no lock file can be made or locked, `note` says so and the GPU is used without a lock. Throws
  /// Error if a folder or file in the lock's place does not belong only to this user: it may be planted.
  DeviceLock(const std::string& uuid, const LockPlaces& places, const std::function<bool()>& interrupted,
             const std::function<void(const std::string&)>& note);

 private:
  Descriptor held_;
};

}  // namespace tilewright

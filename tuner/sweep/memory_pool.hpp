// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>

#include "tuner/device/device.hpp"

/// A device's memory, shared by the problems set up on it and, on a GPU, by other processes. A config that lacks memory
/// because others hold it has not failed. Belongs to the device's thread.
namespace tilewright {

class MemoryPool {
 public:
  /// A holder of device memory that can give some back.
  class User {
   public:
    virtual ~User() = default;
    /// Frees all memory that can be made again.
    virtual void evict() = 0;
    [[nodiscard]] virtual std::size_t held() const = 0;
  };

  /// `device` must outlive the pool, and the pool all users.
  explicit MemoryPool(Device& device) : device_(device) {}
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  void add(User& user) { users_.insert(&user); }
  void remove(User& user) { users_.erase(&user); }

  /// Calls `work` for a user, and again if memory runs out: first after evicting all other users, then, while other
  /// processes hold memory, after up to three growing waits. After waits in vain, calls do not wait until one succeeds.
  /// Throws the last exception of `work`; its text tells if other processes hold memory (failure.hpp). `interrupted`
  /// (may be empty) ends a wait.
  void use(User& user, const std::function<void()>& work, const std::function<bool()>& interrupted);

 private:
  /// Returns false if the other users hold nothing.
  bool evict_all_but(const User& user);
  /// Whether other processes hold a relevant part of the memory.
  [[nodiscard]] bool is_shared();

  Device& device_;
  std::set<User*> users_;
  bool may_wait_ = true;
};

}  // namespace tilewright

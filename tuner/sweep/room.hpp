// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <set>

#include "tuner/device/device.hpp"

/// A device's memory, which the problems set up on it share with each other and, on a GPU, with other processes. A
/// config that finds too little of it is not to blame where others hold it. Belongs to the device's thread.
namespace tilewright {

class Room {
 public:
  /// Holds memory, and can let go of it.
  class Tenant {
   public:
    virtual ~Tenant() = default;
    /// Frees what can be made again.
    virtual void shed() = 0;
    [[nodiscard]] virtual std::size_t held() const = 0;
  };

  /// `device` must outlive it, and it all tenants.
  explicit Room(Device& device) : device_(device) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  void enter(Tenant& tenant) { tenants_.insert(&tenant); }
  void leave(Tenant& tenant) { tenants_.erase(&tenant); }

  /// Calls `work` for a tenant; again, where memory runs out: without what the other tenants hold, and, while other
  /// processes have some of it, after waits that grow, three times at most. Once that was in vain, later calls wait no
  /// more until one is successful. Throws what `work` throws last; where others have the memory, its text says so
  /// (failure.hpp). `interrupted` (may be empty) ends a wait.
  void use(Tenant& tenant, const std::function<void()>& work, const std::function<bool()>& interrupted);

 private:
  /// False where they hold none.
  bool shed_all_but(const Tenant& tenant);
  /// Other processes have a part of the memory that may be missed.
  [[nodiscard]] bool is_crowded();

  Device& device_;
  std::set<Tenant*> tenants_;
  bool hopeful_ = true;
};

}  // namespace tilewright

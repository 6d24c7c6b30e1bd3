// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"

namespace tilewright::cuda {

PrimaryContext::PrimaryContext(const Driver& driver, int device) : driver_(&driver), device_(device) {
  const std::string what = fmt::format("opening the context of cuda:{}", device);
  driver.call(what.c_str(), driver.table().primary_ctx_retain, &context_, static_cast<DeviceId>(device));
  const DriverTable* table = &driver.table();
  retained_ = std::shared_ptr<void>(context_, [table, device](void*) { table->primary_ctx_release(device); });
  make_current();
}

void PrimaryContext::make_current() const {
  driver_->call("making the context current", driver_->table().ctx_set_current, context_);
}

void PrimaryContext::synchronize() const { driver_->call("waiting for the GPU", driver_->table().ctx_synchronize); }

CurrentContext::CurrentContext(const Driver& driver, Context context) : driver_(&driver) {
  driver.call("asking for the current context", driver.table().ctx_get_current, &before_);
  driver.call("making a launch's context current", driver.table().ctx_set_current, context);
}

CurrentContext::~CurrentContext() { static_cast<void>(driver_->table().ctx_set_current(before_)); }

struct Buffer::Owned {
  Owned(const DriverTable& driver_table, Address memory) : table(&driver_table), address(memory) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (address != 0) table->mem_free(address);
  }
  const DriverTable* table;
  Address address;
};

Buffer::Buffer(const Driver& driver, std::size_t bytes, const std::string& what) : bytes_(bytes) {
  // The driver refuses to allocate 0 bytes; an empty buffer still gets an address of its own.
  const std::size_t asked = bytes == 0 ? 1 : bytes;
  const Result status = driver.table().mem_alloc(&address_, asked);
  if (status != kSuccess) {
    std::size_t free = 0;
    std::size_t total = 0;
    const bool known = driver.table().mem_get_info(&free, &total) == kSuccess;
    driver.check(status, driver.table().mem_alloc.name(),
                 fmt::format("allocating {} bytes of device memory for {}{}", asked, what,
                             known ? fmt::format(" ({} of {} are free)", free, total) : ""));
  }
  owned_ = std::make_shared<Owned>(driver.table(), address_);
}

void Buffer::leave() noexcept {
  if (owned_) owned_->address = 0;
}

}  // namespace tilewright::cuda

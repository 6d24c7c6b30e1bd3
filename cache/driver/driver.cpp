// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <utility>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"

namespace tilewright::cuda {

/// Opens the driver and checks that it can be used.
struct DriverLoader {
  std::unique_ptr<const Driver> driver;
  std::string why;

  DriverLoader() {
    try {
      load();
    } catch (const Error& error) {
      why = error.what();
    }
  }

  void load() {
    const char* chosen = std::getenv("TILEWRIGHT_LIBCUDA");
    const bool is_chosen = chosen != nullptr && *chosen != '\0';
    const std::string file = is_chosen ? chosen : "libcuda.so.1";
    auto library = std::make_shared<SharedLibrary>(file);
    if (!*library) {
      why = fmt::format("the CUDA driver was not found: {}{}", library->why(),
                        is_chosen ? " (named by TILEWRIGHT_LIBCUDA)" : "");
      return;
    }
    auto table = std::make_shared<const DriverTable>(*library);
    if (!library->missing().empty()) {
      why = fmt::format(
          "the CUDA driver {} is too old or is not one: it lacks {}. A driver for CUDA 12.0 (version 525) "
          "or newer is needed",
          file, library->missing().front());
      return;
    }
    // The driver starts threads and registers exit handlers, so it must not be unloaded.
    library->keep_loaded();
    std::unique_ptr<Driver> found(new Driver);
    found->library_ = std::move(library);
    found->table_ = std::move(table);
    found->path_ = file;
    const Result status = found->table_->init(0);
    if (status != kSuccess && status != kErrorNoDevice) {
      why = fmt::format("the CUDA driver {} does not start: cuInit: {}", file, found->describe(status));
      return;
    }
    found->has_devices_ = status == kSuccess;
    driver = std::move(found);
  }
};

const Driver* Driver::find(std::string* why) {
  // Not destroyed at exit: objects that own device memory may be destroyed after our statics.
  static const DriverLoader& loaded = *new DriverLoader;
  if (why != nullptr && !loaded.driver) *why = loaded.why;
  return loaded.driver.get();
}

const Driver& Driver::get() {
  if (const Driver* driver = find()) return *driver;
  std::string why;
  static_cast<void>(find(&why));
  throw DeviceError(why + "; install NVIDIA's driver, or name its libcuda.so.1 in TILEWRIGHT_LIBCUDA");
}

std::string Driver::describe(int status) const {
  const char* name = nullptr;
  const char* words = nullptr;
  if (table_->get_error_name(status, &name) != kSuccess || name == nullptr) name = "an error unknown to this driver";
  if (table_->get_error_string(status, &words) != kSuccess || words == nullptr) words = "no description";
  return fmt::format("{} ({}): {}", name, status, words);
}

void Driver::check(int status, const char* api, const std::string& what) const {
  if (status == kSuccess) return;
  throw DeviceError(what.empty() ? fmt::format("{}: {}", api, describe(status))
                                 : fmt::format("{} failed: {}: {}", what, api, describe(status)),
                    status);
}

int Driver::version() const {
  int version = 0;
  call("asking the driver's version", table_->driver_get_version, &version);
  return version;
}

int Driver::device_count() const {
  int count = 0;
  if (has_devices_) call("counting the GPUs", table_->device_get_count, &count);
  return count;
}

int Driver::attribute(int device, int which) const {
  int value = 0;
  const auto id = static_cast<DeviceAttribute>(which);
  call("reading the GPU's facts", table_->device_get_attribute, &value, id, static_cast<DeviceId>(device));
  return value;
}

namespace {

void require_device(const Driver& driver, int device) {
  const int count = driver.device_count();
  if (device >= 0 && device < count) return;
  throw UsageError(
      count == 0 ? fmt::format("there is no GPU cuda:{}: the driver {} sees none", device, driver.path())
                 : fmt::format("there is no GPU cuda:{}: the driver sees {}, counted from cuda:0", device, count));
}

}  // namespace

DeviceFacts Driver::facts(int device) const {
  require_device(*this, device);
  const auto value = [&](DeviceAttribute which) { return attribute(device, static_cast<int>(which)); };
  std::array<char, 256> name{};
  call("reading the GPU's name", table_->device_get_name, name.data(), static_cast<int>(name.size()),
       static_cast<DeviceId>(device));
  std::size_t memory = 0;
  call("reading the GPU's memory size", table_->device_total_mem, &memory, static_cast<DeviceId>(device));

  DeviceFacts facts;
  facts.name = name.data();
  facts.compute_capability =
      10 * value(DeviceAttribute::compute_capability_major) + value(DeviceAttribute::compute_capability_minor);
  facts.sm_count = value(DeviceAttribute::multiprocessor_count);
  facts.memory_bytes = static_cast<std::int64_t>(memory);
  facts.memory_bus_bits = value(DeviceAttribute::memory_bus_width);
  facts.l2_bytes = value(DeviceAttribute::l2_cache_size);
  facts.shared_per_block_optin = value(DeviceAttribute::max_shared_memory_per_block_optin);
  facts.shared_per_sm = value(DeviceAttribute::max_shared_memory_per_multiprocessor);
  facts.registers_per_sm = value(DeviceAttribute::max_registers_per_multiprocessor);
  facts.max_threads_per_sm = value(DeviceAttribute::max_threads_per_multiprocessor);
  facts.max_threads_per_block = value(DeviceAttribute::max_threads_per_block);
  return facts;
}

std::string Driver::uuid(int device) const {
  require_device(*this, device);
  Uuid uuid{};
  call("reading the GPU's UUID", table_->device_get_uuid, &uuid, static_cast<DeviceId>(device));
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

}  // namespace tilewright::cuda

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/model/device_facts.hpp"

/// The CUDA driver, opened at run time (TILEWRIGHT_LIBCUDA, else libcuda.so.1), and owners of its objects. Only this
/// folder calls cu*. Handles are opaque pointers, so the build needs no CUDA header.
///
/// A process has one Driver, never unloaded, for any thread. Owners are movable, not copyable; their destructors do not
/// throw. A failed call throws DeviceError with the API's name, CUDA's words and the work in hand.
namespace tilewright {
class SharedLibrary;
}

namespace tilewright::cuda {

using Context = struct CUctx_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;
using Library = struct CUlib_st*;
using Kernel = struct CUkern_st*;
using Function = struct CUfunc_st*;
using Graph = struct CUgraph_st*;
using GraphExec = struct CUgraphExec_st*;
using UserObject = struct CUuserObject_st*;
using Address = std::uint64_t;

/// The driver entry points that Tilewright uses (driver_table.hpp), one line each.
struct DriverTable;

class Driver {
 public:
  /// The process's driver, or null with the reason in `why`. Does not throw; the first answer is kept.
  [[nodiscard]] static const Driver* find(std::string* why = nullptr);
  /// As find(), but throws DeviceError with the reason and the remedy.
  [[nodiscard]] static const Driver& get();

  [[nodiscard]] int version() const;       ///< 13000
  [[nodiscard]] int device_count() const;  ///< 0 if there is a driver but no GPU
  [[nodiscard]] DeviceFacts facts(int device) const;
  /// "GPU-3f2c…"
  [[nodiscard]] std::string uuid(int device) const;
  /// The entry points for all other calls: include cache/driver/driver_table.hpp.
  [[nodiscard]] const DriverTable& table() const noexcept { return *table_; }
  /// The file it was opened from.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// "CUDA_ERROR_INVALID_VALUE (1): invalid argument"
  [[nodiscard]] std::string describe(int status) const;
  /// Throws DeviceError("`what` failed: cuLaunchKernelEx: CUDA_ERROR_…: words") unless `status` is 0.
  void check(int status, const char* api, const std::string& what = {}) const;
  /// Calls an entry of the table and checks it: `driver.call("copying x", driver.table().memcpy_htod, to, from, n)`.
  template <class Api, class... Arguments>
  void call(const char* what, const Api& api, Arguments... arguments) const {
    if (const int status = api(arguments...); status != 0) check(status, api.name(), what);
  }

 private:
  friend struct DriverLoader;
  Driver() = default;
  [[nodiscard]] int attribute(int device, int which) const;

  std::shared_ptr<SharedLibrary> library_;
  std::shared_ptr<const DriverTable> table_;
  std::string path_;
  /// False if there is a driver but no GPU.
  bool has_devices_ = false;
};

/// The device's primary context: retained while this object lives, and made current on the constructing thread.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, int device);
  void make_current() const;
  /// Waits for all work enqueued in the context. Throws DeviceError for a kernel's illegal access.
  void synchronize() const;
  [[nodiscard]] Context get() const noexcept { return context_; }
  [[nodiscard]] int device() const noexcept { return device_; }

 private:
  const Driver* driver_;
  int device_;
  Context context_ = nullptr;
  std::shared_ptr<void> retained_;
};

/// Makes a context current on the calling thread; the destructor restores the previous one. Stays on its thread.
class CurrentContext {
 public:
  /// Throws DeviceError if the context has been destroyed.
  CurrentContext(const Driver& driver, Context context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver* driver_;
  Context before_ = nullptr;
};

/// Owns device memory and frees it. Must not outlive its context: see leave().
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Driver& driver, std::size_t bytes, const std::string& what);
  /// Gives up the memory without freeing it. For a context that has ended or will: the address may already be reused.
  void leave() noexcept;
  [[nodiscard]] Address address() const noexcept { return address_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  explicit operator bool() const noexcept { return address_ != 0; }

 private:
  Address address_ = 0;
  std::size_t bytes_ = 0;
  struct Owned;
  std::shared_ptr<Owned> owned_;
};

/// A loaded binary (cuLibraryLoadData) and its kernels. All executables that launch from it share it. It belongs to no
/// context: the driver loads it into each context that asks for a function.
class Module {
 public:
  /// `what` names the binary in error texts. Throws DeviceError if the driver rejects it; most drivers check a binary
  /// only when a function is asked for.
  Module(const Driver& driver, std::span<const std::byte> binary, const std::string& what);
  /// The current context's function for a kernel symbol, for any thread. Allows `shared_bytes` beyond 48 KiB, and
  /// clusters of more than 8 blocks if `nonportable_cluster`; what it has allowed before stays allowed. Throws
  /// DeviceError if the driver rejects the binary, or if the symbol does not exist; the text then lists the binary's
  /// symbols.
  [[nodiscard]] Function function(const std::string& symbol, std::uint32_t shared_bytes,
                                  bool nonportable_cluster) const;

 private:
  struct SharedLimits;
  void allow_shared(Function function, const std::string& symbol, std::uint32_t bytes) const;

  const Driver* driver_;
  std::string what_;
  std::shared_ptr<struct CUlib_st> library_;
  std::shared_ptr<SharedLimits> shared_limits_;
};

}  // namespace tilewright::cuda

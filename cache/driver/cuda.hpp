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

/// The CUDA driver, opened at run time (TILEWRIGHT_LIBCUDA, else libcuda.so.1), and owners for what it hands out. The
/// only folder that calls cu*. Handles are opaque pointers here, so no CUDA header is needed to build.
///
/// Driver is one object a process, never unloaded, free to be used by any thread. Owners are movable, not copyable;
/// their destructors never throw. Every failed call throws DeviceError with the API's name, CUDA's own words and what
/// was being done.
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

/// The table of driver entry points that Tilewright uses (driver_table.hpp); one line a function.
struct DriverTable;

class Driver {
 public:
  /// The process's driver, or nothing with `why` telling what was looked for. Never throws; the answer is remembered.
  [[nodiscard]] static const Driver* find(std::string* why = nullptr);
  /// As find, but throws DeviceError with `why` and what to do.
  [[nodiscard]] static const Driver& get();

  [[nodiscard]] int version() const;       ///< 13000
  [[nodiscard]] int device_count() const;  ///< 0 when there is a driver but no GPU
  [[nodiscard]] DeviceFacts facts(int device) const;
  /// "GPU-3f2c…"
  [[nodiscard]] std::string uuid(int device) const;
  /// For every other call: include cache/driver/driver_table.hpp.
  [[nodiscard]] const DriverTable& table() const noexcept { return *table_; }
  /// Where it was found.
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
  /// False where there is a driver but no GPU.
  bool has_devices_ = false;
};

/// The device's primary context, retained while this lives and current on the calling thread after construction.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, int device);
  void make_current() const;
  /// Waits until everything enqueued in the context is done; a kernel's illegal access is reported here.
  void synchronize() const;
  [[nodiscard]] Context get() const noexcept { return context_; }
  [[nodiscard]] int device() const noexcept { return device_; }

 private:
  const Driver* driver_;
  int device_;
  Context context_ = nullptr;
  std::shared_ptr<void> retained_;
};

/// While it lives, a context is current on the calling thread, and then again what was before. Stays on its thread.
class CurrentContext {
 public:
  /// Throws DeviceError for one that has ended.
  CurrentContext(const Driver& driver, Context context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver* driver_;
  Context before_ = nullptr;
};

/// Device memory, freed with the buffer, which must not outlive its context: see leave().
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Driver& driver, std::size_t bytes, const std::string& what);
  /// Frees nothing any more. For memory that has ended with its context, or will: its address may be another's by now.
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

/// A loaded binary (cuLibraryLoadData) and its kernels. Shared by all that launch from it. Belongs to no context: the
/// driver loads it into each context that asks for a function.
class Module {
 public:
  /// `what` is the binary in words, for error texts. Throws DeviceError when the driver rejects it; most drivers look
  /// at a binary only when a function is asked for.
  Module(const Driver& driver, std::span<const std::byte> binary, const std::string& what);
  /// The function of the current context for a kernel's symbol; `shared_bytes` beyond 48 KiB and clusters of more than
  /// 8 blocks are enabled here. Throws DeviceError for a binary that the driver rejects, and when there is no such
  /// symbol, with those there are.
  [[nodiscard]] Function function(const std::string& symbol, std::uint32_t shared_bytes,
                                  bool nonportable_cluster) const;

 private:
  const Driver* driver_;
  std::string what_;
  std::shared_ptr<struct CUlib_st> library_;
};

}  // namespace tilewright::cuda

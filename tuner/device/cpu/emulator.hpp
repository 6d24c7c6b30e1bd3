// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/emulator/abi.h"

/// The CPU emulator: runs a kernel that the host's C++ compiler made (compile/host_compiler.hpp), with one fiber per
/// CUDA thread. Blocks run one after the other, blocks of a cluster together. docs/emulator.md says what it models. Any
/// number of OS threads may launch at once, also of one module. Each keeps its own stacks until it ends; their memory
/// grows to its largest block.
namespace tilewright {

/// A loaded module. Immutable; its last owner unloads it.
class EmulatorModule {
 public:
  /// Throws DeviceError if the file is not an emulator module, or has another version of the contract (abi.h).
  [[nodiscard]] static std::shared_ptr<const EmulatorModule> load(const std::filesystem::path& shared_object);
  /// As above, from a compiler's output. Writes a temporary file and removes it before it returns.
  [[nodiscard]] static std::shared_ptr<const EmulatorModule> load(std::span<const std::byte> shared_object);

  /// Names of the kernels, as the compiler registered them.
  [[nodiscard]] std::vector<std::string> entries() const;
  /// Null if there is no such kernel.
  [[nodiscard]] const emulator::Entry* find(std::string_view entry) const noexcept;
  /// The calling OS thread's copy of the module's static __shared__ variables.
  [[nodiscard]] std::span<std::byte> static_shared() const;

 private:
  struct Close {
    void operator()(void* handle) const noexcept;
  };
  EmulatorModule() = default;
  std::unique_ptr<void, Close> handle_;
  const emulator::Module* module_ = nullptr;
  std::size_t static_bytes_ = 0;
};

struct EmulatedLaunch {
  std::string entry;
  std::array<unsigned, 3> grid{1, 1, 1};
  std::array<unsigned, 3> block{1, 1, 1};
  std::array<unsigned, 3> cluster{1, 1, 1};
  /// Dynamic shared memory per block.
  std::size_t shared_bytes = 0;
  /// One pointer to a value per kernel parameter, as for cuLaunchKernel.
  void** params = nullptr;
  /// Determines the order of threads.
  std::uint64_t seed = 0;
  /// The limit of the whole launch. A loop without runtime calls (no barrier, warp function, atomic or wait) ends only
  /// with its process.
  std::chrono::milliseconds time_limit{60'000};
};

/// The result of a launch. Unless it is `ok`, outputs are undefined; later launches are unharmed.
struct EmulatedOutcome {
  enum class Status {
    ok,
    deadlock,  ///< no thread can continue
    timed_out,
    misaligned,     ///< an address that is not a multiple of the access's size
    out_of_bounds,  ///< beyond dynamic shared memory or a static array
    bad_mask,       ///< the wrong lanes called a warp function
    bad_barrier,    ///< a barrier used against its rules
    unsupported,    ///< not modelled by the emulator
    trap,           ///< __trap() or a failed assert()
    bad_launch,     ///< invalid extents, cluster or shared memory, or an unknown entry
  };
  Status status = Status::ok;
  /// Kernel, block, threads, source place and reason; empty if `ok`.
  std::string text;

  [[nodiscard]] bool ok() const noexcept { return status == Status::ok; }
};

/// As "deadlock", "timed out", "misaligned access"…
[[nodiscard]] std::string_view to_string(EmulatedOutcome::Status status) noexcept;

/// Runs the launch to its end on the calling OS thread. Kernel faults are outcomes. Throws DeviceError if the host
/// refuses memory for stacks. A wild pointer in a kernel is a segmentation fault of this process.
[[nodiscard]] EmulatedOutcome run(const EmulatorModule& module, const EmulatedLaunch& launch);

}  // namespace tilewright

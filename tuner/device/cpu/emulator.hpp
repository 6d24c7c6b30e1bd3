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

/// The CPU emulator: runs a kernel that the host's C++ compiler made (compile/host_compiler.hpp), with one fiber a CUDA
/// thread. Blocks run one after the other, those of a cluster together. docs/emulator.md says what is modelled and how
/// strictly. Any number of OS threads may launch at once, the same module too; each keeps its own stacks, in memory
/// that grows to the largest block it has run and is freed when the OS thread ends.
namespace tilewright {

/// A loaded module. Immutable, and unloaded with its last owner.
class EmulatorModule {
 public:
  /// Throws DeviceError when the file is no emulator module, or one of another version of the contract (abi.h).
  [[nodiscard]] static std::shared_ptr<const EmulatorModule> load(const std::filesystem::path& shared_object);
  /// The same, from a compiler's output: writes a temporary file, which is gone when this returns.
  [[nodiscard]] static std::shared_ptr<const EmulatorModule> load(std::span<const std::byte> shared_object);

  /// Names of the kernels, as registered by the compiler.
  [[nodiscard]] std::vector<std::string> entries() const;
  /// Null when there is none of that name.
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
  /// Dynamic shared memory of a block.
  std::size_t shared_bytes = 0;
  /// One pointer for each parameter of the kernel, to its value, as for cuLaunchKernel.
  void** params = nullptr;
  /// The order in which threads run follows from it alone.
  std::uint64_t seed = 0;
  /// The limit of the whole launch. A loop that never reaches the runtime (no barrier, warp function, atomic or wait)
  /// ends only with its process.
  std::chrono::milliseconds time_limit{60'000};
};

/// The end of a launch. After anything but `ok` the contents of its outputs mean nothing; later launches are unharmed.
struct EmulatedOutcome {
  enum class Status {
    ok,
    deadlock,  ///< no thread can go on
    timed_out,
    misaligned,     ///< an access at an address that is no multiple of its size
    out_of_bounds,  ///< beyond dynamic shared memory or a static array
    bad_mask,       ///< a warp function called by the wrong lanes
    bad_barrier,    ///< a barrier used against its rules
    unsupported,    ///< something that the emulator does not model
    trap,           ///< __trap() or a failed assert()
    bad_launch,     ///< extents, cluster or shared memory that no GPU would take, or an unknown entry
  };
  Status status = Status::ok;
  /// Kernel, block, threads, place in the source and reason; empty when ok.
  std::string text;

  [[nodiscard]] bool ok() const noexcept { return status == Status::ok; }
};

/// "deadlock", "timed out", "misaligned access"…
[[nodiscard]] std::string_view to_string(EmulatedOutcome::Status status) noexcept;

/// Runs the launch to its end on the calling OS thread. A kernel's misdeeds are outcomes; throws DeviceError only when
/// the host refuses memory for stacks. A wild pointer in a kernel is a segmentation fault of this process.
[[nodiscard]] EmulatedOutcome run(const EmulatorModule& module, const EmulatedLaunch& launch);

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tuner/device/cpu/emulator.hpp"

/// Compiles a test's kernels for the emulator and launches them with plain C++ values.
namespace tilewright::test {

/// `source` defines the kernel template `entry`; device/config.cuh and the 16-bit types are included already.
class EmulatedKernel {
 public:
  explicit EmulatedKernel(const std::string& source, const std::string& entry = "kernel");

  /// Runs with the extents and the seed of `launch`; the values must have exactly the types of the kernel's parameters.
  template <class... Values>
  [[nodiscard]] EmulatedOutcome run(EmulatedLaunch launch, Values... values) const {
    void* params[] = {&values..., nullptr};
    launch.entry = entry_;
    launch.params = params;
    return tilewright::run(*module_, launch);
  }
  [[nodiscard]] const EmulatorModule& module() const noexcept { return *module_; }

 private:
  std::string entry_;
  std::shared_ptr<const EmulatorModule> module_;
};

/// A launch of `blocks` blocks of `threads` threads.
[[nodiscard]] EmulatedLaunch extents(unsigned blocks, unsigned threads, std::size_t shared_bytes = 0);

/// Compiles to a module's bytes; throws an error with the compiler's log on failure.
[[nodiscard]] std::vector<std::byte> compile_module(const std::string& source, const std::string& entry = "kernel");

}  // namespace tilewright::test

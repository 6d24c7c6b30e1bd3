// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tuner/compile/compiler.hpp"

/// The emulator's Compiler: the machine's C++ compiler (g++ or clang++) makes a shared object of a generated source,
/// with kernels/emulator/ instead of CUDA. Immutable; any number of threads may compile at once. Each compile is a
/// process in its own temporary folder.
namespace tilewright {

struct HostCompilerSettings {
  /// The compiler and its first arguments. If empty: the variable CXX, else the first of c++, g++, clang++ on the PATH.
  std::vector<std::string> command;
  /// The folder of device/ and emulator/. If empty: kernels_dir().
  std::filesystem::path kernels;
  /// Flags after the compiler's own, such as "-g", "-O0". Part of version().
  std::vector<std::string> flags;
  /// The longest compile. After that it is killed, and the kernel counts as one that does not compile.
  std::chrono::milliseconds limit{120'000};
  /// Address space per compiler process; 0: no limit.
  std::size_t memory_bytes = std::size_t{4} << 30;
  /// Polled by the compiling thread; true ends the compile as the limit does. May be empty.
  std::function<bool()> interrupted{};

  /// Reads CXX, and `flags` from TILEWRIGHT_EMULATOR_FLAGS (for a debugger: docs/emulator.md).
  [[nodiscard]] static HostCompilerSettings from_environment();
};

class HostCompiler : public Compiler {
 public:
  /// Throws Error if there is no compiler, or if the named one is not a C++ compiler.
  explicit HostCompiler(HostCompilerSettings settings = HostCompilerSettings::from_environment());

  /// Compiles to a shared object for EmulatorModule::load(). `arch` must be "cpu". If this program runs under
  /// AddressSanitizer, so does the kernel. Throws Error if the compiler is at fault, not the kernel: an unknown option,
  /// a missing part of it, a full disk.
  [[nodiscard]] CompileResult compile(const CompileRequest& request) override;
  [[nodiscard]] std::string version() const override { return version_; }
  [[nodiscard]] bool makes_host_code() const noexcept override { return true; }

 private:
  [[nodiscard]] std::vector<std::string> command_line(const CompileRequest& request,
                                                      const std::filesystem::path& source,
                                                      const std::filesystem::path& output) const;

  HostCompilerSettings settings_;
  std::string version_;
  bool is_clang_ = false;
};

}  // namespace tilewright

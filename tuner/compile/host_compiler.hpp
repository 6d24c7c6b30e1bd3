// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tuner/compile/compiler.hpp"

/// The Compiler of the emulator: the machine's C++ compiler, g++ or clang++, which makes a shared object of a generated
/// source with kernels/emulator/ in place of CUDA. Immutable, so that any number of threads may compile at once; each
/// compile is a process in a temporary folder of its own.
namespace tilewright {

struct HostCompilerSettings {
  /// The compiler and its first arguments; empty: the variable CXX, else the first of c++, g++, clang++ on the PATH.
  std::vector<std::string> command;
  /// The folder of device/ and emulator/; empty: kernels_dir().
  std::filesystem::path kernels;
  /// Flags behind the compiler's own, such as "-g", "-O0"; part of version().
  std::vector<std::string> flags;
  /// The longest compile; then it is killed, and the kernel counts as one that does not compile.
  std::chrono::milliseconds limit{120'000};
  /// Address space of each process of the compiler; 0: no limit.
  std::size_t memory_bytes = std::size_t{4} << 30;
  /// Asked often while a compile runs, by its thread; true ends it as the limit does. May be empty.
  std::function<bool()> interrupted{};

  /// CXX, and TILEWRIGHT_EMULATOR_FLAGS for `flags` (for a debugger: docs/emulator.md).
  [[nodiscard]] static HostCompilerSettings from_environment();
};

class HostCompiler : public Compiler {
 public:
  /// Throws Error when there is no compiler, or what is named is none.
  explicit HostCompiler(HostCompilerSettings settings = HostCompilerSettings::from_environment());

  /// To a shared object for EmulatorModule::load; `arch` must be "cpu". Where this program runs under AddressSanitizer,
  /// so does the kernel. Throws Error when the compiler is at fault and not the kernel: an option that it does not
  /// know, a part of it missing, a full disk.
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

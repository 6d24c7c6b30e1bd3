// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cache/driver/profiler.hpp"
#include "cache/model/records.hpp"

/// From generated source to a binary: NVRTC for a GPU (nvrtc_compiler.hpp), the host's C++ compiler for the emulator
/// (host_compiler.hpp). A kernel that does not compile is an expected outcome (`ok` is false, the log is kept); a
/// compiler that is missing or refuses its own options throws. A Compiler may be used by any number of threads at once.
namespace tilewright {

struct CompileRequest {
  std::string source;
  /// For messages: "softmax.cu".
  std::string name;
  /// Kernel templates of `source`, by name: "softmax_onchip". Each is instantiated with tilewright_generated::Config,
  /// which the source must define.
  std::vector<std::string> entries;
  /// "sm_80", "sm_90a"…; "cpu" for the emulator.
  std::string arch;
  /// Searched in order, before the compiler's own.
  std::vector<std::filesystem::path> include_dirs;
  /// Appended to the compiler's own, one flag each.
  std::vector<std::string> options;
  /// Its label on a profiler's timeline; empty: its name.
  std::string label = {};
};

/// The compiler's facts of one kernel; all 0 on the emulator but max_threads.
struct KernelResources {
  int registers = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  /// Stack frame of a thread.
  int local_bytes = 0;
  int static_shared_bytes = 0;
  int constant_bytes = 0;
  /// Threads that a block of this kernel may have: by its registers and by its launch bounds.
  int max_threads = 1024;
};

struct CompiledKernel {
  /// As in the request.
  std::string entry;
  /// The name to load it by.
  std::string symbol;
  KernelResources resources;
};

struct CompileResult {
  bool ok = false;
  std::vector<std::byte> binary;
  /// One for each entry of the request, in its order; empty unless ok.
  std::vector<CompiledKernel> kernels;
  /// The compiler's whole output, on success too.
  std::string log;
  /// As Compiler::version().
  std::string compiler;
  double milliseconds = 0;
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Throws Error when the compiler itself is at fault: an option it does not know, a header of its own missing.
  [[nodiscard]] virtual CompileResult compile(const CompileRequest& request) = 0;
  /// "NVRTC 13.0", "g++ 12.2.0": part of a binary's identity.
  [[nodiscard]] virtual std::string version() const = 0;
  /// True where it makes code that runs in this program's name, and not on a GPU.
  [[nodiscard]] virtual bool makes_host_code() const noexcept { return false; }
};

/// The range of a compile on a profiler's timeline, while it lives.
[[nodiscard]] ProfilerRange compile_range(const CompileRequest& request);

/// A result's kernels as the store and the devices take them.
[[nodiscard]] std::vector<KernelFacts> kernel_facts(const CompileResult& result);

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "cache/driver/profiler.hpp"
#include "cache/model/records.hpp"

/// Compiles generated source to a binary: NVRTC for a GPU (nvrtc_compiler.hpp), the host's C++ compiler for the
/// emulator (host_compiler.hpp). If a kernel does not compile, `ok` is false and the log is kept. A missing compiler,
/// or one that refuses its own options, throws. Any number of threads may use a Compiler at once.
namespace tilewright {

struct CompileRequest {
  std::string source;
  /// For messages, such as "softmax.cu".
  std::string name;
  /// Names of kernel templates in `source`, such as "softmax_onchip". Each is instantiated with
  /// tilewright_generated::Config, which the source must define.
  std::vector<std::string> entries;
  /// "sm_80", "sm_90a"…, or "cpu" for the emulator.
  std::string arch;
  /// Searched in order, before the compiler's own folders.
  std::vector<std::filesystem::path> include_dirs;
  /// Appended to the compiler's own options, one flag each.
  std::vector<std::string> options;
  /// The label on a profiler's timeline; if empty, `name`.
  std::string label = {};
};

/// The compiler's facts about one kernel. On the emulator all are 0 except max_threads.
struct KernelResources {
  int registers = 0;
  int spill_store_bytes = 0;
  int spill_load_bytes = 0;
  /// Stack frame per thread.
  int local_bytes = 0;
  int static_shared_bytes = 0;
  int constant_bytes = 0;
  /// The most threads per block, limited by registers and launch bounds.
  int max_threads = 1024;
};

struct CompiledKernel {
  /// As in the request.
  std::string entry;
  /// The symbol to load.
  std::string symbol;
  KernelResources resources;
};

struct CompileResult {
  bool ok = false;
  std::vector<std::byte> binary;
  /// One per entry of the request, in order. Empty unless `ok`.
  std::vector<CompiledKernel> kernels;
  /// The compiler's whole output, including on success.
  std::string log;
  /// Compiler::version().
  std::string compiler;
  double milliseconds = 0;
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  /// Throws Error if the compiler itself is at fault: an unknown option, or one of its own headers is missing.
  [[nodiscard]] virtual CompileResult compile(const CompileRequest& request) = 0;
  /// "NVRTC 13.0", "g++ 12.2.0". Part of a binary's identity.
  [[nodiscard]] virtual std::string version() const = 0;
  /// Whether its code runs on the host under this program's rights, not on a GPU.
  [[nodiscard]] virtual bool makes_host_code() const noexcept { return false; }
};

/// The profiler range of a compile, open while the result lives.
[[nodiscard]] ProfilerRange compile_range(const CompileRequest& request);

/// The kernels of a result, in the form of the store and the devices.
[[nodiscard]] std::vector<KernelFacts> kernel_facts(const CompileResult& result);
/// A stored build in the form of a compiler's result.
[[nodiscard]] CompileResult to_compile_result(const Build& build, std::vector<std::byte> binary);

}  // namespace tilewright

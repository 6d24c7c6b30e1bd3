// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tuner/compile/compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"

/// The Compiler for GPUs. It needs no GPU and compiles for all architectures that its NVRTC knows. Any number of
/// threads may use it at once; NVRTC runs its front end under one lock per process and the rest in parallel.
namespace tilewright {

class NvrtcCompiler : public Compiler {
 public:
  explicit NvrtcCompiler(std::shared_ptr<const NvrtcLibrary> library = NvrtcLibrary::open());

  /// Compiles to a cubin. If the source is wrong, or NVRTC fails internally or runs out of memory on it, `ok` is false
  /// with NVRTC's log. Throws UsageError for an architecture that this NVRTC does not know. Throws Error if NVRTC
  /// itself is at fault: an unknown option, or missing CUDA headers or libnvrtc-builtins. Such an Error must not be
  /// stored as the kernel's failure.
  [[nodiscard]] CompileResult compile(const CompileRequest& request) override;
  [[nodiscard]] std::string version() const override { return library_->report().version(); }

  /// As above; `ptx` receives the PTX of the cubin (empty unless `ok`).
  [[nodiscard]] CompileResult compile(const CompileRequest& request, std::string& ptx);

  /// The request's compiler options, in order.
  [[nodiscard]] std::vector<std::string> options(const CompileRequest& request) const;
  [[nodiscard]] const NvrtcLibrary& library() const noexcept { return *library_; }

 private:
  std::shared_ptr<const NvrtcLibrary> library_;
};

/// The installation's fault if NVRTC blames the source for it in `log`: missing CUDA headers, or an option that ptxas
/// does not know. It would affect all kernels. Empty if the source is at fault.
[[nodiscard]] std::string installation_fault(const std::string& log, const NvrtcReport& report);

}  // namespace tilewright

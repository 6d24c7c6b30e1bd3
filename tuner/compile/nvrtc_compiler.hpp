// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tuner/compile/compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"

/// The Compiler of GPUs. It needs no GPU: it compiles for any architecture that its NVRTC knows. Used by any number of
/// threads at once; NVRTC itself runs its front end under one lock a process and the rest in parallel.
namespace tilewright {

class NvrtcCompiler : public Compiler {
 public:
  explicit NvrtcCompiler(std::shared_ptr<const NvrtcLibrary> library = NvrtcLibrary::open());

  /// To a cubin. A mistake in the source gives `ok` false with NVRTC's log. Throws UsageError for an architecture that
  /// this NVRTC does not compile for, Error when NVRTC itself is at fault: an option it does not know, CUDA's headers
  /// or libnvrtc-builtins missing, memory exhausted. Such an Error says nothing of the kernel and must not be kept
  /// as its failure.
  [[nodiscard]] CompileResult compile(const CompileRequest& request) override;
  [[nodiscard]] std::string version() const override { return library_->report().version(); }

  /// As compile; `ptx` receives the PTX that the cubin was made from (empty unless ok).
  [[nodiscard]] CompileResult compile(const CompileRequest& request, std::string& ptx);

  /// The options that a request compiles with, in order.
  [[nodiscard]] std::vector<std::string> options(const CompileRequest& request) const;
  [[nodiscard]] const NvrtcLibrary& library() const noexcept { return *library_; }

 private:
  std::shared_ptr<const NvrtcLibrary> library_;
};

/// The fault of the installation when NVRTC blames the source in `log`: CUDA's own headers are missing, or ptxas does
/// not know an option. Such a failure would hit every kernel alike. Empty when the source is to blame.
[[nodiscard]] std::string installation_fault(const std::string& log, const NvrtcReport& report);

}  // namespace tilewright

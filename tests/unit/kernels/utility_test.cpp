// SPDX-License-Identifier: Apache-2.0
// The tuner's own kernels, compiled for GPUs; device/tensor_tools_test.cpp runs them on the emulator.
#include <gtest/gtest.h>

#include "tests/unit/kernels/built_in_op.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/nvrtc_library.hpp"
#include "tuner/compile/nvrtc_search.hpp"

namespace tilewright::utility_test {
namespace {

TEST(Utility, compiles_for_gpus) {
  NvrtcReport report;
  auto library = NvrtcLibrary::find(nvrtc_search_places(), &report);
  if (library == nullptr) GTEST_SKIP() << report.why;
  if (!report.why_no_headers.empty()) GTEST_SKIP() << report.why_no_headers;
  NvrtcCompiler compiler(std::move(library));
  for (const char* arch : {"sm_80", "sm_90a"}) {
    CompileRequest request;
    request.source = "namespace tilewright_generated {\nstruct Config {};\n}\n#include \"utility/tensor_tools.cu\"\n";
    request.name = "tensor_tools.cu";
    request.entries = {"fill_random", "fill_by_program", "round_elements", "widen",
                       "fill_gaps",   "tally_words",     "compare"};
    request.arch = arch;
    request.include_dirs = {test_kernels_dir()};
    const CompileResult result = compiler.compile(request);
    EXPECT_TRUE(result.ok) << arch << '\n' << result.log;
  }
}

}  // namespace
}  // namespace tilewright::utility_test

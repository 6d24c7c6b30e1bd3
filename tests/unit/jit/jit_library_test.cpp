// SPDX-License-Identifier: Apache-2.0
// libtilewright-jit.so itself, as the launch library opens it; NVRTC compiles without a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cache/base/version.hpp"
#include "cache/driver/shared_library.hpp"
#include "cache/launch/jit_abi.hpp"
#include "cache/model/device_facts.hpp"
#include "cache/store/codecs.hpp"
#include "tests/temporary_folder.hpp"
#include "tuner/definition/catalogue.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Answer {
  std::string binary;
  std::vector<KernelFacts> kernels;
  std::string why;
};

class JitLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TILEWRIGHT_KERNELS_DIR", TILEWRIGHT_KERNELS, 1);
    ASSERT_TRUE(library_) << library_.why();
    compile_ = library_.find<jit::CompileFunction>(jit::kCompileName);
    version_ = library_.find<jit::VersionFunction>(jit::kVersionName);
    ASSERT_THAT(library_.missing(), IsEmpty());
    library_.keep_loaded();
    hopper_.name = "NVIDIA H200";
    hopper_.compute_capability = 90;
    hopper_.sm_count = 132;
    hopper_.l2_bytes = 60 << 20;
    hopper_.shared_per_block_optin = 232448;
    hopper_.shared_per_sm = 233472;
    hopper_.registers_per_sm = 65536;
    hopper_.max_threads_per_sm = 2048;
  }
  ~JitLibrary() override { ::unsetenv("TILEWRIGHT_KERNELS_DIR"); }

  /// Compiles the config with the installed definition's hashes, unless another is given.
  Answer compile(const std::string& problem, const std::string& config, std::string implementation_hash = {}) {
    Catalogue catalogue(ops_.empty() || !std::filesystem::exists(ops_) ? std::vector<std::filesystem::path>()
                                                                       : std::vector<std::filesystem::path>{ops_},
                        TILEWRIGHT_KERNELS);
    const OpDefinition& softmax = catalogue.find("softmax");
    if (implementation_hash.empty()) {
      implementation_hash = softmax.implementation(config.substr(0, config.find('{'))).hash;
    }
    const std::string interface_hash = softmax.interface.hash();
    const std::string device = to_json(hopper_).dump();
    Answer answer;
    compile_({problem.c_str(), config.c_str(), interface_hash.c_str(), implementation_hash.c_str(), device.c_str(),
              ops_.c_str()},
             {&answer,
              [](void* to, const jit::Binary& binary) {
                auto& told = *static_cast<Answer*>(to);
                told.binary.assign(reinterpret_cast<const char*>(binary.bytes), binary.size);
                told.kernels = decode_kernels(binary.kernels);
              },
              [](void* to, const char* why) { static_cast<Answer*>(to)->why = why; }});
    return answer;
  }

  SharedLibrary library_{TILEWRIGHT_JIT};
  jit::CompileFunction* compile_ = nullptr;
  jit::VersionFunction* version_ = nullptr;
  DeviceFacts hopper_;
  std::string ops_;
};

TEST_F(JitLibrary, is_of_this_version) { EXPECT_STREQ(version_(), version()); }

TEST_F(JitLibrary, compiles_a_config_for_the_dims_of_a_problem) {
  const std::string config =
      "onchip{num_warps=4,rows_per_block=1,vec=8,chunks=1,ragged=0,early_columns=0,warps_per_sm=0,static_dims=1}";
  const Answer answer = compile("softmax[dtype=bf16]{rows=7,cols=1024}", config);
  ASSERT_THAT(answer.why, IsEmpty());
  EXPECT_EQ(answer.binary.substr(0, 4),
            "\x7f"
            "ELF");
  ASSERT_THAT(answer.kernels, SizeIs(1));
  EXPECT_THAT(answer.kernels.front().symbol, HasSubstr("softmax"));
  EXPECT_GT(answer.kernels.front().registers, 0);
  EXPECT_NE(compile("softmax[dtype=bf16]{rows=7,cols=1016}", config).binary, answer.binary);
}

TEST_F(JitLibrary, says_what_it_cannot_compile_and_why) {
  const std::string config = "streaming{num_warps=8,vec=4,ragged=1,unroll=1}";
  EXPECT_THAT(compile("softmax[dtype=bf16]{rows=7,cols=1000}", config, std::string(32, '0')).why,
              HasSubstr("differs from the one that the cache was tuned with"));
  EXPECT_THAT(compile("softmix[dtype=bf16]{rows=7,cols=1000}", config).why, HasSubstr("did you mean 'softmax'"));
  EXPECT_THAT(compile("softmax[dtype=bf16]{rows=7}", config).why, HasSubstr("cols"));
  EXPECT_THAT(compile("softmax[dtype=bf16]{rows=7,cols=1000}", "streaming{num_warps=").why, HasSubstr("column"));
  EXPECT_THAT(compile("softmax[dtype=bf16]{rows=7,cols=1000}", "streaming{num_warps=1000,vec=4,ragged=1,unroll=1}").why,
              HasSubstr("num_warps"));
}

TEST_F(JitLibrary, says_where_it_looked_for_ops) {
  ops_ = "/nowhere/ops";
  EXPECT_THAT(compile("softmax[dtype=bf16]{rows=7,cols=1000}", "streaming{num_warps=8,vec=4,ragged=1,unroll=1}").why,
              HasSubstr("/nowhere/ops"));
}

TEST_F(JitLibrary, reads_ops_again_that_were_replaced) {
  const test::TemporaryFolder folder;
  std::filesystem::copy(std::filesystem::path(TILEWRIGHT_KERNELS) / "softmax", folder / "softmax",
                        std::filesystem::copy_options::recursive);
  ops_ = folder.path().string();
  const std::string config = "streaming{num_warps=8,vec=4,ragged=1,unroll=1}";
  const std::string problem = "softmax[dtype=bf16]{rows=7,cols=1000}";
  EXPECT_THAT(compile(problem, config).why, IsEmpty());
  std::ofstream(folder / "softmax/softmax.cu", std::ios::app) << "constexpr int kNewer = 1;\n";
  EXPECT_THAT(compile(problem, config).why, IsEmpty());
  EXPECT_THAT(compile(problem, config, std::string(32, '0')).why, HasSubstr("differs from the one that"));
}

}  // namespace
}  // namespace tilewright

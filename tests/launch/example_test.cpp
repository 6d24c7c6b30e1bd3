// SPDX-License-Identifier: Apache-2.0
// The example applications as built and installed: programs that link libtilewright.so, run with the recording driver
// and a cache of the real definitions. On a GPU, tests/gpu checks what the attention layer and the decode loop compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/launch/definition_cache.hpp"
#include "tests/launch/recording_driver/recording.hpp"
#include "tests/launch/sample_cache.hpp"

namespace tilewright {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using namespace tilewright::testing;

struct Outcome {
  int code = -1;
  std::string text;
};

class ExampleTest : public ::testing::Test {
 protected:
  ExampleTest() {
    const DeviceFacts device = recording_device("NVIDIA H200");
    SampleCache cache(path_);
    const OpDefinition softmax = load_definition(TILEWRIGHT_KERNELS "/softmax/softmax.toml", {TILEWRIGHT_KERNELS});
    add_definition(cache, softmax);
    add_first_legal(cache, softmax, "softmax[dtype=bf16]{rows=4096,cols=4096}", "onchip", device);
    cache.add_winner(softmax.interface, "softmax[dtype=bf16]{rows=4096,cols=4096}", softmax.base.text(),
                     {.role = WinnerRole::base, .device = device});
    cache.add_winner(softmax.interface, "softmax[dtype=f32]{rows=4096,cols=4096}", softmax.base.text(),
                     {.role = WinnerRole::base, .device = device});
    const OpDefinition rmsnorm = load_definition(TILEWRIGHT_KERNELS "/rmsnorm/rmsnorm.toml", {TILEWRIGHT_KERNELS});
    add_definition(cache, rmsnorm);
    add_first_legal(cache, rmsnorm, "rmsnorm[dtype=bf16]{rows=4096,cols=8192}", "onchip", device);
    const OpDefinition gemm = load_definition(TILEWRIGHT_KERNELS "/gemm/gemm.toml", {TILEWRIGHT_KERNELS});
    add_definition(cache, gemm);
    cache.add_winner(gemm.interface, "gemm[dtype=bf16]{m=1,n=1,k=1}", gemm.base.text(),
                     {.role = WinnerRole::base, .device = device});
    const OpDefinition attention =
        load_definition(TILEWRIGHT_KERNELS "/attention/attention.toml", {TILEWRIGHT_KERNELS});
    add_definition(cache, attention);
    add_first_legal(cache, attention, "attention[dtype=bf16,causal=yes]{b=2,hq=8,hkv=2,sq=256,sk=256,d=64,dv=64}",
                    "wgmma", device);
    const OpDefinition paged =
        load_definition(TILEWRIGHT_KERNELS "/attention_paged/attention_paged.toml", {TILEWRIGHT_KERNELS});
    add_definition(cache, paged);
    add_first_legal(cache, paged,
                    "attention_paged[dtype=bf16]{batch=3,hq=8,hkv=2,sq=1,max_pages=8,page=16,d=64,pages=24}", "split",
                    device);
  }

  /// The program's exit code and its output.
  Outcome run(const std::string& command) const {
    const std::string line = "TILEWRIGHT_LIBCUDA='" + Recording::path() +
                             "' TILEWRIGHT_RECORDING_DEVICE='NVIDIA H200:90:132' TILEWRIGHT_RECORDING_LOG='" + log_ +
                             "' TILEWRIGHT_CACHE='" + path_ + "' " + command + " 2>&1";
    std::FILE* pipe = ::popen(line.c_str(), "r");
    Outcome outcome;
    char buffer[512];
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) outcome.text += buffer;
    const int status = ::pclose(pipe);
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    return outcome;
  }
  std::string launched() const {
    std::ostringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }

  TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "cache.db").string();
  const std::string log_ = (folder_.path() / "launches").string();
};

TEST_F(ExampleTest, the_application_launches_the_winner_of_its_shape) {
  const Outcome outcome = run(TILEWRIGHT_EXAMPLE " --no-check");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("softmax of 4096 x 4096 in bf16 on NVIDIA H200 (sm_90, 132 SMs"));
  EXPECT_THAT(outcome.text, HasSubstr("served: onchip{"));
  EXPECT_THAT(outcome.text, HasSubstr("(exact, fresh, same device)"));
  EXPECT_THAT(outcome.text, HasSubstr("the result was not checked"));
  EXPECT_THAT(launched(), HasSubstr("softmax grid="));
  EXPECT_THAT(launched(), HasSubstr("params=6"));
}

TEST_F(ExampleTest, the_application_launches_the_base_for_another_shape) {
  const Outcome outcome = run(TILEWRIGHT_EXAMPLE " --no-check 3 1001");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("served: streaming{"));
  EXPECT_THAT(outcome.text, HasSubstr("(default, fresh, same device)"));
  EXPECT_THAT(launched(), HasSubstr("softmax grid=3,1,1"));
}

TEST_F(ExampleTest, the_application_finds_a_wrong_result) {
  // No kernel computes here, so the program does not get a softmax.
  const Outcome outcome = run(TILEWRIGHT_EXAMPLE " 4 512");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("WRONG"));
}

TEST_F(ExampleTest, the_application_says_what_is_wrong_with_its_cache) {
  std::filesystem::remove(path_);
  const Outcome outcome = run(TILEWRIGHT_EXAMPLE " --no-check");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("error: "));
  EXPECT_THAT(outcome.text, HasSubstr(path_));
}

TEST_F(ExampleTest, the_c_application_queries_and_launches) {
  const Outcome outcome = run(TILEWRIGHT_EXAMPLE_C " --no-check");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  const auto json = nlohmann::json::parse(outcome.text.substr(0, outcome.text.find('\n')));
  EXPECT_EQ(json["problem"], "softmax[dtype=f32,pitch=dense]{rows=2,cols=4096}");
  EXPECT_EQ(json["fit"], "default");
  EXPECT_THAT(launched(), HasSubstr("softmax grid=2,1,1"));
}

TEST_F(ExampleTest, the_c_application_finds_a_wrong_result) {
  const Outcome outcome = run(TILEWRIGHT_EXAMPLE_C);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("WRONG"));
}

TEST_F(ExampleTest, applications_wait_for_their_copies_before_they_launch) {
  for (const char* application : {TILEWRIGHT_EXAMPLE, TILEWRIGHT_EXAMPLE_C, TILEWRIGHT_DECODE_LOOP}) {
    const Outcome outcome = run(std::string("TILEWRIGHT_RECORDING_FAIL=cuCtxSynchronize:719 ") + application);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.text, HasSubstr("copying to the device failed"));
    EXPECT_EQ(launched(), "");
  }
}

TEST_F(ExampleTest, the_attention_layer_launches_three_kernels) {
  const Outcome outcome = run(TILEWRIGHT_ATTENTION_LAYER " --no-check");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("2 x 256 tokens, attention by wgmma{"));
  EXPECT_THAT(outcome.text, HasSubstr("(exact, fresh, same device)"));
  EXPECT_THAT(launched(), ContainsRegex("gemm_simt .*\n(.*\n)*attention_wgmma .*\n(.*\n)*gemm_simt "));
}

TEST_F(ExampleTest, the_attention_layer_finds_a_wrong_result) {
  const Outcome outcome = run(TILEWRIGHT_ATTENTION_LAYER " 1 16");
  EXPECT_EQ(outcome.code, 1);
}

TEST_F(ExampleTest, the_decode_loop_runs_the_same_graph_for_every_step) {
  const Outcome outcome = run(TILEWRIGHT_DECODE_LOOP " --no-check 5");
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("3 sequences, attention by split{"));
  EXPECT_THAT(outcome.text, HasSubstr("(exact, fresh, same device)"));
  const std::string log = launched();
  EXPECT_EQ(std::ranges::count(log, '\n'), 5) << log;
  EXPECT_THAT(log, ContainsRegex("attention_paged_split .*\nattention_paged_split "));
}

TEST_F(ExampleTest, the_decode_loop_finds_a_wrong_result) {
  const Outcome outcome = run(TILEWRIGHT_DECODE_LOOP " 2");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("WRONG"));
}

#ifdef TILEWRIGHT_PYTHON
TEST_F(ExampleTest, the_python_application_launches_the_winner_of_its_shape) {
  const std::string command =
      "PYTHONPATH='" TILEWRIGHT_SOURCES "/cache/launch/python:" TILEWRIGHT_SOURCES
      "/tests/launch/python/stand_in' TILEWRIGHT_LIBRARY='" TILEWRIGHT_LIBRARY "' '" TILEWRIGHT_PYTHON
      "' -B -W error " TILEWRIGHT_SOURCES "/docs/examples/python/main.py";
  const Outcome outcome = run(command);
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  EXPECT_THAT(outcome.text, HasSubstr("rmsnorm of 4096 x 8192 in bf16 on NVIDIA H200 (sm_90, 132 SMs"));
  EXPECT_THAT(outcome.text, HasSubstr("served: onchip{"));
  EXPECT_THAT(outcome.text, HasSubstr("max error: 0.000"));
  EXPECT_THAT(launched(), HasSubstr("rmsnorm grid="));
  EXPECT_EQ(run("TILEWRIGHT_RECORDING_FAIL=cuLaunchKernelEx:719 " + command).code, 1);
}
#endif

}  // namespace
}  // namespace tilewright

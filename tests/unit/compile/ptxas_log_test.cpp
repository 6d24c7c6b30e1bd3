// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/ptxas_log.hpp"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

constexpr const char* kTwoKernels = R"(ptxas info    : 4 bytes gmem
ptxas info    : Compiling entry function '_Z5firstv' for 'sm_90a'
ptxas info    : Function properties for _Z5firstv
ptxas         .     264 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 168 registers, used 1 barriers, 264 bytes cumulative stack size, 49152 bytes smem, 384 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 25.563 ms
ptxas info    : Function properties for _ZN6device6helperEv
    32 bytes stack frame, 99 bytes spill stores, 99 bytes spill loads
ptxas info    : Compiling entry function '_Z6secondv' for 'sm_90a'
ptxas info    : Function properties for _Z6secondv
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 30 registers
)";

TEST(PtxasLog, reads_registers_spills_stack_and_memory_of_each_kernel) {
  const auto kernels = parse_ptxas_log(kTwoKernels);
  ASSERT_EQ(kernels.size(), 2u);
  const KernelResources& first = kernels.at("_Z5firstv");
  EXPECT_EQ(first.registers, 168);
  EXPECT_EQ(first.local_bytes, 264);
  EXPECT_EQ(first.spill_store_bytes, 12);
  EXPECT_EQ(first.spill_load_bytes, 16);
  EXPECT_EQ(first.static_shared_bytes, 49152);
  EXPECT_EQ(first.constant_bytes, 392);
  EXPECT_EQ(first.max_threads, 384);
  const KernelResources& second = kernels.at("_Z6secondv");
  EXPECT_EQ(second.registers, 30);
  EXPECT_EQ(second.local_bytes, 0);
  EXPECT_EQ(second.static_shared_bytes, 0);
  EXPECT_EQ(second.max_threads, 1024);
}

TEST(PtxasLog, leaves_device_functions_out) {
  EXPECT_EQ(parse_ptxas_log(kTwoKernels).count("_ZN6device6helperEv"), 0u);
}

TEST(PtxasLog, takes_a_kernel_that_is_reported_twice_once_and_believes_the_last_report) {
  const std::string twice = std::string(kTwoKernels) +
                            "ptxas info    : Compiling entry function '_Z6secondv' for 'sm_90a'\n"
                            "ptxas info    : Used 40 registers";
  const auto kernels = parse_ptxas_log(twice);
  EXPECT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels.at("_Z6secondv").registers, 40);
}

TEST(PtxasLog, survives_text_that_it_does_not_understand) {
  EXPECT_TRUE(parse_ptxas_log("").empty());
  EXPECT_TRUE(parse_ptxas_log("kernel.cu(3): error: expected a \";\"\nUsed registers\n").empty());
  const auto kernels = parse_ptxas_log("Compiling entry function 'k'\nUsed many registers");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels.at("k").registers, 0);
  EXPECT_EQ(kernels.at("k").max_threads, 1024);
}

TEST(PtxasLog, threads_are_bounded_by_the_register_file) {
  EXPECT_EQ(threads_for_registers(0), 1024);
  EXPECT_EQ(threads_for_registers(64), 1024);
  EXPECT_EQ(threads_for_registers(65), 896);
  EXPECT_EQ(threads_for_registers(128), 512);
  EXPECT_EQ(threads_for_registers(255), 256);
}

TEST(PtxasLog, launch_bounds_are_those_of_the_entry_named) {
  const char* ptx = R"(.visible .entry one(
	.param .u64 one_param_0
)
.maxntid 128, 2, 1
{
	ret;
}
.visible .entry two(
	.param .u64 two_param_0
)
{
}
.visible .entry three()
.maxntid 96
.minnctapersm 2
{
})";
  EXPECT_EQ(launch_bound_of(ptx, "one"), 256);
  EXPECT_EQ(launch_bound_of(ptx, "two"), 1024);
  EXPECT_EQ(launch_bound_of(ptx, "three"), 96);
  EXPECT_EQ(launch_bound_of(ptx, "four"), 1024);
}

}  // namespace
}  // namespace tilewright

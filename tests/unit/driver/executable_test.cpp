// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/executable.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "cache/driver/driver_table.hpp"
#include "cache/driver/stream.hpp"
#include "tests/launch/recording_driver/recording.hpp"
#include "tests/launch/sample_op.hpp"

namespace tilewright::cuda {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;

class ExecutableTest : public ::testing::Test {
 protected:
  ExecutableTest() : driver_(Driver::get()), context_(driver_, 0), device_(driver_.facts(0)) { recording_.reset(); }

  Executable scale(const char* config, const char* problem) const {
    const OpInterface op = scale_interface();
    const bool wide = std::string_view(config).starts_with("wide");
    return Executable(driver_, std::make_shared<const Module>(driver_, scale_binary(), "scale"), scale_kernels(), op,
                      wide ? scale_wide() : scale_plain(), Config::parse(config), parse_problem(problem, op), device_);
  }
  Executable reduce(const char* config, const char* problem) const {
    const OpInterface op = reduce_interface();
    return Executable(driver_, std::make_shared<const Module>(driver_, reduce_binary(), "reduce"), reduce_kernels(), op,
                      reduce_split(), Config::parse(config), parse_problem(problem, op), device_);
  }

  const Recording& recording_ = Recording::get();
  const Driver& driver_;
  PrimaryContext context_;
  DeviceFacts device_;
};

using Extents = std::array<unsigned, 3>;
Extents extents(const unsigned (&value)[3]) { return {value[0], value[1], value[2]}; }

TEST_F(ExecutableTest, launches_with_the_planned_geometry_and_the_callers_values) {
  const Executable executable =
      scale("wide{num_warps=4,vec=8,static_dims=1}", "scale[dtype=f16,round=no]{rows=6,cols=64}");
  const OwnedStream stream(driver_);
  Address x = 0x1000;
  Address y = 0x2000;
  float factor = 0.5F;
  const std::array<void*, 3> args{&x, &y, &factor};
  ASSERT_EQ(executable.launch(stream.get(), args, {}), kSuccess);

  const auto launches = recording_.launches();
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_STREQ(launches[0].symbol, "wide_symbol");
  EXPECT_EQ(extents(launches[0].grid), (Extents{6, 1, 1}));
  EXPECT_EQ(extents(launches[0].block), (Extents{128, 1, 1}));
  EXPECT_EQ(extents(launches[0].cluster), (Extents{1, 1, 1}));
  EXPECT_EQ(launches[0].shared_bytes, 32U);
  EXPECT_EQ(launches[0].pdl, 0);
  EXPECT_EQ(launches[0].stream, stream.get());
  ASSERT_EQ(launches[0].param_count, 5U);
  EXPECT_EQ(param<Address>(launches[0], 0), 0x1000U);
  EXPECT_EQ(param<Address>(launches[0], 1), 0x2000U);
  EXPECT_EQ(param<float>(launches[0], 2), 0.5F);
  EXPECT_EQ(param<std::int64_t>(launches[0], 3), 6);
  EXPECT_EQ(param<std::int64_t>(launches[0], 4), 64);
}

TEST_F(ExecutableTest, launches_several_kernels_with_maps_workspaces_clusters_and_dependence) {
  const Executable executable = reduce("split{split=16,block_m=32}", "reduce[dtype=f16]{m=1024,k=256}");
  ASSERT_EQ(executable.plan().workspaces.size(), 3U);
  const Buffer partial(driver_, executable.plan().workspaces[0].bytes, "partial");
  const Buffer sums(driver_, executable.plan().workspaces[1].bytes, "sums");
  const Buffer counter(driver_, executable.plan().workspaces[2].bytes, "counter");
  for (const Buffer* buffer : {&partial, &sums, &counter}) {
    ASSERT_EQ(driver_.table().memset_d8_async(buffer->address(), 0xff, buffer->bytes(), nullptr), kSuccess);
  }
  Address a = 0x10000;
  Address y = 0x20000;
  const std::array<void*, 2> args{&a, &y};
  const std::array<Address, 3> workspaces{partial.address(), sums.address(), counter.address()};
  ASSERT_EQ(executable.launch(nullptr, args, workspaces), kSuccess);

  const auto launches = recording_.launches();
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_STREQ(launches[0].symbol, "partial_symbol");
  EXPECT_EQ(extents(launches[0].grid), (Extents{32, 1, 1}));
  EXPECT_EQ(extents(launches[0].cluster), (Extents{16, 1, 1}));
  EXPECT_EQ(launches[0].shared_bytes, 100000U);
  EXPECT_EQ(launches[0].pdl, 0);
  const auto map = param<TensorMap>(launches[0], 0);
  EXPECT_EQ(map.words[0], 0x10000U);
  EXPECT_EQ(map.words[1], (std::uint64_t{6} << 32 | 3U << 8 | 2U)) << "fp16, 128-byte swizzle, rank 2";
  EXPECT_EQ(map.words[2], 256U);
  EXPECT_EQ(map.words[3], 1024U);
  EXPECT_EQ(map.words[7], 64U);
  EXPECT_EQ(map.words[8], 32U);
  EXPECT_EQ(map.words[12], 512U) << "a dense row of 256 fp16";
  EXPECT_EQ(param<Address>(launches[0], 1), partial.address());
  EXPECT_EQ(param<Address>(launches[0], 2), sums.address());
  EXPECT_EQ(param<Address>(launches[0], 3), counter.address());
  EXPECT_EQ(param<std::int64_t>(launches[0], 4), 256);

  EXPECT_STREQ(launches[1].symbol, "final_symbol");
  EXPECT_EQ(extents(launches[1].grid), (Extents{132, 2, 1})) << "the recording device answers 132 active clusters";
  EXPECT_EQ(extents(launches[1].block), (Extents{64, 2, 1}));
  EXPECT_EQ(launches[1].pdl, 1);
  EXPECT_EQ(param<Address>(launches[1], 0), partial.address());
  EXPECT_EQ(param<Address>(launches[1], 1), 0x20000U);
  EXPECT_EQ(param<std::int64_t>(launches[1], 2), 1024);
  EXPECT_EQ(param<std::int64_t>(launches[1], 3), 4) << "a value, ceil_div(k, 64)";

  const auto first_byte = [&](const Buffer& buffer) {
    unsigned char byte = 1;
    EXPECT_EQ(driver_.table().memcpy_dtoh(&byte, buffer.address(), 1), kSuccess);
    return byte;
  };
  EXPECT_EQ(first_byte(partial), 0xff) << "never cleared";
  EXPECT_EQ(first_byte(sums), 0) << "cleared each time";
  EXPECT_EQ(first_byte(counter), 0xff) << "cleared once, by whoever allocates it";
}

TEST_F(ExecutableTest, makes_the_map_of_a_workspace_for_its_address) {
  const OpInterface op = reduce_interface();
  ImplementationRecipe recipe = reduce_split();
  recipe.align.clear();
  recipe.maps[0].arg.clear();
  recipe.maps[0].workspace = "copy";
  recipe.workspaces.insert(recipe.workspaces.begin(), {"copy", Formula::parse("m * k * sizeof(dtype)")});
  const Executable executable(driver_, std::make_shared<const Module>(driver_, reduce_binary(), "reduce"),
                              reduce_kernels(), op, recipe, Config::parse("split{split=2,block_m=32}"),
                              parse_problem("reduce[dtype=f16]{m=1024,k=256}", op), device_);
  ASSERT_EQ(executable.plan().workspaces.size(), 4U);
  EXPECT_EQ(executable.plan().workspaces[0].name, "copy") << "the map is the first parameter";
  const Buffer memory(driver_, 1 << 20, "workspaces");
  Address a = 0x10002;
  Address y = 0x20000;
  const std::array<void*, 2> args{&a, &y};
  // Another address each time, as after a workspace has grown.
  for (const Address copy : {memory.address() + 512, memory.address() + 1024}) {
    const std::array<Address, 4> workspaces{copy, memory.address(), memory.address(), memory.address()};
    ASSERT_EQ(executable.launch(nullptr, args, workspaces), kSuccess);
    const auto launches = recording_.launches();
    const auto map = param<TensorMap>(launches.at(launches.size() - 2), 0);
    EXPECT_EQ(map.words[0], copy);
    EXPECT_EQ(map.words[1], (std::uint64_t{6} << 32 | 3U << 8 | 2U)) << "fp16, 128-byte swizzle, rank 2";
    EXPECT_EQ(map.words[12], 512U);
  }
}

TEST_F(ExecutableTest, bounds_a_grid_by_what_is_resident) {
  // 100000 bytes of shared memory: two blocks fit on each of 132 SMs.
  const Executable executable = reduce("split{split=4,block_m=1}", "reduce[dtype=f16]{m=100000,k=256}");
  EXPECT_EQ(executable.plan().kernels.at(0).grid[0], 264U);
  EXPECT_EQ(executable.blocks_per_sm(0), 2);
}

TEST_F(ExecutableTest, leaves_out_a_kernel_whose_condition_is_false) {
  const Executable executable = reduce("split{split=1,block_m=32}", "reduce[dtype=f16]{m=64,k=256}");
  EXPECT_EQ(executable.plan().kernels.size(), 1U);
}

TEST_F(ExecutableTest, refuses_a_config_that_is_illegal_for_the_problem) {
  try {
    static_cast<void>(scale("wide{num_warps=4,vec=8,static_dims=1}", "scale[dtype=f16]{rows=6,cols=63}"));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot serve scale[dtype=f16,round=no]{rows=6,cols=63}"));
    EXPECT_THAT(error.what(), HasSubstr("cols % vec == 0"));
  }
}

TEST_F(ExecutableTest, refuses_a_binary_without_its_kernel) {
  const OpInterface op = scale_interface();
  const auto module = std::make_shared<const Module>(driver_, scale_binary(), "scale");
  const Problem problem = parse_problem("scale[dtype=f16]{rows=6,cols=64}", op);
  try {
    const Executable executable(driver_, module, {scale_kernels()[1]}, op, scale_wide(),
                                Config::parse("wide{num_warps=4,vec=8,static_dims=1}"), problem, device_);
    FAIL() << "no error";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("has no kernel 'scale_wide'"));
  }
}

TEST_F(ExecutableTest, returns_what_the_driver_answered) {
  const Executable executable = reduce("split{split=2,block_m=32}", "reduce[dtype=f16]{m=64,k=256}");
  Address a = 0x10000;
  Address y = 0x20000;
  const Buffer memory(driver_, 1 << 16, "workspaces");
  const std::array<void*, 2> args{&a, &y};
  const std::array<Address, 3> workspaces{memory.address(), memory.address(), memory.address()};
  recording_.fail("cuLaunchKernelEx", 700, 1);
  EXPECT_EQ(executable.launch(nullptr, args, workspaces), 700) << "of the second kernel";
  recording_.fail("cuMemsetD8Async", 999);
  EXPECT_EQ(executable.launch(nullptr, args, workspaces), 999);
  a = 0x10001;
  EXPECT_EQ(executable.launch(nullptr, args, workspaces), 1) << "a tensor map needs 16 bytes of alignment";
  EXPECT_EQ(recording_.launches().size(), 1U);
}

TEST_F(ExecutableTest, refuses_a_plan_of_more_workspaces_or_values_than_a_launch_has_room_for) {
  const OpInterface op = reduce_interface();
  const auto complaint = [&](const ImplementationRecipe& recipe) -> std::string {
    try {
      const Executable executable(driver_, std::make_shared<const Module>(driver_, reduce_binary(), "reduce"),
                                  reduce_kernels(), op, recipe, Config::parse("split{split=2,block_m=32}"),
                                  parse_problem("reduce[dtype=f16]{m=1024,k=256}", op), device_);
    } catch (const DeviceError& error) {
      return error.what();
    }
    return "none";
  };
  ImplementationRecipe of_workspaces = reduce_split();
  for (int i = 0; i < 6; ++i) {
    const std::string name = fmt::format("more_{}", i);
    of_workspaces.workspaces.push_back({name, Formula::parse("256")});
    of_workspaces.kernels[0].params.push_back({KernelParam::Kind::workspace, name});
  }
  EXPECT_EQ(
      complaint(of_workspaces),
      "reduce[dtype=f16]{m=1024,k=256} has 2 dims, 9 workspaces and 1 values; at most 8, 8 and 8 can be launched");
  ImplementationRecipe of_values = reduce_split();
  for (int i = 0; i < 8; ++i) {
    const std::string name = fmt::format("more_{}", i);
    of_values.values.push_back({name, Formula::parse("256")});
    of_values.kernels[0].params.push_back({KernelParam::Kind::value, name});
  }
  EXPECT_EQ(
      complaint(of_values),
      "reduce[dtype=f16]{m=1024,k=256} has 2 dims, 3 workspaces and 9 values; at most 8, 8 and 8 can be launched");
}

}  // namespace
}  // namespace tilewright::cuda

// SPDX-License-Identifier: Apache-2.0
// Launches of untuned shapes, with configs that are compiled in the background.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "cache/store/codecs.hpp"
#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace tilewright::testing;

class JitLaunchTest : public LaunchFixture {
 protected:
  JitLaunchTest() {
    const std::string file = (folder_.path() / "compiled").string();
    const std::vector<std::byte> binary = recorded_binary("fresh_symbol 8 8 4 8 8\n");
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(binary.data()), static_cast<std::streamsize>(binary.size()));
    KernelFacts kernel;
    kernel.entry = "scale_wide";
    kernel.symbol = "fresh_symbol";
    ::setenv("TILEWRIGHT_LIBJIT", TILEWRIGHT_FAKE_JIT, 1);
    ::setenv("FAKE_JIT_BINARY", file.c_str(), 1);
    ::setenv("FAKE_JIT_KERNELS", encode_kernels({kernel}).c_str(), 1);
  }
  ~JitLaunchTest() override {
    for (const char* name :
         {"TILEWRIGHT_LIBJIT", "FAKE_JIT_BINARY", "FAKE_JIT_KERNELS", "FAKE_JIT_REFUSES", "FAKE_JIT_GATE"}) {
      ::unsetenv(name);
    }
  }
  /// Holds compilations until open_gate().
  void shut_gate() const {
    std::ofstream(gate_) << "shut";
    ::setenv("FAKE_JIT_GATE", gate_.c_str(), 1);
  }
  void open_gate() const { std::filesystem::remove(gate_); }

  [[nodiscard]] Launcher open(bool jit = true) const {
    return Launcher(LaunchOptions{.cache = filled_cache(), .device = {}, .misses = "off", .jit = jit});
  }
  /// Launches a shape; returns the kernel's symbol.
  std::string launch(const Op& scale, const Shape& dims) const {
    recording_.reset();
    scale(nullptr, dims, fake_address(256), fake_address(256), 1.0);
    return recording_.launches().at(0).symbol;
  }
  const std::string gate_ = (folder_.path() / "gate").string();
  /// Waits until the text about a shape contains `words`; returns it.
  static std::string wait_for(const Op& scale, const Shape& dims, const std::string& words) {
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (true) {
      const std::string json = scale.match(dims).json;
      if (json.find(words) != std::string::npos) return json;
      if (std::chrono::steady_clock::now() > late) {
        ADD_FAILURE() << "no " << words << " in " << json;
        return json;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};

TEST_F(JitLaunchTest, a_shape_is_served_at_once_and_better_when_its_config_is_compiled) {
  const Launcher launcher = open();
  const Op scale = launcher.op("scale[dtype=f16]");
  EXPECT_THAT(scale.match({8, 128}).json, AllOf(HasSubstr("\"compiled\":false"),
                                                HasSubstr("\"wanted\":\"wide{num_warps=2,vec=8,static_dims=1}\"")));
  EXPECT_EQ(launch(scale, {8, 128}), "wide_symbol") << "the config without specialised dims";
  const std::string json = wait_for(scale, {8, 128}, "\"compiled\":true");
  EXPECT_THAT(json, AllOf(HasSubstr("\"config\":\"wide{num_warps=2,vec=8,static_dims=1}\""), Not(HasSubstr("wanted")),
                          HasSubstr("\"fit\":\"nearest\"")));
  EXPECT_EQ(launch(scale, {8, 128}), "fresh_symbol");
}

TEST_F(JitLaunchTest, a_binary_serves_all_shapes_with_the_same_specialised_dims) {
  const Launcher launcher = open();
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale, {8, 128});
  wait_for(scale, {8, 128}, "\"compiled\":true");
  EXPECT_EQ(launch(scale, {16, 128}), "fresh_symbol") << "at its first launch";
  EXPECT_EQ(launch(scale, {8, 256}), "wide_symbol") << "of other cols";
}

TEST_F(JitLaunchTest, a_compiled_config_serves_all_that_asked_for_it_meanwhile) {
  const Launcher launcher = open();
  const Op scale = launcher.op("scale[dtype=f16]");
  const auto symbols = [&] {
    recording_.reset();
    for (const std::int64_t rows : {8, 16, 24}) {
      for (const std::uintptr_t alignment : {256, 16}) {
        scale(nullptr, {rows, 128}, fake_address(alignment), fake_address(256), 1.0);
      }
    }
    std::set<std::string> seen;
    for (const auto& launch : recording_.launches()) seen.insert(launch.symbol);
    return seen;
  };
  shut_gate();
  EXPECT_THAT(symbols(), ElementsAre("wide_symbol"));
  open_gate();
  // Shapes change over one by one, while launches go on.
  const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (symbols().contains("wide_symbol") && std::chrono::steady_clock::now() < late) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_THAT(symbols(), ElementsAre("fresh_symbol"));
  EXPECT_EQ(recording_.calls("cuKernelGetFunction"), 0U) << "their plans were made when it was compiled";
}

TEST_F(JitLaunchTest, a_config_that_does_not_compile_is_told_of_all_that_asked_for_it) {
  ::setenv("FAKE_JIT_REFUSES", "static_dims=1", 1);
  const Launcher launcher = open();
  const Op scale = launcher.op("scale[dtype=f16]");
  shut_gate();
  for (const std::int64_t rows : {8, 16}) launch(scale, {rows, 128});
  open_gate();
  for (const std::int64_t rows : {8, 16}) wait_for(scale, {rows, 128}, "as it was planted");
}

TEST_F(JitLaunchTest, nothing_is_compiled_where_it_is_not_asked_for_or_not_needed) {
  const Launcher launcher = open(false);
  const Op scale = launcher.op("scale[dtype=f16]");
  EXPECT_EQ(launch(scale, {8, 128}), "wide_symbol");
  EXPECT_THAT(scale.match({8, 128}).json, AllOf(Not(HasSubstr("wanted")), Not(HasSubstr("\"compiled\""))));
  const Launcher compiling = open();
  const Op served = compiling.op("scale[dtype=f16]");
  for (const Shape& dims : {Shape{8, 64}, Shape{16, 64}}) {
    EXPECT_EQ(launch(served, dims), "wide_symbol");
    EXPECT_THAT(served.match(dims).json, Not(HasSubstr("wanted")));
  }
}

TEST_F(JitLaunchTest, a_config_that_does_not_compile_leaves_what_served_and_says_why) {
  ::setenv("FAKE_JIT_REFUSES", "static_dims=1", 1);
  const Launcher launcher = open();
  const Op scale = launcher.op("scale[dtype=f16]");
  EXPECT_EQ(launch(scale, {8, 128}), "wide_symbol");
  EXPECT_THAT(wait_for(scale, {8, 128}, "compile_error"),
              AllOf(HasSubstr("as it was planted"), HasSubstr("\"compiled\":false"),
                    Not(HasSubstr("\"wanted\":\"wide{num_warps=2,vec=8,static_dims=1}\""))));
  EXPECT_EQ(launch(scale, {8, 128}), "wide_symbol");
}

TEST_F(JitLaunchTest, a_binary_that_the_driver_refuses_leaves_what_served) {
  const Launcher launcher = open();
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale, {8, 64});  // loads the cache's binary, which must not fail
  constexpr int kNoBinaryForGpu = 209;
  recording_.fail("cuLibraryLoadData", kNoBinaryForGpu, 0, 1000);
  scale(nullptr, {8, 128}, fake_address(256), fake_address(256), 1.0);
  wait_for(scale, {8, 128}, "\"compiled\":true");
  scale(nullptr, {8, 128}, fake_address(256), fake_address(256), 1.0);
  EXPECT_STREQ(recording_.launches().back().symbol, "wide_symbol");
}

TEST_F(JitLaunchTest, addresses_that_the_compiled_config_cannot_take_are_served_as_before) {
  const Launcher launcher = open();
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale, {8, 128});
  wait_for(scale, {8, 128}, "\"compiled\":true");
  recording_.reset();
  scale(nullptr, {8, 128}, fake_address(8), fake_address(8), 1.0);
  EXPECT_STREQ(recording_.launches().at(0).symbol, "wide_symbol") << "wide{vec=8} needs 16 bytes";
}

TEST_F(JitLaunchTest, what_was_compiled_stays_when_the_cache_changes) {
  const Launcher launcher = open();
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale, {8, 128});
  wait_for(scale, {8, 128}, "\"compiled\":true");
  SampleCache(cache_path())
      .add_winner(scale_interface(), "scale[dtype=f16]{rows=4096,cols=4096}", "plain{num_warps=16}");
  launcher.refresh();
  EXPECT_EQ(launch(scale, {8, 128}), "fresh_symbol");
}

TEST_F(JitLaunchTest, a_context_that_has_ended_gets_no_plan) {
  const Launcher launcher = open();
  const Op scale = launcher.op("scale[dtype=f16]");
  shut_gate();
  for (int cols = 2; cols <= 20; ++cols) launch(scale, {8, 64 * cols});
  recording_.reset();
  recording_.reset_context(0);
  open_gate();
  for (int cols = 2; cols <= 20; ++cols) wait_for(scale, {8, 64 * cols}, "\"compiled\":true");
  EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 0U);
  EXPECT_EQ(recording_.calls("cuKernelGetFunction"), 0U);
}

TEST_F(JitLaunchTest, a_launcher_can_be_closed_while_configs_wait) {
  const Launcher launcher = open();
  const Op scale = launcher.op("scale[dtype=f16]");
  for (int cols = 1; cols <= 200; ++cols) launch(scale, {8, 8 * cols});
}

TEST_F(JitLaunchTest, the_library_may_be_missing_where_it_is_not_asked_for) {
  ::setenv("TILEWRIGHT_LIBJIT", "/nowhere/libtilewright-jit.so", 1);
  const Launcher launcher = open(false);
  EXPECT_EQ(launch(launcher.op("scale[dtype=f16]"), {8, 128}), "wide_symbol");
}

TEST_F(JitLaunchTest, opening_fails_where_the_library_is_missing) {
  ::setenv("TILEWRIGHT_LIBJIT", "/nowhere/libtilewright-jit.so", 1);
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { static_cast<void>(open()); }),
              AllOf(HasSubstr("/nowhere/libtilewright-jit.so"), HasSubstr("without `jit`")));
}

}  // namespace
}  // namespace tilewright

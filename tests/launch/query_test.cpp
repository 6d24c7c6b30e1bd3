// SPDX-License-Identifier: Apache-2.0
// An op's facts, and those of the config that it is served.
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;

class QueryTest : public LaunchFixture {
 protected:
  Op scale(const std::string& device = {}) const {
    return Launcher(LaunchOptions{.cache = cache_path(), .device = device}).op("scale[dtype=f16]");
  }
  const std::string path_ = filled_cache();
};

TEST_F(QueryTest, a_tuned_shape_is_exact_with_its_evidence) {
  const ServedConfig served = scale().match({8, 64});
  EXPECT_TRUE(served.is_served());
  EXPECT_EQ(served.config, "wide{num_warps=2,vec=8,static_dims=1}");
  EXPECT_EQ(served.fit, "exact");
  EXPECT_EQ(served.freshness, "fresh");
  EXPECT_EQ(served.device_fit, "same device");
  EXPECT_EQ(served.match, "exact, fresh, same device");
  EXPECT_EQ(served.device, recording_device().fingerprint());
  EXPECT_EQ(served.cache, path_);
  EXPECT_EQ(served.tuned_for, "scale[dtype=f16,round=no]{rows=8,cols=64}");
  EXPECT_DOUBLE_EQ(served.median_ns, 1000);
  EXPECT_DOUBLE_EQ(served.low_ns, 990);
  EXPECT_DOUBLE_EQ(served.high_ns, 1010);
  EXPECT_DOUBLE_EQ(served.base_ns, 2000);
  const auto json = nlohmann::json::parse(served.json);
  EXPECT_EQ(json["role"], "best");
  EXPECT_EQ(json["mode"], "cold");
  EXPECT_EQ(json["driver"], 13000);
  EXPECT_EQ(json["compiler"], "NVRTC 13.0");
}

TEST_F(QueryTest, tells_of_a_cache_whose_name_is_no_text) {
  const std::string odd = (folder_.path() / "caf\xe9.db").string();
  SampleCache(odd).add_scale();
  const ServedConfig served = Launcher(odd).op("scale[dtype=f16]").match({8, 64});
  EXPECT_EQ(served.fit, "exact");
  EXPECT_THAT(served.cache, HasSubstr("/caf\xef\xbf\xbd.db")) << "as JSON writes what is no UTF-8";
}

TEST_F(QueryTest, a_shape_never_tuned_is_served_the_base_of_another) {
  const ServedConfig served = scale().match({5, 7});
  EXPECT_EQ(served.config, "plain{num_warps=8}");
  EXPECT_EQ(served.fit, "default");
  EXPECT_EQ(served.tuned_for, "scale[dtype=f16,round=no]{rows=8,cols=64}");
}

TEST_F(QueryTest, of_a_shape_never_tuned_time_and_loss_are_expected_and_the_bytes_its_own) {
  SampleCache(path_).add_winner(scale_interface(), "scale[dtype=f32]{rows=4,cols=64}", "plain{num_warps=4}",
                                {.median_ns = 1000, .floor_ns = 800});
  const Op op = Launcher(path_).op("scale[dtype=f32]");
  const ServedConfig there = op.match({4, 64});
  EXPECT_EQ(there.fit, "exact");
  EXPECT_EQ(there.bytes, 2 * 4 * 64 * 4);
  EXPECT_EQ(there.expected_by, "");
  const ServedConfig served = op.match({12, 64});
  EXPECT_EQ(served.fit, "nearest");
  EXPECT_EQ(served.bytes, 3 * there.bytes);
  EXPECT_DOUBLE_EQ(served.median_ns, there.median_ns) << "of where it was tuned";
  EXPECT_GE(served.expected_loss, 0);
  EXPECT_NEAR(served.expected_ns, (1 + served.expected_loss) * (800 + 3 * 200), 1e-6);
  const ServedConfig least = op.match({1, 64});
  EXPECT_NEAR(least.expected_ns, (1 + least.expected_loss) * (800 + 200 / 4.0), 1e-6) << "a launch's share stays";
  EXPECT_EQ(served.expected_by,
            "the fastest config's time, fitted to 1 shape around, such as 1.000 µs at "
            "scale[dtype=f32,round=no]{rows=4,cols=64}; its loss by the shapes around");
  const ServedConfig base = scale().match({5, 7});
  EXPECT_THAT(base.expected_by, HasSubstr("its loss is not known"));
}

TEST_F(QueryTest, a_time_is_expected_by_the_shapes_around_wherever_the_config_is_from) {
  SampleCache cache(path_);
  for (const auto& [rows, median_ns] : std::map<int, double>{{4, 1000}, {1024, 9000}, {4096, 33600}}) {
    cache.add_winner(scale_interface(), fmt::format("scale[dtype=f32]{{rows={},cols=64}}", rows), "plain{num_warps=4}",
                     {.median_ns = median_ns, .floor_ns = 800});
  }
  const ServedConfig served = Launcher(path_).op("scale[dtype=f32]").match({2048, 64});
  // Its source's 200 ns above a launch become 512 times as much here: 103 µs.
  EXPECT_NEAR(served.expected_ns, 17200, 1000);
  EXPECT_THAT(served.expected_by, HasSubstr("fitted to 3 shapes around, such as"));
}

TEST_F(QueryTest, nothing_to_serve_is_an_answer_and_not_an_error) {
  const ServedConfig served = Launcher(path_).op("scale[dtype=f32]").match({8, 64});
  EXPECT_FALSE(served.is_served());
  EXPECT_EQ(served.fit, "none");
  EXPECT_EQ(served.match, "none");
  EXPECT_THAT(nlohmann::json::parse(served.json)["why"], HasSubstr("no winner and no base"));
}

TEST_F(QueryTest, a_device_named_by_fingerprint_or_name_is_answered_for) {
  const DeviceFacts other = recording_device("NVIDIA H200", 90, 132);
  SampleCache(path_).add_winner(scale_interface(), "scale[dtype=f16]{rows=8,cols=64}",
                                "wide{num_warps=8,vec=8,static_dims=0}", {.device = other});
  EXPECT_EQ(scale("NVIDIA H200").match({8, 64}).config, "wide{num_warps=8,vec=8,static_dims=0}");
  EXPECT_EQ(scale(other.fingerprint()).match({8, 64}).device, other.fingerprint());
  EXPECT_EQ(scale("cuda:0").match({8, 64}).config, "wide{num_warps=2,vec=8,static_dims=1}");
  EXPECT_EQ(scale("cpu").match({8, 64}).fit, "none") << "a GPU's winner does not serve the emulator";
}

TEST_F(QueryTest, a_device_that_is_none_is_refused_with_those_there_are) {
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { scale("NVIDIA H2000"); }),
              HasSubstr("it has: Fictional GPU (sm_90, 132 SMs, 140 GiB, 6144-bit)"));
  failure(TW_ERROR_USAGE, [&] { scale("cuda:x"); });
  EXPECT_THAT(failure(TW_ERROR_USAGE,
                      [&] {
                        static_cast<void>(scale("cuda:7").match({8, 64}));
                      }),
              HasSubstr("there is no GPU cuda:7"));
}

TEST_F(QueryTest, a_winner_of_another_gpu_of_the_architecture_serves_and_says_so) {
  const DeviceFacts other = recording_device("Fictional GPU XL", 90, 144);
  SampleCache(path_).add_winner(scale_interface(), "scale[dtype=f32]{rows=2,cols=32}", "plain{num_warps=4}",
                                {.device = other});
  const ServedConfig served = Launcher(path_).op("scale[dtype=f32]").match({2, 32});
  EXPECT_EQ(served.config, "plain{num_warps=4}");
  EXPECT_EQ(served.device_fit, "same architecture");
}

TEST_F(QueryTest, a_winner_measured_with_another_driver_is_stale_and_served) {
  SampleCache(path_).add_winner(scale_interface(), "scale[dtype=f32]{rows=2,cols=32}", "plain{num_warps=4}",
                                {.versions = {12080, "NVRTC 12.8", "0.1.0"}});
  const ServedConfig served = Launcher(path_).op("scale[dtype=f32]").match({2, 32});
  EXPECT_EQ(served.freshness, "stale");
  EXPECT_TRUE(served.is_served());
}

TEST_F(QueryTest, an_illegal_winner_gives_way_to_the_next) {
  // A planted exact winner that violates a constraint.
  SampleCache cache(path_);
  const std::string problem = "scale[dtype=f16]{rows=8,cols=63}";
  cache.add_winner(scale_interface(), problem, "wide{num_warps=2,vec=8,static_dims=1}");
  const ServedConfig served = scale().match({8, 63});
  EXPECT_EQ(served.config, "plain{num_warps=8}");
  EXPECT_EQ(served.fit, "default");
}

TEST_F(QueryTest, wrong_dims_are_an_error) {
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { static_cast<void>(scale().match({8})); }), HasSubstr("cols"));
  failure(TW_ERROR_USAGE, [&] { static_cast<void>(scale().match({8, 0})); });
}

TEST_F(QueryTest, an_op_describes_its_call) {
  const auto json = nlohmann::json::parse(scale().describe());
  EXPECT_EQ(json["op"], "scale");
  EXPECT_EQ(json["spec"], "scale[dtype=f16,round=no]");
  EXPECT_EQ(json["interface"], scale_interface().hash());
  EXPECT_EQ(json["dims"], (std::vector<std::string>{"rows", "cols"}));
  ASSERT_EQ(json["args"].size(), 3U);
  EXPECT_EQ(json["args"][1], nlohmann::json::parse(R"({"name": "y", "role": "out", "type": "f16", "bytes": 2,
      "shape": ["rows", "cols"], "align": 2, "alias": ["x"]})"));
  EXPECT_EQ(json["args"][2], (nlohmann::json{{"name", "factor"}, {"role", "scalar"}, {"type", "f32"}, {"bytes", 4}}));
}

TEST_F(QueryTest, unknown_ops_and_attributes_get_the_nearest_name) {
  const Launcher launcher(path_);
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { static_cast<void>(launcher.op("scael[dtype=f16]")); }),
              HasSubstr("did you mean 'scale'"));
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { static_cast<void>(launcher.op("scale[dtype=f17]")); }), HasSubstr("f16"));
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { static_cast<void>(launcher.op("scale[round=maybe]")); }),
              HasSubstr("round"));
}

TEST_F(QueryTest, an_op_is_refused_when_its_interface_is_not_the_expected_one) {
  const Launcher launcher(path_);
  const std::string hash = scale_interface().hash();
  EXPECT_NO_THROW(static_cast<void>(launcher.op("scale@" + hash + "[dtype=f16]")));
  EXPECT_NO_THROW(static_cast<void>(launcher.op("scale@" + hash)));
  const std::string other(32, 'a');
  EXPECT_THAT(failure(TW_ERROR_INTERFACE, [&] { static_cast<void>(launcher.op("scale@" + other + "[dtype=f16]")); }),
              HasSubstr("written for scale with the interface " + other));
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { static_cast<void>(launcher.op("scale@12[dtype=f16]")); }),
              HasSubstr("'12'"));
  EXPECT_THAT(
      failure(TW_ERROR_INTERFACE, [&] { static_cast<void>(launcher.op("scale@" + reduce_interface().hash())); }),
      HasSubstr("dims or arguments have changed"))
      << "of another op";
}

TEST_F(QueryTest, an_older_interface_is_served_while_the_cache_has_it) {
  OpInterface newer = scale_interface();
  std::swap(newer.args[0], newer.args[1]);
  SampleCache(path_).store().put_interface(newer);
  const Launcher launcher(path_);
  EXPECT_EQ(launcher.op("scale@" + scale_interface().hash() + "[dtype=f16]").match({8, 64}).fit, "exact");
  EXPECT_EQ(launcher.op("scale[dtype=f16]").match({8, 64}).fit, "none") << "the newer has no winners yet";
}

TEST_F(QueryTest, equal_specs_are_one_op) {
  const Launcher launcher(path_);
  tw_op* first = nullptr;
  tw_op* second = nullptr;
  ASSERT_EQ(tw_op_get(launcher.get(), "scale[dtype=f16]", &first), TW_OK);
  ASSERT_EQ(tw_op_get(launcher.get(), "scale[round=no,dtype=f16]", &second), TW_OK);
  EXPECT_EQ(first, second);
}

/// Runs queries without a driver.
[[noreturn]] void query_without_a_driver(const std::string& path) {
  ::setenv("TILEWRIGHT_LIBCUDA", "/nonexistent/libcuda.so.1", 1);
  const Op op = Launcher(LaunchOptions{.cache = path, .device = "Fictional GPU"}).op("scale[dtype=f16]");
  std::fprintf(stderr, "%s\n", op.match({8, 64}).match.c_str());
  // A wrong call is reported before the missing driver: calls can be tested without a GPU.
  for (const auto& wrong :
       {std::function([&] {
          op(nullptr, {8, 0}, fake_address(256), fake_address(256), 1.0);
        }),
        std::function([&] { op(nullptr, {8}, fake_address(256), fake_address(256), 1.0); }), std::function([&] {
          op(nullptr, {8, 64}, static_cast<void*>(nullptr), fake_address(256), 1.0);
        }),
        std::function([&] {
          op(nullptr, {8, 64}, fake_address(256), 1.0);
        }),
        std::function([&] {
          op.preload({8, 0});
        })}) {
    try {
      wrong();
    } catch (const LaunchError& error) {
      std::fprintf(stderr, "%s\n", error.code() == TW_ERROR_USAGE ? "usage" : error.what());
    }
  }
  try {
    op(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0);
  } catch (const LaunchError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  try {
    static_cast<void>(Launcher(path).op("scale[dtype=f16]").match({8, 64}));
  } catch (const LaunchError& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  std::exit(0);
}

TEST(QueryDeathTest, a_named_device_is_answered_for_without_a_driver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The death test's process runs the test from its start: both need the same folder.
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tilewright-query-without-driver";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "cache.db").string();
  {
    SampleCache cache(path);
    if (cache.store().counts().winners == 0) cache.add_scale();
  }
  EXPECT_EXIT(query_without_a_driver(path), ::testing::ExitedWithCode(0),
              "exact, fresh, same device\n"
              "usage\nusage\nusage\nusage\nusage\n"
              "the CUDA driver was not found: /nonexistent/libcuda.so.1.*TILEWRIGHT_LIBCUDA\n"
              "the CUDA driver was not found.*name the device to answer for in the launcher's option `device`");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tilewright

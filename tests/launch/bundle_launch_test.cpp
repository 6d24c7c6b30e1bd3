// SPDX-License-Identifier: Apache-2.0
// Bundles and misses in an application.
#include <chrono>
#include <fstream>

#include "cache/store/bundle/bundle.hpp"
#include "cache/store/import.hpp"
#include "cache/store/miss_file.hpp"
#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace tilewright::testing;

class BundleLaunchTest : public LaunchFixture {
 protected:
  [[nodiscard]] std::string bundle_path() const { return (folder_.path() / "winners.bundle").string(); }
  /// Makes a bundle of the filled cache; returns its path.
  [[nodiscard]] std::string made() const {
    const std::string cache = filled_cache();
    const Store store(cache, {.access = StoreAccess::read});
    write_bundle(store, selected_winners(store, {}), bundle_path());
    return bundle_path();
  }
  [[nodiscard]] unsigned threads(const Op& op, const std::vector<std::int64_t>& dims, void* x) const {
    recording_.reset();
    op(nullptr, dims, x, fake_address(1024), 1.0);
    return recording_.launches().at(0).block[0];
  }
};

TEST_F(BundleLaunchTest, a_bundle_serves_as_the_cache_does) {
  const Launcher of_bundle(made());
  const Launcher of_cache(cache_path());
  const Op a = of_bundle.op("scale[dtype=f16]");
  const Op b = of_cache.op("scale[dtype=f16]");
  for (const std::vector<std::int64_t>& dims : {std::vector<std::int64_t>{8, 64}, {16, 64}, {3, 61}, {8, 128}}) {
    for (const std::uintptr_t alignment : {256, 16, 8, 2}) {
      EXPECT_EQ(threads(a, dims, fake_address(alignment)), threads(b, dims, fake_address(alignment)))
          << dims[0] << "x" << dims[1] << " at " << alignment;
    }
  }
  EXPECT_EQ(a.match({8, 64}).config, b.match({8, 64}).config);
  EXPECT_EQ(a.match({8, 64}).match, b.match({8, 64}).match);
  EXPECT_EQ(a.match({8, 64}).median_ns, b.match({8, 64}).median_ns);
}

TEST_F(BundleLaunchTest, a_bundle_of_ops_with_workspaces_and_maps_launches) {
  const Launcher launcher(made());
  const Op reduce = launcher.op("reduce");
  recording_.reset();
  reduce(nullptr, {64, 256}, fake_address(256), fake_address(1024));
  EXPECT_EQ(recording_.launches().size(), 2U);
}

TEST_F(BundleLaunchTest, a_bundle_that_is_not_whole_is_an_error_of_the_cache) {
  const std::string path = made();
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size - 1);
  EXPECT_THAT(failure(TW_ERROR_CACHE, [&] { const Launcher launcher(path); }), HasSubstr("was not copied whole"));
  std::filesystem::resize_file(path, size);
  EXPECT_THAT(failure(TW_ERROR_CACHE, [&] { const Launcher launcher(path); }), HasSubstr("is damaged"));
}

TEST_F(BundleLaunchTest, a_bundle_that_others_can_write_is_refused) {
  const std::string path = made();
  std::filesystem::permissions(path, std::filesystem::perms::others_write, std::filesystem::perm_options::add);
  EXPECT_THAT(failure(TW_ERROR_CACHE, [&] { const Launcher launcher(path); }), HasSubstr("by other users"));
}

TEST_F(BundleLaunchTest, a_bundle_renamed_over_another_is_picked_up) {
  const Launcher launcher(made());
  const Op scale = launcher.op("scale[dtype=f16]");
  EXPECT_EQ(threads(scale, {8, 64}, fake_address(256)), 64U);
  {
    SampleCache cache(cache_path());
    cache.store().put_winners({parse_problem("scale[dtype=f16]{rows=8,cols=64}", scale_interface()),
                               scale_interface().hash(), recording_device().fingerprint()},
                              MeasureMode::cold, {});
    cache.add_winner(scale_interface(), "scale[dtype=f16]{rows=8,cols=64}", "wide{num_warps=16,vec=8,static_dims=1}");
    write_bundle(cache.store(), selected_winners(cache.store(), {}), bundle_path());
  }
  EXPECT_EQ(threads(scale, {8, 64}, fake_address(256)), 64U);
  launcher.refresh();
  EXPECT_EQ(threads(scale, {8, 64}, fake_address(256)), 512U);
}

class MissTest : public LaunchFixture {
 protected:
  [[nodiscard]] std::string misses_path() const { return (folder_.path() / "misses").string(); }
  [[nodiscard]] LaunchOptions options() const {
    LaunchOptions options;
    options.cache = filled_cache();
    options.misses = misses_path();
    return options;
  }
};

TEST_F(MissTest, shapes_without_an_exact_winner_are_recorded_once) {
  const Launcher launcher(options());
  const Op scale = launcher.op("scale[dtype=f16]");
  scale(nullptr, {8, 64}, fake_address(256), fake_address(1024), 1.0);
  EXPECT_THAT(MissFile(misses_path()).read(), IsEmpty()) << "it was tuned";
  for (int i = 0; i < 3; ++i) scale(nullptr, {3, 61}, fake_address(256), fake_address(1024), 1.0);
  scale.preload({5, 60});
  (void)scale.match({7, 70});
  const auto misses = MissFile(misses_path()).read();
  ASSERT_EQ(misses.size(), 2U) << "a question is no launch";
  for (const Miss& miss : misses) {
    EXPECT_EQ(miss.count, 1);
    EXPECT_EQ(miss.device_fingerprint, recording_device().fingerprint());
    EXPECT_THAT(miss.shape_key, ::testing::AnyOf(HasSubstr("{rows=3,cols=61}"), HasSubstr("{rows=5,cols=60}")));
  }
}

TEST_F(MissTest, what_nothing_serves_is_recorded_too) {
  const Launcher launcher(options());
  const Op scale = launcher.op("scale[dtype=f32]");
  failure(TW_ERROR_NO_MATCH, [&] { scale(nullptr, {8, 64}, fake_address(256), fake_address(1024), 1.0); });
  EXPECT_EQ(MissFile(misses_path()).read().size(), 1U);
}

TEST_F(MissTest, a_file_that_is_not_theirs_fails_no_launch_and_stays) {
  std::ofstream(misses_path()) << "my diary\n";
  const Launcher launcher(options());
  EXPECT_NO_THROW(launcher.op("scale[dtype=f16]")(nullptr, {3, 61}, fake_address(256), fake_address(1024), 1.0));
  std::ifstream file(misses_path());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "my diary\n");
}

TEST_F(MissTest, none_are_recorded_when_switched_off) {
  LaunchOptions off = options();
  off.misses = "off";
  const Launcher launcher(off);
  launcher.op("scale[dtype=f16]")(nullptr, {3, 61}, fake_address(256), fake_address(1024), 1.0);
  EXPECT_FALSE(std::filesystem::exists(misses_path()));
  EXPECT_FALSE(std::filesystem::exists("off"));
}

}  // namespace
}  // namespace tilewright

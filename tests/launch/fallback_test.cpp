// SPDX-License-Identifier: Apache-2.0
// Fallbacks for a cache that cannot serve.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <fstream>

#include "tests/launch/launch_fixture.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/predict/hand_made_model.hpp"

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace tilewright::testing;

class FallbackTest : public LaunchFixture {
 protected:
  [[nodiscard]] std::string own_path() const { return (folder_.path() / "own.db").string(); }
  /// A cache tuned for 16×64 alone.
  [[nodiscard]] std::string cache_of_another_shape() const {
    SampleCache cache(own_path());
    cache.add_op(scale_interface(), scale_wide(), scale_kernels(), scale_binary());
    cache.add_winner(scale_interface(), "scale[dtype=f16]{rows=16,cols=64}", kOfAnotherShape);
    return own_path();
  }
  [[nodiscard]] std::string misses_path() const { return (folder_.path() / "misses").string(); }
  static constexpr const char* kOfAnotherShape = "wide{num_warps=1,vec=4,static_dims=0}";
  static void launch(const Op& scale) { scale(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0); }
};

TEST_F(FallbackTest, a_fallback_serves_instead_of_a_cache_that_cannot_be_used) {
  const std::string good = filled_cache();
  const std::string broken = (folder_.path() / "broken.db").string();
  std::ofstream(broken) << "no database at all, whatever its name may say, and long enough to be none\n";
  for (const std::string& path : {std::string("/nonexistent/cache.db"), broken}) {
    const Launcher launcher(LaunchOptions{.cache = path, .device = {}, .fallback = good});
    const ServedConfig served = launcher.op("scale[dtype=f16]").match({8, 64});
    EXPECT_EQ(served.cache, good);
    EXPECT_THAT(served.json, AllOf(HasSubstr("\"cache_error\""), HasSubstr(path)));
    EXPECT_NO_THROW(launcher.refresh());
  }
}

TEST_F(FallbackTest, a_fallback_is_not_looked_at_while_the_cache_can_be_used) {
  const Launcher launcher(LaunchOptions{.cache = filled_cache(), .device = {}, .fallback = "/nonexistent/fallback.db"});
  const ServedConfig served = launcher.op("scale[dtype=f16]").match({8, 64});
  EXPECT_EQ(served.cache, cache_path());
  EXPECT_THAT(served.json, Not(HasSubstr("cache_error")));
}

TEST_F(FallbackTest, a_fallback_serves_what_a_cache_that_can_be_used_has_not) {
  const std::string shipped = filled_cache(), own = own_path();
  SampleCache(own).add_reduce();
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = shipped});
  const Op scale = launcher.op("scale[dtype=f16]");
  const ServedConfig served = scale.match({8, 64});
  EXPECT_EQ(served.cache, shipped);
  EXPECT_THAT(served.json,
              AllOf(HasSubstr("\"cache_error\""), HasSubstr("own.db has no winner and no base for scale")));
  launch(scale);
  const ServedConfig of_own = launcher.op("reduce").match({100, 256});
  EXPECT_EQ(of_own.cache, own);
  EXPECT_THAT(of_own.json, Not(HasSubstr("cache_error")));
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { static_cast<void>(launcher.op("scales[dtype=f16]")); }),
              HasSubstr("own.db has no op 'scales'"));
}

TEST_F(FallbackTest, a_fallback_that_has_the_very_shape_serves_it_before_what_the_cache_has_for_another) {
  const std::string shipped = filled_cache(), own = cache_of_another_shape();
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .misses = misses_path(), .fallback = shipped});
  const Op scale = launcher.op("scale[dtype=f16]");
  const ServedConfig served = scale.match({8, 64});
  EXPECT_EQ(served.cache, shipped);
  EXPECT_EQ(served.fit, "exact");
  EXPECT_THAT(served.json, AllOf(HasSubstr("own.db was not tuned for the shape"), HasSubstr("rows=16,cols=64")));
  EXPECT_EQ(scale.match({16, 64}).cache, own) << "which has this one";
  launch(scale);
  scale(nullptr, {16, 64}, fake_address(256), fake_address(256), 1.0);
  const auto threads = [&](std::size_t launched) { return recording_.launches().at(launched).block[0]; };
  EXPECT_EQ(threads(0), 64U) << "the best of the fallback";
  EXPECT_EQ(threads(1), 32U) << "the best of the cache";
  EXPECT_FALSE(std::filesystem::exists(misses_path())) << "both are tuned";
}

TEST_F(FallbackTest, of_two_that_fit_as_well_the_cache_serves) {
  const std::string shipped = filled_cache(), own = cache_of_another_shape();
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = shipped});
  const ServedConfig served = launcher.op("scale[dtype=f16]").match({32, 64});
  EXPECT_EQ(served.cache, own);
  EXPECT_EQ(served.config, kOfAnotherShape);
  EXPECT_THAT(served.json, AllOf(Not(HasSubstr("cache_error")), HasSubstr("\"learned\":false")));
}

TEST_F(FallbackTest, who_has_learned_of_the_op_serves_shapes_that_neither_was_tuned_for) {
  const std::string shipped = filled_cache(), own = cache_of_another_shape();
  {
    Store store(shipped);
    const std::vector<WinnerRow> winners = store.list_winners({});
    const auto dynamic =
        std::ranges::find(winners, WinnerRole::dynamic, [](const auto& row) { return row.winner.role; });
    FeatureSpace space{{dynamic->implementation_hash}, {"num_warps", "static_dims", "vec"}, 2};
    store.put_loss_model({dynamic->problem, dynamic->interface_hash, dynamic->device.fingerprint()}, MeasureMode::cold,
                         test::model_of(std::move(space), {.feature = 1, .cut = 100}));
  }
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = shipped});
  const ServedConfig served = launcher.op("scale[dtype=f16]").match({32, 64});
  EXPECT_EQ(served.cache, shipped);
  EXPECT_EQ(served.fit, "nearest");
  EXPECT_THAT(served.json, AllOf(HasSubstr("\"learned\":true"), HasSubstr("own.db was not tuned for the shape")));
}

TEST_F(FallbackTest, what_the_cache_was_not_tuned_for_it_serves_until_the_fallback_can_be_used) {
  const std::string own = cache_of_another_shape(), other = (folder_.path() / "fallback.db").string();
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = other});
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale);
  const ServedConfig near = scale.match({8, 64});
  EXPECT_EQ(near.cache, own);
  EXPECT_THAT(near.json, AllOf(HasSubstr("\"fallback_error\""), HasSubstr("fallback.db")));
  EXPECT_THAT(scale.match({16, 64}).json, Not(HasSubstr("fallback_error"))) << "of which it is not asked";
  launcher.refresh();
  EXPECT_EQ(scale.match({8, 64}).cache, own);
  std::filesystem::copy(filled_cache(), other);
  launcher.refresh();
  EXPECT_EQ(scale.match({8, 64}).cache, other);
  launch(scale);
  EXPECT_EQ(recording_.launches().at(0).block[0], 32U);
  EXPECT_EQ(recording_.launches().at(1).block[0], 64U);
}

TEST_F(FallbackTest, a_shape_that_the_cache_is_tuned_for_later_is_its_own_from_the_next_refresh_on) {
  const std::string shipped = filled_cache(), own = cache_of_another_shape();
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = shipped});
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale);
  SampleCache(own).add_winner(scale_interface(), "scale[dtype=f16]{rows=8,cols=64}", kOfAnotherShape);
  launcher.refresh();
  EXPECT_EQ(scale.match({8, 64}).cache, own);
  launch(scale);
  EXPECT_EQ(recording_.launches().at(0).block[0], 64U);
  EXPECT_EQ(recording_.launches().at(1).block[0], 32U);
}

TEST_F(FallbackTest, a_fallback_that_cannot_be_used_any_more_keeps_nobody_from_a_new_cache) {
  const std::string shipped = filled_cache(), own = cache_of_another_shape();
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = shipped});
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale);
  std::filesystem::remove(shipped);
  std::ofstream(shipped) << "no database at all, whatever its name may say, and long enough to be none\n";
  EXPECT_THAT(failure(TW_ERROR_CACHE, [&] { launcher.refresh(); }), HasSubstr(shipped));
  EXPECT_EQ(scale.match({8, 64}).cache, shipped) << "as it was";
  SampleCache(own).add_winner(scale_interface(), "scale[dtype=f16]{rows=8,cols=64}", kOfAnotherShape);
  launcher.refresh();
  EXPECT_EQ(scale.match({8, 64}).cache, own);
}

TEST_F(FallbackTest, whose_better_binary_cannot_be_loaded_leaves_the_shape_to_the_cache) {
  const std::string shipped = filled_cache(), own = cache_of_another_shape();
  OtherProgram(shipped).exec("UPDATE binaries SET hash = printf('%032x', id)");
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = shipped});
  launch(launcher.op("scale[dtype=f16]"));
  EXPECT_EQ(recording_.launches().at(0).block[0], 32U);
}

TEST_F(FallbackTest, a_driver_that_fails_is_no_reason_for_the_other_file) {
  const std::string shipped = filled_cache(), own = cache_of_another_shape();
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = shipped});
  const Op scale = launcher.op("scale[dtype=f16]");
  constexpr int kOutOfMemory = 2;
  recording_.fail("cuLibraryLoadData", kOutOfMemory);
  EXPECT_NE(failure(TW_ERROR_DEVICE, [&] { launch(scale); }), "");
  launch(scale);
  EXPECT_EQ(recording_.launches().at(0).block[0], 64U) << "of the fallback, which has the shape";
}

TEST_F(FallbackTest, a_fallback_serves_where_the_binaries_of_the_cache_are_damaged) {
  const std::string shipped = filled_cache(), own = own_path();
  std::filesystem::copy(shipped, own);
  OtherProgram(own).exec("UPDATE binaries SET hash = 'ffffffffffffffffffffffffffffffff' WHERE id = 1");
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = shipped});
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale);
  EXPECT_EQ(recording_.launches().size(), 1U);
}

TEST_F(FallbackTest, a_cache_that_can_be_used_again_serves_from_the_next_refresh_on) {
  const std::string shipped = filled_cache(), own = own_path();
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = shipped});
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale);
  launcher.refresh();
  EXPECT_EQ(scale.match({8, 64}).cache, shipped);
  std::filesystem::copy(shipped, own);
  launcher.refresh();
  EXPECT_EQ(scale.match({8, 64}).cache, own);
}

TEST_F(FallbackTest, a_fallback_that_cannot_be_used_is_told_of_beside_what_the_cache_has_not) {
  const std::string own = own_path();
  {
    SampleCache cache(own);
    cache.add_reduce();
    cache.add_op(scale_interface(), scale_wide(), scale_kernels(), scale_binary());
  }
  const Launcher launcher(LaunchOptions{.cache = own, .device = {}, .fallback = "/nonexistent/fallback.db"});
  const Op scale = launcher.op("scale[dtype=f16]");
  EXPECT_THAT(failure(TW_ERROR_NO_MATCH, [&] { launch(scale); }),
              AllOf(HasSubstr("no winner and no base"), HasSubstr("Nor can the fallback be used"),
                    HasSubstr("/nonexistent/fallback.db")));
}

TEST_F(FallbackTest, a_fallback_that_cannot_be_used_either_is_named_beside_the_cache) {
  EXPECT_THAT(failure(TW_ERROR_CACHE,
                      [] {
                        Launcher(LaunchOptions{
                            .cache = "/nonexistent/cache.db", .device = {}, .fallback = "/nonexistent/fallback.db"});
                      }),
              AllOf(HasSubstr("/nonexistent/cache.db"), HasSubstr("Nor can the fallback be used"),
                    HasSubstr("/nonexistent/fallback.db")));
}

}  // namespace
}  // namespace tilewright

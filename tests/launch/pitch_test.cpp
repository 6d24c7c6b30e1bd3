// SPDX-License-Identifier: Apache-2.0
// Pitched tensors: the config that a call gets, and the pitches that are refused.
#include <cstdint>
#include <limits>

#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;

class PitchTest : public LaunchFixture {
 protected:
  /// The threads of the launched block identify the config: 64 needs 16 bytes of alignment, 128 needs 8, 256 none.
  unsigned threads_after(void* x, void* y, std::int64_t x_pitch, std::int64_t y_pitch) const {
    recording_.reset();
    strided_(nullptr, {8, 64}, x, y, 1.0, x_pitch, y_pitch);
    const auto launches = recording_.launches();
    EXPECT_EQ(launches.size(), 1U);
    return launches.empty() ? 0 : launches[0].block[0];
  }
  std::string refusal(void* x, void* y, std::int64_t x_pitch, std::int64_t y_pitch) const {
    return failure(TW_ERROR_USAGE, [&] { strided_(nullptr, {8, 64}, x, y, 1.0, x_pitch, y_pitch); });
  }

  const Launcher launcher_{filled_cache()};
  const Op strided_ = launcher_.op("strided[dtype=f16,pitch=strided]");
  void* x_ = fake_address(256);
  void* y_ = fake_address(1024);
};

TEST_F(PitchTest, pitches_choose_among_the_configs_as_addresses_do) {
  EXPECT_EQ(threads_after(x_, y_, 64, 64), 64U);
  EXPECT_EQ(threads_after(x_, y_, 72, 4096), 64U) << "16 bytes from row to row";
  EXPECT_EQ(threads_after(x_, y_, 68, 64), 128U) << "8 bytes";
  EXPECT_EQ(threads_after(x_, y_, 64, 68), 128U);
  EXPECT_EQ(threads_after(x_, y_, 65, 64), 256U);
  EXPECT_EQ(threads_after(x_, y_, 64, 67), 256U);
  EXPECT_EQ(threads_after(fake_address(4), y_, 72, 72), 256U) << "the address counts as before";
  EXPECT_EQ(threads_after(fake_address(8), y_, 66, 72), 256U) << "and the worse of both";
  EXPECT_EQ(threads_after(x_, y_, 64, 64), 64U) << "and the winner's place is kept";
}

TEST_F(PitchTest, a_kernel_gets_the_pitches_of_the_call) {
  strided_(nullptr, {8, 64}, x_, y_, 2.5, 100, std::int64_t{1} << 40);
  const auto launches = recording_.launches();
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(param<std::int64_t>(launches[0], 5), 100);
  EXPECT_EQ(param<std::int64_t>(launches[0], 6), std::int64_t{1} << 40);
}

TEST_F(PitchTest, dense_tensors_are_launched_without_pitches_which_are_zero_to_a_kernel) {
  const Op dense = launcher_.op("strided[dtype=f16]");
  dense(nullptr, {8, 64}, x_, y_, 2.5);
  const auto launches = recording_.launches();
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0].block[0], 64U);
  EXPECT_EQ(param<std::int64_t>(launches[0], 5), 0);
  EXPECT_EQ(param<std::int64_t>(launches[0], 6), 0);
}

TEST_F(PitchTest, a_pitch_below_a_row_is_an_error_also_for_a_shape_that_was_launched) {
  EXPECT_EQ(threads_after(x_, y_, 64, 64), 64U);
  recording_.reset();
  EXPECT_THAT(refusal(x_, y_, 63, 64),
              HasSubstr("strided[dtype=f16,pitch=strided]: 'x_pitch', the pitch of 'x', is 63, less than a row's 64 "
                        "elements"));
  EXPECT_THAT(refusal(x_, y_, 64, 56), HasSubstr("'y_pitch', the pitch of 'y', is 56, less than a row's 64 elements"));
  EXPECT_THAT(refusal(x_, y_, 64, 0), HasSubstr("'y', is 0, less"));
  EXPECT_THAT(refusal(x_, y_, -64, 64), HasSubstr("'x', is -64, less"));
  EXPECT_THAT(refusal(x_, y_, std::numeric_limits<std::int64_t>::min(), 64), HasSubstr("less than a row's"));
  EXPECT_TRUE(recording_.launches().empty());
}

TEST_F(PitchTest, an_output_in_the_place_of_its_input_has_its_pitch) {
  EXPECT_EQ(threads_after(x_, x_, 72, 72), 64U);
  recording_.reset();
  EXPECT_THAT(refusal(x_, x_, 72, 80),
              HasSubstr("'y' and 'x' share memory, and their pitches are 80 and 72; in place they must be equal"));
  EXPECT_TRUE(recording_.launches().empty());
}

TEST_F(PitchTest, an_op_says_which_scalar_is_the_pitch_of_what) {
  EXPECT_THAT(strided_.describe(), HasSubstr(R"("align":2,"alias":["x"],"pitch":"y_pitch"})"));
  EXPECT_THAT(launcher_.op("strided[dtype=f16]").describe(), ::testing::Not(HasSubstr("\"pitch\"")));
}

TEST_F(PitchTest, what_no_config_can_take_says_that_the_pitch_counts) {
  TemporaryFolder folder;
  const std::string path = (folder.path() / "wide.db").string();
  {
    SampleCache cache(path);
    const OpInterface op = strided_interface();
    cache.add_op(op, strided_wide(), scale_kernels(), strided_binary());
    cache.add_winner(op, "strided[dtype=f16,pitch=strided]{rows=8,cols=64}", "wide{num_warps=2,vec=8,static_dims=1}");
  }
  const Op wide = Launcher(path).op("strided[dtype=f16,pitch=strided]");
  EXPECT_THAT(failure(TW_ERROR_NO_MATCH,
                      [&] {
                        wide(nullptr, {8, 64}, x_, y_, 1.0, 65, 64);
                      }),
              HasSubstr("x with its pitch must be aligned to 16 bytes, but is aligned to 2"));
}

}  // namespace
}  // namespace tilewright

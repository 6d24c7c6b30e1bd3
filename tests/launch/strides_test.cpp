// SPDX-License-Identifier: Apache-2.0
// Tensors with a stride for each extent: the config that a call gets, and the strides that are refused.
#include <array>
#include <cstdint>

#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;

/// Strides of batches, tokens and heads.
using Three = std::array<std::int64_t, 3>;

class StridesTest : public LaunchFixture {
 protected:
  void call(void* x, void* y, const Three& of_x, const Three& of_y) const {
    packed_(nullptr, {2, 3, 5, 8}, x, y, of_x[0], of_x[1], of_x[2], of_y[0], of_y[1], of_y[2]);
  }
  /// The threads of the launched block identify the config: 64 needs 16 bytes of alignment, 256 none.
  unsigned threads_after(const Three& of_x, const Three& of_y = kDense) const {
    recording_.reset();
    call(x_, y_, of_x, of_y);
    const auto launches = recording_.launches();
    return launches.size() == 1 ? launches[0].block[0] : 0;
  }
  std::string refusal(const Three& of_x, const Three& of_y = kDense) const {
    recording_.reset();
    const std::string text = failure(TW_ERROR_USAGE, [&] { call(x_, y_, of_x, of_y); });
    EXPECT_TRUE(recording_.launches().empty());
    return text;
  }

  static constexpr Three kDense{120, 40, 8};
  const Launcher launcher_{filled_cache()};
  const Op packed_ = launcher_.op("packed");
  void* x_ = fake_address(256);
  void* y_ = fake_address(1024);
};

TEST_F(StridesTest, of_any_order_reach_the_kernel) {
  const Three heads_first{120, 8, 24}, of_three{3 * 120, 3 * 40, 8};
  ASSERT_EQ(threads_after(heads_first, of_three), 64U);
  const auto launch = recording_.launches().at(0);
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_EQ(param<std::int64_t>(launch, 2 + i), heads_first[i]);
    EXPECT_EQ(param<std::int64_t>(launch, 5 + i), of_three[i]);
  }
}

TEST_F(StridesTest, choose_among_the_configs_as_addresses_do_each_of_them) {
  EXPECT_EQ(threads_after(kDense), 64U);
  EXPECT_EQ(threads_after({121, 40, 8}), 256U);
  EXPECT_EQ(threads_after({128, 44, 8}), 256U);
  EXPECT_EQ(threads_after({256, 80, 12}), 256U);
  EXPECT_EQ(threads_after(kDense, {120, 40, 9 - 1}), 64U);
  EXPECT_EQ(threads_after(kDense, {256, 84, 16}), 256U) << "those of each tensor";
  EXPECT_EQ(threads_after({1024, 160, 16}), 64U);
}

TEST_F(StridesTest, with_which_elements_overlap_are_errors_also_for_a_shape_that_was_launched) {
  EXPECT_EQ(threads_after(kDense), 64U);
  EXPECT_THAT(refusal({120, 40, 7}),
              HasSubstr("packed[dtype=f16]: 'x_head', a stride of 'x', is 7, less than a row's 8 "
                        "elements"));
  EXPECT_THAT(refusal({120, 0, 8}), HasSubstr("'x_token', a stride of 'x', is 0, less than a row's"));
  EXPECT_THAT(refusal({120, 39, 8}),
              HasSubstr("'x_token', a stride of 'x', is 39, less than the 40 elements that it steps over"));
  EXPECT_THAT(refusal(kDense, {119, 8, 24}),
              HasSubstr("'y_batch', a stride of 'y', is 119, less than the 120 elements"));
}

TEST_F(StridesTest, in_place_must_be_equal) {
  call(x_, x_, {128, 40, 8}, {128, 40, 8});
  EXPECT_THAT(failure(TW_ERROR_USAGE,
                      [&] {
                        call(x_, x_, {128, 40, 8}, kDense);
                      }),
              HasSubstr("'y' and 'x' share memory, and their strides at extent 0 are 120 and 128"));
}

TEST_F(StridesTest, are_named_by_the_op) {
  EXPECT_THAT(packed_.describe(), HasSubstr(R"("alias":["x"],"strides":["y_batch","y_token","y_head"]})"));
}

class MappedTest : public StridesTest {
 protected:
  MappedTest() {
    SampleCache cache(path_);
    const OpInterface op = packed_interface();
    cache.add_op(op, packed_mapped(), packed_kernels(), packed_binary());
    cache.add_op(op, packed_plain(), packed_kernels(), packed_binary());
    cache.add_winner(op, "packed{b=2,t=3,h=5,d=8}", "mapped{}", {.role = WinnerRole::best});
    cache.add_winner(op, "packed{b=2,t=3,h=5,d=8}", "plain{}", {.role = WinnerRole::base});
  }
  const std::string path_ = (folder_.path() / "mapped.db").string();
};

TEST_F(MappedTest, a_tensor_map_has_the_strides_of_each_call_in_bytes) {
  const Op mapped = Launcher(path_).op("packed");
  for (const Three& strides : {Three{120, 40, 8}, Three{360, 120, 8}, Three{120, 8, 24}, Three{120, 40, 8}}) {
    recording_.reset();
    mapped(nullptr, {2, 3, 5, 8}, x_, y_, strides[0], strides[1], strides[2], 120, 40, 8);
    const auto launches = recording_.launches();
    ASSERT_EQ(launches.size(), 1U);
    ASSERT_EQ(launches[0].block[0], 32U);
    const auto map = param<cuda::TensorMap>(launches[0], 0);
    EXPECT_EQ(map.words[0], reinterpret_cast<std::uint64_t>(x_));
    EXPECT_EQ(map.words[12], 2U * static_cast<std::uint64_t>(strides[2]));
    EXPECT_EQ(map.words[13], 2U * static_cast<std::uint64_t>(strides[1]));
    EXPECT_EQ(map.words[14], 2U * static_cast<std::uint64_t>(strides[0]));
  }
}

TEST_F(MappedTest, strides_that_no_map_can_have_get_another_config) {
  const Op mapped = Launcher(path_).op("packed");
  mapped(nullptr, {2, 3, 5, 8}, x_, y_, 128, 44, 8, 120, 40, 8);
  EXPECT_EQ(recording_.launches().at(0).block[0], 256U);
}

TEST_F(StridesTest, that_no_config_can_take_are_said_to_count) {
  TemporaryFolder folder;
  const std::string path = (folder.path() / "wide.db").string();
  {
    SampleCache cache(path);
    const OpInterface op = packed_interface();
    cache.add_op(op, packed_wide(), packed_kernels(), packed_binary());
    cache.add_winner(op, "packed{b=2,t=3,h=5,d=8}", "wide{}");
  }
  const Op wide = Launcher(path).op("packed");
  EXPECT_THAT(failure(TW_ERROR_NO_MATCH,
                      [&] {
                        wide(nullptr, {2, 3, 5, 8}, x_, y_, 120, 40, 8, 122, 40, 8);
                      }),
              HasSubstr("y with its strides must be aligned to 16 bytes, but is aligned to 4"));
}

}  // namespace
}  // namespace tilewright

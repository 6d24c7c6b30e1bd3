// SPDX-License-Identifier: Apache-2.0
// Launches with as many arguments as an op can have.
#include <array>
#include <cstdint>

#include "cache/base/limits.hpp"
#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;

static_assert(kManyTensors + kManyScalars == static_cast<int>(kMostArgs));

class ManyArgumentsTest : public LaunchFixture {
 protected:
  ManyArgumentsTest() {
    if (tw_open(filled_cache().c_str(), &launcher_) != 0 || tw_op_get(launcher_, "many", &op_) != 0) {
      ADD_FAILURE() << tw_last_error();
    }
    for (std::size_t i = 0; i < kMostArgs; ++i) {
      const bool is_tensor = i < kManyTensors;
      values_[i] = is_tensor ? reinterpret_cast<std::uint64_t>(fake_address(256 * (i + 1))) : 1000 + i;
      pointers_[i] = &values_[i];
    }
  }
  ~ManyArgumentsTest() override { tw_close(launcher_); }

  /// The threads of the launched block identify the config: 64 needs 16 bytes of alignment, 256 none.
  unsigned threads_after_launch() {
    recording_.reset();
    const std::int64_t n = 64;
    EXPECT_EQ(tw_launch(op_, nullptr, &n, 1, pointers_.data(), pointers_.size()), 0) << tw_last_error();
    const auto launches = recording_.launches();
    return launches.size() == 1 ? launches[0].block[0] : 0;
  }

  tw_launcher* launcher_ = nullptr;
  tw_op* op_ = nullptr;
  std::array<std::uint64_t, kMostArgs> values_{};
  std::array<void*, kMostArgs> pointers_{};
};

TEST_F(ManyArgumentsTest, a_kernel_gets_all_of_them_and_the_dims) {
  ASSERT_EQ(threads_after_launch(), 64U);
  const auto launch = recording_.launches().at(0);
  for (unsigned i = 0; i < kMostArgs; ++i) EXPECT_EQ(param<std::uint64_t>(launch, i), values_[i]) << i;
  EXPECT_EQ(param<std::int64_t>(launch, kMostArgs), 64);
}

TEST_F(ManyArgumentsTest, the_alignment_of_each_counts_and_the_last_share_that_of_the_least_aligned) {
  ASSERT_EQ(threads_after_launch(), 64U);
  values_[2] += 2;
  EXPECT_EQ(threads_after_launch(), 256U) << "it has bits of its own";
  values_[2] -= 2;
  values_[3] += 2;
  EXPECT_EQ(threads_after_launch(), 64U) << "and so has its neighbour, which may lie anywhere";
  values_[3] -= 2;
  values_[kManyTensors - 1] += 2;
  EXPECT_EQ(threads_after_launch(), 256U);
  values_[kManyTensors - 1] -= 2;
  values_[30] += 2;
  EXPECT_EQ(threads_after_launch(), 256U) << "the last one is taken to be aligned no better than this one";
  values_[30] -= 2;
  values_[kManyTensors + 1] += 1;
  EXPECT_EQ(threads_after_launch(), 64U) << "scalars have no alignment";
}

TEST_F(ManyArgumentsTest, a_shape_outside_the_domain_is_an_error_of_launch_query_and_preload) {
  const std::int64_t n = 65;
  char* json = nullptr;
  const auto expect_refused = [](int code) {
    EXPECT_EQ(code, TW_ERROR_USAGE);
    EXPECT_THAT(tw_last_error(),
                HasSubstr("many[dtype=f16]{n=65} is outside the domain of many: `n % 64 == 0` is false "
                          "(n=65)"));
  };
  expect_refused(tw_launch(op_, nullptr, &n, 1, pointers_.data(), pointers_.size()));
  expect_refused(tw_query(op_, &n, 1, &json));
  expect_refused(tw_preload(op_, &n, 1));
  EXPECT_TRUE(recording_.launches().empty());
  EXPECT_EQ(threads_after_launch(), 64U) << "inside it is launched as before";
}

TEST_F(ManyArgumentsTest, one_more_is_refused_when_the_op_is_opened) {
  TemporaryFolder folder;
  const std::string path = (folder.path() / "more.db").string();
  {
    SampleCache cache(path);
    OpInterface op = many_interface();
    op.args.push_back(op.args.back());
    op.args.back().name = "one_more";
    cache.add_op(op, many_plain(), many_kernels(), many_binary());
    cache.add_winner(op, "many{n=64}", "plain{}", {.role = WinnerRole::base});
  }
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { static_cast<void>(Launcher(path).op("many")); }),
              HasSubstr("1 dims and 65 arguments; at most 8 and 64 can be launched"));
}

}  // namespace
}  // namespace tilewright

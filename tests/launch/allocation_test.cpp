// SPDX-License-Identifier: Apache-2.0
// A launch of a known shape allocates nothing: this program counts all allocations.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "tests/launch/heap.hpp"
#include "tests/launch/launch_fixture.hpp"

namespace {

// Set before the driver is loaded.
const bool has_two_devices = ::setenv("TILEWRIGHT_RECORDING_DEVICES", "2", 1) == 0;

}  // namespace

namespace tilewright {
namespace {

using namespace tilewright::testing;

class AllocationTest : public LaunchFixture {
 protected:
  template <class Work>
  static int counted(const Work& work) {
    heap.allocations = 0;
    heap.is_watched = true;
    work();
    heap.is_watched = false;
    return heap.allocations;
  }
  const Launcher launcher_{filled_cache()};
};

TEST_F(AllocationTest, the_count_counts) {
  struct alignas(64) Line {
    int first = 1;
  };
  std::unique_ptr<int> kept;
  std::unique_ptr<Line> aligned;
  void* volatile plain = nullptr;  // volatile, else the compiler omits the pair
  EXPECT_EQ(counted([&] { kept.reset(new int(1)); }), 1);
  EXPECT_EQ(counted([&] { aligned.reset(new Line); }), 1);
  EXPECT_EQ(counted([&] { plain = std::malloc(8); }), 1);
  std::free(plain);
  const Op scale = launcher_.op("scale[dtype=f16]");
  EXPECT_GT(counted([&] {
              scale(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0);
            }),
            0)
      << "the first launch of a shape reads the cache";
}

TEST_F(AllocationTest, a_cache_that_is_opened_again_is_compared_with_what_is_known_of_its_schema) {
  const int allocations = counted([&] { const Launcher again(cache_path()); });
  EXPECT_LT(allocations, 10'000);
}

TEST_F(AllocationTest, a_launch_of_a_known_shape_allocates_nothing) {
  const Op scale = launcher_.op("scale[dtype=f16]");
  scale(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0);
  scale(nullptr, {9, 61}, fake_address(256), fake_address(2), 1.0);
  // The recording driver must not allocate for its own records.
  recording_.set_fast(1);
  EXPECT_EQ(counted([&] {
              for (int i = 0; i < 100; ++i) {
                scale(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0);
                scale(nullptr, {9, 61}, fake_address(256), fake_address(2), 1.0);
              }
            }),
            0);
  recording_.set_fast(0);
}

TEST_F(AllocationTest, launches_in_two_contexts_in_turns_allocate_nothing) {
  const Op scale = launcher_.op("scale[dtype=f16]");
  const auto launch = [&] { scale(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0); };
  launch();
  const cuda::PrimaryContext other(driver_, 1);
  launch();
  recording_.set_fast(1);
  EXPECT_EQ(counted([&] {
              for (int i = 0; i < 100; ++i) {
                context_.make_current();
                launch();
                other.make_current();
                launch();
              }
            }),
            0)
      << "the plan of each is found";
  recording_.set_fast(0);
}

TEST_F(AllocationTest, a_launch_allocates_nothing_while_a_tuner_writes_trials) {
  const Op scale = launcher_.op("scale[dtype=f16]");
  SampleCache tuner(cache_path());
  const auto launch = [&] { scale(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0); };
  launch();
  tuner.add_trial_of_a_sweep();
  launcher_.refresh();
  launch();
  recording_.set_fast(1);
  for (int i = 0; i < 20; ++i) {
    tuner.add_trial_of_a_sweep();
    launcher_.refresh();
    EXPECT_EQ(counted(launch), 0) << "the plan was not forgotten";
  }
  recording_.set_fast(0);
}

TEST_F(AllocationTest, a_launch_with_pitches_allocates_nothing) {
  const Op strided = launcher_.op("strided[dtype=f16,pitch=strided]");
  const auto launch = [&] { strided(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0, 72, 72); };
  launch();
  recording_.set_fast(1);
  EXPECT_EQ(counted([&] {
              for (int i = 0; i < 100; ++i) launch();
            }),
            0);
  recording_.set_fast(0);
}

TEST_F(AllocationTest, a_launch_with_strides_allocates_nothing) {
  const Op packed = launcher_.op("packed");
  const auto launch = [&](std::int64_t batch) {
    packed(nullptr, {2, 3, 5, 8}, fake_address(256), fake_address(1024), batch, 40, 8, 120, 8, 24);
  };
  launch(128);
  recording_.set_fast(1);
  EXPECT_EQ(counted([&] {
              for (std::int64_t i = 0; i < 100; ++i) launch(128 + 128 * i);
            }),
            0);
  recording_.set_fast(0);
}

TEST_F(AllocationTest, a_launch_with_a_tensor_map_allocates_nothing_whatever_the_strides) {
  const std::string path = (folder_.path() / "mapped.db").string();
  {
    SampleCache cache(path);
    const OpInterface op = packed_interface();
    cache.add_op(op, packed_mapped(), packed_kernels(), packed_binary());
    cache.add_winner(op, "packed{b=2,t=3,h=5,d=8}", "mapped{}", {.role = WinnerRole::best});
  }
  const Op packed = Launcher(path).op("packed");
  const auto launch = [&](std::int64_t batch) {
    packed(nullptr, {2, 3, 5, 8}, fake_address(256), fake_address(1024), batch, 40, 8, 120, 8, 24);
  };
  launch(128);
  recording_.set_fast(1);
  EXPECT_EQ(counted([&] {
              for (std::int64_t i = 0; i < 1000; ++i) launch(128 + 128 * i);
            }),
            0);
  recording_.set_fast(0);
}

TEST_F(AllocationTest, a_launch_with_as_many_arguments_as_there_can_be_allocates_nothing) {
  tw_launcher* launcher = nullptr;
  tw_op* op = nullptr;
  ASSERT_EQ(tw_open(cache_path().c_str(), &launcher), 0) << tw_last_error();
  ASSERT_EQ(tw_op_get(launcher, "many", &op), 0) << tw_last_error();
  std::uint64_t value = reinterpret_cast<std::uint64_t>(fake_address(256));
  std::array<void*, kManyTensors + kManyScalars> pointers;
  pointers.fill(&value);
  const std::int64_t n = 64;
  const auto launch = [&] { return tw_launch(op, nullptr, &n, 1, pointers.data(), pointers.size()); };
  ASSERT_EQ(launch(), 0) << tw_last_error();
  recording_.set_fast(1);
  EXPECT_EQ(counted([&] {
              for (int i = 0; i < 100; ++i) launch();
            }),
            0);
  recording_.set_fast(0);
  tw_close(launcher);
}

TEST_F(AllocationTest, a_launch_with_tensor_maps_and_workspaces_allocates_nothing_whatever_the_addresses) {
  const Op reduce = launcher_.op("reduce");
  reduce(nullptr, {64, 256}, fake_address(256), fake_address(256));
  recording_.set_fast(1);
  EXPECT_EQ(counted([&] {
              for (std::uintptr_t i = 1; i <= 1000; ++i) {
                reduce(nullptr, {64, 256}, fake_address(256 * i), fake_address(256));
              }
            }),
            0);
  recording_.set_fast(0);
}

}  // namespace
}  // namespace tilewright

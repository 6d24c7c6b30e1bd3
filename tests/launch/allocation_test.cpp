// SPDX-License-Identifier: Apache-2.0
// A launch of a known shape allocates nothing: every way into the heap is counted in this program.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <new>

#include "tests/launch/launch_fixture.hpp"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};
// Before the driver is there.
const bool has_two_devices = ::setenv("TILEWRIGHT_RECORDING_DEVICES", "2", 1) == 0;

void* count_and_allocate(std::size_t bytes) noexcept {
  if (counting) ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

// Not inlined: GCC would take the pair of operator new and free for a mistake.
[[gnu::noinline]] void release(void* memory) noexcept { std::free(memory); }

void* or_throw(void* memory) { return memory != nullptr ? memory : throw std::bad_alloc(); }

}  // namespace

void* operator new(std::size_t bytes) { return or_throw(count_and_allocate(bytes)); }
void* operator new[](std::size_t bytes) { return or_throw(count_and_allocate(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return count_and_allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return count_and_allocate(bytes); }
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete[](void* memory, std::size_t) noexcept { release(memory); }

namespace tilewright {
namespace {

using namespace tilewright::testing;

class AllocationTest : public LaunchFixture {
 protected:
  template <class Work>
  static int counted(const Work& work) {
    allocations = 0;
    counting = true;
    work();
    counting = false;
    return allocations;
  }
  const Launcher launcher_{filled_cache()};
};

TEST_F(AllocationTest, the_count_counts) {
  int* kept = nullptr;
  EXPECT_EQ(counted([&] { kept = new int(1); }), 1);
  delete kept;
  const Op scale = launcher_.op("scale[dtype=f16]");
  EXPECT_GT(counted([&] {
              scale(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0);
            }),
            0)
      << "the first launch of a shape reads the cache";
}

TEST_F(AllocationTest, a_launch_of_a_known_shape_allocates_nothing) {
  const Op scale = launcher_.op("scale[dtype=f16]");
  scale(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0);
  scale(nullptr, {9, 61}, fake_address(256), fake_address(2), 1.0);
  // What the recording driver itself would keep of a launch is left out.
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

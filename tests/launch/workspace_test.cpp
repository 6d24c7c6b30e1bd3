// SPDX-License-Identifier: Apache-2.0
// Memory shared by a launch's kernels: its owner, its lifetime, its clearing.
#include <thread>

#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::HasSubstr;
using namespace tilewright::testing;

class WorkspaceTest : public LaunchFixture {
 protected:
  struct Used {
    cuda::Address partial, sums, counter;
  };
  /// The workspaces of the last launch of `reduce`.
  Used used() const {
    const auto launches = recording_.launches();
    const recording_launch_record& first = launches.at(launches.size() - 2);
    return {param<cuda::Address>(first, 1), param<cuda::Address>(first, 2), param<cuda::Address>(first, 3)};
  }
  Used launch(cuda::Stream stream, std::int64_t m) const {
    reduce_(stream, {m, 256}, fake_address(256), fake_address(256));
    return used();
  }
  unsigned char byte_at(cuda::Address address) const {
    unsigned char byte = 1;
    EXPECT_EQ(driver_.table().memcpy_dtoh(&byte, address, 1), cuda::kSuccess);
    return byte;
  }
  void fill(cuda::Address address, std::size_t bytes) const {
    EXPECT_EQ(driver_.table().memset_d8_async(address, 0xff, bytes, nullptr), cuda::kSuccess);
  }

  const Launcher launcher_{filled_cache()};
  const Op reduce_ = launcher_.op("reduce");
};

TEST_F(WorkspaceTest, is_laid_out_without_overlap_and_kept_for_the_stream) {
  const cuda::OwnedStream stream(driver_);
  const Used first = launch(stream.get(), 64);
  EXPECT_EQ(first.sums - first.partial, 512U) << "2 * 64 floats";
  EXPECT_EQ(first.partial % 256, 0U);
  EXPECT_EQ(byte_at(first.counter), 0) << "cleared when allocated";
  const std::size_t live = recording_.live_allocations();
  const Used second = launch(stream.get(), 64);
  EXPECT_EQ(second.partial, first.partial);
  EXPECT_EQ(second.counter, first.counter);
  EXPECT_EQ(recording_.live_allocations(), live);
}

TEST_F(WorkspaceTest, is_cleared_as_the_definition_says) {
  const Used first = launch(nullptr, 64);
  fill(first.partial, 512);
  fill(first.sums, 256);
  fill(first.counter, 256);
  launch(nullptr, 64);
  EXPECT_EQ(byte_at(first.partial), 0xff) << "never";
  EXPECT_EQ(byte_at(first.sums), 0) << "each time";
  EXPECT_EQ(byte_at(first.counter), 0xff) << "once: the kernels leave it as they found it";
}

TEST_F(WorkspaceTest, that_kernels_leave_zero_is_shared_by_the_plans_of_a_stream) {
  const Used first = launch(nullptr, 64);
  const std::size_t clears = recording_.calls("cuMemsetD8Async");
  const Used second = launch(nullptr, 128);
  EXPECT_EQ(second.counter, first.counter);
  launch(nullptr, 64);
  EXPECT_EQ(recording_.calls("cuMemsetD8Async"), clears + 2) << "no more than what is cleared each time";
}

TEST_F(WorkspaceTest, that_grows_is_zero_again_where_kernels_count) {
  const Used small = launch(nullptr, 64);
  // As if a launch still used the old memory.
  fill(small.counter, 256);
  const Used large = launch(nullptr, 64000);
  EXPECT_NE(large.counter, small.counter);
  for (const cuda::Address offset : {0, 255, 256, 999}) EXPECT_EQ(byte_at(large.counter + offset), 0) << offset;
  EXPECT_EQ(byte_at(small.counter), 0xff) << "not ours to touch any more";
  EXPECT_EQ(launch(nullptr, 64).counter, large.counter);
}

TEST_F(WorkspaceTest, is_zero_again_where_kernels_count_after_a_launch_that_failed_between_its_kernels) {
  const Used first = launch(nullptr, 64);
  recording_.fail("cuLaunchKernelEx", 999, 1);
  EXPECT_THAT(failure(TW_ERROR_DEVICE,
                      [&] {
                        reduce_(nullptr, {64, 256}, fake_address(256), fake_address(256));
                      }),
              HasSubstr("cuLaunchKernelEx"));
  // The first kernel's count, which the second did not reset.
  fill(first.counter, 256);
  recording_.fail("cuMemsetD8Async", 999);
  EXPECT_THAT(failure(TW_ERROR_DEVICE,
                      [&] {
                        reduce_(nullptr, {64, 256}, fake_address(256), fake_address(256));
                      }),
              HasSubstr("clearing a workspace"));
  EXPECT_EQ(byte_at(first.counter), 0xff);
  EXPECT_EQ(launch(nullptr, 64).counter, first.counter);
  EXPECT_EQ(byte_at(first.counter), 0);
  EXPECT_EQ(byte_at(first.counter + 255), 0);
  fill(first.counter, 256);
  launch(nullptr, 64);
  EXPECT_EQ(byte_at(first.counter), 0xff) << "cleared once for one failure";
}

TEST_F(WorkspaceTest, of_two_streams_is_not_shared) {
  const cuda::OwnedStream one(driver_);
  const cuda::OwnedStream two(driver_);
  EXPECT_NE(launch(one.get(), 64).partial, launch(two.get(), 64).partial);
  EXPECT_NE(launch(one.get(), 64).partial, launch(nullptr, 64).partial);
}

TEST_F(WorkspaceTest, that_grows_leaves_the_old_memory_alone) {
  const Used small = launch(nullptr, 64);
  const std::size_t live = recording_.live_allocations();
  const Used large = launch(nullptr, 6400);
  EXPECT_NE(large.partial, small.partial);
  EXPECT_EQ(recording_.live_allocations(), live + 1) << "a captured graph may still use the old one";
  EXPECT_EQ(launch(nullptr, 64).partial, large.partial);
}

TEST_F(WorkspaceTest, is_freed_with_the_launcher) {
  const std::size_t before = recording_.live_allocations();
  {
    const Launcher other(cache_path());
    other.op("reduce")(nullptr, {64, 256}, fake_address(256), fake_address(256));
    EXPECT_GT(recording_.live_allocations(), before);
  }
  EXPECT_EQ(recording_.live_allocations(), before);
}

TEST_F(WorkspaceTest, of_two_captured_graphs_is_not_shared) {
  const cuda::OwnedStream stream(driver_);
  const auto capture = [&] {
    return cuda::CapturedGraph(driver_, stream.get(), [&](cuda::Stream capturing) {
      reduce_(capturing, {64, 256}, fake_address(256), fake_address(256));
    });
  };
  const cuda::CapturedGraph one = capture();
  const cuda::CapturedGraph two = capture();
  one.launch(stream.get());
  const Used first = used();
  EXPECT_EQ(byte_at(first.counter), 0) << "cleared at the capture and not in the graph";
  two.launch(stream.get());
  const Used second = used();
  EXPECT_NE(first.partial, second.partial);
  EXPECT_NE(first.counter, second.counter);
  EXPECT_NE(launch(stream.get(), 64).partial, first.partial);
  one.launch(stream.get());
  EXPECT_EQ(used().partial, first.partial);
}

TEST_F(WorkspaceTest, of_a_graph_that_is_gone_is_the_next_ones) {
  const cuda::OwnedStream stream(driver_);
  const auto capture = [&](std::int64_t m) {
    return std::make_unique<cuda::CapturedGraph>(driver_, stream.get(), [&](cuda::Stream capturing) {
      reduce_(capturing, {m, 256}, fake_address(256), fake_address(256));
      reduce_(capturing, {m, 256}, fake_address(256), fake_address(256));
    });
  };
  const auto partial_of = [&](const cuda::CapturedGraph& graph) {
    graph.launch(stream.get());
    return used().partial;
  };
  auto first = capture(64);
  const auto other = capture(64);
  const cuda::Address of_first = partial_of(*first);
  const cuda::Address of_other = partial_of(*other);
  const std::size_t live = recording_.live_allocations();
  // As an application that captures its step repeatedly.
  for (int i = 0; i < 100; ++i) {
    first.reset();
    first = capture(64);
    EXPECT_EQ(partial_of(*first), of_first);
  }
  EXPECT_EQ(recording_.live_allocations(), live);
  EXPECT_EQ(partial_of(*other), of_other) << "it lives, and so its memory is its own";
  // Both graphs exist during the assignment.
  for (int i = 0; i < 100; ++i) first = capture(64);
  EXPECT_LE(recording_.live_allocations(), live + 2);
  first.reset();
  first = capture(6400);
  EXPECT_NE(partial_of(*first), of_other);
}

TEST_F(WorkspaceTest, that_a_graph_would_have_cleared_is_cleared_by_the_next_ones_where_it_was_never_launched) {
  const cuda::OwnedStream stream(driver_);
  const auto reduce = [&](cuda::Stream capturing) {
    reduce_(capturing, {64, 256}, fake_address(256), fake_address(256));
  };
  const auto counter_of = [&](const cuda::CapturedGraph& graph) {
    graph.launch(stream.get());
    return used().counter;
  };
  const cuda::Address counter = counter_of(cuda::CapturedGraph(driver_, stream.get(), reduce));
  // As after failed kernels. The repair is captured into a graph that is never launched.
  fill(counter, 256);
  {
    const cuda::CapturedGraph never_launched(driver_, stream.get(), [&](cuda::Stream capturing) {
      recording_.fail("cuLaunchKernelEx", 999, 1);
      EXPECT_THAT(failure(TW_ERROR_DEVICE, [&] { reduce(capturing); }), HasSubstr("cuLaunchKernelEx"));
      const std::size_t clears = recording_.calls("cuMemsetD8Async");
      reduce(capturing);
      EXPECT_EQ(recording_.calls("cuMemsetD8Async"), clears + 2) << "what is cleared each time, and what was spoilt";
    });
  }
  EXPECT_EQ(byte_at(counter), 0xff) << "nothing has run";
  const cuda::CapturedGraph next(driver_, stream.get(), reduce);
  EXPECT_EQ(counter_of(next), counter);
  EXPECT_EQ(byte_at(counter), 0);
  EXPECT_EQ(byte_at(counter + 255), 0);
}

TEST_F(WorkspaceTest, of_a_graph_that_is_gone_is_reserved_before_any_other) {
  const cuda::OwnedStream stream(driver_);
  const auto capture = [&] {
    return cuda::CapturedGraph(driver_, stream.get(), [&](cuda::Stream capturing) {
      reduce_(capturing, {64, 256}, fake_address(256), fake_address(256));
    });
  };
  static_cast<void>(capture());
  reduce_.preload({64, 256});
  const std::size_t live = recording_.live_allocations();
  for (int i = 0; i < 10; ++i) {
    reduce_.preload({64, 256});
    static_cast<void>(capture());
  }
  EXPECT_EQ(recording_.live_allocations(), live);
}

TEST_F(WorkspaceTest, of_a_graph_stays_its_own_where_the_driver_cannot_tell_that_it_is_gone) {
  const cuda::OwnedStream stream(driver_);
  const auto capture = [&] {
    const cuda::CapturedGraph graph(driver_, stream.get(), [&](cuda::Stream capturing) {
      reduce_(capturing, {64, 256}, fake_address(256), fake_address(256));
    });
    graph.launch(stream.get());
    return used().partial;
  };
  for (const char* call : {"cuUserObjectCreate", "cuGraphRetainUserObject"}) {
    recording_.fail(call, 801);
    const cuda::Address first = capture();
    EXPECT_NE(capture(), first) << call;
  }
}

TEST_F(WorkspaceTest, of_a_graph_that_outlives_the_launcher_is_not_touched_when_it_ends) {
  const cuda::OwnedStream stream(driver_);
  std::unique_ptr<cuda::CapturedGraph> graph;
  {
    const Launcher other(cache_path());
    const Op reduce = other.op("reduce");
    graph = std::make_unique<cuda::CapturedGraph>(driver_, stream.get(), [&](cuda::Stream capturing) {
      reduce(capturing, {64, 256}, fake_address(256), fake_address(256));
    });
  }
  graph.reset();
}

TEST_F(WorkspaceTest, that_was_preloaded_is_there_when_a_graph_is_captured) {
  const cuda::OwnedStream stream(driver_);
  for (const std::int64_t m : {64, 128, 64}) reduce_.preload({m, 256});
  recording_.reset();
  const cuda::CapturedGraph graph(driver_, stream.get(), [&](cuda::Stream capturing) {
    reduce_(capturing, {128, 256}, fake_address(256), fake_address(256));
    for (const char* work : {"cuMemAlloc_v2", "cuStreamCreate", "cuStreamSynchronize"}) {
      EXPECT_EQ(recording_.calls(work), 0U) << work;
    }
  });
  graph.launch(stream.get());
  const Used captured = used();
  EXPECT_EQ(byte_at(captured.counter), 0);
  EXPECT_NE(launch(stream.get(), 64).counter, captured.counter);
}

TEST_F(WorkspaceTest, that_was_preloaded_is_no_more_than_one_stream_needs) {
  reduce_.preload({64, 256});
  const std::size_t live = recording_.live_allocations();
  for (int i = 0; i < 10; ++i) reduce_.preload({64, 256});
  EXPECT_EQ(recording_.live_allocations(), live);
  const cuda::OwnedStream one(driver_);
  const cuda::OwnedStream two(driver_);
  const Used first = launch(one.get(), 64);
  EXPECT_EQ(recording_.live_allocations(), live);
  EXPECT_NE(launch(two.get(), 64).partial, first.partial) << "the spare is one stream's by now";
  EXPECT_GT(recording_.live_allocations(), live);
}

TEST_F(WorkspaceTest, of_the_caller_is_used_and_cleared) {
  const cuda::OwnedStream stream(driver_);
  const std::size_t bytes = reduce_.workspace_bytes({64, 256});
  EXPECT_EQ(bytes, 512U + 256U + 256U);
  const cuda::Buffer memory(driver_, bytes, "a test");
  fill(memory.address(), bytes);
  const std::size_t live = recording_.live_allocations();
  launcher_.set_workspace(stream.get(), reinterpret_cast<void*>(memory.address()), bytes - 1);
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { launch(stream.get(), 64); }), HasSubstr("needs 1024 bytes"));
  launcher_.set_workspace(stream.get(), reinterpret_cast<void*>(memory.address()), bytes);
  const Used given = launch(stream.get(), 64);
  EXPECT_EQ(given.partial, memory.address());
  EXPECT_EQ(given.counter, memory.address() + 768);
  EXPECT_EQ(byte_at(given.partial), 0xff);
  EXPECT_EQ(byte_at(given.sums), 0);
  EXPECT_EQ(byte_at(given.counter), 0);
  EXPECT_EQ(recording_.live_allocations(), live);
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { launch(stream.get(), 6400); }),
              HasSubstr("bytes of workspace; tw_set_workspace gave 1024"));
  launcher_.set_workspace(stream.get(), nullptr, 0);
  EXPECT_NE(launch(stream.get(), 64).partial, memory.address());
}

TEST_F(WorkspaceTest, of_the_caller_on_the_default_stream_of_each_thread_is_that_threads) {
  auto* const own = reinterpret_cast<cuda::Stream>(std::uintptr_t{2});
  const std::size_t bytes = reduce_.workspace_bytes({64, 256});
  const cuda::Buffer ours(driver_, bytes, "a test");
  const cuda::Buffer theirs(driver_, bytes, "a test");
  launcher_.set_workspace(own, reinterpret_cast<void*>(ours.address()), bytes);
  std::thread([&] {
    context_.make_current();
    EXPECT_NE(launch(own, 64).partial, ours.address()) << "nothing is given for this thread's";
    launcher_.set_workspace(own, reinterpret_cast<void*>(theirs.address()), bytes);
    EXPECT_EQ(launch(own, 64).partial, theirs.address());
  }).join();
  EXPECT_EQ(launch(own, 64).partial, ours.address());
}

TEST_F(WorkspaceTest, of_the_caller_is_the_default_streams_by_either_of_its_names) {
  auto* const legacy = reinterpret_cast<cuda::Stream>(std::uintptr_t{1});
  const std::size_t bytes = reduce_.workspace_bytes({64, 256});
  const cuda::Buffer memory(driver_, bytes, "a test");
  launcher_.set_workspace(legacy, reinterpret_cast<void*>(memory.address()), bytes);
  EXPECT_EQ(launch(nullptr, 64).partial, memory.address());
  launcher_.set_workspace(nullptr, nullptr, 0);
  EXPECT_NE(launch(legacy, 64).partial, memory.address());
}

TEST_F(WorkspaceTest, of_the_caller_must_be_aligned) {
  EXPECT_THAT(failure(TW_ERROR_USAGE, [&] { launcher_.set_workspace(nullptr, fake_address(128), 4096); }),
              HasSubstr("aligned to 256 bytes"));
}

TEST_F(WorkspaceTest, that_cannot_be_had_is_an_error_and_can_be_tried_again) {
  recording_.fail("cuMemAlloc_v2", 2);
  EXPECT_THAT(failure(TW_ERROR_DEVICE, [&] { launch(nullptr, 64); }), HasSubstr("of device memory for a workspace"));
  EXPECT_NO_THROW(launch(nullptr, 64));
}

TEST_F(WorkspaceTest, is_not_needed_by_most_ops) {
  EXPECT_EQ(launcher_.op("scale[dtype=f16]").workspace_bytes({8, 64}), 0U);
  EXPECT_THAT(failure(TW_ERROR_NO_MATCH,
                      [&] {
                        static_cast<void>(launcher_.op("scale[dtype=f32]").workspace_bytes({8, 64}));
                      }),
              HasSubstr("no winner and no base"));
}

TEST_F(WorkspaceTest, launches_of_two_threads_on_one_stream_do_not_mix_their_kernels) {
  const cuda::OwnedStream stream(driver_);
  const auto work = [&] {
    context_.make_current();
    for (int i = 0; i < 200; ++i) reduce_(stream.get(), {64, 256}, fake_address(256), fake_address(256));
  };
  std::thread one(work);
  std::thread two(work);
  one.join();
  two.join();
  const auto launches = recording_.launches();
  ASSERT_EQ(launches.size(), 800U);
  for (std::size_t i = 0; i < launches.size(); i += 2) {
    ASSERT_STREQ(launches[i].symbol, "partial_symbol") << i;
    ASSERT_STREQ(launches[i + 1].symbol, "final_symbol") << i;
  }
}

}  // namespace
}  // namespace tilewright

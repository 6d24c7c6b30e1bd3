// SPDX-License-Identifier: Apache-2.0
// Faults under an application: a clear error or the next best config, and no loss of data.
#include <SQLiteCpp/SQLiteCpp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <thread>
#include <vector>

#include "tests/launch/launch_fixture.hpp"
#include "tests/other_program.hpp"

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace tilewright::testing;

class FaultTest : public LaunchFixture {
 protected:
  /// A cache with `scale`: its wide implementation has the binary `wide`, its base a valid one.
  std::string cache_with_wide(const std::vector<std::byte>& wide) const {
    SampleCache cache(cache_path());
    const OpInterface op = scale_interface();
    cache.add_op(op, scale_wide(), scale_kernels(), wide);
    cache.add_op(op, scale_plain(), scale_kernels(), scale_binary());
    const std::string problem = "scale[dtype=f16]{rows=8,cols=64}";
    cache.add_winner(op, problem, "wide{num_warps=2,vec=8,static_dims=1}", {.role = WinnerRole::best});
    cache.add_winner(op, problem, "plain{num_warps=8}", {.role = WinnerRole::base});
    return cache_path();
  }
  void change(const std::string& sql) const { OtherProgram(cache_path()).exec(sql); }
  static void launch(const Op& scale, const Shape& shape = {8, 64}) {
    scale(nullptr, shape, fake_address(256), fake_address(256), 1.0);
  }
};

TEST_F(FaultTest, a_binary_that_the_driver_rejects_gives_way_to_the_base_once) {
  const std::vector<std::byte> none_of_the_drivers(64, std::byte{'?'});
  const Launcher launcher(cache_with_wide(none_of_the_drivers));
  const Op scale = launcher.op("scale[dtype=f16]");
  for (int i = 0; i < 3; ++i) launch(scale);
  ASSERT_EQ(recording_.launches().size(), 3U);
  EXPECT_STREQ(recording_.launches()[0].symbol, "plain_symbol");
  EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 2U) << "the rejected one is not tried at each launch";
}

TEST_F(FaultTest, a_winner_without_its_binary_gives_way_to_the_base) {
  static_cast<void>(cache_with_wide(recorded_binary("wide_symbol 8 8 4 8 8\n")));
  change("UPDATE trials SET build = NULL WHERE config IN (SELECT id FROM configs WHERE text LIKE 'wide%')");
  const Launcher launcher(cache_path());
  launch(launcher.op("scale[dtype=f16]"));
  EXPECT_STREQ(recording_.launches().at(0).symbol, "plain_symbol");
}

TEST_F(FaultTest, a_binary_whose_bytes_were_changed_is_never_loaded) {
  static_cast<void>(filled_cache());
  change("UPDATE binaries SET hash = 'ffffffffffffffffffffffffffffffff' WHERE id = 1");
  const Launcher launcher(cache_path());
  const Op scale = launcher.op("scale[dtype=f16]");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(failure(TW_ERROR_CACHE, [&] { launch(scale); }),
                AllOf(HasSubstr(cache_path()), HasSubstr("is damaged"), HasSubstr("ffffffff")));
  }
  EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 0U);
}

TEST_F(FaultTest, a_winner_that_cannot_be_read_gives_way_and_the_match_says_so) {
  static_cast<void>(filled_cache());
  change("UPDATE configs SET text = 'no config' WHERE text LIKE 'wide%static_dims=1}'");
  const Launcher launcher(cache_path());
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale);
  EXPECT_STREQ(recording_.launches().at(0).symbol, "wide_symbol") << "of any width";
  const auto served = scale.match({8, 64});
  EXPECT_EQ(served.fit, "exact");
  EXPECT_THAT(served.json, AllOf(HasSubstr("\"unread\""), HasSubstr("is damaged")));
}

TEST_F(FaultTest, a_driver_that_fails_otherwise_is_no_reason_for_a_slower_config) {
  const Launcher launcher(filled_cache());
  const Op scale = launcher.op("scale[dtype=f16]");
  recording_.fail("cuLibraryLoadData", 2);
  EXPECT_THAT(failure(TW_ERROR_DEVICE, [&] { launch(scale); }), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  launch(scale);
  EXPECT_STREQ(recording_.launches().at(0).symbol, "wide_symbol");
}

TEST_F(FaultTest, a_cache_of_a_newer_schema_is_refused_with_both_numbers) {
  static_cast<void>(filled_cache());
  change("PRAGMA user_version = 9999");
  EXPECT_THAT(failure(TW_ERROR_CACHE, [&] { const Launcher launcher(cache_path()); }), HasSubstr("has schema 9999"));
}

TEST_F(FaultTest, a_cache_that_was_half_copied_is_refused_or_serves_and_never_crashes) {
  const std::string whole = filled_cache();
  const auto size = std::filesystem::file_size(whole);
  const std::string half = (folder_.path() / "half.db").string();
  for (int part = 0; part < 16; ++part) {
    std::filesystem::copy_file(whole, half, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(half, size * static_cast<std::uintmax_t>(part) / 16);
    try {
      const Launcher launcher(half);
      launch(launcher.op("scale[dtype=f16]"));
    } catch (const LaunchError& error) {
      EXPECT_EQ(error.code(), TW_ERROR_CACHE) << error.what();
      EXPECT_THAT(error.what(), HasSubstr(half));
    }
  }
}

TEST_F(FaultTest, dims_that_are_none_are_an_error_at_every_launch) {
  const Launcher launcher(filled_cache());
  const Op scale = launcher.op("scale[dtype=f16]");
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const std::vector<Shape> shapes{{0, 64}, {8, 0},     {-1, 64}, {kLeast, 64}, {kMost, kMost}, {kMost, 2},
                                  {8},     {8, 64, 1}, {}};
  for (int i = 0; i < 2; ++i) {
    for (const Shape& shape : shapes) failure(TW_ERROR_USAGE, [&] { launch(scale, shape); });
  }
  EXPECT_TRUE(recording_.launches().empty());
}

TEST_F(FaultTest, a_context_that_was_destroyed_is_reported_and_its_successor_is_served) {
  const Launcher launcher(filled_cache());
  const Op scale = launcher.op("scale[dtype=f16]");
  const Op reduce = launcher.op("reduce");
  launch(scale);
  reduce(nullptr, {64, 256}, fake_address(256), fake_address(256));
  recording_.reset_context(0);
  EXPECT_THAT(failure(TW_ERROR_DEVICE, [&] { launch(scale); }),
              HasSubstr("no CUDA context is current on this thread (CUDA_ERROR_"));

  const cuda::PrimaryContext again(driver_, 0);
  recording_.reset();
  launch(scale);
  reduce(nullptr, {64, 256}, fake_address(256), fake_address(256));
  EXPECT_EQ(recording_.launches().size(), 3U);
}

TEST_F(FaultTest, closing_frees_nothing_of_a_context_that_is_gone) {
  std::optional<Launcher> launcher(filled_cache());
  const auto launch_reduce = [&] { launcher->op("reduce")(nullptr, {64, 256}, fake_address(256), fake_address(256)); };
  launch_reduce();
  const std::size_t with_workspace = recording_.live_allocations();
  recording_.reset_context(0);
  EXPECT_LT(recording_.live_allocations(), with_workspace) << "what a context had ends with it";

  const cuda::PrimaryContext again(driver_, 0);
  // The application now has the addresses of the former workspace.
  std::vector<cuda::Buffer> of_application;
  for (int i = 0; i < 4; ++i) of_application.emplace_back(driver_, 256, "the application");
  const std::size_t of_both = recording_.live_allocations();
  launch_reduce();
  EXPECT_GT(recording_.live_allocations(), of_both) << "a workspace of the context that there is";
  launcher.reset();
  EXPECT_EQ(recording_.live_allocations(), of_both) << "the workspace is freed, the application's memory is not";
}

TEST_F(FaultTest, a_child_by_fork_is_told_to_open_its_own) {
  const Launcher launcher(filled_cache());
  const Op scale = launcher.op("scale[dtype=f16]");
  launch(scale);
  tw_op* op = nullptr;
  ASSERT_EQ(tw_op_get(launcher.get(), "scale[dtype=f16]", &op), TW_OK);
  const pid_t child = ::fork();
  if (child == 0) {
    // A launch of a known shape, of a new shape, and the other calls: none may touch the parent's state.
    const auto refused = [](const std::function<void()>& work) {
      try {
        work();
      } catch (const LaunchError& error) {
        return error.code() == TW_ERROR_DEVICE && std::string(error.what()).find("forked") != std::string::npos;
      }
      return false;
    };
    bool all = refused([&] { launch(scale); }) && refused([&] {
                 launch(scale, {9, 61});
               }) &&
               refused([&] {
                 scale.preload({10, 61});
               }) &&
               refused([&] {
                 static_cast<void>(scale.match({8, 64}));
               }) &&
               refused([&] { launcher.refresh(); }) && refused([&] { static_cast<void>(launcher.op("reduce")); }) &&
               refused([&] { static_cast<void>(scale.describe()); }) && refused([&] {
                 static_cast<void>(scale.workspace_bytes({8, 64}));
               });
    const std::int64_t* const shapes[3] = {};
    const std::size_t ranks[3] = {};
    std::int64_t dims[2] = {};
    all = all && tw_op_dims(op, shapes, ranks, 3, dims, 2) == TW_ERROR_DEVICE &&
          tw_set_workspace(launcher.get(), nullptr, nullptr, 0) == TW_ERROR_DEVICE;
    tw_close(launcher.get());
    all = all && recording_.calls("cuLibraryUnload") == 0;
    ::_exit(all ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  launch(scale);
  EXPECT_EQ(recording_.launches().size(), 2U) << "the parent goes on";
}

TEST_F(FaultTest, a_launcher_may_be_opened_in_a_child) {
  const std::string path = filled_cache();
  const Launcher launcher(path);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const Launcher own(path);
      launch(own.op("scale[dtype=f16]"));
      ::_exit(0);
    } catch (const std::exception&) {
      ::_exit(1);
    }
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST_F(FaultTest, no_fault_leaves_device_memory_or_a_library_behind) {
  const std::string path = filled_cache();
  const std::size_t allocations = recording_.live_allocations();
  const std::size_t libraries = recording_.live_libraries();
  struct Fault {
    const char* api;
    int after;
  };
  // Two kernels in one library, and two workspaces, one of them cleared.
  for (const Fault& fault :
       {Fault{"cuLibraryLoadData", 0}, Fault{"cuLibraryGetKernel", 0}, Fault{"cuLibraryGetKernel", 1},
        Fault{"cuKernelGetFunction", 1}, Fault{"cuFuncSetAttribute", 0}, Fault{"cuTensorMapEncodeTiled", 0},
        Fault{"cuMemAlloc_v2", 0}, Fault{"cuMemAlloc_v2", 1}, Fault{"cuMemsetD8Async", 0}, Fault{"cuLaunchKernelEx", 0},
        Fault{"cuLaunchKernelEx", 1}}) {
    SCOPED_TRACE(std::string(fault.api) + " after " + std::to_string(fault.after));
    {
      const Launcher launcher(path);
      const Op reduce = launcher.op("reduce");
      const auto launch_reduce = [&] { reduce(nullptr, {64, 256}, fake_address(256), fake_address(256)); };
      recording_.fail(fault.api, 2, fault.after);
      EXPECT_THAT(failure(TW_ERROR_DEVICE, launch_reduce), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
      launch_reduce();
      EXPECT_GT(recording_.live_allocations(), allocations);
      EXPECT_GT(recording_.live_libraries(), libraries);
    }
    EXPECT_EQ(recording_.live_allocations(), allocations);
    EXPECT_EQ(recording_.live_libraries(), libraries);
  }
}

TEST_F(FaultTest, a_rejected_binary_is_not_kept) {
  const std::size_t libraries = recording_.live_libraries();
  {
    const Launcher launcher(cache_with_wide(std::vector<std::byte>(64, std::byte{'?'})));
    launch(launcher.op("scale[dtype=f16]"));
    EXPECT_STREQ(recording_.launches().at(0).symbol, "plain_symbol");
    EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 2U);
  }
  EXPECT_EQ(recording_.live_libraries(), libraries);
}

}  // namespace
}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
// Opening caches, valid and faulty.
#include <sys/stat.h>

#include <fstream>

#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace tilewright::testing;

class OpenTest : public LaunchFixture {
 protected:
  static std::string open_failure(const std::string& path) {
    return failure(TW_ERROR_CACHE, [&] { Launcher launcher(path); });
  }
};

TEST_F(OpenTest, a_missing_cache_is_named) {
  EXPECT_THAT(open_failure("/nonexistent/cache.db"), HasSubstr("/nonexistent/cache.db"));
}

TEST_F(OpenTest, a_file_that_is_no_cache_is_refused_and_left_alone) {
  std::ofstream(cache_path())
      << "groceries: milk, bread, and a text long enough to be no header of a database at all\n";
  EXPECT_THAT(open_failure(cache_path()), HasSubstr(cache_path()));
  std::string first;
  std::ifstream(cache_path()) >> first;
  EXPECT_EQ(first, "groceries:");
}

TEST_F(OpenTest, a_truncated_cache_is_an_error_at_the_latest_when_used) {
  static_cast<void>(filled_cache());
  std::filesystem::resize_file(cache_path(), 5000);
  failure(TW_ERROR_CACHE, [&] {
    const Launcher launcher(cache_path());
    launcher.op("scale[dtype=f16]")(nullptr, {8, 64}, fake_address(256), fake_address(256), 1.0);
  });
}

TEST_F(OpenTest, the_cache_of_the_environment_is_the_default) {
  ::setenv("TILEWRIGHT_CACHE", filled_cache().c_str(), 1);
  const Launcher launcher;
  EXPECT_TRUE(launcher.op("scale[dtype=f16]").match({8, 64}).is_served());
  ::setenv("TILEWRIGHT_CACHE", "/nonexistent/of_environment.db", 1);
  EXPECT_THAT(open_failure(""), HasSubstr("/nonexistent/of_environment.db"));
  ::unsetenv("TILEWRIGHT_CACHE");
}

TEST_F(OpenTest, a_cache_that_others_can_write_is_refused_unless_allowed) {
  const std::string path = filled_cache();
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  EXPECT_THAT(open_failure(path), HasSubstr("can be changed by other users"));
  EXPECT_NO_THROW(Launcher(LaunchOptions{.cache = path, .device = {}, .allow_shared_cache = true}));
  ::setenv("TILEWRIGHT_ALLOW_SHARED_CACHE", "1", 1);
  EXPECT_NO_THROW(Launcher{path});
  ::setenv("TILEWRIGHT_ALLOW_SHARED_CACHE", "0", 1);
  EXPECT_THAT(open_failure(path), HasSubstr("TILEWRIGHT_ALLOW_SHARED_CACHE=1"));
  ::unsetenv("TILEWRIGHT_ALLOW_SHARED_CACHE");
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_NO_THROW(Launcher{path});
}

TEST_F(OpenTest, a_cache_in_a_folder_that_cannot_be_written_is_served) {
  const std::string path = filled_cache();
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0555), 0);
  EXPECT_TRUE(Launcher(path).op("scale[dtype=f16]").match({8, 64}).is_served());
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
}

TEST_F(OpenTest, options_of_another_size_are_refused) {
  tw_options options{};
  tw_launcher* launcher = nullptr;
  EXPECT_EQ(tw_open_with(&options, &launcher), TW_ERROR_USAGE);
  EXPECT_THAT(tw_last_error(), HasSubstr("tw_options.size is 0"));
  EXPECT_EQ(launcher, nullptr);
}

TEST_F(OpenTest, null_pointers_are_named) {
  tw_launcher* launcher = nullptr;
  tw_op* op = nullptr;
  EXPECT_EQ(tw_open(nullptr, nullptr), TW_ERROR_USAGE);
  EXPECT_STREQ(tw_last_error(), "out is null");
  EXPECT_EQ(tw_open_with(nullptr, &launcher), TW_ERROR_USAGE);
  EXPECT_STREQ(tw_last_error(), "options is null");
  EXPECT_EQ(tw_op_get(nullptr, "scale", &op), TW_ERROR_USAGE);
  EXPECT_STREQ(tw_last_error(), "the launcher is null");
  EXPECT_EQ(tw_refresh(nullptr), TW_ERROR_USAGE);
  EXPECT_EQ(tw_launch(nullptr, nullptr, nullptr, 0, nullptr, 0), TW_ERROR_USAGE);
  EXPECT_STREQ(tw_last_error(), "the op is null");

  const Launcher opened(filled_cache());
  EXPECT_EQ(tw_op_get(opened.get(), nullptr, &op), TW_ERROR_USAGE);
  EXPECT_STREQ(tw_last_error(), "the spec is null");
  ASSERT_EQ(tw_op_get(opened.get(), "scale[dtype=f16]", &op), TW_OK);
  EXPECT_EQ(tw_launch(op, nullptr, nullptr, 2, nullptr, 0), TW_ERROR_USAGE);
  const std::int64_t dims[] = {8, 64};
  EXPECT_EQ(tw_launch(op, nullptr, dims, 2, nullptr, 3), TW_ERROR_USAGE);
  EXPECT_STREQ(tw_last_error(), "args is null");
  void* args[] = {nullptr, nullptr, nullptr};
  EXPECT_EQ(tw_launch(op, nullptr, dims, 2, args, 3), TW_ERROR_USAGE);
  EXPECT_THAT(tw_last_error(), HasSubstr("the pointer to the value of the argument 'x' is null"));
  EXPECT_EQ(tw_launch(op, nullptr, dims, 2, args, 2), TW_ERROR_USAGE);
  EXPECT_THAT(tw_last_error(), HasSubstr("takes 3 arguments (x, y, factor); the launch passes 2"));
  EXPECT_EQ(tw_query(op, dims, 2, nullptr), TW_ERROR_USAGE);
  EXPECT_EQ(tw_workspace_bytes(op, dims, 2, nullptr), TW_ERROR_USAGE);
  tw_close(nullptr);
  tw_free(nullptr);
}

TEST_F(OpenTest, the_version_is_three_numbers) {
  EXPECT_THAT(tw_version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace tilewright

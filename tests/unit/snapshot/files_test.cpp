// SPDX-License-Identifier: Apache-2.0
#include "tuner/snapshot/files.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>

#include "tests/temporary_folder.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NewestFirst, orders_files_by_their_time_and_leaves_out_other_extensions) {
  const test::TemporaryFolder folder;
  const fs::file_time_type now = fs::file_time_type::clock::now();
  const auto put = [&](const char* name, int seconds_ago) {
    std::ofstream(folder / name) << name;
    fs::last_write_time(folder / name, now - std::chrono::seconds(seconds_ago));
    return folder / name;
  };
  const fs::path old = put("a.db", 30), middle = put("b.part", 20), recent = put("c.db", 10), bare = put("d", 5);
  put("e.json", 1);
  EXPECT_THAT(newest_first(folder.path(), {".db", ".part"}), ElementsAre(recent, middle, old));
  EXPECT_THAT(newest_first(folder.path(), {""}), ElementsAre(bare));
  EXPECT_THAT(newest_first(folder / "none", {".db"}), IsEmpty());
}

}  // namespace
}  // namespace tilewright

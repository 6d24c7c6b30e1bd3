// SPDX-License-Identifier: Apache-2.0
#include "cache/store/miss_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "cache/base/error.hpp"
#include "tests/temporary_folder.hpp"

namespace tilewright::miss_file_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kDevice = "NVIDIA H200 (sm_90, 132 SMs, 141 GiB, 6144-bit)";

std::string shape(int rows) { return "softmax[dtype=bf16]{rows=" + std::to_string(rows) + ",cols=64}"; }

Miss miss(int rows, std::int64_t count = 1, std::int64_t at = 100) { return {shape(rows), kDevice, count, at, at}; }

class Misses : public testing::Test {
 protected:
  [[nodiscard]] fs::path path() const { return folder_ / "state" / "misses"; }
  [[nodiscard]] std::string content() const {
    std::ifstream file(path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void write(const std::string& text) const {
    fs::create_directories(path().parent_path());
    std::ofstream(path(), std::ios::binary) << text;
  }
  /// The error of reading and appending to a file with this text, which must stay as it is.
  [[nodiscard]] std::string refusal(const std::string& text) const {
    write(text);
    std::string said;
    const auto told = [&](const auto& work) {
      try {
        work();
        ADD_FAILURE() << "no error for: " << text;
      } catch (const CacheError& error) {
        said = error.what();
      }
    };
    told([&] { (void)MissFile(path()).read(); });
    EXPECT_EQ(content(), text);
    return said;
  }

  const test::TemporaryFolder folder_;
};

TEST_F(Misses, come_back_as_they_were_recorded) {
  const MissFile file(path());
  EXPECT_THAT(file.read(), IsEmpty()) << "no file is no miss";
  EXPECT_TRUE(file.append(std::vector{miss(1)}));
  EXPECT_TRUE(file.append(std::vector{miss(2, 5)}));
  EXPECT_THAT(file.read(), ElementsAre(miss(2, 5), miss(1)));
  EXPECT_EQ(content(), "tilewright misses 1\n100\t100\t1\t" + kDevice + "\t" + shape(1) + "\n100\t100\t5\t" + kDevice +
                           "\t" + shape(2) + "\n");
}

TEST_F(Misses, of_one_shape_add_up_for_each_device) {
  const MissFile file(path());
  EXPECT_TRUE(file.append(std::vector{miss(1, 2, 200), miss(1, 3, 100), Miss{shape(1), "cpu", 1, 5, 5}}));
  EXPECT_THAT(file.read(), ElementsAre(Miss{shape(1), kDevice, 5, 100, 200}, Miss{shape(1), "cpu", 1, 5, 5}));
}

TEST_F(Misses, are_forgotten_one_by_one) {
  const MissFile file(path());
  EXPECT_EQ(file.remove(std::vector{miss(1)}), 0U);
  EXPECT_TRUE(file.append(std::vector{miss(1), miss(2), miss(1, 7)}));
  EXPECT_EQ(file.remove(std::vector{miss(1), miss(9)}), 1U);
  EXPECT_THAT(file.read(), ElementsAre(miss(2)));
  EXPECT_EQ(file.remove(std::vector{miss(2)}), 1U);
  EXPECT_THAT(file.read(), IsEmpty());
  EXPECT_TRUE(file.append(std::vector{miss(3)}));
  EXPECT_THAT(file.read(), ElementsAre(miss(3)));
}

TEST_F(Misses, never_outgrow_their_bound_and_the_most_asked_stay) {
  constexpr std::int64_t kBound = 4000;
  const MissFile file(path(), kBound);
  for (int round = 0; round < 200; ++round) {
    EXPECT_TRUE(file.append(std::vector{miss(1, 10), miss(100 + round)}));
    EXPECT_LE(static_cast<std::int64_t>(content().size()), kBound);
  }
  const auto left = file.read();
  EXPECT_EQ(left.front().shape_key, shape(1));
  EXPECT_EQ(left.front().count, 2000) << "lines of one shape became one";
  EXPECT_LT(left.size(), 60U);
  EXPECT_FALSE(fs::exists(path().string() + ".new"));
}

TEST_F(Misses, wait_for_nobody) {
  const MissFile file(path());
  EXPECT_TRUE(file.append(std::vector{miss(1)}));
  const int other = ::open(path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  EXPECT_FALSE(file.append(std::vector{miss(2)}));
  ::close(other);
  EXPECT_THAT(file.read(), ElementsAre(miss(1)));
}

TEST_F(Misses, are_not_added_while_another_process_reads) {
  const MissFile file(path());
  EXPECT_TRUE(file.append(std::vector{miss(1)}));
  const int other = ::open(path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_SH), 0);
  EXPECT_FALSE(file.append(std::vector{miss(2)}));
  ::close(other);
}

TEST_F(Misses, in_a_file_that_took_the_place_of_the_one_waited_for_are_kept) {
  const MissFile file(path());
  EXPECT_TRUE(file.append(std::vector{miss(1)}));
  const int other = ::open(path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  std::thread waiting([&] { EXPECT_EQ(file.remove(std::vector{miss(1)}), 0U); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  const MissFile next(folder_ / "next");
  EXPECT_TRUE(next.append(std::vector{miss(2)}));
  fs::rename(folder_ / "next", path());
  ::close(other);
  waiting.join();
  EXPECT_THAT(file.read(), ElementsAre(miss(2)));
}

TEST_F(Misses, are_moved_once_nobody_writes_them) {
  const MissFile file(path());
  EXPECT_FALSE(file.move_to(folder_ / "away"));
  EXPECT_TRUE(file.append(std::vector{miss(1)}));
  const int other = ::open(path().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  std::thread moving([&] { EXPECT_TRUE(file.move_to(folder_ / "away")); });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_TRUE(fs::exists(path()));
  ::close(other);
  moving.join();
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_THAT(MissFile(folder_ / "away").read(), ElementsAre(miss(1)));
  EXPECT_TRUE(file.append(std::vector{miss(2)}));
  EXPECT_THROW((void)file.move_to(folder_ / "nowhere" / "away"), CacheError);
}

TEST_F(Misses, on_a_full_disk_are_written_whole_or_not_at_all) {
  EXPECT_TRUE(MissFile(path()).append(std::vector{miss(1)}));
  const std::string before = content();
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{before.size() + 20, before.size() + 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      (void)MissFile(path()).append(std::vector{miss(2)});
      ::_exit(1);
    } catch (const CacheError&) {
      ::_exit(0);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "it says so";
  EXPECT_EQ(content(), before);
}

TEST_F(Misses, of_several_processes_are_all_there) {
  constexpr int kProcesses = 4, kEach = 50;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    const MissFile file(path());
    for (int i = 0; i < kEach; ++i) {
      const std::vector one{miss(1000 * process + i + 1)};
      while (!file.append(one)) ::usleep(100);
    }
    ::_exit(0);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(MissFile(path()).read().size(), std::size_t{kProcesses * kEach});
}

TEST_F(Misses, in_a_damaged_file_are_told_and_left) {
  const std::string good = "tilewright misses 1\n100\t100\t1\tcpu\t" + shape(1) + "\n";
  EXPECT_THAT(refusal(good + "100\t100\t1\tcpu\tsoft"), HasSubstr("its last line is cut off"));
  EXPECT_THAT(refusal(good + "100\tx\t1\tcpu\t" + shape(2) + "\n"), HasSubstr("line 3"));
  EXPECT_THAT(refusal(good + "100\t100\t1\t\t" + shape(2) + "\n"), HasSubstr("line 3"));
  EXPECT_THAT(refusal(good + "100\t100\t0\tcpu\t" + shape(2) + "\n"), HasSubstr("line 3"));
  EXPECT_THAT(refusal(good + "100\t100\t1\tcpu\tno shape\n"), HasSubstr("mv "));
  EXPECT_THAT(refusal("tilewright misses \n"), HasSubstr("its first line"));
  EXPECT_THAT(refusal("my diary\n"), HasSubstr("is not a file of misses"));
  EXPECT_THAT(refusal("tilewright misses 2\nanything\n"), HasSubstr("has format 2"));
}

TEST_F(Misses, cost_no_memory_where_their_file_claims_to_be_huge) {
  write("tilewright misses 1\n");
  fs::resize_file(path(), std::uintmax_t{1} << 40);
  try {
    (void)MissFile(path()).read();
    FAIL();
  } catch (const CacheError& error) {
    EXPECT_THAT(error.what(), HasSubstr("has 1099511627776 bytes"));
  }
}

TEST_F(Misses, are_not_added_to_a_file_that_is_not_theirs) {
  for (const std::string& text : {std::string("my diary\n"), std::string("tilewright misses 2\n"),
                                  std::string("tilewright misses 1\n100\t1"), std::string("x")}) {
    write(text);
    EXPECT_THROW((void)MissFile(path()).append(std::vector{miss(1)}), CacheError) << text;
    EXPECT_EQ(content(), text);
  }
  // Full, so that an append would rewrite it.
  std::string full = "tilewright misses 1\n";
  for (int i = 0; i < 40; ++i) full += "nonsense\n";
  write(full);
  EXPECT_THROW((void)MissFile(path(), 300).append(std::vector{miss(1)}), CacheError);
  EXPECT_EQ(content(), full);
}

TEST_F(Misses, are_not_written_into_what_is_no_file) {
  fs::create_directories(path());
  EXPECT_THROW((void)MissFile(path()).append(std::vector{miss(1)}), CacheError);
  fs::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_THROW((void)MissFile(path()).append(std::vector{miss(1)}), CacheError);
  EXPECT_THROW((void)MissFile("/proc/no/such/folder/misses").append(std::vector{miss(1)}), CacheError);
}

TEST_F(Misses, have_a_place_that_can_be_named_or_switched_off) {
  ::setenv("TILEWRIGHT_MISSES", "/somewhere/misses", 1);
  EXPECT_EQ(default_misses_path(), fs::path("/somewhere/misses"));
  ::setenv("TILEWRIGHT_MISSES", "off", 1);
  EXPECT_EQ(default_misses_path(), std::nullopt);
  ::unsetenv("TILEWRIGHT_MISSES");
  ::setenv("XDG_CACHE_HOME", "/xdg", 1);
  EXPECT_EQ(default_misses_path(), fs::path("/xdg/tilewright/misses"));
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "/users/someone", 1);
  EXPECT_EQ(default_misses_path(), fs::path("/users/someone/.cache/tilewright/misses"));
}

}  // namespace
}  // namespace tilewright::miss_file_test

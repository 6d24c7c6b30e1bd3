// SPDX-License-Identifier: Apache-2.0
// An application's start with a large cache: bounds for any machine.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "cache/base/sanitizers.hpp"
#include "tests/launch/launch_fixture.hpp"

namespace tilewright {
namespace {

using namespace tilewright::testing;

constexpr int kWinners = 10'000;
constexpr double kSlower = kAddressSanitizer || kThreadSanitizer ? 50 : 5;

class ColdStartTest : public LaunchFixture {
 protected:
  /// Made once for all tests, by another process: freed memory of this one would hide a launcher's memory.
  static const std::string& large_cache() {
    static const TemporaryFolder kFolder;
    static const std::string kPath = [] {
      const std::string path = (kFolder.path() / "large.db").string();
      const std::string command = "'" TILEWRIGHT_WRITE_SAMPLE_CACHE "' '" + path + "' " + std::to_string(kWinners);
      if (std::system(command.c_str()) != 0) throw std::runtime_error(command);
      return path;
    }();
    return kPath;
  }

  static double megabytes_resident() {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return static_cast<double>(pages) * 4096 / (1 << 20);
  }
  static bool maps(const std::string& library) {
    std::ifstream file("/proc/self/maps");
    for (std::string line; std::getline(file, line);) {
      if (line.find(library) != std::string::npos) return true;
    }
    return false;
  }
};

TEST_F(ColdStartTest, opening_and_the_first_plan_take_milliseconds) {
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const Launcher launcher(large_cache());
    launcher.op("scale[dtype=f16]")(nullptr, {8 * 4321, 64}, fake_address(256), fake_address(256), 1.0);
    best = std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  }
  EXPECT_LT(best, 3.0 * kSlower);
  EXPECT_FALSE(maps("nvrtc")) << "no compiler is opened";
}

#if !defined(TILEWRIGHT_ASAN) && !defined(TILEWRIGHT_TSAN)
TEST_F(ColdStartTest, an_open_launcher_with_a_plan_takes_little_memory) {
  const std::string& cache = large_cache();
  ::malloc_trim(0);  // returns memory that earlier tests have freed
  const double before = megabytes_resident();
  const Launcher launcher(cache);
  const Op scale = launcher.op("scale[dtype=f16]");
  scale(nullptr, {8 * 4321, 64}, fake_address(256), fake_address(256), 1.0);
  const double exact = megabytes_resident() - before;
  scale(nullptr, {8 * 4321 + 3, 64}, fake_address(256), fake_address(256), 1.0);
  const double nearest = megabytes_resident() - before;
  RecordProperty("exact_mib", std::to_string(exact));
  RecordProperty("nearest_mib", std::to_string(nearest));
  EXPECT_LT(exact, 32.0);
  EXPECT_LT(nearest, 32.0) << "with the shapes around";
}
#endif

TEST_F(ColdStartTest, a_binary_is_loaded_when_a_shape_of_it_is_first_launched) {
  const Launcher launcher(large_cache());
  const Op scale = launcher.op("scale[dtype=f16]");
  EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 0U);
  for (int i = 201; i <= 205; ++i) {
    scale(nullptr, {8 * (i + 1), 64}, fake_address(256), fake_address(256), 1.0);
  }
  EXPECT_EQ(recording_.calls("cuLibraryLoadData"), 1U) << "one for a hundred shapes";
}

TEST_F(ColdStartTest, a_shape_between_ten_thousand_is_served_by_a_neighbour) {
  const Launcher launcher(large_cache());
  const auto served = launcher.op("scale[dtype=f16]").match({8 * 5000 + 3, 64});
  EXPECT_EQ(served.fit, "nearest");
}

}  // namespace
}  // namespace tilewright

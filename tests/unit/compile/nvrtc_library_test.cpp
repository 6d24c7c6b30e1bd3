// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/nvrtc_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <unistd.h>
#include <algorithm>

#include <cstdlib>
#include <fstream>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// Why a named library is not used.
std::string why_refused(const fs::path& library) {
  NvrtcSearchPlaces places;
  places.library = library;
  NvrtcReport report;
  EXPECT_EQ(NvrtcLibrary::find(places, &report), nullptr);
  return report.why;
}

TEST(NvrtcLibrary, is_found_on_this_machine_with_headers_and_architectures) {
  NvrtcReport report;
  const auto library = NvrtcLibrary::find(nvrtc_search_places(), &report);
  if (library == nullptr) GTEST_SKIP() << report.why;
  EXPECT_TRUE(report.usable());
  EXPECT_GE(report.major, 12);
  EXPECT_TRUE(fs::exists(report.library)) << report.library;
  ASSERT_FALSE(report.include_dirs.empty()) << report.why_no_headers;
  EXPECT_TRUE(fs::exists(report.include_dirs.front() / "cuda_fp16.h"));
  EXPECT_EQ(report.attempts.back().outcome, "used");
  const std::vector<int> archs = library->architectures();
  EXPECT_NE(std::find(archs.begin(), archs.end(), 80), archs.end());
  EXPECT_NE(std::find(archs.begin(), archs.end(), 90), archs.end());
}

TEST(NvrtcLibrary, says_where_it_looked_and_what_to_do_when_there_is_none) {
  NvrtcSearchPlaces places;
  places.loader = false;
  places.homes = {"/nowhere/cuda"};
  NvrtcReport report;
  EXPECT_EQ(NvrtcLibrary::find(places, &report), nullptr);
  EXPECT_FALSE(report.usable());
  EXPECT_THAT(report.why, HasSubstr("/nowhere/cuda/lib64"));
  EXPECT_THAT(report.why, HasSubstr("TILEWRIGHT_NVRTC"));
  EXPECT_THAT(report.why, HasSubstr("pip install nvidia-cuda-nvrtc"));
}

TEST(NvrtcLibrary, a_named_library_that_is_not_there_is_an_error_and_nothing_else_is_tried) {
  NvrtcSearchPlaces places;
  places.library = "/nowhere/libnvrtc.so.13";
  NvrtcReport report;
  EXPECT_EQ(NvrtcLibrary::find(places, &report), nullptr);
  EXPECT_EQ(report.attempts.size(), 1u);
  EXPECT_THAT(report.why, HasSubstr("TILEWRIGHT_NVRTC is /nowhere/libnvrtc.so.13: not there"));
}

TEST(NvrtcLibrary, a_file_that_is_no_library_is_reported_in_the_loaders_words) {
  const fs::path file = fs::path(testing::TempDir()) / ("not_nvrtc_" + std::to_string(::getpid()) + ".so");
  std::ofstream(file) << "text";
  EXPECT_THAT(why_refused(file), HasSubstr("file too short"));
  fs::remove(file);
}

TEST(NvrtcLibrary, another_library_is_refused_by_what_it_lacks) {
  EXPECT_THAT(why_refused("libm.so.6"), HasSubstr("has no nvrtcVersion"));
}

TEST(NvrtcLibrary, a_library_that_is_refused_does_not_stay_loaded) {
  // Of the C library, and loaded by nothing else here.
  EXPECT_THAT(why_refused("libanl.so.1"), HasSubstr("has no nvrtcVersion"));
  EXPECT_EQ(dlopen("libanl.so.1", RTLD_NOW | RTLD_NOLOAD), nullptr);
}

TEST(NvrtcLibrary, the_alternative_build_is_refused_even_through_a_link) {
  const fs::path folder = fs::path(testing::TempDir()) / ("alt_nvrtc_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "libnvrtc.alt.so.13") << "text";
  fs::create_symlink(folder / "libnvrtc.alt.so.13", folder / "libnvrtc.so.13");
  EXPECT_THAT(why_refused(folder / "libnvrtc.so.13"), HasSubstr("32-bit long"));
  fs::remove_all(folder);
}

TEST(NvrtcLibrary, opening_without_one_throws_what_the_report_says) {
  ::setenv("TILEWRIGHT_NVRTC", "/nowhere/libnvrtc.so", 1);
  try {
    (void)NvrtcLibrary::open();
    FAIL() << "a library that is not there was opened";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("NVRTC cannot be used"));
  }
  ::unsetenv("TILEWRIGHT_NVRTC");
}

}  // namespace
}  // namespace tilewright

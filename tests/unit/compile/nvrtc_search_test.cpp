// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/nvrtc_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A machine's file system in a folder: tests make files, and search places point into it.
class NvrtcSearch : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("nvrtc_search_" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
    places_.loader = false;
  }
  void TearDown() override { fs::remove_all(root_); }

  fs::path file(const std::string& name, const std::string& text = {}) {
    fs::path path = root_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }
  fs::path headers(const std::string& dir, int version) {
    file(dir + "/cuda.h", "/* comment */\n#define CUDA_VERSION " + std::to_string(version) + "\n");
    file(dir + "/nv/target");
    return file(dir + "/cuda_fp16.h").parent_path();
  }
  std::vector<fs::path> candidates() const {
    std::vector<fs::path> paths;
    for (const NvrtcCandidate& candidate : nvrtc_candidates(places_)) paths.push_back(candidate.path);
    return paths;
  }

  fs::path root_;
  NvrtcSearchPlaces places_;
};

TEST_F(NvrtcSearch, finds_nothing_on_an_empty_machine) {
  EXPECT_THAT(candidates(), IsEmpty());
  EXPECT_THAT(cuda_include_dirs("libnvrtc.so", 13, 0, places_), IsEmpty());
}

TEST_F(NvrtcSearch, asks_the_loader_first_then_homes_then_toolkits_then_wheels) {
  places_.loader = true;
  places_.homes = {root_ / "home"};
  places_.toolkits = {root_ / "toolkit"};
  places_.site_packages = {root_ / "site"};
  const fs::path home = file("home/lib64/libnvrtc.so.13");
  const fs::path toolkit = file("toolkit/targets/x86_64-linux/lib/libnvrtc.so.12");
  const fs::path wheel13 = file("site/nvidia/cu13/lib/libnvrtc.so.13");
  const fs::path wheel12 = file("site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  EXPECT_THAT(candidates(),
              ElementsAre("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", home, toolkit, wheel13, wheel12));
}

TEST_F(NvrtcSearch, takes_the_newest_version_of_a_folder_and_never_the_alternative) {
  places_.homes = {root_};
  file("lib/libnvrtc.alt.so.13");
  file("lib/libnvrtc.alt.so");
  EXPECT_THAT(candidates(), IsEmpty());
  file("lib/libnvrtc.so");
  const fs::path newest = file("lib/libnvrtc.so.13");
  file("lib/libnvrtc.so.12");
  EXPECT_THAT(candidates(), ElementsAre(newest));
}

TEST_F(NvrtcSearch, a_named_library_or_folder_is_the_only_one_tried) {
  places_.loader = true;
  places_.homes = {root_ / "home"};
  file("home/lib/libnvrtc.so.13");
  places_.library = root_ / "mine.so";
  EXPECT_THAT(candidates(), ElementsAre(root_ / "mine.so"));
  places_.library = file("folder/libnvrtc.so.12").parent_path();
  EXPECT_THAT(candidates(), ElementsAre(root_ / "folder/libnvrtc.so.12"));
}

TEST_F(NvrtcSearch, headers_beside_the_library_come_first) {
  places_.homes = {root_ / "home"};
  headers("home/include", 13000);
  const fs::path library = file("wheel/lib/libnvrtc.so.13");
  const fs::path beside = headers("wheel/include", 13000);
  EXPECT_THAT(cuda_include_dirs(library, 13, 0, places_), ElementsAre(beside));
}

TEST_F(NvrtcSearch, headers_of_the_librarys_own_version_are_preferred_then_of_its_major_version) {
  places_.homes = {root_ / "a", root_ / "b", root_ / "c"};
  headers("a/include", 12080);
  const fs::path major = headers("b/include", 13010);
  EXPECT_THAT(cuda_include_dirs("libnvrtc.so.13", 13, 0, places_), ElementsAre(major));
  const fs::path exact = headers("c/include", 13000);
  EXPECT_THAT(cuda_include_dirs("libnvrtc.so.13", 13, 0, places_), ElementsAre(exact));
}

TEST_F(NvrtcSearch, headers_of_the_twelve_wheels_are_put_together_from_their_folders) {
  const fs::path library = file("site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  file("site/nvidia/cuda_runtime/include/cuda_fp16.h");
  file("site/nvidia/cuda_cccl/include/nv/target");
  EXPECT_THAT(cuda_include_dirs(library, 12, 8, places_),
              ElementsAre(root_ / "site/nvidia/cuda_runtime/include", root_ / "site/nvidia/cuda_cccl/include"));
}

TEST_F(NvrtcSearch, reads_the_version_of_cuda_h) {
  EXPECT_EQ(cuda_version_of(headers("include", 12060)), 12060);
  EXPECT_EQ(cuda_version_of(root_ / "none"), 0);
}

TEST_F(NvrtcSearch, hiding_cuda_leaves_only_what_the_environment_names) {
  ::setenv("TILEWRIGHT_HIDE_CUDA", "1", 1);
  ::setenv("CUDA_HOME", "/named/home", 1);
  ::setenv("TILEWRIGHT_NVRTC", "/named/libnvrtc.so", 1);
  const NvrtcSearchPlaces hidden = nvrtc_search_places();
  EXPECT_FALSE(hidden.loader);
  EXPECT_THAT(hidden.toolkits, IsEmpty());
  EXPECT_THAT(hidden.site_packages, IsEmpty());
  EXPECT_EQ(hidden.homes.front(), "/named/home");
  EXPECT_EQ(hidden.library, "/named/libnvrtc.so");
  ::unsetenv("TILEWRIGHT_HIDE_CUDA");
  EXPECT_TRUE(nvrtc_search_places().loader);
}

TEST_F(NvrtcSearch, finds_the_wheels_of_the_python_on_the_path_and_of_the_active_environment) {
  fs::create_directories(root_ / "python/lib/python3.12/site-packages");
  fs::create_directories(root_ / "venv/lib/python3.11/site-packages");
  file("python/bin/python3");
  ::setenv("PATH", (root_ / "python/bin").c_str(), 1);
  ::setenv("VIRTUAL_ENV", (root_ / "venv").c_str(), 1);
  ::unsetenv("TILEWRIGHT_HIDE_CUDA");
  ::unsetenv("CONDA_PREFIX");
  ::setenv("HOME", root_.c_str(), 1);
  ::unsetenv("PYENV_ROOT");
  EXPECT_THAT(nvrtc_search_places().site_packages,
              ElementsAre(root_ / "venv/lib/python3.11/site-packages", root_ / "python/lib/python3.12/site-packages"));
}

}  // namespace
}  // namespace tilewright

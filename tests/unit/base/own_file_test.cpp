// SPDX-License-Identifier: Apache-2.0
#include "cache/base/own_file.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace tilewright::own_file_test {
namespace {

namespace fs = std::filesystem;

TEST(OwnFile, of_a_program_is_the_program) { EXPECT_EQ(own_file(), fs::read_symlink("/proc/self/exe")); }

TEST(OwnFile, of_a_library_opened_by_a_relative_name_does_not_depend_on_the_working_folder) {
  const fs::path probe = fs::canonical(TILEWRIGHT_OWN_FILE_PROBE);
  const fs::path before = fs::current_path();
  fs::current_path(probe.parent_path());
  void* const library = ::dlopen(("./" + probe.filename().string()).c_str(), RTLD_NOW | RTLD_LOCAL);
  fs::current_path(before);
  ASSERT_NE(library, nullptr) << ::dlerror();
  const auto file_of_probe = reinterpret_cast<const char* (*)()>(::dlsym(library, "file_of_probe"));
  ASSERT_NE(file_of_probe, nullptr);
  ASSERT_NE(before, probe.parent_path());
  EXPECT_EQ(fs::path(file_of_probe()), probe);
}

}  // namespace
}  // namespace tilewright::own_file_test

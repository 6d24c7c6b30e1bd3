// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/catalogue.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cache/base/error.hpp"
#include "tests/unit/definition/helpers.hpp"
#include "tuner/definition/reading/device_code.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;

/// Built-in ops `alpha` and `mini`, in a folder with other files.
class CatalogueTest : public testing::Test {
 protected:
  CatalogueTest() {
    folder_.write("kernels/alpha/alpha.toml", "not even TOML");
    folder_.write("kernels/device/config.cuh", "");
    folder_.write("kernels/device/device.toml", "requires = 'sm_80'");
    folder_.write("kernels/device/row/row.toml", "requires = 'sm_80'");
    folder_.write("kernels/stray.toml", "");
    write_mini("kernels", "built in");
  }

  void write_mini(const std::filesystem::path& dir, const std::string& summary) {
    folder_.write(dir / "mini/mini.cu", kMiniSource);
    folder_.write(dir / "mini/mini.toml",
                  replaced(kMiniToml, "summary = \"y = x\"", fmt::format("summary = '{}'", summary)));
  }

  [[nodiscard]] std::filesystem::path at(const char* relative) const { return folder_.path() / relative; }

  TempFolder folder_;
};

TEST_F(CatalogueTest, names_the_ops_without_loading_them) {
  EXPECT_THAT(Catalogue({}, at("kernels")).names(), ElementsAre("alpha", "mini"));
}

TEST_F(CatalogueTest, loads_a_definition_when_asked_and_only_once) {
  Catalogue catalogue({}, at("kernels"));
  const OpDefinition& mini = catalogue.find("mini");
  EXPECT_EQ(mini.summary, "built in");
  std::filesystem::remove(at("kernels/mini/mini.toml"));
  EXPECT_EQ(&catalogue.find("mini"), &mini);
  EXPECT_THROW(static_cast<void>(catalogue.find("alpha")), DefinitionError);
}

TEST_F(CatalogueTest, puts_a_users_op_before_a_built_in_one_and_the_first_folder_before_the_second) {
  write_mini("first", "first");
  write_mini("second", "second");
  folder_.write("second/beta/beta.toml", "");
  Catalogue catalogue({at("first"), at("second")}, at("kernels"));
  EXPECT_EQ(catalogue.find("mini").summary, "first");
  EXPECT_THAT(catalogue.names(), ElementsAre("alpha", "beta", "mini"));
}

TEST_F(CatalogueTest, takes_the_folder_of_one_op) {
  write_mini("users", "users");
  EXPECT_EQ(Catalogue({at("users/mini")}, at("kernels")).find("mini").summary, "users");
  EXPECT_EQ(Catalogue({at("users/mini/")}, at("kernels")).find("mini").summary, "users");
}

TEST_F(CatalogueTest, finds_headers_of_the_built_in_folder_for_a_users_op) {
  write_mini("users", "users");
  Catalogue catalogue({at("users")}, at("kernels"));
  const std::string before = catalogue.find("mini").implementation("simple").hash;
  folder_.write("kernels/device/config.cuh", "int edited;\n");
  EXPECT_NE(Catalogue({at("users")}, at("kernels")).find("mini").implementation("simple").hash, before);
}

TEST_F(CatalogueTest, names_the_nearest_op_when_there_is_none) {
  Catalogue catalogue({}, at("kernels"));
  try {
    static_cast<void>(catalogue.find("mimi"));
    FAIL() << "found";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "there is no op 'mimi'; did you mean 'mini'?");
  }
}

TEST_F(CatalogueTest, refuses_folders_that_are_not_there_or_hold_no_op) {
  folder_.write("empty/readme.txt", "");
  const auto message = [&](const std::filesystem::path& dir) -> std::string {
    try {
      const Catalogue catalogue({dir}, at("kernels"));
      return "";
    } catch (const UsageError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message(at("gone")), fmt::format("--ops '{}' is not a folder", at("gone").string()));
  EXPECT_EQ(message(at("empty/readme.txt")),
            fmt::format("--ops '{}' is not a folder", at("empty/readme.txt").string()));
  EXPECT_THAT(message(at("empty")), testing::HasSubstr("holds no op"));
  EXPECT_THROW(Catalogue({}, at("gone")), UsageError);
}

TEST_F(CatalogueTest, loads_the_example_of_a_users_op) {
  Catalogue catalogue({examples_dir()}, kernels_source_dir());
  const OpDefinition& saxpy = catalogue.find("saxpy");
  EXPECT_THAT(saxpy.interface.dims, ElementsAre("n"));
  ASSERT_EQ(saxpy.interface.args.size(), 3U);
  EXPECT_EQ(saxpy.interface.args[1].role, ArgRole::inout);
  EXPECT_EQ(saxpy.interface.args[2].role, ArgRole::scalar);
  EXPECT_EQ(saxpy.base.implementation, "stream");
}

TEST(DefinitionReference, shows_the_example_as_it_is) {
  const std::string reference = reading::read_file(examples_dir().parent_path() / "definitions.md");
  const std::string example = reading::read_file(examples_dir() / "saxpy/saxpy.toml");
  EXPECT_THAT(reference, testing::HasSubstr("```toml\n" + example + "```\n"));
}

TEST_F(CatalogueTest, loads_every_built_in_op) {
  Catalogue catalogue({}, kernels_source_dir());
  EXPECT_THAT(catalogue.names(), testing::IsSupersetOf({"copy", "softmax"}));
  for (const std::string& op : catalogue.names()) EXPECT_EQ(catalogue.find(op).interface.op, op);
}

}  // namespace
}  // namespace tilewright::test

// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/fragment.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "cache/base/error.hpp"
#include "tests/unit/definition/helpers.hpp"
#include "tuner/definition/reading/device_code.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;

const std::string_view kFragment = R"toml(requires = "sm_80"
align = { x = "sizeof(dtype) * width", y = "1" }
covers = { cols = "num_warps * 32 * width", rows = "1" }
constraints = ["part <= 16"]
specialize = ["cols"]

[let]
part = "width * 4"
width = 1

[space]
num_warps = [1, 4]
unroll = [1, 2]
static_dims = [0, 1]

[[kernel]]
grid = ["min(rows, 1024)"]
block = ["num_warps * 32"]
shared_bytes = "num_warps * part"
)toml";

/// The small definition, whose `simple` uses a fragment in the kernels folder.
class FragmentTest : public testing::Test {
 protected:
  FragmentTest() {
    folder_.write("kernels/device/config.cuh", "");
    write_fragment(kFragment);
  }

  void write_fragment(std::string_view text) { folder_.write("kernels/device/simple.toml", text); }

  /// `keys`: the implementation's own keys besides its name, source and kernel.
  void write(std::string_view keys, std::string_view kernel) {
    const std::size_t from = kMiniToml.find("requires = \"sm_80\"");
    const std::size_t to = kMiniToml.find("[[implementation]]\nname = \"mapped\"");
    std::string toml(kMiniToml.substr(0, from));
    toml += fmt::format("extends = \"device/simple.toml\"\n{}\n{}\n", keys, kernel);
    toml += kMiniToml.substr(to);
    folder_.write("mini/mini.cu", kMiniSource);
    folder_.write("mini/mini.toml", replaced(toml, "simple{num_warps=4,", "simple{num_warps=4,unroll=1,"));
  }

  [[nodiscard]] OpDefinition load() const {
    return load_definition(folder_.path() / "mini/mini.toml", {folder_.path() / "kernels"});
  }

  /// "mini.toml:12:5: message" for each mistake, folders as `…`.
  [[nodiscard]] std::vector<std::string> mistakes() const {
    std::vector<std::string> found;
    try {
      static_cast<void>(load());
    } catch (const DefinitionError& error) {
      for (const Diagnostic& mistake : error.mistakes()) {
        std::string text = mistake.text();
        const std::string folder = folder_.path().string();
        for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
          text.replace(at, folder.size(), "…");
        }
        found.push_back(text);
      }
    }
    return found;
  }

  TempFolder folder_;
};

constexpr const char* kKernel =
    "[[implementation.kernel]]\nentry = \"mini_simple\"\n"
    "params = [\"ptr:x\", \"ptr:y\", \"scalar:eps\", \"workspace:sums\", \"dim:rows\", \"dim:cols\"]\n"
    "workspace.sums = { bytes = \"4\" }\n";

TEST_F(FragmentTest, gives_what_the_implementation_does_not_say) {
  write("", kKernel);
  const OpDefinition mini = load();
  const Implementation& simple = mini.implementation("simple");
  EXPECT_EQ(simple.recipe.requires_arch, "sm_80");
  EXPECT_THAT(simple.recipe.parameters, ElementsAre("num_warps", "unroll", "static_dims"));
  EXPECT_THAT(simple.recipe.specialize, ElementsAre("cols"));
  ASSERT_EQ(simple.recipe.kernels.size(), 1U);
  EXPECT_EQ(simple.recipe.kernels[0].entry, "mini_simple");
  EXPECT_EQ(simple.recipe.kernels[0].shared_bytes.text(), "num_warps * ((1) * 4)");
}

TEST_F(FragmentTest, aligns_by_its_one_formula_what_the_implementation_does_not_name) {
  write_fragment(replaced(std::string(kFragment), "{ x = \"sizeof(dtype) * width\", y = \"1\" }", "\"2\""));
  write("align = { y = \"1\" }", kKernel);
  const std::string whole = reading::read_file(folder_.path() / "mini/mini.toml");
  const auto align = [&] { return load().implementation("simple").recipe.align; };
  EXPECT_EQ(align().at("x").text(), "2");
  EXPECT_EQ(align().at("y").text(), "1");
  folder_.write("mini/mini.toml", replaced(whole, "align = { y = \"1\" }", "align = { y = \"1\", \"*\" = \"1\" }"));
  EXPECT_EQ(align().at("x").text(), "1");
  folder_.write("mini/mini.toml", replaced(whole, "align = { y = \"1\" }", "align = \"sizeof(dtype)\""));
  EXPECT_EQ(align().at("y").text(), "sizeof(dtype)");
}

TEST_F(FragmentTest, merges_tables_key_by_key_and_constraints_one_behind_the_other) {
  write(
      "constraints = [\"rows >= width\"]\nspace = { unroll = [1], vec = [1, 2] }\nlet = { width = \"2 - 1\" }\n"
      "align = { y = \"2\" }\ncovers = { rows = \"vec\" }",
      std::string(kKernel) + "block = [64]\n");
  folder_.write("mini/mini.toml", replaced(reading::read_file(folder_.path() / "mini/mini.toml"),
                                           "simple{num_warps=4,unroll=1,static_dims=0}",
                                           "simple{num_warps=4,unroll=1,static_dims=0,vec=1}"));
  const OpDefinition mini = load();
  const ImplementationRecipe& recipe = mini.implementation("simple").recipe;
  EXPECT_THAT(recipe.parameters, ElementsAre("num_warps", "unroll", "static_dims", "vec"));
  EXPECT_THAT(mini.implementation("simple").space[1].values, ElementsAre(1));
  ASSERT_EQ(recipe.constraints.size(), 2U);
  EXPECT_EQ(recipe.constraints[0].text(), "((2 - 1) * 4) <= 16") << "the fragment sees the implementation's let";
  EXPECT_EQ(recipe.constraints[1].text(), "rows >= (2 - 1)");
  EXPECT_EQ(recipe.align.at("x").text(), "sizeof(dtype) * (2 - 1)");
  EXPECT_EQ(recipe.align.at("y").text(), "2");
  EXPECT_EQ(recipe.covers.at("cols").text(), "num_warps * 32 * (2 - 1)");
  EXPECT_EQ(recipe.covers.at("rows").text(), "vec");
  EXPECT_EQ(recipe.kernels[0].block[0].text(), "64");
  EXPECT_EQ(recipe.kernels[0].grid[0].text(), "min(rows, 1024)");
}

TEST_F(FragmentTest, beside_the_definition_comes_before_one_in_the_kernels_folder) {
  folder_.write("mini/device/simple.toml", replaced(kFragment, "unroll = [1, 2]", "unroll = [1, 2, 4]"));
  write("", kKernel);
  EXPECT_THAT(load().implementation("simple").space[1].values, ElementsAre(1, 2, 4));
}

TEST_F(FragmentTest, has_its_mistakes_in_its_own_file) {
  std::string fragment = replaced(kFragment, "specialize = ", "specialise = ");
  fragment = replaced(fragment, "part <= 16", "part <= colz");
  fragment = replaced(fragment, "unroll = [1, 2]", "unroll = [1, 1]");
  write_fragment(replaced(fragment, "block = [\"num_warps * 32\"]", "block = [\"num_warps *\"]"));
  write("flavour = 1", kKernel);
  EXPECT_THAT(
      mistakes(),
      ElementsAre(
          "…/mini/mini.toml:24:1: unknown key 'flavour' in implementation 'simple'; known: name, extends, source, "
          "requires, space, let, specialize, constraints, align, covers, kernel",
          "…/kernels/device/simple.toml:4:25: unknown name 'colz' in `part <= colz`; did you mean 'cols'?",
          "…/kernels/device/simple.toml:5:1: unknown key 'specialise' in implementation 'simple'; did you mean "
          "'specialize'?",
          "…/kernels/device/simple.toml:13:14: parameter 'unroll': 1 appears twice",
          "…/kernels/device/simple.toml:14:1: parameter 'static_dims' needs the dims that it makes constant: "
          "specialize = [\"…\"]",
          "…/kernels/device/simple.toml:18:22: expected a value, found the end in `num_warps *`"));
}

TEST_F(FragmentTest, is_blamed_for_a_formula_that_cannot_be_evaluated) {
  write_fragment(replaced(kFragment, "part = \"width * 4\"", "part = \"width / (num_warps - 1)\""));
  write("", kKernel);
  const std::vector<std::string> found = mistakes();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0], testing::StartsWith("…/kernels/device/simple.toml:8:15: division by zero"));
}

TEST_F(FragmentTest, that_is_not_there_is_searched_for_in_these_folders) {
  write("", kKernel);
  std::filesystem::remove(folder_.path() / "kernels/device/simple.toml");
  EXPECT_THAT(mistakes(), ElementsAre("…/mini/mini.toml:23:11: there is no fragment 'device/simple.toml' in …/mini "
                                      "or …/kernels"));
}

TEST_F(FragmentTest, that_is_not_TOML_is_told_with_its_file) {
  write_fragment("[space\n");
  write("", kKernel);
  EXPECT_THAT(mistakes(), ElementsAre(testing::StartsWith("…/kernels/device/simple.toml:1:7: not TOML")));
}

TEST_F(FragmentTest, ends_in_toml_and_is_named_by_a_text) {
  write("", kKernel);
  const std::string toml = reading::read_file(folder_.path() / "mini/mini.toml");
  folder_.write("mini/mini.toml", replaced(toml, "\"device/simple.toml\"", "\"device/simple\""));
  EXPECT_THAT(mistakes(), ElementsAre("…/mini/mini.toml:23:11: 'extends' is 'device/simple'; a fragment is a file "
                                      "that ends in .toml"));
  folder_.write("mini/mini.toml", replaced(toml, "\"device/simple.toml\"", "1"));
  EXPECT_THAT(mistakes(), ElementsAre("…/mini/mini.toml:23:11: 'extends' must be a text, and is an integer"));
}

TEST_F(FragmentTest, has_as_many_kernels_as_the_implementation) {
  write_fragment(std::string(kFragment) + "\n[[kernel]]\ngrid = [1]\nblock = [32]\n");
  write("", kKernel);
  EXPECT_THAT(mistakes(),
              testing::Contains(testing::HasSubstr("the fragment has 2 kernels and the implementation 1: each of the "
                                                   "fragment's needs one that names its entry")));
}

TEST_F(FragmentTest, neither_has_a_name_nor_extends_another) {
  write_fragment(std::string("name = \"x\"\nextends = \"device/more.toml\"\n") + std::string(kFragment));
  write("", kKernel);
  EXPECT_THAT(mistakes(),
              ElementsAre("…/kernels/device/simple.toml:1:1: a fragment has no 'name': that is the implementation's",
                          "…/kernels/device/simple.toml:2:1: a fragment extends no other: there is one level of them"));
}

TEST_F(FragmentTest, may_have_lets_that_the_op_does_not_need) {
  write_fragment(replaced(kFragment, "[let]\n", "[let]\nspare = 3\n"));
  write("", kKernel);
  EXPECT_THAT(mistakes(), ElementsAre());
}

}  // namespace
}  // namespace tilewright::test

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "tests/unit/definition/helpers.hpp"
#include "tuner/definition/catalogue.hpp"

namespace tilewright::test {
namespace {

/// An op with two implementations, each with its own source and header besides shared ones.
class Hashes : public testing::Test {
 protected:
  Hashes() {
    folder_.write("kernels/device/config.cuh", "// fixed\n");
    folder_.write("kernels/device/shared.cuh", "// for both\n");
    folder_.write("kernels/device/mapped_only.cuh", "// for one\n");
    std::string toml =
        replaced(kMiniToml, "name = \"mapped\"\nsource = \"mini.cu\"", "name = \"mapped\"\nsource = \"mapped.cu\"");
    write_toml(toml);
    first_toml_ = toml;
    write_source(std::string("#include \"device/shared.cuh\"\n") += kMiniSource);
    write_mapped(
        "#include \"device/shared.cuh\"\n#include <device/mapped_only.cuh>\n"
        "__global__ void mini_mapped(Map x, float* y) {}\n");
    before_ = hashes();
  }

  void write_toml(const std::string& toml) {
    toml_ = toml;
    folder_.write("mini/mini.toml", toml);
  }
  void write_source(const std::string& text) {
    source_ = text;
    folder_.write("mini/mini.cu", text);
  }
  void write_mapped(const std::string& text) {
    mapped_ = text;
    folder_.write("mini/mapped.cu", text);
  }

  [[nodiscard]] std::map<std::string, std::string> hashes() const {
    std::map<std::string, std::string> result;
    const OpDefinition definition = load_definition(folder_.path() / "mini/mini.toml", {folder_.path() / "kernels"});
    for (const Implementation& implementation : definition.implementations) {
      result[implementation.recipe.name] = implementation.hash;
    }
    return result;
  }

  /// The implementations whose hashes have changed: "", "simple", "mapped" or "simple mapped".
  [[nodiscard]] std::string changed() const {
    const auto now = hashes();
    std::string names;
    for (const char* name : {"simple", "mapped"}) {
      if (now.at(name) == before_.at(name)) continue;
      names += names.empty() ? name : std::string(" ") + name;
    }
    return names;
  }

  TempFolder folder_;
  std::string toml_;
  /// The initial text.
  std::string first_toml_;
  std::string source_;
  std::string mapped_;
  std::map<std::string, std::string> before_;
};

TEST_F(Hashes, differ_between_implementations_and_are_32_digits) {
  EXPECT_NE(before_.at("simple"), before_.at("mapped"));
  for (const auto& [name, hash] : before_) {
    EXPECT_EQ(hash.size(), 32U);
    EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
}

TEST_F(Hashes, stay_when_nothing_changes) { EXPECT_EQ(changed(), ""); }

TEST_F(Hashes, change_with_the_section_of_that_implementation_alone) {
  write_toml(replaced(toml_, "block = [32, 64]", "block = [32, 64, 128]"));
  EXPECT_EQ(changed(), "mapped");
  write_toml(replaced(toml_, "num_warps * 4", "num_warps * 8"));
  EXPECT_EQ(changed(), "simple mapped");
}

TEST_F(Hashes, change_with_the_source_of_that_implementation_alone) {
  write_source(source_ + "int edited;\n");
  EXPECT_EQ(changed(), "simple");
}

TEST_F(Hashes, stay_when_only_the_words_and_the_layout_of_device_code_change) {
  write_source("// Another explanation.\n" + replaced(source_, "{", "\n{ "));
  folder_.write("kernels/device/shared.cuh", "/* for all */\n\n");
  EXPECT_EQ(changed(), "");
}

TEST_F(Hashes, change_with_a_header_that_only_one_includes) {
  folder_.write("kernels/device/mapped_only.cuh", "int edited;\n");
  EXPECT_EQ(changed(), "mapped");
}

TEST_F(Hashes, change_with_a_header_that_both_include) {
  folder_.write("kernels/device/shared.cuh", "int edited;\n");
  EXPECT_EQ(changed(), "simple mapped");
}

TEST_F(Hashes, change_with_the_headers_that_every_generated_source_includes) {
  folder_.write("kernels/device/config.cuh", "int edited;\n");
  EXPECT_EQ(changed(), "simple mapped");
}

TEST_F(Hashes, stay_when_what_blocks_cover_is_said) {
  write_toml(replaced(toml_, "align = { x =", "covers = { cols = \"num_warps * 32\" }\nalign = { x ="));
  EXPECT_EQ(changed(), "");
}

TEST_F(Hashes, change_with_the_order_of_parameters_which_is_that_of_config_texts) {
  write_toml(
      replaced(toml_, "{ num_warps = [1, 4], static_dims = [0, 1] }", "{ static_dims = [0, 1], num_warps = [1, 4] }"));
  EXPECT_EQ(changed(), "simple");
}

TEST_F(Hashes, stay_when_only_formatting_comments_or_the_order_of_keys_change) {
  std::string toml = replaced(toml_, "block = [128]\nattributes = { cluster = [2] }",
                              "attributes.cluster = [ 2 ]\nblock = [128]  # threads");
  toml = replaced(toml, "space = { block = [32, 64] }", "space.block = [\n  32,\n  0x40,\n]");
  write_toml(toml);
  EXPECT_EQ(changed(), "");
}

TEST_F(Hashes, change_with_the_parameters_of_the_op_where_a_kernel_takes_them) {
  const std::string params =
      "params = [\"ptr:x\", \"ptr:y\", \"scalar:eps\", \"workspace:sums\", \"dim:rows\", \"dim:cols\"]\n";
  const std::string toml = replaced(replaced(toml_, params, ""), "bytes = \"2", params + "bytes = \"2");
  write_toml(toml);
  EXPECT_EQ(changed(), "") << "wherever they are listed";
  write_toml(replaced(toml, "\"dim:rows\", \"dim:cols\"]\nbytes", "\"dim:cols\", \"dim:rows\"]\nbytes"));
  EXPECT_EQ(changed(), "simple");
}

TEST_F(Hashes, change_with_a_named_formula) {
  const auto with_let = [&](const char* threads) {
    write_toml(replaced(replaced(first_toml_, "block = [\"num_warps * 32\"]", "block = [\"threads\"]"),
                        "specialize = [\"cols\"]", std::string("specialize = [\"cols\"]\nlet.threads = ") + threads));
    return hashes();
  };
  const auto with_one = with_let("\"num_warps * 32\"");
  const auto with_another = with_let("\"num_warps * 64\"");
  EXPECT_NE(with_one.at("simple"), with_another.at("simple"));
  EXPECT_EQ(with_one.at("mapped"), with_another.at("mapped"));
}

TEST_F(Hashes, change_with_a_fragment_and_not_with_its_name) {
  const auto with_fragment = [&](const char* file, const char* bytes) {
    folder_.write(std::filesystem::path("kernels/device") / file,
                  std::string("[[kernel]]\nshared_bytes = ") + bytes + "\n");
    write_toml(replaced(replaced(first_toml_, "shared_bytes = \"num_warps * 4\"\n", ""), "requires = \"sm_80\"\n",
                        std::string("requires = \"sm_80\"\nextends = \"device/") + file + "\"\n"));
    return hashes();
  };
  const auto with_one = with_fragment("a.toml", "\"num_warps * 4\"");
  EXPECT_EQ(with_one, before_) << "the merged section is what it was";
  EXPECT_EQ(with_fragment("b.toml", "\"num_warps * 4\"  # the same"), before_);
  const auto edited = with_fragment("a.toml", "\"num_warps * 8\"");
  EXPECT_NE(edited.at("simple"), before_.at("simple"));
  EXPECT_EQ(edited.at("mapped"), before_.at("mapped"));
}

TEST_F(Hashes, stay_when_the_rest_of_the_definition_changes) {
  std::string toml = replaced(toml_, "summary = \"y = x\"", "summary = \"another\"");
  toml = replaced(toml, "bf16 = [1e-4, 1e-2]", "bf16 = [1e-3, 1e-2]");
  write_toml(replaced(toml, "eps = 0.5", "eps = 0.25"));
  EXPECT_EQ(changed(), "");
}

TEST_F(Hashes, stay_when_the_folders_move) {
  const TempFolder other;
  std::filesystem::copy(folder_.path(), other.path() / "deeper", std::filesystem::copy_options::recursive);
  const OpDefinition moved = load_definition(other.path() / "deeper/mini/mini.toml", {other.path() / "deeper/kernels"});
  EXPECT_EQ(moved.implementation("simple").hash, before_.at("simple"));
  EXPECT_EQ(moved.implementation("mapped").hash, before_.at("mapped"));
}

TEST_F(Hashes, of_the_interface_cover_what_callers_see_and_nothing_else) {
  const auto interface_hash = [&](const std::string& toml) {
    write_toml(toml);
    return load_definition(folder_.path() / "mini/mini.toml", {folder_.path() / "kernels"}).interface.hash();
  };
  const std::string toml = toml_;
  const std::string before = interface_hash(toml);
  EXPECT_EQ(interface_hash(replaced(toml, "block = [32, 64]", "block = [32]")), before);
  EXPECT_EQ(interface_hash(replaced(toml, "summary = \"y = x\"", "summary = \"z\"")), before);
  EXPECT_NE(interface_hash(replaced(toml, "[\"none\", \"gelu\"]", "[\"none\", \"gelu\", \"silu\"]")), before);
  EXPECT_NE(
      interface_hash(replaced(toml, "shape = [\"rows\", \"cols\"] }", "shape = [\"rows\", \"cols\"], align = 2 }")),
      before);
}

TEST(ImplementationHashes, are_those_of_the_whole_definition) {
  const std::filesystem::path kernels = std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "kernels";
  Catalogue catalogue({}, kernels);
  for (const std::string& op : catalogue.names()) {
    std::vector<std::string> whole;
    for (const Implementation& implementation : catalogue.find(op).implementations)
      whole.push_back(implementation.hash);
    EXPECT_EQ(catalogue.hashes(op), whole) << op;
  }
  EXPECT_TRUE(catalogue.hashes("sofmax").empty());
}

}  // namespace
}  // namespace tilewright::test

// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <fstream>

#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

class NewOp : public CliTest {
 protected:
  /// `check OP` without a GPU's compiler, as JSON.
  [[nodiscard]] nlohmann::json check(const std::string& op, int code) const {
    const Outcome outcome = run({"check", op, "--ops", ops(), "--arch", "none", "--format", "json"});
    EXPECT_EQ(outcome.code, code) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }
  [[nodiscard]] std::string ops() const { return folder / "ops"; }

  void replace_in(const fs::path& file, const std::string& what, const std::string& by) const {
    std::string text = read_file(file);
    const std::size_t at = text.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    std::ofstream(file) << text.replace(at, what.size(), by);
  }
};

TEST_F(NewOp, of_each_kind_checks_right_and_sweeps_at_once) {
  for (const std::string kind : {"row", "free"}) {
    const std::string op = "my_" + kind;
    const Outcome made = run({"new", op, "--kind", kind, "--in", ops()});
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(made.out, ops() + "/" + op + "/" + op + ".toml\n" + ops() + "/" + op + "/" + op + ".cu\n");
    EXPECT_TRUE(contains(made.err, "tilewright check " + op + " --ops " + ops())) << made.err;
    const auto found = check(op, 0);
    EXPECT_EQ(found["rows"][0]["status"], "ok") << found;
    EXPECT_TRUE(contains(found["notes"].dump(), "tilewright sweep " + op)) << found;
    const std::string shape = kind == "row" ? "rows=3 cols=61" : "n=1000";
    const Outcome swept = run({"sweep", op, "--ops", ops(), "--cache", cache(), "--device", "cpu", "--shapes", shape,
                               "--max-configs", "1", "--quiet"});
    EXPECT_EQ(swept.code, 0) << swept.err;
  }
}

TEST_F(NewOp, with_kernels_that_the_emulator_does_not_model_is_not_called_wrong) {
  const Outcome outcome = run({"check", "center", "--ops", fs::path(TILEWRIGHT_CLI_DOCUMENT).parent_path() / "examples",
                               "--arch", "none", "--format", "json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const auto found = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(contains(found["notes"].dump(), "of these need a GPU")) << found;
  EXPECT_TRUE(contains(found["rows"].dump(), "does not model copies by tensor maps")) << found;
}

TEST_F(NewOp, whose_kernel_is_wrong_is_told_without_a_sweep) {
  ASSERT_EQ(run({"new", "axpy", "--kind", "free", "--in", ops()}).code, 0);
  const fs::path source = fs::path(ops()) / "axpy" / "axpy.cu";
  replace_in(source, "fmaf(alpha, to_float(x[i]), to_float(y[i]))", "fmaf(alpha, to_float(x[i]), 1.0f)");
  const auto wrong = check("axpy", 1);
  EXPECT_EQ(wrong["rows"][0]["status"], "wrong_result") << wrong;
  EXPECT_TRUE(contains(wrong["rows"][0]["reason"], "y[")) << wrong;
  replace_in(source, "fmaf(alpha, to_float(x[i]), 1.0f)", "no_such_function(alpha)");
  const auto broken = check("axpy", 1);
  EXPECT_EQ(broken["rows"][0]["status"], "compile_failed") << broken;
  EXPECT_TRUE(contains(broken["rows"][0]["reason"], "no_such_function")) << broken;
}

TEST_F(NewOp, that_reads_vectors_and_claims_the_alignment_of_an_element_is_told) {
  ASSERT_EQ(run({"new", "axpy", "--kind", "free", "--in", ops()}).code, 0);
  replace_in(fs::path(ops()) / "axpy" / "axpy.toml",
             "align = { x = \"vec * sizeof(dtype)\", y = \"vec * sizeof(dtype)\" }", "");
  const auto found = check("axpy", 1);
  EXPECT_TRUE(contains(found["rows"].dump(), "misaligned access")) << found;
}

TEST_F(NewOp, whose_definition_has_mistakes_is_told_all_of_them) {
  ASSERT_EQ(run({"new", "axpy", "--kind", "free", "--in", ops()}).code, 0);
  const fs::path definition = fs::path(ops()) / "axpy" / "axpy.toml";
  replace_in(definition, "3 * n * sizeof(dtype)", "3 * m * sizeof(dtype)");
  replace_in(definition, "num_warps * 32 * vec * unroll), select", "num_warps * 32 * wide * unroll), select");
  const Outcome outcome = run({"check", "axpy", "--ops", ops()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "'m'") && contains(outcome.err, "'wide'")) << outcome.err;
}

TEST_F(NewOp, replaces_nothing_and_hides_no_built_in_op) {
  ASSERT_EQ(run({"new", "axpy", "--in", ops()}).code, 0);
  const Outcome again = run({"new", "axpy", "--in", ops()});
  EXPECT_EQ(again.code, 2);
  EXPECT_TRUE(contains(again.err, "axpy is there already")) << again.err;
  EXPECT_TRUE(contains(run({"new", "softmax", "--in", ops()}).err, "softmax is a built-in op"));
  EXPECT_TRUE(contains(run({"new", "../up", "--in", ops()}).err, "'../up' is not an identifier"));
  EXPECT_TRUE(contains(run({"new", "int", "--in", ops()}).err, "'int' is a keyword of C++"));
  EXPECT_EQ(run({"new"}).code, 2);
  EXPECT_EQ(run({"new", "axpy", "two"}).code, 2);
}

}  // namespace
}  // namespace tilewright::testing

// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/device_code.hpp"

#include <gmock/gmock.h>

#include "cache/base/error.hpp"
#include "tests/unit/definition/helpers.hpp"

namespace tilewright::reading {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> file_names(const SourceClosure& closure) {
  std::vector<std::string> names;
  for (const SourceFile& file : closure.files) names.push_back(file.path.filename().string());
  return names;
}

std::vector<std::string> signatures(std::string_view code) {
  std::vector<std::string> found;
  for (const KernelSignature& kernel : kernels_of(code)) {
    found.push_back(kernel.name + "/" + std::to_string(kernel.parameters.size()));
  }
  return found;
}

TEST(WithoutComments, blanks_comments_and_the_insides_of_literals_and_keeps_lines) {
  EXPECT_EQ(without_comments("a // b\nc /* d\n e */ f\n"), "a     \nc     \n      f\n");
  EXPECT_EQ(without_comments("x = \"// no\"; '/*'; y"), "x = \"     \"; '  '; y");
  EXPECT_EQ(without_comments(R"(s = "a\"// b"; c)"), R"(s = "       "; c)");
}

TEST(WithoutComments, takes_a_digit_separator_for_no_literal) {
  EXPECT_EQ(without_comments("1'000 // x"), "1'000     ");
}

TEST(KernelsOf, counts_the_parameters_of_each_kernel) {
  EXPECT_THAT(signatures("__global__ void a() {}\n"
                         "template <class C> __global__ void b(const typename C::dtype* x, long long n) {}\n"
                         "static __global__ void c(Pair<int, long> p, int (*f)(int, int), int x);"),
              ElementsAre("a/0", "b/2", "c/3"));
}

TEST(KernelsOf, steps_over_launch_bounds_and_attributes) {
  EXPECT_THAT(signatures("__global__ void __launch_bounds__(C::warps * 32, C::warps < 4 ? 2 : 1) a(int x, int y) {}\n"
                         "__global__ __cluster_dims__(2, 1, 1) void b(int x) {}\n"
                         "__global__ void MAX_REGISTERS(64) c(int x) {}\n"),
              ElementsAre("a/2", "b/1", "c/1"));
}

TEST(KernelsOf, has_kernels_in_capitals) {
  EXPECT_THAT(signatures("__global__ void SAXPY(int n, float a) {}\n"
                         "__global__ void MAX_REGISTERS(64) GEMM2(int x) ;\n"),
              ElementsAre("SAXPY/2", "GEMM2/1"));
}

TEST(KernelsOf, sees_no_kernel_in_comments_and_no_comma_in_them) {
  EXPECT_THAT(signatures("// __global__ void a(int x);\n__global__ void b(int x /* one, two */, int y) {}"),
              ElementsAre("b/2"));
}

TEST(KernelsOf, survives_code_that_ends_early) {
  EXPECT_THAT(signatures("__global__"), IsEmpty());
  EXPECT_THAT(signatures("__global__ void a(int x, "), ElementsAre("a/2"));
}

TEST(ClosureOf, follows_includes_once_each_in_the_order_in_which_a_compiler_meets_them) {
  const test::TempFolder folder;
  const auto source = folder.write("op/op.cu", "#include \"device/b.cuh\"\n  #  include \"own.cuh\"\n");
  folder.write("op/own.cuh", "#include \"device/b.cuh\"\n#include <device/c.cuh>\n#include <cuda_fp16.h>\n");
  folder.write("kernels/device/b.cuh", "#include \"a.cuh\"\n");
  folder.write("kernels/device/a.cuh", "#include \"b.cuh\" // a circle\n");
  folder.write("kernels/device/c.cuh", "");
  const SourceClosure closure = closure_of(source, {folder.path() / "kernels"});
  EXPECT_THAT(file_names(closure), ElementsAre("op.cu", "b.cuh", "a.cuh", "own.cuh", "c.cuh"));
  EXPECT_THAT(closure.wrong_includes, IsEmpty());
}

TEST(ClosureOf, prefers_the_folder_of_the_file_that_includes) {
  const test::TempFolder folder;
  const auto source = folder.write("op/op.cu", "#include \"tiles.cuh\"\n");
  folder.write("op/tiles.cuh", "own");
  folder.write("kernels/tiles.cuh", "shared");
  EXPECT_EQ(closure_of(source, {folder.path() / "kernels"}).files.at(1).text, "own");
}

TEST(ClosureOf, names_the_includes_that_it_does_not_find) {
  const test::TempFolder folder;
  const auto source = folder.write("op.cu",
                                   "#include \"gone.cuh\"\n#include \"cuda_bf16.h\"\n#include <gone.h>\n"
                                   "// #include \"comment.cuh\"\n/*\n#include \"block.cuh\"\n*/\n");
  EXPECT_THAT(closure_of(source, {}).wrong_includes,
              ElementsAre("op.cu includes \"gone.cuh\", which is neither beside it nor in the kernels folder"));
}

TEST(ReadFile, says_why_a_file_cannot_be_read) {
  const test::TempFolder folder;
  try {
    static_cast<void>(read_file(folder.path() / "none.cu"));
    FAIL() << "read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::EndsWith("none.cu: No such file or directory"));
  }
  EXPECT_THROW(static_cast<void>(read_file(folder.path())), Error) << "a folder is no file";
}

}  // namespace
}  // namespace tilewright::reading

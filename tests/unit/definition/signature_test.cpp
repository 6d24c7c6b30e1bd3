// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/signature.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tuner/definition/reading/device_code.hpp"

namespace tilewright::reading {
namespace {

TEST(PassedAs, tells_pointers_and_numbers_by_their_size_and_kind) {
  const std::vector<std::pair<const char*, const char*>> known{
      {"const float* __restrict__ x", "pointer"},
      {"typename Config::dtype *y", "pointer"},
      {"float scale", "float"},
      {"const double", "double"},
      {"int", "int"},
      {"unsigned n", "unsigned"},
      {"const unsigned int n", "unsigned"},
      {"long long rows", "long long"},
      {"long rows", "long long"},
      {"std::int64_t rows", "long long"},
      {"unsigned long long seed", "unsigned long long"},
      {"uint64_t seed", "unsigned long long"},
      {"int flag = 1", "int"},
  };
  for (const auto& [declaration, as] : known) EXPECT_EQ(passed_as(declaration), as) << declaration;
}

TEST(PassedAs, says_nothing_of_what_only_the_compiler_knows) {
  for (const char* declaration : {"typename Config::dtype alpha", "T alpha", "const __grid_constant__ TensorMap map",
                                  "Pair<int, float> pair", "const float& x", ""}) {
    EXPECT_EQ(passed_as(declaration), "") << declaration;
  }
}

TEST(Agree, asks_for_as_many_and_of_the_size_and_kind_that_are_passed) {
  const std::vector<Passed> passed{{"alpha", "float"}, {"rows", "long long"}, {"map", ""}};
  EXPECT_TRUE(agree({"float a", "unsigned long long n", "Anything m"}, passed)) << "of a sign nobody minds";
  EXPECT_FALSE(agree({"long long n", "float a", "Anything m"}, passed)) << "in another order";
  EXPECT_FALSE(agree({"float a", "int n", "Anything m"}, passed)) << "half of a number";
  EXPECT_FALSE(agree({"float a", "long long n"}, passed));
  EXPECT_TRUE(agree({"T a", "long long n", "float* m"}, passed)) << "what is not known may be right";
}

TEST(PassedBy, is_what_a_definition_says_of_its_parameters) {
  Argument x;
  x.name = "x";
  Argument seed;
  seed.name = "seed";
  seed.role = ArgRole::scalar;
  seed.type = DType::u64;
  Argument alpha = seed;
  alpha.name = "alpha";
  alpha.type.reset();
  const std::vector<Argument> args{x, seed, alpha};
  EXPECT_EQ(text(passed_by(all_params(args, {"rows"}), args)),
            "pointer x, unsigned long long seed, alpha, long long rows");
  using Kind = KernelParam::Kind;
  EXPECT_EQ(text(passed_by({{Kind::workspace, "partial"}, {Kind::value, "chunks"}, {Kind::map, "a"}}, args)),
            "pointer partial, long long chunks, a");
}

TEST(KernelsOf, have_their_parameters_as_they_are_declared) {
  const auto kernels = kernels_of(
      "template <class C>\n__global__ void __launch_bounds__(C::n * 2, 1)\n"
      "    f(const Pair<int, C>* x,\n      long   long n /* rows */)\n{}\n");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_THAT(kernels.front().parameters, testing::ElementsAre("const Pair<int, C>* x", "long long n"));
}

}  // namespace
}  // namespace tilewright::reading

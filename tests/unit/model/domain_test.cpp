// SPDX-License-Identifier: Apache-2.0
#include "cache/model/domain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cache/base/error.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright::domain_test {
namespace {

using test::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A gemm whose domain has multiples of a vector, and equal sides if a bias is added.
OpInterface narrow() {
  OpInterface op = test::gemm();
  op.domain = test::formulas({"k % 8 == 0", "k <= 256", "m % n == 0", "bias == 'no' or m == n"});
  return op;
}

OpSpec spec_of(const char* text) { return parse_spec(text, narrow()); }

std::string refusal(const char* key) {
  return error_of<UsageError>([&] { (void)parse_problem(key, narrow()); });
}

std::vector<std::int64_t> moved(const char* spec, std::vector<std::int64_t> dims) {
  return dims_in_domain(spec_of(spec), narrow(), dims).value();
}

TEST(Domain, a_problem_inside_is_made_as_if_there_were_none) {
  EXPECT_EQ(parse_problem("gemm{m=6,n=3,k=8}", narrow()), parse_problem("gemm{m=6,n=3,k=8}", test::gemm()));
  EXPECT_EQ(outside_domain(parse_problem("gemm{m=6,n=3,k=8}", narrow()), narrow()), "");
}

TEST(Domain, outside_the_error_names_the_formula_and_its_values) {
  EXPECT_EQ(refusal("gemm{m=6,n=3,k=9}"),
            "gemm[dtype=bf16,layout=nt,bias=no,act=none]{m=6,n=3,k=9} is outside the domain of gemm: `k % 8 == 0` is "
            "false (k=9)");
  EXPECT_THAT(refusal("gemm{m=6,n=4,k=8}"), HasSubstr("`m % n == 0` is false (m=6, n=4)"));
  EXPECT_THAT(refusal("gemm[bias=yes]{m=6,n=3,k=8}"), HasSubstr("is false (bias=yes, m=6, n=3)"));
  EXPECT_THAT(refusal("gemm{m=3,n=4,k=264}"), HasSubstr("`k <= 256` is false (k=264)")) << "the first that is false";
  const std::vector<std::int64_t> dims{6, 4, 8};
  EXPECT_THAT(error_of<UsageError>([&] { (void)make_problem(spec_of("gemm"), narrow(), dims); }),
              HasSubstr("outside the domain"));
}

TEST(Domain, a_formula_without_a_value_is_not_met) {
  OpInterface op = test::gemm();
  op.domain = test::formulas({"m / (n - 1) > 0"});
  EXPECT_THAT(outside_domain(parse_problem("gemm{m=6,n=1,k=8}", test::gemm()), op),
              HasSubstr("`m / (n - 1) > 0` has no value (m=6, n=1): "));
}

TEST(Domain, is_part_of_the_interface_and_of_its_hash) {
  const OpInterface op = narrow();
  EXPECT_NE(op.hash(), test::gemm().hash());
  EXPECT_EQ(interface_from_json(nlohmann::json::parse(to_json(op).dump())), op);
  OpInterface spaced = op;
  spaced.domain[0] = test::formula("k%8 == 0");
  EXPECT_EQ(spaced.hash(), op.hash());
  std::swap(spaced.domain[0], spaced.domain[1]);
  EXPECT_NE(spaced.hash(), op.hash());
  nlohmann::json damaged = to_json(op);
  damaged["domain"][0] = "k %";
  EXPECT_THAT(error_of<CacheError>([&] { (void)interface_from_json(damaged); }), HasSubstr("domain"));
}

TEST(Domain, made_up_dims_are_moved_inside_as_little_as_is_needed) {
  EXPECT_THAT(moved("gemm", {6, 3, 16}), ElementsAre(6, 3, 16));
  EXPECT_THAT(moved("gemm", {1, 1, 1}), ElementsAre(1, 1, 8));
  EXPECT_THAT(moved("gemm", {1001, 1001, 1001}), ElementsAre(1001, 1001, 256));
  EXPECT_THAT(moved("gemm", {100, 7, 61}), ElementsAre(100, 4, 56));
  EXPECT_THAT(moved("gemm[bias=yes]", {48, 16, 48}), ElementsAre(64, 64, 48));
  EXPECT_THAT(dims_in_domain(spec_of("gemm"), test::gemm(), std::vector<std::int64_t>{5, 7, 9}).value(),
              ElementsAre(5, 7, 9))
      << "without a domain all dims are inside";
}

TEST(Domain, an_empty_domain_is_found_out) {
  OpInterface op = test::gemm();
  op.domain = test::formulas({"m > n", "n > m"});
  EXPECT_EQ(dims_in_domain(spec_of("gemm"), op, std::vector<std::int64_t>{5, 7, 9}), std::nullopt);
}

}  // namespace
}  // namespace tilewright::domain_test

// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/shapes.hpp"

#include <gmock/gmock.h>

#include "cache/base/error.hpp"
#include "tests/unit/definition/helpers.hpp"

namespace tilewright::test {
namespace {

using ::testing::ElementsAre;

template <class Call>
std::string refusal(Call call) {
  try {
    static_cast<void>(call());
    return "accepted";
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::string range_refusal(const char* text) {
  return refusal([&] { return parse_range("rows", text); });
}

OpInterface interface() {
  OpInterface result;
  result.op = "mini";
  result.dims = {"rows", "cols"};
  result.dtypes = {DType::f32, DType::bf16};
  return result;
}

OpSpec spec() { return {"mini", DType::bf16, {}}; }

std::vector<std::string> keys(const std::vector<Problem>& problems) {
  std::vector<std::string> texts;
  for (const Problem& problem : problems) texts.push_back(problem.key().substr(std::string("mini[dtype=bf16]").size()));
  return texts;
}

std::string shapes_refusal(const char* text) {
  return refusal([&] { return parse_shapes(text, spec(), interface()); });
}

TEST(Range, lists_values_in_the_order_written_and_drops_doubles) {
  EXPECT_THAT(parse_range("rows", "7,1,7,3"), ElementsAre(7, 1, 3));
  EXPECT_THAT(parse_range("rows", " 5 , 6 "), ElementsAre(5, 6));
}

TEST(Range, is_geometric_with_x_and_arithmetic_with_plus) {
  EXPECT_THAT(parse_range("rows", "256..2048x2"), ElementsAre(256, 512, 1024, 2048));
  EXPECT_THAT(parse_range("rows", "256..1024+256"), ElementsAre(256, 512, 768, 1024));
  EXPECT_THAT(parse_range("rows", "1..10x3"), ElementsAre(1, 3, 9)) << "the end need not be met";
  EXPECT_THAT(parse_range("rows", "1,256..512x2,300..310+5"), ElementsAre(1, 256, 512, 300, 305, 310));
  EXPECT_THAT(parse_range("rows", "4..4x2"), ElementsAre(4));
}

TEST(Range, stops_before_it_overflows) {
  EXPECT_THAT(parse_range("rows", "4611686018427387904..9223372036854775807x2"), ElementsAre(4611686018427387904));
  EXPECT_THAT(parse_range("rows", "9223372036854775800..9223372036854775807+5"),
              ElementsAre(9223372036854775800, 9223372036854775805));
}

TEST(Range, may_have_as_many_values_as_the_limit_and_no_more) {
  EXPECT_EQ(parse_range("rows", "1..100000+1").size(), 100'000U);
  EXPECT_EQ(range_refusal("1..100001+1"), "rows=1..100001+1: more than 100000 values; use a wider step");
}

TEST(Range, says_what_is_wrong_with_it) {
  EXPECT_THAT(range_refusal(""), testing::HasSubstr("a value is missing"));
  EXPECT_THAT(range_refusal("1,,2"), testing::HasSubstr("a value is missing"));
  EXPECT_THAT(range_refusal("1,"), testing::HasSubstr("a value is missing"));
  EXPECT_EQ(range_refusal("x"), "dim 'rows' is 'x', which is not a whole number");
  EXPECT_EQ(range_refusal("0"), "dim 'rows' is 0; dims are at least 1");
  EXPECT_EQ(range_refusal("-4"), "dim 'rows' is -4; dims are at least 1");
  EXPECT_EQ(range_refusal("1.5"), "dim 'rows' is '1.5', which is not a whole number");
  EXPECT_EQ(range_refusal("9223372036854775808"),
            "dim 'rows' is 9223372036854775808, beyond the largest dim, 9223372036854775807");
  EXPECT_EQ(range_refusal("8..4x2"), "rows=8..4x2: the range ends before it starts");
  EXPECT_EQ(range_refusal("1..8"),
            "rows=1..8: a range needs a step, as in 256..4096x2 (doubling) or 256..1024+256 (adding 256)");
  EXPECT_EQ(range_refusal("1..8x1"), "rows=1..8x1: a factor of 1 never reaches the end; use x2 or more");
  EXPECT_EQ(range_refusal("1..8+0"), "dim 'rows' is 0; dims are at least 1");
  EXPECT_EQ(range_refusal("1..8*2"),
            "rows=1..8*2: a range needs a step, as in 256..4096x2 (doubling) or 256..1024+256 (adding 256)");
  EXPECT_EQ(range_refusal("..8x2"), "dim 'rows' has no value; write rows=1024");
  EXPECT_EQ(range_refusal("1..8x"), "dim 'rows' has no value; write rows=1024");
}

TEST(Shapes, of_a_bucketed_dim_are_its_buckets_each_once) {
  OpInterface op = interface();
  op.bucketed = {"rows"};
  EXPECT_THAT(keys(parse_shapes("rows=90..100+5,1000 cols=100", spec(), op)),
              ElementsAre("{rows=96,cols=100}", "{rows=128,cols=100}", "{rows=1024,cols=100}"));
}

TEST(Shapes, are_every_combination_the_rightmost_dim_fastest_in_the_ops_order) {
  EXPECT_THAT(keys(parse_shapes("cols=8,16 rows=1..2+1", spec(), interface())),
              ElementsAre("{rows=1,cols=8}", "{rows=1,cols=16}", "{rows=2,cols=8}", "{rows=2,cols=16}"));
  EXPECT_THAT(keys(parse_shapes("  rows=3\n\tcols=4 ", spec(), interface())), ElementsAre("{rows=3,cols=4}"));
}

TEST(Shapes, say_which_dim_is_unknown_doubled_or_missing) {
  EXPECT_EQ(shapes_refusal("rows=1 colls=2"), "mini has no dim 'colls'; did you mean 'cols'?");
  EXPECT_EQ(shapes_refusal("rows=1 cols=2 rows=3"), "dim 'rows' appears twice");
  EXPECT_EQ(shapes_refusal("rows=1"), "no values for dim 'cols' of mini: add cols=VALUES");
  EXPECT_EQ(shapes_refusal(""), "no values for dim 'rows' of mini: add rows=VALUES");
  EXPECT_EQ(shapes_refusal("1024"), "'1024' is not a shape: write DIM=VALUES, such as rows=1024,4096");
  EXPECT_EQ(shapes_refusal("rows=1..2000+1 cols=1..2000+1"), "more than 1000000 shapes of mini: use shorter lists");
  EXPECT_THAT(shapes_refusal("rows= cols=1"), testing::HasSubstr("a value is missing"));
}

class ShapesCsv : public testing::Test {
 protected:
  std::vector<std::string> read(std::string_view text) {
    return keys(read_shapes_csv(folder_.write("shapes.csv", text), spec(), interface()));
  }

  /// The error of reading a CSV file, after the file's name.
  std::string csv_refusal(std::string_view text) {
    const std::filesystem::path file = folder_.write("shapes.csv", text);
    const std::string message = refusal([&] { return read_shapes_csv(file, spec(), interface()); });
    EXPECT_THAT(message, testing::StartsWith(file.string()));
    return message.substr(std::min(message.size(), file.string().size()));
  }

  TempFolder folder_;
};

TEST_F(ShapesCsv, are_one_a_line_with_columns_in_any_order) {
  EXPECT_THAT(read("cols,rows\n8,1\n16,2\n"), ElementsAre("{rows=1,cols=8}", "{rows=2,cols=16}"));
}

TEST_F(ShapesCsv, may_come_from_a_spreadsheet) {
  EXPECT_THAT(read("\xEF\xBB\xBFrows, cols\r\n1, 8\r\n\r\n2,16"), ElementsAre("{rows=1,cols=8}", "{rows=2,cols=16}"));
}

TEST_F(ShapesCsv, are_refused_with_the_line) {
  EXPECT_EQ(csv_refusal("rows,colz\n"), ":1: mini has no dim 'colz'; did you mean 'cols'?");
  EXPECT_EQ(csv_refusal("rows\n"), ":1: no column for dim 'cols'");
  EXPECT_EQ(csv_refusal("rows,cols,rows\n"), ":1: dim 'rows' appears twice");
  EXPECT_EQ(csv_refusal("rows,cols\n1,2\n3\n"), ":3: the line has 1 values for 2 columns");
  EXPECT_EQ(csv_refusal("rows,cols\n1,2,3\n"), ":2: the line has 3 values for 2 columns");
  EXPECT_EQ(csv_refusal("rows,cols\n\n1,0\n"), ":3: dim 'cols' is 0; dims are at least 1");
  EXPECT_EQ(csv_refusal("rows,cols\n1..4x2,8\n"), ":2: dim 'rows' is '1..4x2', which is not a whole number");
  EXPECT_EQ(csv_refusal(""), ": no shapes; the first line names the dims (rows,cols), each further line is one shape");
  EXPECT_EQ(csv_refusal("rows,cols\n"),
            ": no shapes; the first line names the dims (rows,cols), each further line is one shape");
}

TEST_F(ShapesCsv, must_exist) {
  EXPECT_EQ(refusal([] { return read_shapes_csv("/nowhere.csv", spec(), interface()); }),
            "cannot read shapes from /nowhere.csv: no such file, or not readable");
}

TEST(DefaultShapes, are_the_definitions_grid_for_the_kind_of_device) {
  const OpDefinition mix = load_mix();
  const OpSpec of_mix = parse_spec("mix[dtype=bf16,act=relu]", mix.interface);
  std::vector<std::string> gpu;
  for (const Problem& problem : default_shapes(mix, of_mix, false)) gpu.push_back(problem.key());
  EXPECT_THAT(gpu, ElementsAre("mix[dtype=bf16,layout=nt,bias=no,act=relu]{m=64,n=4096,k=4096}",
                               "mix[dtype=bf16,layout=nt,bias=no,act=relu]{m=512,n=4096,k=4096}",
                               "mix[dtype=bf16,layout=nt,bias=no,act=relu]{m=4096,n=4096,k=4096}"));
  std::vector<std::string> cpu;
  for (const Problem& problem : default_shapes(mix, of_mix, true)) cpu.push_back(problem.key());
  EXPECT_THAT(cpu, ElementsAre("mix[dtype=bf16,layout=nt,bias=no,act=relu]{m=1,n=32,k=64}",
                               "mix[dtype=bf16,layout=nt,bias=no,act=relu]{m=17,n=32,k=64}"));
}

}  // namespace
}  // namespace tilewright::test

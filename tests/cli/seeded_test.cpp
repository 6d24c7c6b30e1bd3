// SPDX-License-Identifier: Apache-2.0
// `sweep --seeded`, on the emulator: random shapes between the tuned ones.
#include <set>

#include "cache/store/store.hpp"
#include "tests/cli/program.hpp"

namespace tilewright::testing {
namespace {

class SeededSweep : public CliTest {
 protected:
  [[nodiscard]] Outcome sweep(const std::vector<std::string>& more) const {
    std::vector<std::string> words{"sweep",
                                   "lapse",
                                   "--device",
                                   "cpu",
                                   "--budget-ms",
                                   "10",
                                   "--ops",
                                   TILEWRIGHT_TEST_REGRET_OPS,
                                   "--no-ceilings",
                                   "--max-configs",
                                   "1",
                                   "--cache",
                                   cache(),
                                   "--quiet"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  /// rows and cols of the shapes with a winner.
  [[nodiscard]] std::set<std::pair<std::int64_t, std::int64_t>> tuned() const {
    std::set<std::pair<std::int64_t, std::int64_t>> shapes;
    const Store store(cache(), {.access = StoreAccess::read});
    for (const auto& row :
         store.list_winners({.op = "lapse", .fingerprint = "cpu", .mode = {}, .role = WinnerRole::best})) {
      shapes.emplace(row.problem.dims.at(0).second, row.problem.dims.at(1).second);
    }
    return shapes;
  }
};

TEST_F(SeededSweep, tunes_shapes_between_the_tuned_ones_and_each_time_others) {
  ASSERT_EQ(sweep({"rows=3,40", "cols=33,900"}).code, 0);
  const auto before = tuned();
  ASSERT_EQ(before.size(), 4U);
  const Outcome planned = sweep({"--seeded", "3", "--dry-run"});
  EXPECT_EQ(planned.code, 0) << planned.err;
  EXPECT_EQ(tuned(), before);

  for (const std::size_t there : {7U, 10U}) {
    const Outcome outcome = sweep({"--seeded", "3"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const auto now = tuned();
    EXPECT_EQ(now.size(), there) << outcome.out;
    for (const auto& [rows, cols] : now) {
      EXPECT_TRUE(rows >= 3 && rows <= 40 && cols >= 33 && cols <= 900) << rows << " x " << cols;
      // Those of the dry run come first.
      if (there == 7 && !before.contains({rows, cols})) {
        EXPECT_TRUE(contains(planned.out, std::to_string(rows)) && contains(planned.out, std::to_string(cols)))
            << rows << " x " << cols << "\n"
            << planned.out;
      }
    }
  }
}

TEST_F(SeededSweep, draws_within_the_bounds_of_dims) {
  ASSERT_EQ(sweep({"rows=3,40", "cols=33,900"}).code, 0);
  const auto before = tuned();
  const Outcome outcome = sweep({"--seeded", "4", "--within", "rows=2..8 cols=100..1000000"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(tuned().size(), before.size() + 4);
  for (const auto& [rows, cols] : tuned()) {
    if (before.contains({rows, cols})) continue;
    EXPECT_TRUE(rows >= 3 && rows <= 8 && cols >= 100 && cols <= 900) << rows << " x " << cols;
  }
  const Outcome nothing = sweep({"--seeded", "4", "--within", "rows=41..50"});
  EXPECT_EQ(nothing.code, 1);
  EXPECT_TRUE(contains(nothing.err, "can be drawn between")) << nothing.err;
  EXPECT_TRUE(contains(nothing.err, "with rows=41..50")) << nothing.err;
}

TEST_F(SeededSweep, says_what_to_do_where_no_shape_can_be_drawn) {
  const Outcome none = sweep({"--seeded", "3"});
  EXPECT_EQ(none.code, 1) << none.err;
  EXPECT_TRUE(
      contains(none.err, "no shape of lapse[dtype=f32,kind=one] can be drawn between the 0 that are tuned on cpu"))
      << none.err;
  EXPECT_TRUE(contains(none.err, "tune a small and a large one first")) << none.err;
  ASSERT_EQ(sweep({"rows=3", "cols=33"}).code, 0);
  EXPECT_TRUE(contains(sweep({"--seeded", "3"}).err, "between the 1 that are tuned")) << "nothing lies between";
}

TEST_F(SeededSweep, takes_no_shapes_and_no_other_source_of_them) {
  for (const auto& [more, told] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--seeded", "3", "rows=4"}, "--seeded draws the shapes: leave out dims"},
           {{"--seeded", "3", "--shapes", "rows=4 cols=5"}, "--seeded draws the shapes"},
           {{"--seeded", "0"}, "--seeded"},
           {{"--within", "rows=1..4"}, "--within goes with --seeded"},
           {{"--seeded", "3", "--within", "rows=4..1"}, "--within takes NAME=LEAST..MOST, such as rows=1..128"},
           {{"--seeded", "3", "--within", "rows"}, "dim 'rows' has no value"},
           {{"--seeded", "3", "--within", "rows=1..x"}, "dim 'rows' is 'x', which is not a whole number"},
           {{"--seeded", "3", "--within", "rows=0..5"}, "dim 'rows' is 0; dims are at least 1"},
           {{"--seeded", "3", "--within", "row=1..4"}, "row is no dim of lapse; did you mean"},
           {{"--seeded", "3", "--within", "rows=1 rows=2"}, "--within names rows twice"},
           {{"--seeded", "3", "--misses"}, "--seeded"},
           {{"--seeded", "3", "--revalidate"}, "--seeded"}}) {
    const Outcome outcome = sweep(more);
    EXPECT_EQ(outcome.code, 2) << told << "\n" << outcome.err;
    EXPECT_TRUE(contains(outcome.err, told)) << outcome.err;
  }
}

}  // namespace
}  // namespace tilewright::testing

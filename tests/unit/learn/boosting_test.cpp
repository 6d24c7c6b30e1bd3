// SPDX-License-Identifier: Apache-2.0
#include "tuner/learn/boosting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>

namespace tilewright::boosting_test {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using ::testing::SizeIs;

FeatureSpace space() { return {{"any"}, {}, 0}; }

/// A row of a space without parameters and dims; features after the given ones are 0.
std::vector<float> row_of(std::initializer_list<double> values) {
  std::vector<float> row(space().count(), 0);
  std::ranges::transform(values, row.begin(), [](double value) { return static_cast<float>(value); });
  return row;
}

struct Table {
  BoostingRows rows{.features = space().count()};

  void add(std::initializer_list<double> values, double target, double weight = 1) {
    const std::vector<float> row = row_of(values);
    rows.values.insert(rows.values.end(), row.begin(), row.end());
    rows.targets.push_back(static_cast<float>(target));
    rows.weights.push_back(static_cast<float>(weight));
  }
  [[nodiscard]] LossModel::Contents learned(const BoostingSettings& settings = {}) const {
    LossModel::Contents contents;
    contents.space = space();
    boost(rows, settings, contents);
    return contents;
  }
  [[nodiscard]] LossModel model(const BoostingSettings& settings = {}) const { return LossModel(learned(settings)); }
};

double ask(const LossModel& model, std::initializer_list<double> values) { return model.loss(row_of(values)); }

/// A table of a function of two features, each at `steps` places from 0 to 1.
Table of_two(const std::function<double(double, double)>& function, int steps) {
  Table table;
  for (int i = 0; i < steps; ++i) {
    for (int j = 0; j < steps; ++j) {
      const double x = i / (steps - 1.0);
      const double y = j / (steps - 1.0);
      table.add({x, y}, function(x, y));
    }
  }
  return table;
}

/// The mean and greatest error of a model, between the places where it was learned.
std::pair<double, double> how_far(const LossModel& model, const std::function<double(double, double)>& function,
                                  int steps) {
  double sum = 0;
  double greatest = 0;
  for (int i = 0; i + 1 < steps; ++i) {
    for (int j = 0; j + 1 < steps; ++j) {
      const double x = (i + 0.25) / (steps - 1.0);
      const double y = (j + 0.25) / (steps - 1.0);
      const double away = std::abs(ask(model, {x, y}) - function(x, y));
      sum += away;
      greatest = std::max(greatest, away);
    }
  }
  return {sum / ((steps - 1) * (steps - 1)), greatest};
}

TEST(Boosting, learns_a_step_where_it_is) {
  Table table;
  for (int i = 0; i < 400; ++i) table.add({i / 400.0}, i < 150 ? -0.5 : 1);
  const LossModel model = table.model();
  // Half-way between the rows at 149/400 and 150/400.
  for (const double below : {-7.0, 0.0, 0.2, 0.3737}) EXPECT_NEAR(ask(model, {below}), -0.5, 1e-3) << below;
  for (const double above : {0.3738, 0.5, 0.9975, 7.0}) EXPECT_NEAR(ask(model, {above}), 1, 1e-3) << above;
}

TEST(Boosting, learns_what_two_features_do_together) {
  const auto product = [](double x, double y) { return x * y; };
  const auto [mean, greatest] = how_far(of_two(product, 40).model(), product, 40);
  // Neighbours differ by 1/39 of the range, with one cut between them.
  EXPECT_LT(mean, 0.008);
  EXPECT_LT(greatest, 0.02);
  // One feature inverts the effect of the other. With equal halves the first cut would gain nothing and not be made.
  const auto either = [](double x, double y) { return (x < 0.4) == (y < 0.6) ? 1.0 : -1.0; };
  EXPECT_LT(how_far(of_two(either, 40).model(), either, 40).second, 0.05);
}

TEST(Boosting, makes_the_same_trees_of_the_same_rows) {
  const Table table = of_two([](double x, double y) { return std::sin(7 * x) + y; }, 30);
  const LossModel::Contents contents = table.learned();
  EXPECT_EQ(contents, table.learned());
  EXPECT_THAT(contents.roots, SizeIs(BoostingSettings().trees));
}

TEST(Boosting, counts_rows_by_their_weights) {
  Table table;
  for (int i = 0; i < 400; ++i) {
    const bool is_rare = i % 2 == 0;
    table.add({i < 200 ? 0.0 : 1.0}, is_rare ? 1 : 0, is_rare == (i < 200) ? 1 : 9);
  }
  const LossModel::Contents contents = table.learned();
  EXPECT_NEAR(contents.mean, 0.5, 1e-6);
  const LossModel model{contents};
  EXPECT_NEAR(ask(model, {0}), 0.1, 1e-3);
  EXPECT_NEAR(ask(model, {1}), 0.9, 1e-3);
}

TEST(Boosting, of_features_that_are_the_same_everywhere_expects_the_mean) {
  Table table;
  for (int i = 0; i < 100; ++i) table.add({3, -2}, i % 4 == 0 ? 1 : 0);
  const LossModel::Contents contents = table.learned();
  EXPECT_THAT(contents.cuts, Each(IsEmpty()));
  EXPECT_THAT(contents.roots, IsEmpty());
  EXPECT_FLOAT_EQ(static_cast<float>(ask(LossModel(contents), {9, 9})), 0.25F);
}

TEST(Boosting, of_targets_that_are_the_same_everywhere_grows_no_tree) {
  Table table;
  for (int i = 0; i < 100; ++i) table.add({i / 100.0}, 0.7);
  const LossModel::Contents contents = table.learned();
  EXPECT_THAT(contents.roots, IsEmpty());
  EXPECT_THAT(contents.nodes, IsEmpty());
  EXPECT_GT(contents.unit, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(ask(LossModel(contents), {0.5})), 0.7F);
}

TEST(Boosting, of_nothing_expects_nothing) {
  EXPECT_EQ(ask(Table().model(), {1, 2}), 0);
  Table weightless;
  for (int i = 0; i < 100; ++i) weightless.add({i / 100.0}, i, 0);
  EXPECT_EQ(ask(weightless.model(), {0.5}), 0);
}

TEST(Boosting, halves_no_leaf_into_fewer_rows_than_are_asked) {
  Table table;
  for (int i = 0; i < 15; ++i) table.add({i / 15.0}, i < 8 ? 0 : 1);
  EXPECT_THAT(table.learned().roots, IsEmpty()) << "two leaves would need 16";
  table.add({1}, 1);
  EXPECT_NEAR(ask(table.model(), {0}), 0, 1e-3);
  EXPECT_NEAR(ask(table.model(), {1}), 1, 1e-3);
  // Two outliers are too few for a leaf.
  Table few;
  for (int i = 0; i < 200; ++i) few.add({i / 200.0}, i < 2 ? 1 : 0);
  EXPECT_LT(ask(few.model(), {0}), 0.3);
  EXPECT_GT(ask(few.model({.rows = 2}), {0}), 0.99);
}

TEST(Boosting, of_more_values_than_a_node_can_tell_apart_cuts_between_as_many_rows_each) {
  Table table;
  // Few values are far apart; most are near 0.
  for (int i = 0; i < 5000; ++i) table.add({std::pow(i / 5000.0, 4)}, i / 5000.0);
  const LossModel::Contents contents = table.learned();
  EXPECT_THAT(contents.cuts[0], SizeIs(LossModel::kMostCuts));
  EXPECT_TRUE(std::ranges::is_sorted(contents.cuts[0]));
  const LossModel model{contents};
  for (int i = 0; i < 5000; i += 7) {
    EXPECT_NEAR(ask(model, {std::pow(i / 5000.0, 4)}), i / 5000.0, 0.01) << i;
  }
  Table as_many;
  for (int i = 0; i < 255 * 20; ++i) as_many.add({static_cast<double>(i % 255)}, i % 255);
  const LossModel::Contents exact = as_many.learned();
  ASSERT_THAT(exact.cuts[0], SizeIs(LossModel::kMostCuts));
  EXPECT_EQ(exact.cuts[0].front(), 0.5F) << "half-way between neighbours";
  for (const int value : {0, 1, 100, 253, 254}) {
    EXPECT_NEAR(ask(LossModel(exact), {static_cast<double>(value)}), value, 0.5) << value;
  }
}

TEST(Boosting, cuts_one_value_that_most_rows_have_from_the_others) {
  Table table;
  for (int i = 0; i < 2000; ++i) table.add({i < 1500 ? 0.0 : i - 1499.0}, i < 1500 ? 0 : 1);
  const LossModel model = table.model();
  EXPECT_NEAR(ask(model, {0}), 0, 0.01);
  EXPECT_NEAR(ask(model, {500}), 1, 0.01);
  EXPECT_NEAR(ask(model, {20}), 1, 0.01);
}

TEST(Boosting, grows_trees_of_as_many_leaves_as_a_byte_can_lead_over) {
  const auto uneven = [](double x, double y) { return std::sin(40 * x) * std::cos(33 * y); };
  const LossModel::Contents contents = of_two(uneven, 60).learned({.trees = 40, .leaves = 127, .rows = 1});
  ASSERT_THAT(contents.roots, SizeIs(40));
  EXPECT_EQ(contents.roots[1], 2 * 127 - 1U);
  EXPECT_NO_THROW((void)LossModel(contents));
  // A single feature, and a tree that degenerates to one side.
  Table leaning;
  for (int i = 0; i < 254; ++i) leaning.add({static_cast<double>(i)}, std::pow(1.1, i));
  EXPECT_NO_THROW((void)leaning.model({.trees = 3, .leaves = 127, .rows = 1}));
}

TEST(Boosting, takes_less_of_what_few_rows_say) {
  Table table;
  for (int i = 0; i < 40; ++i) table.add({i < 20 ? 0.0 : 1.0}, i < 20 ? -1 : 1);
  const BoostingSettings one{.trees = 1, .rate = 1};
  EXPECT_NEAR(ask(table.model(one), {1}), 20.0 / 21, 1e-3);
  BoostingSettings doubtful = one;
  doubtful.doubt = 20;
  EXPECT_NEAR(ask(table.model(doubtful), {1}), 0.5, 1e-3);
  doubtful.rate = 0.1;
  EXPECT_NEAR(ask(table.model(doubtful), {1}), 0.05, 1e-3);
}

TEST(Boosting, leaves_a_part_of_the_groups_out_of_each_tree_in_turn) {
  Table table;
  for (int i = 0; i < 4000; ++i) {
    const bool is_second = i % 4 < 2;
    const bool is_high = i % 2 == 0;
    table.add({is_high ? 1.0 : 0.0}, is_second && is_high ? 1 : 0);
    table.rows.groups.push_back(is_second ? 1 : 0);
  }
  const auto high = [&](int trees, std::size_t parts) {
    return ask(table.model({.trees = trees, .parts = parts, .rate = 1, .doubt = 0}), {1});
  };
  EXPECT_NEAR(high(1, 1), 0.5, 2e-3) << "of both";
  EXPECT_NEAR(high(1, 2), 1, 2e-3) << "of the second group alone";
  EXPECT_NEAR(high(2, 2), 0, 2e-3) << "the last tree is of the first group alone, whatever those before it say";
}

TEST(Boosting, goes_on_where_a_tree_has_nothing_to_learn_from) {
  Table table;
  for (int i = 0; i < 400; ++i) table.add({i < 200 ? 0.0 : 1.0}, i < 200 ? 0 : 1);
  table.rows.groups.assign(400, 2);
  const LossModel::Contents contents = table.learned({.trees = 8, .parts = 4, .rate = 0.5});
  EXPECT_THAT(contents.roots, SizeIs(6)) << "all but the third and the seventh";
  EXPECT_NEAR(ask(LossModel(contents), {1}), 1, 0.02);
}

TEST(Boosting, of_great_targets_is_as_right_as_of_small_ones) {
  const auto plane = [](double x, double y) { return 1e-3 * x - 1e3 * y; };
  // The error is at most a quarter of the distance between neighbours, whatever the unit.
  EXPECT_LT(how_far(of_two(plane, 30).model(), plane, 30).second, 0.26 * 1e3 / 29);
}

}  // namespace
}  // namespace tilewright::boosting_test

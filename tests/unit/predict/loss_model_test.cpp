// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/loss_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "cache/base/error.hpp"
#include "tests/unit/model/cache_helpers.hpp"
#include "tests/unit/predict/hand_made_model.hpp"

namespace tilewright::loss_model_test {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNoNumber = std::numeric_limits<float>::quiet_NaN();

/// Two trees over 14 features: the first splits on feature 3 twice, the second on feature 5 once.
LossModel::Contents two_trees() {
  LossModel::Contents contents;
  contents.space.implementations = {"one", "two"};
  contents.configs = {{0, Config::parse("a{x=1}")}, {1, Config::parse("b{}")}};
  contents.cuts.resize(contents.space.count());
  contents.cuts[3] = {1, 2.5F};
  contents.cuts[5] = {-4};
  contents.nodes = {{3, 1, 4}, {3, 0, 2},          LossModel::leaf(-10),  LossModel::leaf(20), LossModel::leaf(300),
                    {5, 0, 2}, LossModel::leaf(0), LossModel::leaf(-4000)};
  contents.roots = {0, 5};
  contents.mean = 1;
  contents.unit = 0.5;
  contents.shapes = 7;
  return contents;
}

std::vector<float> features_of(float third, float fifth, std::size_t count = 14) {
  std::vector<float> features(count, 0);
  features.at(3) = third;
  features.at(5) = fifth;
  return features;
}

std::string refusal_of(const std::function<void(LossModel::Contents&)>& change) {
  LossModel::Contents contents = two_trees();
  change(contents);
  return test::error_of<UsageError>([&] { const LossModel model(contents); });
}

TEST(LossModel, adds_up_the_leaves_that_the_cuts_lead_to) {
  const LossModel model(two_trees());
  const auto loss = [&](float third, float fifth) { return model.loss(features_of(third, fifth)); };
  EXPECT_DOUBLE_EQ(loss(0, -5), 1 + 0.5 * -10);
  EXPECT_DOUBLE_EQ(loss(std::nextafter(1.0F, 0.0F), -5), 1 + 0.5 * -10) << "just below the cut";
  EXPECT_DOUBLE_EQ(loss(1, -5), 1 + 0.5 * 20) << "who is at a cut is not below it";
  EXPECT_DOUBLE_EQ(loss(std::nextafter(2.5F, 0.0F), -5), 1 + 0.5 * 20);
  EXPECT_DOUBLE_EQ(loss(2.5F, -5), 1 + 0.5 * 300);
  EXPECT_DOUBLE_EQ(loss(9, -5), 1 + 0.5 * 300);
  EXPECT_DOUBLE_EQ(loss(9, -4), 1 + 0.5 * (300 - 4000)) << "of both trees";
  EXPECT_DOUBLE_EQ(loss(-kInfinite, kInfinite), 1 + 0.5 * (-10 - 4000));
  EXPECT_TRUE(std::isfinite(loss(kNoNumber, kNoNumber)));
}

TEST(LossModel, without_a_tree_expects_the_mean) {
  LossModel::Contents contents = two_trees();
  contents.nodes.clear();
  contents.roots.clear();
  EXPECT_EQ(LossModel(contents).loss(features_of(0, 0)), 1);
}

TEST(LossModel, has_leaves_of_whole_units_of_either_sign) {
  for (const double units : {0.0, 1.0, -1.0, 255.0, -256.0, 32767.0, -32767.0}) {
    LossModel::Contents contents = two_trees();
    contents.nodes = {LossModel::leaf(units)};
    contents.roots = {0};
    EXPECT_EQ(LossModel(contents).loss(features_of(0, 0)), 1 + 0.5 * units);
  }
  EXPECT_EQ(LossModel::leaf(2.4), LossModel::leaf(2));
  EXPECT_EQ(LossModel::leaf(-2.6), LossModel::leaf(-3));
}

TEST(LossModel, asked_with_other_features_than_it_has_is_an_error) {
  const LossModel model(two_trees());
  for (const std::size_t count : {0UL, 13UL, 15UL, 28UL}) {
    EXPECT_THROW((void)model.loss(std::vector<float>(count, 0)), UsageError) << count;
  }
  EXPECT_THROW((void)model.losses(std::vector<float>(15, 0)), UsageError);
}

TEST(LossModel, asked_for_many_says_of_each_what_it_says_of_that_one) {
  const LossModel model(two_trees());
  std::vector<float> all;
  std::vector<double> one_by_one;
  for (const float third : {0.0F, 1.0F, 2.5F, 9.0F}) {
    for (const float fifth : {-5.0F, -4.0F}) {
      const std::vector<float> each = features_of(third, fifth);
      all.insert(all.end(), each.begin(), each.end());
      one_by_one.push_back(model.loss(each));
    }
  }
  EXPECT_EQ(model.losses(all), one_by_one);
  EXPECT_GT(std::set<double>(one_by_one.begin(), one_by_one.end()).size(), 2U);
  EXPECT_TRUE(model.losses({}).empty());
}

TEST(LossModel, is_read_back_as_it_was_written) {
  const LossModel model(two_trees());
  const LossModel again = LossModel::decode(model.encode()).value();
  EXPECT_EQ(again, model);
  EXPECT_EQ(again.shapes(), 7U);
  EXPECT_EQ(again.space(), two_trees().space);
  EXPECT_EQ(again.configs(), two_trees().configs);
  EXPECT_EQ(again.encode(), model.encode()) << "always the same bytes, which have a hash";
  const LossModel cut = test::model_of({{"one"}, {"x", "y"}, 3}, {.feature = 2, .cut = 0.1F, .otherwise = 1});
  EXPECT_EQ(LossModel::decode(cut.encode()), cut);
}

TEST(LossModel, whose_parts_do_not_fit_together_is_refused) {
  using Contents = LossModel::Contents;
  EXPECT_THAT(refusal_of([](Contents& p) { p.cuts.pop_back(); }), HasSubstr("differ in number"));
  EXPECT_THAT(refusal_of([](Contents& p) { p.space.parameters.push_back("x"); }), HasSubstr("differ in number"));
  EXPECT_THAT(refusal_of([](Contents& p) { p.cuts[3] = {2.5F, 1}; }), HasSubstr("not in order"));
  EXPECT_THAT(refusal_of([](Contents& p) { p.cuts[3].assign(255, 1); }), HasSubstr("not in order")) << "too many";
  EXPECT_THAT(refusal_of([](Contents& p) { p.configs[1].implementation = 2; }), HasSubstr("no implementation"));
  EXPECT_THAT(refusal_of([](Contents& p) { p.space.implementations.clear(); }), HasSubstr("no implementation"));
  // More features than a node can number.
  EXPECT_THAT(refusal_of([](Contents& p) {
                p.space.parameters.resize(241);
                p.cuts.resize(p.space.count());
              }),
              HasSubstr("differ in number"));
}

TEST(LossModel, whose_trees_lead_out_of_themselves_is_refused) {
  using Contents = LossModel::Contents;
  EXPECT_THAT(refusal_of([](Contents& p) { p.nodes[0].right = 5; }), HasSubstr("out of itself"))
      << "into the next tree";
  EXPECT_THAT(refusal_of([](Contents& p) { p.nodes[5].right = 3; }), HasSubstr("out of itself")) << "behind the last";
  EXPECT_THAT(refusal_of([](Contents& p) { p.nodes[0].right = 1; }), HasSubstr("out of itself"))
      << "both ways the same";
  EXPECT_THAT(refusal_of([](Contents& p) { p.nodes[0].right = 0; }), HasSubstr("out of itself"))
      << "to itself for ever";
  EXPECT_THAT(refusal_of([](Contents& p) { p.nodes[0].feature = 14; }), HasSubstr("out of itself")) << "there is none";
  EXPECT_THAT(refusal_of([](Contents& p) { p.nodes[7] = {3, 0, 2}; }), HasSubstr("out of itself")) << "ends in no leaf";
  EXPECT_THAT(refusal_of([](Contents& p) { p.nodes[4] = {3, 0, 2}; }), HasSubstr("out of itself"));
  EXPECT_THAT(refusal_of([](Contents& p) { p.roots = {5, 0}; }), HasSubstr("outside")) << "out of order";
  EXPECT_THAT(refusal_of([](Contents& p) { p.roots = {0, 0, 5}; }), HasSubstr("outside")) << "a tree of nothing";
  EXPECT_THAT(refusal_of([](Contents& p) { p.roots = {0, 8}; }), HasSubstr("outside"));
  EXPECT_THAT(refusal_of([](Contents& p) { p.roots = {0, 4'000'000'000U}; }), HasSubstr("outside"));
  EXPECT_THAT(refusal_of([](Contents& p) { p.nodes.clear(); }), HasSubstr("outside"));
  EXPECT_THAT(refusal_of([](Contents& p) {
                p.roots = {0, 1, 5};
              }),
              HasSubstr("out of itself"))
      << "a root within a tree cuts it off";
}

TEST(LossModel, of_numbers_that_nothing_can_be_ordered_by_is_refused) {
  using Contents = LossModel::Contents;
  EXPECT_THAT(refusal_of([](Contents& p) { p.cuts[3] = {1, kNoNumber}; }), HasSubstr("not in order"));
  for (const float bad : {kNoNumber, kInfinite, -kInfinite}) {
    EXPECT_THAT(refusal_of([&](Contents& p) { p.mean = bad; }), HasSubstr("not finite"));
    EXPECT_THAT(refusal_of([&](Contents& p) { p.unit = bad; }), HasSubstr("not finite"));
  }
  EXPECT_THAT(refusal_of([](Contents& p) { p.space.dims = std::size_t{1} << 63; }), HasSubstr("differ in number"))
      << "twice that is nothing";
}

/// Expects the model to answer with a number for all values of features.
void expect_answers(const LossModel& model) {
  for (const float value : {-kInfinite, -1.0F, 1.0F, 2.5F, kInfinite, kNoNumber}) {
    EXPECT_TRUE(std::isfinite(model.loss(std::vector<float>(model.space().count(), value))));
  }
  for (const LossModel::Known& known : model.configs()) {
    EXPECT_LT(known.implementation, model.space().implementations.size());
  }
}

TEST(LossModel, that_is_damaged_is_refused_or_can_be_asked_all_the_same) {
  const std::vector<std::byte> whole = LossModel(two_trees()).encode();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_THROW((void)LossModel::decode(std::span(whole).first(length)), UsageError) << length;
  }
  std::vector<std::byte> longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_THROW((void)LossModel::decode(longer), UsageError);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (unsigned flip = 1; flip < 256; ++flip) {
      std::vector<std::byte> damaged = whole;
      damaged[at] ^= static_cast<std::byte>(flip);
      SCOPED_TRACE("byte " + std::to_string(at) + " flipped by " + std::to_string(flip));
      try {
        if (const auto model = LossModel::decode(damaged); model) expect_answers(*model);
      } catch (const UsageError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, whole.size() * 255 / 2);
}

TEST(LossModel, of_another_version_is_none_of_ours_and_no_damage) {
  json all = json::from_cbor(LossModel(two_trees()).encode());
  all = {{"version", all["version"].get<int>() + 1}, {"whatever", "it has"}};
  const std::vector<std::uint8_t> bytes = json::to_cbor(all);
  EXPECT_EQ(LossModel::decode(std::as_bytes(std::span(bytes))), std::nullopt);
  EXPECT_TRUE(LossModel::is_newer(std::as_bytes(std::span(bytes))));
  EXPECT_FALSE(LossModel::is_newer(LossModel(two_trees()).encode()));
}

TEST(LossModel, of_the_version_before_knows_the_last_kernel_alone) {
  const LossModel model(two_trees());
  json all = json::from_cbor(model.encode());
  all["version"] = all["version"].get<int>() - 1;
  all.erase("kernels");
  const std::vector<std::uint8_t> bytes = json::to_cbor(all);
  EXPECT_EQ(LossModel::decode(std::as_bytes(std::span(bytes))), model);
  EXPECT_EQ(model.space().kernels, 1);
}

TEST(LossModel, that_nests_too_deep_for_the_stack_is_refused) {
  const std::vector<std::byte> lists(175'000, std::byte{0x81});
  EXPECT_THAT(test::error_of<UsageError>([&] { (void)LossModel::decode(lists); }),
              HasSubstr("this is not a loss model: cannot decode CBOR: it nests deeper"));
  EXPECT_THROW((void)LossModel::is_newer(lists), UsageError);
}

TEST(LossModel, of_another_kind_is_refused) {
  const auto refusal = [](const std::function<void(json&)>& change) {
    const std::vector<std::byte> bytes = LossModel(two_trees()).encode();
    json all = json::from_cbor(bytes);
    change(all);
    const std::vector<std::uint8_t> changed = json::to_cbor(all);
    return test::error_of<UsageError>([&] { (void)LossModel::decode(std::as_bytes(std::span(changed))); });
  };
  EXPECT_THAT(refusal([](json& all) { all["version"] = "two"; }), HasSubstr("this is not a loss model"));
  EXPECT_THAT(refusal([](json& all) { all = json::array(); }), HasSubstr("this is not a loss model"));
  EXPECT_THAT(refusal([](json& all) { all["nodes"] = "text"; }), HasSubstr("this is not a loss model"));
  EXPECT_THAT(refusal([](json& all) { all["nodes"] = json::binary({1, 2, 3, 4}); }), HasSubstr("within a value"));
  EXPECT_THAT(refusal([](json& all) { all["configs"][0] = json::array({0}); }), HasSubstr("this is not a loss model"));
  EXPECT_THAT(refusal([](json& all) { all["configs"][0][0] = -1; }), HasSubstr("no implementation"));
  EXPECT_THAT(refusal([](json& all) { all["mean"] = 1e300; }), HasSubstr("not finite"));
  EXPECT_THAT(refusal([](json& all) { all["configs"][0][1] = "a{"; }), HasSubstr("a{"));
  for (const char* field : {"version", "implementations", "parameters", "dims", "attributes", "kernels", "configs",
                            "cuts", "nodes", "roots", "mean", "unit", "shapes"}) {
    EXPECT_THAT(refusal([&](json& all) { all.erase(field); }), HasSubstr(field));
  }
}

}  // namespace
}  // namespace tilewright::loss_model_test

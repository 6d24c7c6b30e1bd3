// SPDX-License-Identifier: Apache-2.0
// Import of learned models; winners: import_test.cpp.
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/store/export.hpp"
#include "cache/store/import.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright::import_models_test {
namespace {

using namespace store_tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ImportedModels : public testing::Test {
 protected:
  ImportedModels() : from(prepared_store(folder / "from.db")), to(folder / "to.db") {
    put_server(from, key, onchip_config(4));
    from.put_loss_model(key, MeasureMode::cold, theirs);
  }
  /// A store's model; null without one.
  static std::shared_ptr<const LossModel> model(const Store& store, const ProblemKey& key,
                                                MeasureMode mode = MeasureMode::cold) {
    const auto learned = store.learned(key, mode);
    return learned ? learned->model : nullptr;
  }

  TemporaryFolder folder;
  Store from, to;
  const ProblemKey key = softmax_key(8, 100);
  const LossModel theirs = model_of_warps(4, 20, {onchip_config(4), onchip_config(16, 0)});
};

TEST_F(ImportedModels, travel_with_the_winners) {
  import_winners(from, to);
  to.check();
  ASSERT_NE(to.learned(key, MeasureMode::cold), nullptr);
  EXPECT_EQ(*model(to, key), theirs);
  EXPECT_THAT(texts_of(to.learned(key, MeasureMode::cold)->servers),
              ElementsAre("8x100 best onchip{num_warps=4,static_dims=1}"));
  EXPECT_EQ(model(to, key, MeasureMode::hot), nullptr);
}

TEST_F(ImportedModels, bring_the_implementations_that_they_know_of) {
  from.put_implementation(key.interface_hash, onchip("impl-2"));
  const LossModel of_both = test::model_of(onchip_space({"impl-1", "impl-2", "impl-gone"}), {.feature = 0, .cut = 0.5F},
                                           {{1, onchip_config(8, 0).text()}});
  from.put_loss_model(key, MeasureMode::cold, of_both);
  import_winners(from, to);
  EXPECT_EQ(*model(to, key), of_both);
  EXPECT_EQ(to.implementation_by_hash("impl-2")->recipe, onchip("impl-2").recipe) << "no winner is of it";
  EXPECT_FALSE(to.implementation_by_hash("impl-gone").has_value());
}

TEST_F(ImportedModels, do_not_replace_what_a_newer_program_has_learned) {
  EXPECT_EQ(import_winners(from, to).at(0).models, 1U);
  put_model_of_version(folder / "to.db", 1000);
  const auto done = import_winners(from, to);
  EXPECT_EQ(done.at(0).models, 0U);
  EXPECT_EQ(done.at(0).newer_models, 1U);
  EXPECT_EQ(model(to, key), nullptr);
}

TEST_F(ImportedModels, of_more_shapes_replace_those_of_fewer_and_not_the_other_way) {
  import_winners(from, to);
  const LossModel more = model_of_warps(8, 21);
  to.put_loss_model(key, MeasureMode::cold, more);
  import_winners(from, to);
  EXPECT_EQ(*model(to, key), more) << "20 shapes are fewer";
  EXPECT_EQ(import_winners(to, from)[0].same, 1U);
  EXPECT_EQ(*model(from, key), more) << "though the winners are the same";
  const LossModel as_many = model_of_warps(16, 21);
  to.put_loss_model(key, MeasureMode::cold, as_many);
  import_winners(from, to);
  EXPECT_EQ(*model(to, key), as_many) << "its own stays";
}

TEST_F(ImportedModels, of_as_many_shapes_replace_those_that_were_learned_earlier) {
  import_winners(from, to);
  const std::int64_t learned_at = from.learned(key, MeasureMode::cold)->learned_at;
  EXPECT_EQ(to.learned(key, MeasureMode::cold)->learned_at, learned_at) << "and not when they came";
  const LossModel as_many = model_of_warps(16, 20);
  to.put_loss_model(key, MeasureMode::cold, as_many, learned_at + 1);
  import_winners(from, to);
  EXPECT_EQ(*model(to, key), as_many);
  to.put_loss_model(key, MeasureMode::cold, as_many, learned_at - 1);
  import_winners(from, to);
  EXPECT_EQ(*model(to, key), theirs);
}

TEST_F(ImportedModels, stay_where_the_other_has_learned_nothing) {
  Store other = prepared_store(folder / "other.db");
  put_server(other, key, onchip_config(8));
  import_winners(other, from);
  EXPECT_EQ(*model(from, key), theirs);
}

TEST_F(ImportedModels, come_to_those_whose_own_winners_are_better) {
  Store other = prepared_store(folder / "other.db");
  Trial better = built_trial(other, onchip_config(8));
  better.timing->low_ns = better.timing->high_ns = better.timing->median_ns;
  other.put_winners(key, MeasureMode::cold, {winner_of(other.put_trial(key, "impl-1", better))});
  EXPECT_EQ(import_winners(from, other)[0].kept, 1U);
  EXPECT_EQ(other.winners(key, MeasureMode::cold).at(0).trial.config, onchip_config(8));
  EXPECT_EQ(*model(other, key), theirs);
}

TEST_F(ImportedModels, are_of_the_ops_and_devices_asked_for) {
  const ProblemKey elsewhere = softmax_key(8, 100, a100());
  const ProblemKey other_type = softmax_key(8, 100, h200(), DType::f32);
  put_server(from, elsewhere, onchip_config(4));
  put_server(from, other_type, onchip_config(4));
  from.put_loss_model(elsewhere, MeasureMode::cold, model_of_warps(8));
  from.put_loss_model(other_type, MeasureMode::cold, model_of_warps(16));
  import_winners(from, to, {.devices = {a100().fingerprint()}});
  EXPECT_EQ(*model(to, elsewhere), model_of_warps(8));
  EXPECT_EQ(model(to, key), nullptr);
  import_winners(from, to, {.wanted = [](const Problem& problem) { return problem.spec.dtype == DType::f32; }});
  EXPECT_EQ(*model(to, other_type), model_of_warps(16));
  EXPECT_EQ(model(to, key), nullptr);
}

TEST_F(ImportedModels, are_there_with_the_winners_or_nothing_is) {
  OtherProgram(folder / "from.db")
      .exec("UPDATE binaries SET data = x'00' WHERE id IN (SELECT binary FROM loss_models)");
  EXPECT_THAT(refusal([&] { (void)import_winners(from, to); }), HasSubstr("read a loss model"));
  EXPECT_EQ(to.counts().winners, 0);
  EXPECT_EQ(to.counts().trials, 0);
}

TEST_F(ImportedModels, are_in_an_export) {
  put_spare(from, key, onchip_config(16, 0));
  ASSERT_EQ(export_winners(from, folder / "e.db")[0].added, 1U);
  const Store made(folder / "e.db", {.access = StoreAccess::read});
  EXPECT_EQ(*model(made, key), theirs);
  EXPECT_THAT(texts_of(made.learned(key, MeasureMode::cold)->servers),
              ElementsAre("8x100 best onchip{num_warps=4,static_dims=1}", "8x100 onchip{num_warps=16,static_dims=0}"));
}

TEST_F(ImportedModels, are_not_in_a_recording) {
  ASSERT_EQ(export_trials(from, folder / "rec.db").size(), 1U);
  EXPECT_EQ(model(Store(folder / "rec.db", {.access = StoreAccess::read}), key), nullptr);
}

TEST_F(ImportedModels, leave_what_is_forbidden_with_the_best_alone) {
  std::vector<Winner> winners = from.winners(key, MeasureMode::cold);
  winners.push_back(winner_of(winners[0].trial.id, WinnerRole::dynamic));
  for (Winner& each : winners) each.choice.forbidden = {{"constraint `cols % 4 == 0`", 12}};
  from.put_winners(key, MeasureMode::cold, winners);
  import_winners(from, to);
  const std::vector<Winner> there = to.winners(key, MeasureMode::cold);
  ASSERT_EQ(there.size(), 2U);
  EXPECT_EQ(there[0].choice.forbidden, winners[0].choice.forbidden);
  EXPECT_TRUE(there[1].choice.forbidden.empty()) << "it is the same, and long";
}

}  // namespace
}  // namespace tilewright::import_models_test

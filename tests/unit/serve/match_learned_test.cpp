// SPDX-License-Identifier: Apache-2.0
// Matching with a learned model; without one: match_test.cpp.
#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/predict/model_predictor.hpp"
#include "cache/serve/choose.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/serve/match.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright::match_learned_test {
namespace {

using namespace store_tests;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MatchLearned : public testing::Test {
 protected:
  [[nodiscard]] MatchedRow ask(const ProblemKey& of, const DeviceFacts& device = h200()) const {
    return match(store, {of.problem, of.interface_hash, device, versions()});
  }
  [[nodiscard]] static ProblemQuery query_of(const ProblemKey& of, bool with_compiles) {
    ProblemQuery query{of.problem, of.interface_hash, h200(), versions()};
    query.with_compiles = with_compiles;
    return query;
  }
  /// All offers in order: the fit, the problem, the config, and whether it must be compiled.
  [[nodiscard]] std::vector<std::string> offered(const ProblemKey& of, bool with_compiles = false) const {
    std::vector<std::string> texts;
    const ProblemQuery query = query_of(of, with_compiles);
    Candidates candidates(store, query);
    while (const auto candidate = candidates.next()) {
      const Problem& problem = candidate->row.problem;
      texts.push_back(std::string(name(candidate->match.fit)) + " " + std::to_string(problem.dims[0].second) + "x" +
                      std::to_string(problem.dims[1].second) + " " + candidate->row.winner.trial.config.text() +
                      (candidate->needs_compile ? " compiled" : ""));
    }
    return texts;
  }
  void learn(const LossModel& model, const DeviceFacts& device = h200()) {
    store.put_loss_model(softmax_key(8, 128, device), MeasureMode::cold, model);
  }
  /// Puts a winner near by, of two warps and of an implementation with one more constraint.
  void put_picky(const char* constraint) {
    StoredImplementation picky = onchip("impl-p");
    picky.recipe.constraints.push_back(Formula::parse(constraint));
    store.put_implementation(softmax_interface().hash(), picky);
    put_server(store, near, onchip_config(2, 0), WinnerRole::best, "impl-p");
  }
  /// Stores a model of that implementation and these configs: those with fewer than eight warps lose a factor of e.
  void learn_picky(const std::vector<Config>& configs) {
    std::vector<std::pair<std::size_t, std::string>> known;
    for (const Config& config : configs) known.emplace_back(0, config.text());
    learn(test::model_of(onchip_space({"impl-p"}), {.feature = 1, .cut = 3.1F, .below = 1}, known));
  }

  /// Makes a problem's winners unreadable.
  void damage(const ProblemKey& key) {
    std::vector<Winner> winners = store.winners(key, MeasureMode::cold);
    for (Winner& each : winners) each.runner_up = Config{"no config", {}};
    store.put_winners(key, MeasureMode::cold, winners);
  }
  /// The problem and config of the first offer to a launcher that compiles.
  [[nodiscard]] std::string first_compiled(const ProblemKey& of) const {
    const ProblemQuery query = query_of(of, true);
    Candidates candidates(store, query);
    const auto first = candidates.next();
    EXPECT_NE(candidates.unread(), "");
    return first ? first->row.problem.key() + " " + first->row.winner.trial.config.text() : "";
  }

  TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const ProblemKey near = softmax_key(8, 128), far = softmax_key(4096, 8192), between = softmax_key(10, 120);
};

TEST_F(MatchLearned, a_far_shapes_winner_serves_when_it_promises_more) {
  put_server(store, near, onchip_config(2, 0));
  put_server(store, far, onchip_config(16, 0));
  EXPECT_EQ(ask(between).row->problem, near.problem);
  learn(model_of_warps(8));
  const MatchedRow served = ask(between);
  EXPECT_EQ(served.match.text(), "nearest, fresh, same device");
  EXPECT_EQ(served.row->problem, far.problem) << "the evidence is of the problem that it was measured on";
  EXPECT_EQ(served.row->winner.trial.config, onchip_config(16, 0));
  EXPECT_EQ(served.row->winner.trial.timing->median_ns, 1000);
  learn(model_of_warps(8, 16, {}, true));
  EXPECT_EQ(ask(between).row->problem, near.problem) << "as the model of today says";
}

TEST_F(MatchLearned, what_was_learned_and_is_damaged_gives_way_to_the_shapes_around) {
  put_server(store, near, onchip_config(2, 0));
  put_server(store, far, onchip_config(16, 0));
  learn(model_of_warps(8));
  OtherProgram(folder / "c.db").exec("UPDATE binaries SET data = x'00' WHERE id IN (SELECT binary FROM loss_models)");
  const Store reader(folder / "c.db", {.access = StoreAccess::read});
  const ProblemQuery query = query_of(between, false);
  Candidates candidates(reader, query);
  EXPECT_EQ(candidates.next().value().row.winner.trial.config, onchip_config(2, 0));
  EXPECT_THAT(candidates.unread(),
              testing::AllOf(testing::HasSubstr("cannot read a loss model"), testing::HasSubstr("is damaged")));
}

TEST_F(MatchLearned, where_the_nearest_winner_is_damaged_whoever_compiles_is_told_of_the_next) {
  put_server(store, near, onchip_config(2, 0));
  put_server(store, far, onchip_config(4, 0));
  learn(model_of_warps(8, 16, {onchip_config(16, 0)}));
  damage(near);
  EXPECT_EQ(first_compiled(between), far.problem.key() + " " + onchip_config(16, 0).text());
}

TEST_F(MatchLearned, where_all_that_was_learned_of_is_damaged_the_shapes_around_serve_whoever_compiles) {
  store.put_implementation(softmax_interface().hash(), onchip("impl-new"));
  put_server(store, near, onchip_config(2, 0));
  put_server(store, far, onchip_config(4, 0), WinnerRole::best, "impl-new");
  learn(model_of_warps(8));
  damage(near);
  EXPECT_EQ(first_compiled(between), far.problem.key() + " " + onchip_config(4, 0).text());
}

TEST_F(MatchLearned, a_config_whose_row_is_damaged_at_one_shape_is_had_from_another) {
  put_server(store, near, onchip_config(16, 0));
  put_server(store, far, onchip_config(16, 0));
  learn(model_of_warps(8));
  EXPECT_THAT(offered(between), testing::SizeIs(1)) << "and once where both can be read";
  damage(near);
  EXPECT_THAT(offered(between), ElementsAre("nearest 4096x8192 onchip{num_warps=16,static_dims=0}"));
}

TEST_F(MatchLearned, nothing_is_expected_of_what_is_gone_or_illegal_here_and_the_others_are_judged) {
  const OpInterface interface = softmax_interface();
  StoredImplementation later = onchip("later");
  later.recipe.requires_arch = "sm_100";
  store.put_implementation(interface.hash(), later);
  const LossModel model =
      test::model_of(onchip_space({"impl-1", "gone", "later"}), {.feature = 1, .cut = 0, .otherwise = 0.5});
  const RecipeOf recipe_of = recipes_of(store);
  const DeviceFacts device = h200();
  const ModelPredictor predictor(model, interface, between.problem, device, recipe_of);
  const ConfigId of_gone{"gone", onchip_config(2, 0)}, of_later{"later", onchip_config(2, 0)};
  const ConfigId of_known{"impl-1", onchip_config(2, 0)};
  const auto losses = predictor.losses(std::vector{&of_gone, &of_later, &of_known});
  EXPECT_EQ(losses.at(0), std::nullopt);
  EXPECT_EQ(losses.at(1), std::nullopt);
  EXPECT_NEAR(losses.at(2).value(), 0.5, 0.01);
}

TEST_F(MatchLearned, a_lock_is_an_error_and_excludes_no_config) {
  const OpInterface interface = softmax_interface();
  const LossModel model = model_of_warps(8);
  const DeviceFacts device = h200();
  const ModelPredictor predictor(
      model, interface, between.problem, device,
      [](const std::string&) -> const ImplementationRecipe& { throw CacheError("locked", 0, CacheFault::locked); });
  const ConfigId id{"impl-1", onchip_config(2, 0)};
  EXPECT_THROW((void)predictor.losses(std::vector{&id}), CacheError);
}

TEST_F(MatchLearned, where_a_formula_of_a_config_has_no_value_the_next_serves) {
  StoredImplementation damaged = onchip("impl-d");
  damaged.recipe.constraints.push_back(Formula::parse("12 / (num_warps - num_warps) == 0"));
  store.put_implementation(softmax_interface().hash(), damaged);
  put_server(store, near, onchip_config(2, 0), WinnerRole::best, "impl-d");
  put_server(store, far, onchip_config(16, 0));
  const Chosen chosen = choose(store, softmax_interface(), query_of(between, false));
  ASSERT_TRUE(chosen.choice.has_value()) << chosen.why;
  EXPECT_EQ(chosen.choice->row.winner.trial.config, onchip_config(16, 0));
  const Chosen none = choose(store, softmax_interface(), query_of(near, false));
  EXPECT_THAT(none.choice->row.winner.trial.config, onchip_config(16, 0));
}

TEST_F(MatchLearned, a_config_without_a_role_whose_formula_has_no_value_is_left_out) {
  StoredImplementation damaged = onchip("impl-d");
  damaged.recipe.constraints.push_back(Formula::parse("12 / (num_warps - num_warps) == 0"));
  store.put_implementation(softmax_interface().hash(), damaged);
  put_server(store, near, onchip_config(16, 0));
  store.put_trial(near, "impl-d", built_trial(store, onchip_config(2, 0), 900));
  EXPECT_THAT(offered(between), ElementsAre("nearest 8x128 onchip{num_warps=16,static_dims=0}"));
}

TEST_F(MatchLearned, its_own_winner_is_served_whatever_others_promise) {
  put_server(store, near, onchip_config(2, 0));
  put_server(store, far, onchip_config(16, 0));
  learn(model_of_warps(8));
  EXPECT_EQ(ask(near).match.fit, Fit::exact);
  EXPECT_THAT(offered(near), ElementsAre("exact 8x128 onchip{num_warps=2,static_dims=0}",
                                         "nearest 4096x8192 onchip{num_warps=16,static_dims=0}"))
      << "and is not offered again";
}

TEST_F(MatchLearned, all_who_may_serve_are_offered_in_the_order_of_what_they_promise) {
  put_server(store, near, onchip_config(2, 0));
  put_server(store, near, onchip_config(1, 0), WinnerRole::base);
  put_server(store, far, onchip_config(4, 0));
  put_spare(store, far, onchip_config(16, 0));
  put_spare(store, far, onchip_config(32, 0));
  // Timed nearby, and usable only by a launcher that compiles.
  store.put_trial(near, "impl-1", full_trial(onchip_config(8, 0)));
  learn(model_of_warps(8));
  EXPECT_THAT(offered(between), ElementsAre("nearest 4096x8192 onchip{num_warps=16,static_dims=0}",
                                            "nearest 4096x8192 onchip{num_warps=32,static_dims=0}",
                                            "nearest 8x128 onchip{num_warps=2,static_dims=0}",
                                            "nearest 4096x8192 onchip{num_warps=4,static_dims=0}",
                                            "default 8x128 onchip{num_warps=1,static_dims=0}"));
  EXPECT_EQ(ask(between).match.freshness, Freshness::fresh) << "what nobody timed is as the shape's winner is";
}

TEST_F(MatchLearned, a_specialised_binary_serves_only_its_dims) {
  StoredImplementation specialised = onchip("impl-s");
  specialised.recipe.specialize = {"cols"};
  store.put_implementation(softmax_interface().hash(), specialised);
  put_server(store, softmax_key(4096, 128), onchip_config(16), WinnerRole::best, "impl-s");
  put_server(store, softmax_key(9, 256), onchip_config(16), WinnerRole::best, "impl-s");
  put_server(store, near, onchip_config(2, 0));
  learn(test::model_of(onchip_space({"impl-1", "impl-s"}), {.feature = 0, .cut = 0.5F, .below = 1}));
  const std::string own = "nearest 8x128 onchip{num_warps=2,static_dims=0}";
  EXPECT_THAT(offered(softmax_key(10, 128)), ElementsAre("nearest 4096x128 onchip{num_warps=16,static_dims=1}", own));
  EXPECT_THAT(offered(softmax_key(10, 256)), ElementsAre("nearest 9x256 onchip{num_warps=16,static_dims=1}", own));
  EXPECT_THAT(offered(softmax_key(10, 132)), ElementsAre(own));
}

TEST_F(MatchLearned, whoever_compiles_wants_what_it_was_learned_of) {
  put_server(store, near, onchip_config(2, 0));
  put_server(store, far, onchip_config(16));
  put_spare(store, far, onchip_config(4, 0));
  learn(model_of_warps(8, 16, {onchip_config(2, 0), onchip_config(4, 0), onchip_config(16), onchip_config(32, 0)}));
  EXPECT_THAT(offered(between), ElementsAre("nearest 8x128 onchip{num_warps=2,static_dims=0}",
                                            "nearest 4096x8192 onchip{num_warps=4,static_dims=0}"));
  EXPECT_THAT(offered(between, true), ElementsAre("nearest 8x128 onchip{num_warps=16,static_dims=1} compiled",
                                                  "nearest 8x128 onchip{num_warps=32,static_dims=0} compiled",
                                                  "nearest 8x128 onchip{num_warps=2,static_dims=0}",
                                                  "nearest 4096x8192 onchip{num_warps=4,static_dims=0}"))
      << "once each: a binary that is there is not made again";
}

TEST_F(MatchLearned, what_is_wanted_is_not_legal_everywhere) {
  put_picky("num_warps * 8 <= cols");
  learn_picky({onchip_config(16, 0), onchip_config(2, 0)});
  EXPECT_THAT(offered(softmax_key(8, 256), true),
              ElementsAre("nearest 8x128 onchip{num_warps=16,static_dims=0} compiled",
                          "nearest 8x128 onchip{num_warps=2,static_dims=0}"));
  EXPECT_THAT(offered(softmax_key(8, 64), true), ElementsAre("nearest 8x128 onchip{num_warps=2,static_dims=0}"));
}

TEST_F(MatchLearned, whoever_compiles_combines_values_where_nothing_that_was_learned_of_is_good) {
  put_picky("static_dims == 0 or cols >= 128");
  learn_picky({onchip_config(16, 1), onchip_config(2, 0)});
  EXPECT_THAT(offered(softmax_key(8, 256), true),
              ElementsAre("nearest 8x128 onchip{num_warps=16,static_dims=1} compiled",
                          "nearest 8x128 onchip{num_warps=2,static_dims=0}"));
  EXPECT_THAT(offered(softmax_key(8, 64), true),
              ElementsAre("nearest 8x128 onchip{num_warps=16,static_dims=0} compiled",
                          "nearest 8x128 onchip{num_warps=2,static_dims=0}"));
  EXPECT_THAT(offered(softmax_key(8, 64)), ElementsAre("nearest 8x128 onchip{num_warps=2,static_dims=0}"));
}

TEST_F(MatchLearned, whoever_compiles_combines_values_of_an_implementation_of_which_nothing_learned_of_is_legal) {
  put_picky("cols >= 1");
  StoredImplementation other = onchip("impl-q");
  other.recipe.constraints.push_back(Formula::parse("cols >= 128 or (num_warps == 16 and static_dims == 0)"));
  store.put_implementation(softmax_interface().hash(), other);
  learn(test::model_of(
      onchip_space({"impl-p", "impl-q"}), {.feature = 1, .cut = 3.1F, .below = 0.3},
      {{0, onchip_config(2, 0).text()}, {1, onchip_config(16, 1).text()}, {1, onchip_config(4, 0).text()}}));
  EXPECT_THAT(offered(softmax_key(8, 64), true),
              ElementsAre("nearest 8x128 onchip{num_warps=16,static_dims=0} compiled",
                          "nearest 8x128 onchip{num_warps=2,static_dims=0}"));
  EXPECT_EQ(offered(softmax_key(8, 256), true).front(), "nearest 8x128 onchip{num_warps=16,static_dims=1} compiled");
  EXPECT_THAT(offered(softmax_key(8, 64)), ElementsAre("nearest 8x128 onchip{num_warps=2,static_dims=0}"));
}

TEST_F(MatchLearned, no_combination_of_values_serves_that_failed_or_is_the_base_of_a_shape_around) {
  put_picky("static_dims == 0 or cols >= 128");
  put_server(store, near, onchip_config(32, 0), WinnerRole::base, "impl-p");
  Trial wrong = full_trial(onchip_config(16, 0));
  wrong.timing.reset();
  wrong.status = TrialStatus::wrong_result;
  store.put_trial(near, "impl-p", wrong);
  learn_picky({onchip_config(16, 1), onchip_config(32, 1), onchip_config(2, 0)});
  EXPECT_THAT(offered(softmax_key(8, 64), true), ElementsAre("nearest 8x128 onchip{num_warps=2,static_dims=0}",
                                                             "default 8x128 onchip{num_warps=32,static_dims=0}"));
}

TEST_F(MatchLearned, where_nobody_is_legal_the_base_serves) {
  put_server(store, near, onchip_config(2, 0));
  StoredImplementation any = onchip("impl-any");
  any.recipe.constraints.clear();
  store.put_implementation(softmax_interface().hash(), any);
  put_server(store, far, onchip_config(1, 0), WinnerRole::base, "impl-any");
  learn(model_of_warps(8, 16, {onchip_config(16, 0)}));
  const auto chosen = choose(store, softmax_interface(), query_of(softmax_key(8, 101), false));
  ASSERT_TRUE(chosen.choice.has_value()) << chosen.why;
  EXPECT_EQ(chosen.choice->match.fit, Fit::base_default);
  EXPECT_EQ(chosen.choice->row.implementation_hash, "impl-any");
}

TEST_F(MatchLearned, who_is_asked_for_better_than_something_takes_nothing_that_fits_no_better) {
  put_server(store, near, onchip_config(2, 0));
  const auto better_than = [&](const Match& match, const ProblemKey& key) {
    ProblemQuery query = query_of(key, false);
    query.better_than = &match;
    return choose(store, softmax_interface(), query).choice.has_value();
  };
  const Match by_the_nearest{Fit::nearest};
  Match by_the_model{Fit::nearest};
  by_the_model.is_learned = true;
  EXPECT_FALSE(better_than(by_the_nearest, between)) << "by the nearest, too";
  EXPECT_TRUE(better_than({Fit::base_default}, between));
  EXPECT_TRUE(better_than(by_the_nearest, near)) << "exact";
  learn(model_of_warps(8));
  EXPECT_TRUE(better_than(by_the_nearest, between));
  EXPECT_FALSE(better_than(by_the_model, between));
  EXPECT_FALSE(better_than({Fit::exact}, near));
}

TEST_F(MatchLearned, who_came_after_the_lesson_serves_by_the_old_rule_where_nobody_else_may) {
  store.put_implementation(softmax_interface().hash(), onchip("impl-new"));
  put_server(store, near, onchip_config(2, 0), WinnerRole::best, "impl-new");
  put_server(store, far, onchip_config(16, 0), WinnerRole::best, "impl-new");
  learn(model_of_warps(8));
  EXPECT_EQ(ask(between).row->problem, near.problem) << "the model has never heard of either";
  EXPECT_FALSE(ask(between).match.is_learned);
  put_server(store, softmax_key(64, 64), onchip_config(4, 0));
  EXPECT_EQ(ask(between).row->implementation_hash, "impl-1");
}

TEST_F(MatchLearned, an_implementation_that_is_gone_is_passed_over) {
  put_server(store, near, onchip_config(2, 0));
  learn(test::model_of(onchip_space({"impl-1", "impl-gone"}), {.feature = 0, .cut = 0.5F, .below = 1},
                       {{1, onchip_config(16, 0).text()}}));
  EXPECT_THAT(offered(between, true), ElementsAre("nearest 8x128 onchip{num_warps=2,static_dims=0}"));
}

TEST_F(MatchLearned, a_relative_is_served_by_what_its_own_model_says) {
  const auto of_slice = [](const ProblemKey& key) {
    return ProblemKey{key.problem, key.interface_hash, gh200_slice().fingerprint()};
  };
  put_server(store, of_slice(near), onchip_config(2, 0));
  put_server(store, of_slice(far), onchip_config(16, 0));
  learn(model_of_warps(8), gh200_slice());
  const MatchedRow served = ask(between);
  EXPECT_EQ(served.match.text(), "nearest, fresh, same architecture");
  EXPECT_TRUE(served.match.is_learned);
  EXPECT_EQ(served.row->problem, far.problem);
  EXPECT_EQ(served.row->device, gh200_slice());
}

TEST_F(MatchLearned, a_relative_is_judged_as_the_device_that_was_learned_of) {
  StoredImplementation fewer = onchip("impl-few");
  fewer.recipe.kernels[0].grid = {Formula::parse("rows / 4")};
  store.put_implementation(softmax_interface().hash(), fewer);
  put_server(store, softmax_key(8, 128, gh200_slice()), onchip_config(2, 0), WinnerRole::best, "impl-few");
  put_server(store, softmax_key(4096, 8192, gh200_slice()), onchip_config(2, 0));
  // Less than a wave loses. 4096 blocks are two waves on the slice, and less than one on the whole device.
  constexpr std::size_t kWaves = 1 + 2 + 4 + 6;
  learn(test::model_of(onchip_space({"impl-1", "impl-few"}), {.feature = kWaves, .cut = 1, .below = 1}), gh200_slice());
  EXPECT_EQ(ask(softmax_key(4096, 128)).row->implementation_hash, "impl-1");
  EXPECT_EQ(ask(softmax_key(1024, 128)).row->implementation_hash, "impl-few") << "no wave of either: in their order";
}

TEST_F(MatchLearned, a_model_of_another_mode_says_nothing) {
  put_server(store, near, onchip_config(2, 0));
  put_server(store, far, onchip_config(16, 0));
  store.put_loss_model(near, MeasureMode::hot, model_of_warps(8));
  EXPECT_EQ(ask(between).row->problem, near.problem);
}

TEST_F(MatchLearned, addresses_that_are_aligned_to_less_are_the_next_ones) {
  StoredImplementation vectors = onchip("impl-v");
  vectors.recipe.align = {{"x", Formula::parse("num_warps * sizeof(dtype)")}};
  store.put_implementation(softmax_interface().hash(), vectors);
  put_server(store, near, onchip_config(4, 0), WinnerRole::best, "impl-v");
  put_server(store, far, onchip_config(16, 0), WinnerRole::best, "impl-v");
  put_server(store, near, onchip_config(1, 0), WinnerRole::base);
  learn(test::model_of(onchip_space({"impl-v"}), {.feature = 1, .cut = 3.1F, .below = 1}));
  const auto served = [&](unsigned alignment) {
    const Chosen chosen =
        choose(store, softmax_interface(), query_of(between, false), {.alignments = {alignment, alignment}});
    return chosen.choice ? chosen.choice->row.winner.trial.config.text() : chosen.why;
  };
  EXPECT_EQ(served(8), onchip_config(16, 0).text());
  EXPECT_EQ(served(5), onchip_config(16, 0).text());
  EXPECT_EQ(served(4), onchip_config(4, 0).text());
  EXPECT_EQ(served(3), onchip_config(4, 0).text());
  EXPECT_EQ(served(2), onchip_config(1, 0).text()) << "the base needs an element's";
}

TEST_F(MatchLearned, without_winners_nobody_serves) {
  put_server(store, near, onchip_config(2, 0));
  learn(model_of_warps(8, 16, {onchip_config(16, 0)}));
  store.put_winners(near, MeasureMode::cold, {});
  EXPECT_EQ(ask(between).match.fit, Fit::none);
  EXPECT_THAT(offered(between, true), IsEmpty());
}

}  // namespace
}  // namespace tilewright::match_learned_test

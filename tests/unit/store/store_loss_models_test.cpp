// SPDX-License-Identifier: Apache-2.0
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cache/base/content_hash.hpp"
#include "cache/store/binaries.hpp"
#include "cache/store/sqlite/database.hpp"
#include "cache/store/sqlite/migrations.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright::store_loss_models_test {
namespace {

using namespace store_tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class StoreLossModels : public testing::Test {
 protected:
  StoreLossModels() { put_server(store_, key_, onchip_config(4)); }

  [[nodiscard]] std::vector<std::string> servers() const {
    return texts_of(store_.learned(key_, MeasureMode::cold)->servers);
  }

  TemporaryFolder folder_;
  Store store_ = prepared_store(folder_ / "c.db");
  const ProblemKey key_ = softmax_key(8, 100);
};

TEST_F(StoreLossModels, are_read_back_as_they_were_put) {
  EXPECT_EQ(store_.learned(key_, MeasureMode::cold), nullptr);
  const LossModel model = model_of_warps(4, 24, {onchip_config(4), onchip_config(8, 0)});
  store_.put_loss_model(key_, MeasureMode::cold, model);
  const auto learned = store_.learned(softmax_key(1, 1), MeasureMode::cold);
  ASSERT_NE(learned, nullptr) << "the dims of the key play no part";
  EXPECT_EQ(*learned->model, model);
  EXPECT_EQ(learned->model->shapes(), 24U);
  EXPECT_EQ(store_.learned(key_, MeasureMode::cold), learned) << "read once";
  store_.check();
}

TEST_F(StoreLossModels, are_one_for_a_spec_and_the_last) {
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4, 24));
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(8, 17));
  EXPECT_EQ(*store_.learned(key_, MeasureMode::cold)->model, model_of_warps(8, 17));
  EXPECT_EQ(SQLite::Database((folder_ / "c.db").string()).execAndGet("SELECT count(*) FROM loss_models").getInt(), 1);
}

TEST_F(StoreLossModels, are_of_one_spec_device_and_mode) {
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
  put_server(store_, softmax_key(8, 100, gh200_slice()), onchip_config(4));
  put_server(store_, softmax_key(8, 100, h200(), DType::f32), onchip_config(4));
  EXPECT_EQ(store_.learned(key_, MeasureMode::hot), nullptr);
  EXPECT_EQ(store_.learned(softmax_key(8, 100, gh200_slice()), MeasureMode::cold), nullptr);
  EXPECT_EQ(store_.learned(softmax_key(8, 100, h200(), DType::f32), MeasureMode::cold), nullptr);
  EXPECT_EQ(store_.learned(softmax_key(8, 100, h200(), DType::f16), MeasureMode::cold), nullptr) << "never tuned";
  EXPECT_EQ(store_.learned({key_.problem, "another interface", key_.device_fingerprint}, MeasureMode::cold), nullptr);
  EXPECT_EQ(store_.learned({key_.problem, key_.interface_hash, "another device"}, MeasureMode::cold), nullptr);
  store_.put_loss_model(softmax_key(8, 100, gh200_slice()), MeasureMode::hot, model_of_warps(8));
  EXPECT_EQ(*store_.learned(key_, MeasureMode::cold)->model, model_of_warps(4));
  EXPECT_EQ(*store_.learned(softmax_key(8, 100, gh200_slice()), MeasureMode::hot)->model, model_of_warps(8));
}

TEST_F(StoreLossModels, of_what_the_cache_does_not_have_are_refused) {
  const auto put = [&](const ProblemKey& key) {
    return refusal([&] { store_.put_loss_model(key, MeasureMode::cold, model_of_warps(4)); });
  };
  EXPECT_THAT(put(softmax_key(8, 100, h200(), DType::f16)), HasSubstr("has no problem of softmax[dtype=f16]"));
  EXPECT_THAT(put({key_.problem, "beef", key_.device_fingerprint}), HasSubstr("beef"));
  EXPECT_THAT(put({key_.problem, key_.interface_hash, "nobody's"}), HasSubstr("nobody's"));
  EXPECT_EQ(store_.learned(key_, MeasureMode::cold), nullptr);
}

TEST_F(StoreLossModels, that_do_not_know_a_younger_winner_are_out_of_date) {
  store_.put_implementation(key_.interface_hash, onchip("impl-2"));
  const std::int64_t id = put_server(store_, softmax_key(16, 100), onchip_config(8), WinnerRole::best, "impl-2");
  const std::int64_t measured_at = store_.trial(id)->measured_at;
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4), measured_at - 1);
  EXPECT_EQ(store_.learned(key_, MeasureMode::cold), nullptr);
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4), measured_at + 1);
  const auto learned = store_.learned(key_, MeasureMode::cold);
  ASSERT_NE(learned, nullptr) << "a winner of what is gone retires nothing";
  EXPECT_EQ(learned->learned_at, measured_at + 1);
  EXPECT_THAT(servers(), ElementsAre("8x100 best onchip{num_warps=4,static_dims=1}")) << "and serves nobody";
}

TEST_F(StoreLossModels, find_who_can_serve_in_whatever_order_they_name_implementations) {
  // Sorted by implementation names, not by hashes.
  FeatureSpace space = onchip_space();
  ASSERT_THAT(space.implementations, ElementsAre("impl-1"));
  space.implementations = {"impl-3", "impl-1", "impl-2"};
  const LossModel model = test::model_of(space, {.feature = 1, .cut = 1.0F, .below = 1.0, .otherwise = 0.0}, {}, 16);
  for (const char* hash : {"impl-2", "impl-3"}) store_.put_implementation(key_.interface_hash, onchip(hash));
  put_server(store_, softmax_key(16, 100), onchip_config(8), WinnerRole::best, "impl-2");
  put_server(store_, softmax_key(24, 100), onchip_config(2), WinnerRole::best, "impl-3");
  store_.put_loss_model(key_, MeasureMode::cold, model);
  EXPECT_THAT(servers(), ElementsAre("8x100 best onchip{num_warps=4,static_dims=1}",
                                     "16x100 best onchip{num_warps=8,static_dims=1}",
                                     "24x100 best onchip{num_warps=2,static_dims=1}"));
}

TEST_F(StoreLossModels, have_no_spares_that_went_wrong_anywhere_and_were_not_right_there_since) {
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
  put_spare(store_, key_, onchip_config(2, 0));
  const std::string spare = "8x100 onchip{num_warps=2,static_dims=0}";
  const std::string winner = "8x100 best onchip{num_warps=4,static_dims=1}";
  EXPECT_THAT(servers(), ElementsAre(winner, spare));
  Trial wrong = wrong_trial(onchip_config(2, 0));
  wrong.reason = "y[0][0] is 1, expected 2";
  store_.put_trial(softmax_key(64, 64), "impl-1", wrong);
  EXPECT_THAT(servers(), ElementsAre(winner));
  store_.put_trial(softmax_key(64, 64), "impl-1", full_trial(onchip_config(2, 0)));
  EXPECT_THAT(servers(), ElementsAre(winner, spare));
}

TEST_F(StoreLossModels, that_are_damaged_are_told_of_whenever_they_are_asked_for) {
  const auto bytes_of = [](const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const auto expect_damage = [&](const char* what) {
    const Store reader(folder_ / "c.db", {.access = StoreAccess::read});
    for (int i = 0; i < 2; ++i) {
      const std::string text = refusal([&] { (void)reader.learned(key_, MeasureMode::cold); });
      EXPECT_THAT(text, HasSubstr((folder_ / "c.db").string())) << what;
      EXPECT_THAT(text, HasSubstr("read a loss model")) << what;
    }
    EXPECT_TRUE(reader.winner_of(key_, MeasureMode::cold, WinnerRole::best).has_value()) << "the rest can be read";
    EXPECT_NE(refusal([&] { reader.check(); }), "") << what;
  };
  const auto change = [&](const std::string& statement) {
    store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
    OtherProgram(folder_ / "c.db")
        .exec("UPDATE binaries SET " + statement + " WHERE id IN (SELECT binary FROM loss_models)");
  };
  change("data = x'00'");
  expect_damage("no frame");
  change("data = substr(data, 1, length(data) - 5)");
  expect_damage("not the whole frame");
  change("size = size + 1");
  expect_damage("another size");
  change("hash = '00000000000000000000000000000000'");
  expect_damage("another hash");
  // Intact, but not a model: another program wrote it.
  const std::vector<std::byte> other = bytes_of("no model at all");
  const std::vector<std::byte> frame = compress_binary(other);
  OtherProgram database(folder_ / "c.db");
  SQLite::Statement put(
      database, "UPDATE binaries SET hash = ?, size = ?, data = ? WHERE id IN (SELECT binary FROM loss_models)");
  put.bind(1, content_hash(other));
  put.bind(2, static_cast<std::int64_t>(other.size()));
  put.bind(3, frame.data(), static_cast<int>(frame.size()));
  put.exec();
  expect_damage("no model");
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(8));
  EXPECT_EQ(*store_.learned(key_, MeasureMode::cold)->model, model_of_warps(8)) << "what is put later is whole";
}

TEST_F(StoreLossModels, of_a_program_that_knows_other_features_are_as_if_nothing_was_learned) {
  for (const int version : {1, 1000}) {
    store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
    put_model_of_version(folder_ / "c.db", version);
    const Store reader(folder_ / "c.db", {.access = StoreAccess::read});
    EXPECT_EQ(reader.learned(key_, MeasureMode::cold), nullptr);
    EXPECT_NO_THROW(reader.check());
  }
}

TEST_F(StoreLossModels, of_an_older_program_are_learned_anew_and_of_a_newer_one_stay) {
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
  put_model_of_version(folder_ / "c.db", 1);
  EXPECT_TRUE(store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(8)));
  EXPECT_EQ(*store_.learned(key_, MeasureMode::cold)->model, model_of_warps(8));
  put_model_of_version(folder_ / "c.db", 1000);
  EXPECT_FALSE(store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4)));
  EXPECT_EQ(store_.learned(key_, MeasureMode::cold), nullptr);
}

TEST_F(StoreLossModels, know_who_can_serve) {
  const ProblemKey other = softmax_key(16, 200);
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
  put_server(store_, key_, onchip_config(2, 0), WinnerRole::dynamic);
  put_server(store_, key_, onchip_config(1, 0), WinnerRole::base);
  put_server(store_, other, onchip_config(4));
  put_server(store_, other, onchip_config(2, 0), WinnerRole::dynamic);
  put_server(store_, other, onchip_config(1, 0), WinnerRole::base);
  put_spare(store_, other, onchip_config(16, 0));
  put_spare(store_, key_, onchip_config(16, 0));
  put_spare(store_, key_, onchip_config(2, 0));
  // Timed, but its binary is not kept for serving.
  store_.put_trial(key_, "impl-1", built_trial(store_, onchip_config(32, 0)));
  EXPECT_THAT(
      servers(),
      ElementsAre("8x100 best onchip{num_warps=4,static_dims=1}", "8x100 dynamic onchip{num_warps=2,static_dims=0}",
                  "16x200 best onchip{num_warps=4,static_dims=1}", "8x100 onchip{num_warps=16,static_dims=0}"))
      << "unspecialised once, specialised once a shape, no base";
  const auto learned = store_.learned(key_, MeasureMode::cold);
  EXPECT_EQ(learned->servers.front().id.implementation_hash, "impl-1");
}

TEST_F(StoreLossModels, know_nobody_without_a_binary_nor_of_another_spec_device_or_mode) {
  store_.put_winners(key_, MeasureMode::cold, {});
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
  put_winner(store_, softmax_key(9, 100), onchip_config(8, 0));
  put_server(store_, softmax_key(8, 100, gh200_slice()), onchip_config(16, 0));
  put_server(store_, softmax_key(8, 100, h200(), DType::f32), onchip_config(16, 0));
  put_spare(store_, softmax_key(8, 100, gh200_slice()), onchip_config(2, 0));
  put_spare(store_, softmax_key(8, 100, h200(), DType::f32), onchip_config(2, 0));
  put_winner(store_, key_, onchip_config(8), WinnerRole::best, MeasureMode::hot);
  EXPECT_THAT(servers(), IsEmpty());
}

TEST_F(StoreLossModels, are_read_anew_when_another_has_written) {
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
  const Store reader(folder_ / "c.db", {.access = StoreAccess::read});
  const auto before = reader.learned(key_, MeasureMode::cold);
  EXPECT_EQ(reader.learned(key_, MeasureMode::cold), before);
  Store other(folder_ / "c.db");
  put_spare(other, key_, onchip_config(16, 0));
  const auto with_spare = reader.learned(key_, MeasureMode::cold);
  EXPECT_EQ(*with_spare->model, *before->model);
  EXPECT_EQ(with_spare->servers.size(), before->servers.size() + 1);
  other.put_loss_model(key_, MeasureMode::cold, model_of_warps(8));
  EXPECT_EQ(*reader.learned(key_, MeasureMode::cold)->model, model_of_warps(8));
  EXPECT_EQ(*store_.learned(key_, MeasureMode::cold)->model, model_of_warps(8));
  EXPECT_EQ(*before->model, model_of_warps(4)) << "who has it keeps it";
}

TEST_F(StoreLossModels, that_are_new_change_the_state_of_the_winners) {
  const std::uint64_t none = store_.winners_state();
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
  const std::uint64_t first = store_.winners_state();
  EXPECT_NE(first, none);
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
  EXPECT_EQ(store_.winners_state(), first) << "the same again";
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(8));
  EXPECT_NE(store_.winners_state(), first);
}

TEST_F(StoreLossModels, of_a_batch_that_is_not_committed_are_gone) {
  store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(4));
  {
    const Store::Batch batch(store_);
    store_.put_loss_model(key_, MeasureMode::cold, model_of_warps(8));
    EXPECT_EQ(*store_.learned(key_, MeasureMode::cold)->model, model_of_warps(8)) << "its own writes are seen";
  }
  EXPECT_EQ(*store_.learned(key_, MeasureMode::cold)->model, model_of_warps(4));
}

}  // namespace
}  // namespace tilewright::store_loss_models_test

// SPDX-License-Identifier: Apache-2.0
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <vector>

#include "cache/serve/candidates.hpp"
#include "cache/serve/choose.hpp"
#include "cache/store/import.hpp"
#include "cache/store/pack/folding.hpp"
#include "cache/store/pack/pack.hpp"
#include "cache/store/space.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/unit/serve/match.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright::store_pins_test {
namespace {

using namespace store_tests;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A cache of two tuned shapes, each with a winner and a losing config; all have binaries.
class StorePins : public testing::Test {
 protected:
  StorePins() { fill(store_); }

  void fill(Store& store) const {
    for (const std::int64_t cols : {100, 200}) {
      const ProblemKey key = softmax_key(8, cols);
      store.put_winners(key, MeasureMode::cold,
                        {winner_of(put(store, key, onchip_config(4, 0), 1000)),
                         winner_of(put(store, key, onchip_config(1, 0), 3000), WinnerRole::base)});
      put(store, key, onchip_config(8, 0), 2000);
    }
  }
  static std::int64_t put(Store& store, const ProblemKey& key, const Config& config, double median_ns) {
    Trial trial = full_trial(config, median_ns);
    trial.sweep = 0;
    trial.build_key = config.text();
    store.put_build({.key = trial.build_key,
                     .ok = true,
                     .binary_hash = {},
                     .kernels = {},
                     .log = {},
                     .compiler = {},
                     .arch = "sm_90a"},
                    std::vector<std::byte>(100, std::byte{7}));
    return store.put_trial(key, "impl-1", trial);
  }

  static Store::PinRow row(PinKind kind, const Config& config, ProblemKey key, bool is_of_problem = true,
                           std::int64_t since = 0, const std::string& reason = "why") {
    if (!is_of_problem) key.problem.dims.clear();
    return {{kind, {"impl-1", config}, is_of_problem, reason, since}, key};
  }
  static std::string served(const Store& store, const ProblemKey& key) {
    const MatchedRow found = match(store, {key.problem, key.interface_hash, h200(), versions()});
    return found.row ? found.row->winner.trial.config.text() + " " + std::string(name(found.match.fit)) : "none";
  }
  [[nodiscard]] std::string served(std::int64_t cols) const { return served(store_, softmax_key(8, cols)); }

  const store_tests::TemporaryFolder folder_;
  Store store_ = prepared_store(folder_ / "c.db");
  const ProblemKey key_ = softmax_key(8, 100);
  const Config fast_ = onchip_config(4, 0), slow_ = onchip_config(8, 0), base_ = onchip_config(1, 0);
};

TEST_F(StorePins, a_pinned_config_is_served_though_it_is_slower_and_only_there) {
  const std::uint64_t state = store_.winners_state();
  store_.put_pin(row(PinKind::pin, slow_, key_));
  EXPECT_NE(store_.winners_state(), state) << "launchers look again";
  EXPECT_EQ(served(100), slow_.text() + " exact");
  EXPECT_EQ(served(200), fast_.text() + " exact");
  store_.put_pin(row(PinKind::free, slow_, key_));
  EXPECT_EQ(served(100), fast_.text() + " exact");
}

TEST_F(StorePins, a_pin_of_a_spec_serves_shapes_that_nobody_tuned) {
  store_.put_pin(row(PinKind::pin, slow_, key_, false));
  EXPECT_EQ(served(100), slow_.text() + " exact");
  EXPECT_EQ(served(150), slow_.text() + " nearest");
  EXPECT_EQ(served(store_, softmax_key(8, 100, h200(), DType::f32)), "none");
}

TEST_F(StorePins, a_banned_config_is_never_served_the_next_is) {
  store_.put_pin(row(PinKind::ban, fast_, key_));
  EXPECT_EQ(served(100), slow_.text() + " nearest");
  EXPECT_EQ(served(200), fast_.text() + " exact");
  store_.put_pin(row(PinKind::ban, fast_, key_, false));
  EXPECT_THAT(served(150), testing::Not(HasSubstr(fast_.text())));
  store_.put_pin(row(PinKind::free, fast_, key_));
  EXPECT_EQ(served(100), fast_.text() + " exact") << "what is said of a problem goes before";
}

TEST_F(StorePins, where_all_is_banned_the_answer_says_so) {
  for (const Config& config : {fast_, slow_, base_}) {
    store_.put_pin(row(PinKind::ban, config, key_, false, 0, "gives NaN"));
  }
  EXPECT_EQ(served(100), "none");
  const ProblemQuery query{key_.problem, key_.interface_hash, h200(), versions()};
  Candidates candidates(store_, query);
  std::size_t bans = 0;
  while (const auto candidate = candidates.next()) {
    ASSERT_TRUE(candidate->decided);
    EXPECT_THAT(candidate->decided->text(), HasSubstr("gives NaN"));
    ++bans;
  }
  EXPECT_GE(bans, 2U);
}

TEST_F(StorePins, a_pin_that_cannot_serve_says_why_it_gives_way) {
  const Config nowhere = onchip_config(2, 0);
  store_.put_pin(row(PinKind::pin, slow_, key_, true, 0, "same bits"));
  store_.put_pin(row(PinKind::pin, nowhere, key_, false, 0, "it was good"));
  const ProblemQuery query{key_.problem, key_.interface_hash, h200(), versions()};
  const auto obstacle = [&](const PlannedWinner& each) {
    return each.row.winner.trial.config == slow_ ? std::string("its rows are odd") : std::string();
  };
  const Chosen chosen = choose(store_, softmax_interface(), query, {.obstacle = obstacle});
  ASSERT_TRUE(chosen.choice);
  EXPECT_EQ(chosen.choice->row.winner.trial.config, fast_);
  EXPECT_FALSE(chosen.pin);
  EXPECT_THAT(
      chosen.gave_way,
      testing::UnorderedElementsAre(
          testing::AllOf(HasSubstr(slow_.text()), HasSubstr("same bits, but cannot serve: its rows are odd")),
          testing::AllOf(HasSubstr(nowhere.text()), HasSubstr("it was good, but cannot serve: it has no binary"))));
}

TEST_F(StorePins, of_two_the_newer_stands_and_of_one_second_the_ban) {
  store_.put_pin(row(PinKind::pin, slow_, key_, true, 100));
  store_.put_pin(row(PinKind::ban, slow_, key_, true, 90));
  ASSERT_THAT(store_.pins(key_).pins, SizeIs(1));
  EXPECT_EQ(store_.pins(key_).pins[0].kind, PinKind::pin);
  store_.put_pin(row(PinKind::ban, slow_, key_, true, 100));
  EXPECT_EQ(store_.pins(key_).pins[0].kind, PinKind::ban);
  store_.put_pin(row(PinKind::pin, slow_, key_));
  store_.put_pin(row(PinKind::free, slow_, key_));
  EXPECT_THAT(store_.pins(key_).pins, IsEmpty()) << "two of one second, made here: the later";
}

TEST_F(StorePins, come_by_export_and_import_with_what_serves_them) {
  store_.put_pin(row(PinKind::pin, slow_, key_));
  store_.put_pin(row(PinKind::ban, base_, key_, false));
  Store to(folder_ / "to.db");
  (void)import_winners(store_, to);
  to.check();
  EXPECT_THAT(to.list_pins(), SizeIs(2));
  EXPECT_EQ(served(to, key_), slow_.text() + " exact");
  EXPECT_FALSE(to.binary(to.build(slow_.text())->binary_hash).empty());
  store_.put_pin(row(PinKind::free, slow_, key_));
  (void)import_winners(store_, to);
  EXPECT_EQ(served(to, key_), fast_.text() + " exact") << "the newer stands";
  Store again(folder_ / "again.db");
  (void)import_winners(to, again);
  EXPECT_EQ(served(again, key_), fast_.text() + " exact");
}

TEST_F(StorePins, packs_give_the_same_pins_in_every_order) {
  std::vector<std::filesystem::path> packs;
  for (const auto& [name, kind, since] : {std::tuple("a", PinKind::pin, 50), std::tuple("b", PinKind::ban, 70),
                                          std::tuple("c", PinKind::free, 60), std::tuple("d", PinKind::pin, 70)}) {
    Store store = prepared_store(folder_ / (std::string(name) + ".db"));
    fill(store);
    store.put_pin(row(kind, fast_, key_, true, since));
    store.put_pin(row(PinKind::pin, slow_, key_, false, since + 1));
    for (const PackFile& pack : write_packs(store, folder_ / name, {}, {}).packs) packs.push_back(pack.path);
  }
  std::ranges::sort(packs);
  std::string first;
  for (int turn = 0; turn < 8; ++turn) {
    Store to(folder_ / "to.db");
    for (const auto& pack : packs) Folding(to).fold(pack);
    to.check();
    if (first.empty()) first = WholeFile::digest(to);
    ASSERT_EQ(WholeFile::digest(to), first);
    EXPECT_EQ(served(to, key_), slow_.text() + " exact");
    ASSERT_THAT(to.list_pins(), SizeIs(2));
    for (const Store::PinRow& each : to.list_pins()) {
      EXPECT_EQ(each.pin.since, each.pin.config.config == fast_ ? 70 : 71);
      EXPECT_EQ(each.pin.kind, each.pin.config.config == fast_ ? PinKind::ban : PinKind::pin);
    }
    std::filesystem::remove(folder_ / "to.db");
    std::ranges::next_permutation(packs);
    std::rotate(packs.begin(), packs.begin() + 1, packs.end());
  }
}

TEST_F(StorePins, a_damaged_pin_is_told_and_the_others_count) {
  store_.put_pin(row(PinKind::ban, fast_, key_));
  store_.put_pin(row(PinKind::pin, slow_, key_));
  damage_rows(folder_ / "c.db", "UPDATE pins SET reason = 'other' WHERE kind = 'pin'");
  const Pins pins = store_.pins(key_);
  ASSERT_THAT(pins.pins, SizeIs(1));
  EXPECT_EQ(pins.pins[0].kind, PinKind::ban);
  EXPECT_THAT(pins.unread, HasSubstr("row 2 of the table pins"));
  EXPECT_EQ(served(100), slow_.text() + " nearest");
  EXPECT_THAT(refusal([&] { (void)store_.list_pins(); }), HasSubstr("row 2 of the table pins"));
  store_.put_pin(row(PinKind::pin, slow_, key_));
  EXPECT_THAT(store_.pins(key_).unread, "") << "decided anew";
  EXPECT_EQ(served(100), slow_.text() + " exact");
}

TEST_F(StorePins, a_reason_of_another_file_cannot_speak_to_the_terminal) {
  store_.put_pin(row(PinKind::ban, fast_, key_, true, 0, "\x1b]0;owned\x07"));
  EXPECT_EQ(store_.pins(key_).pins.at(0).reason.find('\x1b'), std::string::npos);
  EXPECT_EQ(store_.list_pins().at(0).pin.text().find('\x1b'), std::string::npos);
}

TEST_F(StorePins, what_is_pinned_is_no_garbage) {
  store_.put_pin(row(PinKind::pin, slow_, key_));
  EXPECT_THAT(WholeFile::collect_garbage(store_, {}), IsEmpty());
  store_.put_pin(row(PinKind::free, slow_, key_));
  EXPECT_THAT(WholeFile::collect_garbage(store_, {}), testing::Not(IsEmpty()));
  EXPECT_EQ(served(100), fast_.text() + " exact");
}

}  // namespace
}  // namespace tilewright::store_pins_test

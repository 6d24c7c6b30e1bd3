// SPDX-License-Identifier: Apache-2.0

#include <SQLiteCpp/Database.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/other_program.hpp"
#include "tests/unit/serve/match.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright::match_test {
namespace {

using namespace store_tests;

class MatchTest : public testing::Test {
 protected:
  MatchedRow ask(const ProblemKey& of, const DeviceFacts& device, const Versions& now = versions(),
                 const std::vector<std::string>& current = {}) const {
    return match(store, {of.problem, of.interface_hash, device, now, current});
  }

  TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const ProblemKey key = softmax_key(8, 100);
};

TEST(Match, says_how_it_fits_in_words) {
  EXPECT_EQ((Match{Fit::exact, Freshness::fresh, DeviceFit::same_device}).text(), "exact, fresh, same device");
  EXPECT_EQ((Match{Fit::base_default, Freshness::stale, DeviceFit::same_architecture}).text(),
            "default, stale, same architecture");
  EXPECT_EQ(Match{}.text(), "none");
  EXPECT_EQ(name(Fit::nearest), "nearest");
}

TEST_F(MatchTest, nothing_is_served_by_an_empty_cache_or_for_an_unknown_interface) {
  EXPECT_EQ(ask(key, h200()).match.fit, Fit::none);
  EXPECT_FALSE(ask(key, h200()).row.has_value());
  put_winner(store, key, onchip_config(4));
  EXPECT_EQ(match(store, {key.problem, "beef", h200(), versions()}).match.fit, Fit::none);
  EXPECT_EQ(ask(softmax_key(8, 100, h200(), DType::f32), h200()).match.fit, Fit::none);
}

TEST_F(MatchTest, the_winner_of_the_very_problem_is_exact) {
  const std::int64_t id = put_winner(store, key, onchip_config(4));
  const MatchedRow served = ask(key, h200());
  EXPECT_EQ(served.match.text(), "exact, fresh, same device");
  ASSERT_TRUE(served.row.has_value());
  EXPECT_EQ(served.row->winner.trial.id, id);
}

TEST_F(MatchTest, a_shape_that_nothing_near_can_serve_gets_the_base_of_its_spec) {
  put_winner(store, key, onchip_config(4));
  EXPECT_EQ(ask(softmax_key(8, 101), h200()).match.fit, Fit::none) << "a specialised winner serves its own cols alone";
  const std::int64_t base = put_winner(store, softmax_key(16, 100), onchip_config(1, 0), WinnerRole::base);
  const MatchedRow served = ask(softmax_key(8, 101), h200());
  EXPECT_EQ(served.match.text(), "default, fresh, same device");
  EXPECT_EQ(served.row->winner.trial.id, base);
  EXPECT_EQ(served.row->problem, softmax_problem(16, 100)) << "the evidence is of the problem it was measured on";
}

TEST_F(MatchTest, a_shape_between_tuned_ones_gets_a_winner_of_theirs) {
  put_winner(store, key, onchip_config(4));
  put_winner(store, softmax_key(1024, 4096), onchip_config(8, 0));
  const std::int64_t near = put_winner(store, softmax_key(8, 128), onchip_config(2, 0));
  put_winner(store, softmax_key(8, 128, gh200_slice()), onchip_config(1, 0));
  const MatchedRow served = ask(softmax_key(10, 120), h200());
  EXPECT_EQ(served.match.text(), "nearest, fresh, same device");
  EXPECT_EQ(served.row->winner.trial.id, near);
  EXPECT_EQ(served.row->problem, softmax_problem(8, 128));
}

TEST_F(MatchTest, candidates_are_offered_until_one_is_taken) {
  const auto put = [&](const Config& config) { return store.put_trial(key, "impl-1", full_trial(config)); };
  store.put_winners(key, MeasureMode::cold,
                    {winner_of(put(onchip_config(4))), winner_of(put(onchip_config(4, 0)), WinnerRole::dynamic),
                     winner_of(put(onchip_config(1, 0)), WinnerRole::base)});
  put_winner(store, softmax_key(8, 128), onchip_config(2, 0));
  put_winner(store, softmax_key(8, 100, gh200_slice()), onchip_config(16));
  put_winner(store, softmax_key(8, 128, gh200_slice()), onchip_config(16, 0));
  std::vector<std::string> offered;
  const ProblemQuery query{key.problem, key.interface_hash, h200(), versions()};
  Candidates candidates(store, query);
  while (const auto candidate = candidates.next()) {
    offered.push_back(std::string(name(candidate->match.fit)) + " " + candidate->row.winner.trial.config.text());
  }
  EXPECT_EQ(offered,
            (std::vector<std::string>{"exact " + onchip_config(4).text(), "exact " + onchip_config(4, 0).text(),
                                      "nearest " + onchip_config(2, 0).text(), "default " + onchip_config(1, 0).text(),
                                      "exact " + onchip_config(16).text(), "nearest " + onchip_config(16, 0).text()}));
}

TEST_F(MatchTest, what_cannot_be_read_is_passed_over_and_an_error_only_where_nothing_serves) {
  put_winner(store, key, onchip_config(4));
  put_winner(store, softmax_key(1, 1), onchip_config(1, 0), WinnerRole::base);
  OtherProgram other(folder / "c.db");
  other.exec("UPDATE configs SET text = 'no config' WHERE text = '" + onchip_config(4).text() + "'");
  const Store reader(folder / "c.db", {.access = StoreAccess::read});
  const ProblemQuery query{key.problem, key.interface_hash, h200(), versions()};
  Candidates candidates(reader, query);
  EXPECT_EQ(candidates.next().value().match.text(), "default, fresh, same device");
  EXPECT_THAT(candidates.unread(), testing::HasSubstr("is damaged"));
  EXPECT_FALSE(candidates.next());
  EXPECT_THROW(candidates.rethrow_unread(), CacheError) << "and not that nothing is known";
}

/// A cache that another process locks while a winner is requested.
class BrieflyLocked : public WinnerSource {
 public:
  explicit BrieflyLocked(const Store& store) : store_(store) {}
  using Mode = MeasureMode;
  using Shapes = std::vector<std::vector<std::int64_t>>;
  std::optional<WinnerRow> winner_of(const ProblemKey&, Mode, WinnerRole) const override {
    throw CacheError("locked", 0, CacheFault::locked);
  }
  std::string title() const override { return store_.title(); }
  bool changed() const override { return false; }
  std::vector<std::string> ops() const override { return store_.ops(); }
  std::vector<DeviceFacts> devices() const override { return store_.devices(); }
  std::optional<OpInterface> interface_of(const std::string& op) const override { return store_.interface_of(op); }
  std::optional<OpInterface> interface_by_hash(const std::string& h) const override {
    return store_.interface_by_hash(h);
  }
  std::optional<StoredImplementation> implementation_by_hash(const std::string& h) const override {
    return store_.implementation_by_hash(h);
  }
  std::optional<WinnerRow> newest_of_spec(const ProblemKey& k, Mode m, WinnerRole r) const override {
    return store_.newest_of_spec(k, m, r);
  }
  Shapes tuned_shapes(const ProblemKey& k, Mode m) const override { return store_.tuned_shapes(k, m); }
  std::vector<ShapeSummary> known_shapes(const ProblemKey& k, Mode m, const Shapes& s) const override {
    return store_.known_shapes(k, m, s);
  }
  std::shared_ptr<const Learned> learned(const ProblemKey&, Mode) const override { return nullptr; }
  std::optional<WinnerRow> timed(const ProblemKey& k, Mode m, const ConfigId& c) const override {
    return store_.timed(k, m, c);
  }
  std::optional<Build> build(const std::string& k) const override { return store_.build(k); }
  std::vector<std::byte> binary(const std::string& h) const override { return store_.binary(h); }

 private:
  const Store& store_;
};

TEST_F(MatchTest, a_lock_is_an_error_and_no_reason_to_serve_what_is_worse) {
  put_winner(store, key, onchip_config(4));
  put_winner(store, softmax_key(1, 1), onchip_config(1, 0), WinnerRole::base);
  const BrieflyLocked reader(store);
  const ProblemQuery query{key.problem, key.interface_hash, h200(), versions()};
  Candidates candidates(reader, query);
  EXPECT_THROW((void)candidates.next(), CacheError);
}

TEST_F(MatchTest, a_row_that_cannot_be_read_gives_way_to_the_next_of_its_step) {
  const auto put = [&](const Config& config) { return store.put_trial(key, "impl-1", full_trial(config)); };
  store.put_winners(key, MeasureMode::cold,
                    {winner_of(put(onchip_config(4))), winner_of(put(onchip_config(4, 0)), WinnerRole::dynamic)});
  put_winner(store, softmax_key(1000, 128), onchip_config(2, 0));
  put_winner(store, softmax_key(1200, 128), onchip_config(8, 0));
  put_winner(store, softmax_key(1, 1), onchip_config(1, 0), WinnerRole::base);
  OtherProgram other(folder / "c.db");
  for (const Config& config : {onchip_config(4), onchip_config(2, 0)}) {
    other.exec("UPDATE configs SET text = 'no config' || id WHERE text = '" + config.text() + "'");
  }
  const Store reader(folder / "c.db", {.access = StoreAccess::read});
  const auto served = [&](const ProblemKey& asked) {
    const ProblemQuery query{asked.problem, asked.interface_hash, h200(), versions()};
    Candidates candidates(reader, query);
    std::string config = candidates.next().value().row.winner.trial.config.text();
    EXPECT_THAT(candidates.unread(), testing::HasSubstr("is damaged"));
    return config;
  };
  EXPECT_EQ(served(key), onchip_config(4, 0).text()) << "the winner of any width at the very shape";
  EXPECT_EQ(served(softmax_key(1010, 120)), onchip_config(8, 0).text()) << "the next of those around";
}

TEST_F(MatchTest, a_device_of_the_same_architecture_helps_out_after_the_own_base) {
  put_winner(store, softmax_key(8, 100, gh200_slice()), onchip_config(4));
  EXPECT_EQ(ask(key, h200()).match.text(), "exact, fresh, same architecture");
  EXPECT_EQ(ask(key, h200()).row->device, gh200_slice());
  put_winner(store, softmax_key(1, 1), onchip_config(1, 0), WinnerRole::base);
  EXPECT_EQ(ask(key, h200()).match.text(), "default, fresh, same device");
}

TEST_F(MatchTest, among_relatives_an_exact_winner_goes_before_a_nearer_ones_base) {
  DeviceFacts h100 = h200();
  h100.name = "NVIDIA H100";
  h100.sm_count = 130;
  store.put_device(h100);
  put_winner(store, softmax_key(1, 1, h100), onchip_config(1, 0), WinnerRole::base);
  EXPECT_EQ(ask(key, h200()).match.text(), "default, fresh, same architecture");
  put_winner(store, softmax_key(8, 100, gh200_slice()), onchip_config(4));
  EXPECT_EQ(ask(key, h200()).row->device, gh200_slice());
  put_winner(store, softmax_key(8, 100, h100), onchip_config(4));
  EXPECT_EQ(ask(key, h200()).row->device, h100) << "of two exact ones, that of the device most alike";
}

TEST_F(MatchTest, another_architecture_and_the_emulator_serve_nobody_else) {
  put_winner(store, softmax_key(8, 100, a100()), onchip_config(4));
  put_winner(store, softmax_key(8, 100, emulator_facts()), onchip_config(4));
  EXPECT_EQ(ask(key, h200()).match.fit, Fit::none);
  EXPECT_EQ(ask(key, emulator_facts()).match.text(), "exact, fresh, same device");
  DeviceFacts other_emulator = emulator_facts();
  other_emulator.name = "cpu of another kind";
  other_emulator.sm_count = 7;
  if (other_emulator.fingerprint() != emulator_facts().fingerprint()) {
    EXPECT_EQ(ask(key, other_emulator).match.fit, Fit::none);
  }
}

TEST_F(MatchTest, a_device_that_the_cache_has_never_seen_is_served_by_its_architecture) {
  put_winner(store, key, onchip_config(4));
  DeviceFacts unseen = h200();
  unseen.name = "NVIDIA H300";
  EXPECT_EQ(ask(key, unseen).match.text(), "exact, fresh, same architecture");
}

TEST_F(MatchTest, another_driver_or_compiler_makes_a_winner_stale_and_an_unknown_one_is_not_judged) {
  put_winner(store, key, onchip_config(4));
  const auto freshness = [&](const Versions& now) { return ask(key, h200(), now).match.freshness; };
  EXPECT_EQ(freshness({13000, "NVRTC 13.0", "0.1.0"}), Freshness::fresh);
  EXPECT_EQ(freshness({13010, "NVRTC 13.0", "0.1.0"}), Freshness::stale);
  EXPECT_EQ(freshness({13000, "NVRTC 13.1", "0.1.0"}), Freshness::stale);
  EXPECT_EQ(freshness({13000, "NVRTC 13.0", "9.0.0"}), Freshness::fresh) << "Tilewright's is in the hash";
  EXPECT_EQ(freshness({0, "", "0.1.0"}), Freshness::fresh);
  EXPECT_EQ(freshness({}), Freshness::fresh);
}

TEST_F(MatchTest, an_edited_implementation_makes_its_winners_stale) {
  put_winner(store, key, onchip_config(4));
  EXPECT_EQ(ask(key, h200(), versions(), {"impl-0", "impl-1"}).match.freshness, Freshness::fresh);
  EXPECT_EQ(ask(key, h200(), versions(), {"impl-2"}).match.freshness, Freshness::stale);
}

TEST_F(MatchTest, the_cold_winner_goes_before_hot_and_events) {
  put_winner(store, key, onchip_config(1), WinnerRole::best, MeasureMode::events);
  EXPECT_EQ(ask(key, h200()).row->mode, MeasureMode::events);
  put_winner(store, key, onchip_config(2), WinnerRole::best, MeasureMode::hot);
  EXPECT_EQ(ask(key, h200()).row->mode, MeasureMode::hot);
  put_winner(store, key, onchip_config(4), WinnerRole::best, MeasureMode::cold);
  EXPECT_EQ(ask(key, h200()).row->mode, MeasureMode::cold);
}

}  // namespace
}  // namespace tilewright::match_test

// SPDX-License-Identifier: Apache-2.0
// Exports into a folder that has packs.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cache/base/content_hash.hpp"
#include "cache/store/pack/folding.hpp"
#include "cache/store/pack/frame_file.hpp"
#include "cache/store/pack/pack.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/unit/store/import_fixture.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright::further_packs_test {
namespace {

using namespace store_tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::StartsWith;
namespace fs = std::filesystem;

class FurtherPacks : public testing::Test {
 protected:
  /// A winner with this interval, a trial that lost, a spare.
  void tune(std::int64_t cols, std::int64_t warps = 4, double interval = 0.01, std::int64_t at = 50) {
    const ProblemKey key = softmax_key(8, cols);
    Trial best = evidence(store_, onchip_config(warps), interval);
    best.measured_at = at;
    put_best(store_, key, best);
    Trial lost = full_trial(onchip_config(16), 2000);
    lost.measured_at = at;
    store_.put_trial(key, "impl-1", lost);
    put_spare(store_, key, onchip_config(2, 0));
  }
  static void put_build(Store& store, const std::string& key, const std::vector<std::byte>& binary) {
    Build build;
    build.key = key;
    build.ok = true;
    build.arch = "sm_90a";
    store.put_build(build, binary);
  }
  [[nodiscard]] WrittenPacks write(const WinnerSelection& filter = {}) const {
    return write_packs(store_, packs_, filter, {});
  }
  /// The names of a store's packs in an empty folder: those of equal content are equal.
  [[nodiscard]] std::vector<std::string> packs_of(const Store& store) const {
    const fs::path empty = folder_ / "empty";
    fs::remove_all(empty);
    std::vector<std::string> names;
    for (const PackFile& pack : write_packs(store, empty, {}, {}).packs) names.push_back(pack.path.filename().string());
    return names;
  }
  [[nodiscard]] std::vector<fs::path> files() const {
    std::vector<fs::path> files(fs::directory_iterator(packs_), fs::directory_iterator{});
    std::ranges::sort(files);
    return files;
  }
  /// Folds packs into a new cache.
  [[nodiscard]] Store folded(const std::vector<fs::path>& packs) {
    Store to(folder_ / fmt::format("folded-{}.db", ++folded_));
    for (const fs::path& pack : packs) Folding(to).fold(pack);
    to.check();
    return to;
  }
  /// True if an import of the folder gives this cache's trials, winners, spares and models in either order.
  [[nodiscard]] bool brings_the_cache() {
    std::vector<fs::path> packs = files();
    const std::vector<std::string> forth = packs_of(folded(packs));
    std::ranges::reverse(packs);
    EXPECT_EQ(packs_of(folded(packs)), forth);
    return forth == packs_of(store_);
  }
  [[nodiscard]] static std::vector<std::string> problems_of(const Store& store) {
    std::set<std::string> keys;
    for (const auto& [name, part] : WholeFile::parts_of(store, "softmax")) {
      for (const PackPart::Member& problem : part.problems) keys.insert(problem.key);
    }
    return {keys.begin(), keys.end()};
  }

  const store_tests::TemporaryFolder folder_{};
  const fs::path packs_ = folder_ / "packs";
  Store store_ = prepared_store(folder_ / "c.db");
  int folded_ = 0;
};

TEST_F(FurtherPacks, have_the_new_problem_alone_with_the_binary_that_others_share) {
  tune(100);
  tune(200);
  const WrittenPacks first = write();
  ASSERT_THAT(first.packs, SizeIs(2)) << "of the implementation, of the devices";
  tune(300);
  const WrittenPacks further = write();
  ASSERT_THAT(further.packs, SizeIs(1));
  EXPECT_THAT(further.packs[0].path.filename().string(), StartsWith("softmax-bf16-onchip-"));
  EXPECT_EQ(further.packs[0].trials, 2);
  EXPECT_THAT(further.superseded, IsEmpty());
  EXPECT_TRUE(further.knew_some) << "the devices";
  EXPECT_THAT(files(), SizeIs(3)) << "the older ones stay";
  const Store alone = folded({further.packs[0].path});
  EXPECT_THAT(problems_of(alone), ElementsAre(softmax_problem(8, 300).key()));
  const Trial best = alone.winner_of(softmax_key(8, 300), MeasureMode::cold, WinnerRole::best)->winner.trial;
  EXPECT_EQ(alone.binary(alone.build(best.build_key).value().binary_hash), kBinary);
  EXPECT_TRUE(brings_the_cache());
}

TEST_F(FurtherPacks, are_none_the_second_time) {
  tune(100);
  store_.put_loss_model(softmax_key(8, 100), MeasureMode::cold, model_of_warps(4), 50);
  EXPECT_FALSE(write().knew_some);
  const WrittenPacks again = write();
  EXPECT_THAT(again.packs, IsEmpty());
  EXPECT_THAT(again.kept, IsEmpty());
  EXPECT_TRUE(again.knew_some);
  // Nor from a cache that these packs made, whose row ids are others.
  EXPECT_THAT(write_packs(folded(files()), packs_, {}, {}).packs, IsEmpty());
  EXPECT_THAT(files(), SizeIs(3));
}

TEST_F(FurtherPacks, have_a_problem_that_gained_a_failed_trial_a_spare_or_a_pin) {
  tune(100);
  tune(200);
  (void)write();
  const ProblemKey key = softmax_key(8, 200);
  store_.put_trial(key, "impl-1", wrong_trial(onchip_config(32)));
  std::vector<PackFile> packs = write().packs;
  put_spare(store_, key, onchip_config(8, 0));
  std::ranges::move(write().packs, std::back_inserter(packs));
  Store::PinRow ban{{PinKind::ban, {"impl-1", onchip_config(4)}, true, "slow", 50}, key};
  store_.put_pin(ban);
  std::ranges::move(write().packs, std::back_inserter(packs));
  ASSERT_THAT(packs, SizeIs(3));
  for (const PackFile& pack : packs) {
    EXPECT_THAT(problems_of(folded({pack.path})), ElementsAre(softmax_problem(8, 200).key()));
  }
  EXPECT_TRUE(brings_the_cache());
  // One problem carries the ban of a spec.
  ban.key.problem.dims.clear();
  ban.pin.is_of_problem = false;
  store_.put_pin(ban);
  packs = write().packs;
  ASSERT_THAT(packs, SizeIs(1));
  EXPECT_THAT(problems_of(folded({packs[0].path})), SizeIs(1));
  ban.pin.kind = PinKind::free;
  ban.pin.since = 60;
  store_.put_pin(ban);
  EXPECT_THAT(write().packs, SizeIs(1));
  EXPECT_TRUE(brings_the_cache());
  EXPECT_THAT(write().packs, IsEmpty());
}

TEST_F(FurtherPacks, have_a_trial_again_that_has_its_build_since_a_spare_has_it) {
  tune(100);
  tune(200);
  Trial lost = evidence(store_, onchip_config(8, 0));
  lost.timing->median_ns = 3000;
  store_.put_trial(softmax_key(8, 100), "impl-1", lost);
  (void)write();
  store_.put_spare(softmax_key(8, 200), MeasureMode::cold, {"impl-1", onchip_config(8, 0)}, lost.build_key);
  const WrittenPacks further = write();
  ASSERT_THAT(further.packs, SizeIs(1));
  EXPECT_THAT(problems_of(folded({further.packs[0].path})), SizeIs(2));
  EXPECT_TRUE(brings_the_cache());
}

TEST_F(FurtherPacks, have_a_problem_whose_spare_has_the_build_that_a_fold_prefers) {
  tune(100);
  (void)write();
  put_build(store_, "a build", kBinary);
  store_.put_spare(softmax_key(8, 100), MeasureMode::cold, {"impl-1", onchip_config(2, 0)}, "a build");
  EXPECT_THAT(write().packs, SizeIs(1));
  EXPECT_TRUE(brings_the_cache());
}

TEST_F(FurtherPacks, have_a_problem_that_was_served_otherwise_for_a_while) {
  tune(100);
  const ProblemKey key = softmax_key(8, 100);
  const std::int64_t best = store_.winners(key, MeasureMode::cold).at(0).trial.id;
  const std::int64_t other = store_.put_trial(key, "impl-1", evidence(store_, onchip_config(8)));
  (void)write();
  store_.put_winners(key, MeasureMode::cold, {winner_of(other), winner_of(best, WinnerRole::dynamic)});
  store_.put_winners(key, MeasureMode::cold, {winner_of(best), winner_of(best, WinnerRole::dynamic)});
  EXPECT_THAT(write().packs, SizeIs(1));
  EXPECT_TRUE(brings_the_cache());
  EXPECT_THAT(write().packs, IsEmpty());
}

TEST_F(FurtherPacks, have_the_problem_of_a_build_whose_binary_a_fold_prefers) {
  // Compilers need not make the same binary twice. That of the lower hash serves.
  const ProblemKey key = softmax_key(8, 100);
  const Trial trial = evidence(store_, onchip_config(4));
  put_best(store_, key, trial);
  Store other = prepared_store(folder_ / "other.db");
  const std::vector<std::byte> bytes(5000, std::byte{43});
  put_build(other, trial.build_key, bytes);
  put_best(other, key, trial);
  const bool is_lower = content_hash(std::span(bytes)) < content_hash(std::span(kBinary));
  const Store& preferred = is_lower ? other : store_;
  (void)write_packs(is_lower ? store_ : other, packs_, {}, {});
  EXPECT_THAT(write_packs(preferred, packs_, {}, {}).packs, SizeIs(1));
  EXPECT_THAT(write_packs(preferred, packs_, {}, {}).packs, IsEmpty());
  EXPECT_THAT(write_packs(is_lower ? store_ : other, packs_, {}, {}).packs, IsEmpty());
}

TEST_F(FurtherPacks, replace_the_winners_of_a_problem_that_was_swept_again) {
  tune(100);
  tune(200);
  const WrittenPacks first = write();
  tune(100, 8, 0.005, 60);
  const WrittenPacks further = write();
  ASSERT_THAT(further.packs, SizeIs(1));
  EXPECT_EQ(further.packs[0].trials, 4) << "the former ones, too";
  EXPECT_THAT(further.kept, IsEmpty());
  EXPECT_THAT(further.superseded, IsEmpty()) << "the older pack has another problem";
  EXPECT_TRUE(brings_the_cache());
  // Of both problems the first pack now has no row that the folder's others lack.
  tune(100, 8, 0.004, 70);
  tune(200, 8, 0.004, 70);
  const WrittenPacks last = write();
  EXPECT_THAT(last.superseded, testing::UnorderedElementsAre(first.packs[0].path, further.packs[0].path));
  for (const fs::path& pack : last.superseded) fs::remove(pack);
  EXPECT_TRUE(brings_the_cache());
  EXPECT_THAT(write().packs, IsEmpty());
}

TEST_F(FurtherPacks, replace_a_pack_whose_winner_is_of_another_implementation_now) {
  tune(100);
  const WrittenPacks first = write();
  StoredImplementation streaming = onchip("impl-2");
  streaming.recipe.name = "streaming";
  const ProblemKey key = softmax_key(8, 100);
  store_.put_implementation(key.interface_hash, streaming);
  store_.put_trial(key, "impl-1", wrong_trial(onchip_config(32)));
  Trial best = evidence(store_, {"streaming", {{"num_warps", 4}, {"static_dims", 0}}}, 0.005);
  best.measured_at = 60;
  store_.put_winners(key, MeasureMode::cold, {winner_of(store_.put_trial(key, "impl-2", best))});
  const WrittenPacks further = write();
  EXPECT_THAT(further.packs, SizeIs(2)) << "of either implementation";
  EXPECT_THAT(further.superseded, ElementsAre(first.packs[0].path));
  EXPECT_TRUE(brings_the_cache());
  fs::remove(first.packs[0].path);
  EXPECT_TRUE(brings_the_cache());
}

TEST_F(FurtherPacks, name_the_problems_for_which_older_packs_keep_better_evidence) {
  tune(100);
  const WrittenPacks first = write();
  tune(100, 8, 0.02, 60);
  tune(200);
  const auto is_kept = ElementsAre(Pair(softmax_problem(8, 100).key(), first.packs[0].path.filename().string()));
  const WrittenPacks further = write();
  EXPECT_THAT(further.packs, SizeIs(1));
  EXPECT_THAT(further.kept, is_kept);
  EXPECT_THAT(further.superseded, IsEmpty());
  EXPECT_FALSE(brings_the_cache());
  // The trials are there, so the next time nothing is written, and the same is told.
  const WrittenPacks again = write();
  EXPECT_THAT(again.packs, IsEmpty());
  EXPECT_THAT(again.kept, is_kept);
  fs::remove(first.packs[0].path);
  EXPECT_THAT(write().kept, IsEmpty());
  EXPECT_TRUE(brings_the_cache());
}

TEST_F(FurtherPacks, have_the_winners_of_the_sweep_that_tried_more_for_the_same_best_trial) {
  // Whichever hash is lower.
  for (std::int64_t cols = 1; cols <= 5; ++cols) {
    const ProblemKey key = softmax_key(8, cols);
    const Trial trial = evidence(store_, onchip_config(4));
    put_best(store_, key, trial, 3);
    (void)write();
    const std::int64_t id = store_.winners(key, MeasureMode::cold).at(0).trial.id;
    store_.put_winners(key, MeasureMode::cold, {winner_of(id), winner_of(id, WinnerRole::dynamic)});
    const WrittenPacks further = write();
    EXPECT_THAT(further.packs, SizeIs(1)) << cols;
    EXPECT_THAT(further.kept, IsEmpty()) << cols;
    EXPECT_TRUE(brings_the_cache()) << cols;
  }
}

TEST_F(FurtherPacks, have_the_winners_of_the_sweep_in_which_fewer_configs_failed) {
  const ProblemKey key = softmax_key(8, 100);
  const std::int64_t base = store_.put_trial(key, "impl-1", evidence(store_, onchip_config(4)));
  Winner of_few = winner_of(base);
  of_few.configs_failed = 20;
  store_.put_winners(key, MeasureMode::cold, {of_few});
  (void)write();
  const std::int64_t id = store_.put_trial(key, "impl-1", evidence(store_, onchip_config(8), 0.02));
  store_.put_winners(key, MeasureMode::cold, {winner_of(id)});
  EXPECT_THAT(write().kept, IsEmpty()) << "its interval is wider, but the other had no choice";
  EXPECT_TRUE(brings_the_cache());
}

TEST_F(FurtherPacks, have_the_winner_that_is_clearly_faster_than_the_base_though_its_sweep_was_smaller) {
  const ProblemKey key = softmax_key(8, 100);
  Winner of_many = winner_of(store_.put_trial(key, "impl-1", evidence(store_, onchip_config(4))));
  of_many.base_ns = 3000;
  store_.put_winners(key, MeasureMode::cold, {of_many});
  (void)write();
  Trial faster = evidence(store_, onchip_config(8));
  faster.timing->median_ns = 900;
  Winner of_few = winner_of(store_.put_trial(key, "impl-1", faster));
  of_few.base_ns = 3000;
  of_few.configs_considered = 5;
  store_.put_winners(key, MeasureMode::cold, {of_few});
  EXPECT_THAT(write().kept, IsEmpty());
  EXPECT_TRUE(brings_the_cache());
}

TEST_F(FurtherPacks, have_the_winners_of_the_sweep_that_tried_more_and_had_a_shorter_final) {
  const ProblemKey key = softmax_key(8, 100);
  put_best(store_, key, evidence(store_, onchip_config(4)), 3);
  (void)write();
  Trial shorter = evidence(store_, onchip_config(8));
  shorter.timing->rounds_ns.resize(7);
  const std::int64_t id = store_.put_trial(key, "impl-1", shorter);
  store_.put_winners(key, MeasureMode::cold, {winner_of(id), winner_of(id, WinnerRole::dynamic)});
  EXPECT_THAT(write().kept, IsEmpty());
  EXPECT_TRUE(brings_the_cache());
}

TEST_F(FurtherPacks, name_the_problems_whose_evidence_ties_if_the_older_pack_keeps_its_winners) {
  // The hashes decide.
  std::set<bool> seen;
  for (std::int64_t cols = 1; cols <= 10; ++cols) {
    fs::remove_all(packs_);
    tune(cols);
    (void)write();
    const ProblemKey key = softmax_key(8, cols);
    const std::int64_t id = store_.winners(key, MeasureMode::cold).at(0).trial.id;
    store_.put_trial(key, "impl-1", wrong_trial(onchip_config(32)));
    store_.put_winners(key, MeasureMode::cold, {winner_of(id)});
    const bool is_kept = !write().kept.empty();
    EXPECT_EQ(brings_the_cache(), !is_kept) << cols;
    seen.insert(is_kept);
  }
  EXPECT_THAT(seen, SizeIs(2)) << "both cases were seen";
}

TEST_F(FurtherPacks, have_models_and_ceilings_that_are_new) {
  tune(100);
  const ProblemKey key = softmax_key(8, 100);
  store_.put_loss_model(key, MeasureMode::cold, model_of_warps(4, 16), 50);
  const WrittenPacks first = write();
  ASSERT_THAT(first.packs, SizeIs(3));
  store_.put_loss_model(key, MeasureMode::cold, model_of_warps(4, 20), 60);
  WrittenPacks further = write();
  ASSERT_THAT(further.packs, SizeIs(1));
  EXPECT_THAT(further.packs[0].path.filename().string(), StartsWith("softmax-models-"));
  EXPECT_THAT(further.superseded, ElementsAre(first.packs[1].path));
  store_.put_ceiling(h200().fingerprint(), {1024, 1, MeasureMode::cold, 40.0, std::nullopt, "GPU-1", 70});
  further = write();
  ASSERT_THAT(further.packs, SizeIs(1));
  EXPECT_THAT(further.packs[0].path.filename().string(), StartsWith("devices-"));
  store_.put_compute_rate(h200().fingerprint(), {9e14, "config", "GPU-1", 70});
  EXPECT_THAT(write().packs, SizeIs(1));
  EXPECT_TRUE(brings_the_cache());
  // A model of fewer shapes does not replace one of more.
  store_.put_loss_model(key, MeasureMode::cold, model_of_warps(4, 18), 80);
  further = write();
  EXPECT_THAT(further.packs, IsEmpty());
  EXPECT_THAT(further.kept, IsEmpty()) << "of problems";
  EXPECT_THAT(further.kept_models, ElementsAre(Pair(key.problem.spec.text(), StartsWith("softmax-models-"))));
  for (const fs::path& file : files()) {
    if (file.filename().string().starts_with("softmax-models-")) fs::remove(file);
  }
  further = write();
  EXPECT_THAT(further.packs, SizeIs(1));
  EXPECT_THAT(further.kept_models, IsEmpty());
  EXPECT_TRUE(brings_the_cache());
}

TEST_F(FurtherPacks, are_compared_with_a_cache_that_stays_as_it_was) {
  tune(100);
  const WrittenPacks first = write();
  Store known = folded(files());
  const std::string digest = WholeFile::digest(known);
  tune(200);
  const PackFile further = write().packs.at(0);
  for (int turn = 0; turn < 2; ++turn) {
    const FoldChanges news = WholeFile::changes_of_fold(known, unpacked(further.path), further.hash, folder_ / "");
    EXPECT_THAT(news.problems, ElementsAre(softmax_problem(8, 200).key()));
    EXPECT_TRUE(news.has_rows);
  }
  EXPECT_FALSE(
      WholeFile::changes_of_fold(known, unpacked(first.packs[0].path), first.packs[0].hash, folder_ / "").has_rows);
  EXPECT_EQ(WholeFile::digest(known), digest);
}

TEST_F(FurtherPacks, read_the_packs_of_the_ops_asked_for_alone) {
  tune(100);
  (void)write();
  const std::string hash(64, 'a');
  for (const std::string& name : {"gemm-bf16-mma-" + hash, "softmax_bwd-bf16-onchip-" + hash}) {
    write_file(packs_ / (name + ".pack"), "damaged");
  }
  tune(200);
  EXPECT_THAT(write({.ops = {"softmax"}}).packs, SizeIs(1));
}

TEST_F(FurtherPacks, are_not_written_beside_a_pack_that_is_damaged_or_misnamed) {
  tune(100);
  const fs::path pack = write().packs[0].path;
  tune(200);
  for (const std::string& name : {pack.filename().string(), std::string("mine.pack")}) {
    const std::string whole = read_file(pack);
    write_file(packs_ / name, "damaged");
    const auto before = files();
    EXPECT_THAT(
        refusal([&] { (void)write(); }),
        testing::AllOf(HasSubstr("cannot fold the pack " + (packs_ / name).string()), HasSubstr("Get the file again")));
    EXPECT_EQ(files(), before);
    write_file(pack, whole);
  }
}

}  // namespace
}  // namespace tilewright::further_packs_test

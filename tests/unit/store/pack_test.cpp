// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/pack.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "cache/store/pack/frame_file.hpp"
#include "tests/unit/store/import_fixture.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;
using testing::HasSubstr;
using testing::SizeIs;
namespace fs = std::filesystem;

class Packs : public testing::Test {
 protected:
  [[nodiscard]] std::vector<fs::path> write(const Store& from, const std::string& folder) const {
    std::vector<fs::path> files;
    for (const PackFile& pack : write_packs(from, folder_ / folder, {}, {})) files.push_back(pack.path);
    return files;
  }
  /// A cache as a sweep of its own leaves it: a winner of an interval, a trial that lost, one that failed, a spare.
  [[nodiscard]] std::vector<fs::path> swept(const std::string& name, double interval, std::int64_t warps,
                                            std::int64_t at) const {
    Store store = prepared_store(folder_ / (name + ".db"));
    for (const std::int64_t cols : {100, 200}) {
      const ProblemKey key = softmax_key(8, cols);
      Trial best = evidence(store, onchip_config(warps), interval);
      best.measured_at = at;
      put_best(store, key, best);
      Trial lost = full_trial(onchip_config(16), 2000);
      lost.measured_at = at;
      store.put_trial(key, "impl-1", lost);
      Trial wrong = wrong_trial(onchip_config(32));
      wrong.measured_at = at + 1;
      store.put_trial(key, "impl-1", wrong);
      put_spare(store, key, onchip_config(2, 0));
    }
    store.put_loss_model(softmax_key(8, 100), MeasureMode::cold,
                         model_of_warps(4, 16 + static_cast<std::size_t>(warps)), at);
    store.put_ceiling(h200().fingerprint(), {1024, 1, MeasureMode::cold, 40.0, std::nullopt, "GPU-1", at});
    return write(store, name);
  }

  const TemporaryFolder folder_{};
};

TEST_F(Packs, bring_every_trial_with_its_rounds_winners_spares_models_and_binaries) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  ASSERT_THAT(packs, SizeIs(3)) << "of the implementation, of the models, of the device";
  Store to(folder_ / "to.db");
  for (const fs::path& pack : packs) fold_pack(to, pack);
  to.check();
  const Store from(folder_ / "a.db", {.access = StoreAccess::read});
  EXPECT_EQ(to.counts().trials, from.counts().trials);
  const ProblemKey key = softmax_key(8, 100);
  const Trial best = to.trial(to.winners(key, MeasureMode::cold).at(0).trial.id).value();
  EXPECT_EQ(best.timing.value().rounds_ns, std::vector<double>(20, 1000));
  EXPECT_EQ(best.accuracy.value().max_absolute, full_trial(onchip_config(4)).accuracy.value().max_absolute);
  EXPECT_EQ(to.binary(to.build(best.build_key).value().binary_hash), kBinary);
  EXPECT_EQ(to.build_of_spare(key, MeasureMode::cold, {"impl-1", onchip_config(2, 0)}),
            from.build_of_spare(key, MeasureMode::cold, {"impl-1", onchip_config(2, 0)}));
  EXPECT_EQ(*to.learned(key, MeasureMode::cold)->model, model_of_warps(4, 20));
  EXPECT_EQ(to.ceiling(h200().fingerprint(), 1024, 1, MeasureMode::cold)->memcpy_ns, 40);
  EXPECT_EQ(to.failed_configs(key, MeasureMode::cold), (ConfigIds{{"impl-1", onchip_config(32)}}));
}

TEST_F(Packs, folded_again_change_nothing) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  Store to(folder_ / "to.db");
  for (const fs::path& pack : packs) fold_pack(to, pack);
  const auto counts = to.counts();
  const std::string digest = to.digest();
  for (const fs::path& pack : packs) {
    for (const OpCounts& line : fold_pack(to, pack)) EXPECT_EQ(line.added + line.replaced + line.kept, 0U);
  }
  EXPECT_EQ(to.digest(), digest);
  EXPECT_EQ(to.counts().trials, counts.trials);
  EXPECT_EQ(to.counts().winners, counts.winners);
}

TEST_F(Packs, give_the_same_content_in_every_order) {
  // Winners that differ in evidence, that tie, and one that another pack has, too.
  std::vector<fs::path> packs;
  for (const fs::path& pack : {swept("a", 0.01, 4, 50).front(), swept("b", 0.02, 8, 60).front(),
                               swept("c", 0.01, 2, 50).front(), swept("d", 0.005, 4, 70).front()}) {
    packs.push_back(pack);
  }
  std::ranges::sort(packs);
  std::string first;
  do {
    Store to(folder_ / "to.db");
    for (const fs::path& pack : packs) fold_pack(to, pack);
    to.check();
    if (first.empty()) first = to.digest();
    ASSERT_EQ(to.digest(), first) << packs.front() << " first";
    const ProblemKey key = softmax_key(8, 100);
    EXPECT_EQ(to.winner_of(key, MeasureMode::cold, WinnerRole::best)->winner.trial.measured_at, 70)
        << "the narrowest interval";
    for (const char* const end : {"", "-wal", "-shm"}) fs::remove(folder_ / (std::string("to.db") + end));
  } while (std::ranges::next_permutation(packs).found);
}

TEST_F(Packs, leave_winners_that_were_chosen_here_where_the_evidence_is_the_same) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  Store to = prepared_store(folder_ / "to.db");
  const ProblemKey key = softmax_key(8, 100);
  Trial own = evidence(to, onchip_config(8), 0.01);
  own.measured_at = 50;
  put_best(to, key, own);
  const auto lines = fold_pack(to, packs.front());
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines.front().kept, 1U);
  EXPECT_EQ(lines.front().added, 1U);
  EXPECT_EQ(to.winner_of(key, MeasureMode::cold, WinnerRole::best)->winner.trial.config, onchip_config(8));
}

TEST_F(Packs, that_were_changed_or_renamed_are_refused_and_leave_the_cache_as_it_was) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  Store to(folder_ / "to.db");
  const std::string digest = to.digest();
  std::string bytes = read_file(packs.front());
  bytes[bytes.size() / 2] ^= 1;
  write_file(packs.front(), bytes);
  EXPECT_THAT(refusal([&] { fold_pack(to, packs.front()); }), HasSubstr("it is damaged, since the SHA-256"));
  const fs::path renamed = folder_ / "renamed.pack";
  fs::rename(packs.back(), renamed);
  EXPECT_THAT(refusal([&] { fold_pack(to, renamed); }), HasSubstr("its name does not end in the SHA-256"));
  EXPECT_EQ(to.digest(), digest);
}

TEST_F(Packs, whose_rows_were_changed_are_refused_though_they_are_named_for_it) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  const fs::path cache = folder_ / "pack.db", packed = folder_ / "packed";
  unpack_file(packs.front(), cache);
  {
    // As a bit flips: the row's checksum stays.
    SQLite::Database database(cache.string(), SQLite::OPEN_READWRITE);
    std::string content = read_file(cache);
    const std::size_t at = content.find("num_warps=4");
    ASSERT_NE(at, std::string::npos);
    content[at + 10] = '5';
    write_file(cache, content);
  }
  pack_file(cache, packed);
  const fs::path named = folder_ / ("x-" + sha256_of(packed) + ".pack");
  fs::rename(packed, named);
  Store to(folder_ / "to.db");
  EXPECT_THAT(refusal([&] { fold_pack(to, named); }), HasSubstr("is damaged"));
  EXPECT_EQ(to.counts().trials, 0);
}

}  // namespace
}  // namespace tilewright

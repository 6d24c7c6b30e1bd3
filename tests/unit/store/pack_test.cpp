// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/pack.hpp"
#include "cache/store/pack/folding.hpp"
#include "cache/store/pack/frame_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "cache/base/content_hash.hpp"
#include "cache/base/error.hpp"
#include "cache/store/export.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/store/import_fixture.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright::pack_test {
namespace {

using namespace store_tests;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace fs = std::filesystem;

std::vector<OpCounts> fold_pack(Store& to, const fs::path& pack) { return Folding(to).fold(pack); }

class Packs : public testing::Test {
 protected:
  [[nodiscard]] std::vector<fs::path> write(const Store& from, const std::string& folder) const {
    std::vector<fs::path> files;
    for (const PackFile& pack : write_packs(from, folder_ / folder, {}, {}).packs) files.push_back(pack.path);
    return files;
  }
  /// The packs of a swept cache: a winner with this interval, a trial that lost, one that failed, a spare.
  [[nodiscard]] std::vector<fs::path> swept(const std::string& name, double interval, std::int64_t warps,
                                            std::int64_t at, int not_reached = 0) const {
    Store store = prepared_store(folder_ / (name + ".db"));
    for (const std::int64_t cols : {100, 200}) {
      const ProblemKey key = softmax_key(8, cols);
      Trial best = evidence(store, onchip_config(warps), interval);
      best.measured_at = at;
      put_best(store, key, best, not_reached);
      Trial lost = full_trial(onchip_config(16), 2000);
      lost.measured_at = at;
      store.put_trial(key_, "impl-1", lost);
      Trial wrong = wrong_trial(onchip_config(32));
      wrong.measured_at = at + 1;
      store.put_trial(key_, "impl-1", wrong);
      put_spare(store, key, onchip_config(2, 0));
    }
    store.put_loss_model(softmax_key(8, 100), MeasureMode::cold,
                         model_of_warps(4, 16 + static_cast<std::size_t>(warps)), at);
    store.put_ceiling(h200().fingerprint(), {1024, 1, MeasureMode::cold, 40.0, std::nullopt, "GPU-1", at});
    return write(store, name);
  }

  const store_tests::TemporaryFolder folder_{};
  const ProblemKey key_ = softmax_key(8, 100);
};

TEST_F(Packs, take_their_parts_from_a_cache_that_another_writer_has_locked) {
  const fs::path from = folder_ / "from.db";
  Store source = prepared_store(from);
  put_best(source, key_, evidence(source, onchip_config(4), 0.01));
  const auto parts = WholeFile::parts_of(source, "softmax");
  ASSERT_THAT(parts, SizeIs(1));
  OtherProgram other(from);
  other.exec("BEGIN IMMEDIATE");
  Store part(folder_ / "part.db", {.busy_timeout = std::chrono::milliseconds(1)});
  WholeFile::take_part(part, from, parts.front().second);
  EXPECT_EQ(part.counts().winners, source.counts().winners);
}

TEST_F(Packs, bring_every_trial_with_its_rounds_winners_spares_models_and_binaries) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  ASSERT_THAT(packs, SizeIs(3)) << "of the implementation, of the models, of the device";
  Store to(folder_ / "to.db");
  for (const fs::path& pack : packs) fold_pack(to, pack);
  to.check();
  const Store from(folder_ / "a.db", {.access = StoreAccess::read});
  EXPECT_EQ(to.counts().trials, from.counts().trials);
  const Trial best = to.trial(to.winners(key_, MeasureMode::cold).at(0).trial.id).value();
  EXPECT_EQ(best.timing.value().rounds_ns, std::vector<double>(20, 1000));
  EXPECT_EQ(best.accuracy.value().max_absolute, full_trial(onchip_config(4)).accuracy.value().max_absolute);
  EXPECT_EQ(to.binary(to.build(best.build_key).value().binary_hash), kBinary);
  EXPECT_EQ(to.build_of_spare(key_, MeasureMode::cold, {"impl-1", onchip_config(2, 0)}),
            from.build_of_spare(key_, MeasureMode::cold, {"impl-1", onchip_config(2, 0)}));
  EXPECT_EQ(*to.learned(key_, MeasureMode::cold)->model, model_of_warps(4, 20));
  EXPECT_EQ(to.ceiling(h200().fingerprint(), 1024, 1, MeasureMode::cold)->memcpy_ns, 40);
  EXPECT_EQ(to.failed_configs(key_, MeasureMode::cold), (ConfigIds{{"impl-1", onchip_config(32)}}));
}

TEST_F(Packs, folded_again_change_nothing) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  Store to(folder_ / "to.db");
  for (const fs::path& pack : packs) fold_pack(to, pack);
  const auto counts = to.counts();
  const std::string digest = WholeFile::digest(to);
  for (const fs::path& pack : packs) {
    for (const OpCounts& line : fold_pack(to, pack)) EXPECT_EQ(line.added + line.replaced + line.kept, 0U);
  }
  EXPECT_EQ(WholeFile::digest(to), digest);
  EXPECT_EQ(to.counts().trials, counts.trials);
  EXPECT_EQ(to.counts().winners, counts.winners);
}

TEST_F(Packs, that_take_back_their_place_are_noticed) {
  const fs::path pack = swept("a", 0.01, 4, 50).front();
  Store to(folder_ / "to.db");
  fold_pack(to, pack);
  put_best(to, key_, evidence(to, onchip_config(8), 0.5));
  const std::uint64_t before = to.winners_state();
  EXPECT_EQ(fold_pack(to, pack).front().replaced, 1U);
  EXPECT_NE(to.winners_state(), before);
}

TEST_F(Packs, leave_the_interface_in_use_that_was_swept_here) {
  OpInterface other = softmax_interface();
  other.args[0].align = 32;
  fs::path newer;
  {
    Store from(folder_ / "other.db");
    from.put_interface(other);
    from.put_implementation(other.hash(), onchip());
    from.put_device(h200());
    Trial best = evidence(from, onchip_config(4));
    best.measured_at = 90;
    put_best(from, {key_.problem, other.hash(), key_.device_fingerprint}, best);
    newer = write(from, "other").front();
  }
  Store to(folder_ / "to.db");
  fold_pack(to, swept("a", 0.01, 4, 50).front());
  to.put_interface(softmax_interface());
  fold_pack(to, newer);
  EXPECT_EQ(to.interface_of("softmax"), softmax_interface());
}

TEST_F(Packs, give_the_same_content_in_every_order) {
  // Winners that differ in evidence, that tie, and that two packs share; models, and devices' ceilings.
  const std::vector<fs::path> a = swept("a", 0.01, 4, 50), b = swept("b", 0.02, 8, 60), c = swept("c", 0.01, 2, 50),
                              d = swept("d", 0.005, 4, 70), e = swept("e", 0.001, 8, 80, 1);
  for (std::vector<fs::path> packs : {std::vector{a[0], c[0], d[0], e[0]}, std::vector{b[1], d[1], c[2]}}) {
    std::ranges::sort(packs);
    std::string first, first_snapshot;
    do {
      Store to(folder_ / "to.db");
      for (const fs::path& pack : packs) fold_pack(to, pack);
      to.check();
      if (first.empty()) first = WholeFile::digest(to);
      ASSERT_EQ(WholeFile::digest(to), first) << packs.front() << " first";
      // The published snapshot, too.
      export_winners(to, folder_ / "snapshot.db", {.thin = true});
      const std::string snapshot = WholeFile::digest(Store(folder_ / "snapshot.db", {.access = StoreAccess::read}));
      if (first_snapshot.empty()) first_snapshot = snapshot;
      ASSERT_EQ(snapshot, first_snapshot) << packs.front() << " first";
      if (std::ranges::find(packs, d[0]) != packs.end()) {
        EXPECT_EQ(to.winner_of(key_, MeasureMode::cold, WinnerRole::best)->winner.trial.measured_at, 70)
            << "the narrowest interval of those that were chosen among most that were reached";
      }
      for (const char* const end : {"", "-wal", "-shm"}) fs::remove(folder_ / (std::string("to.db") + end));
    } while (std::ranges::next_permutation(packs).found);
  }
}

TEST_F(Packs, of_the_same_content_have_the_same_names_whatever_cache_they_come_from) {
  const std::vector<fs::path> a = swept("a", 0.01, 4, 50), b = swept("b", 0.02, 8, 60);
  std::vector<std::string> names;
  for (const auto& packs : {std::pair(a, b), std::pair(b, a)}) {
    Store both(folder_ / fmt::format("both-{}.db", names.size()));
    for (const std::vector<fs::path>& some : {packs.first, packs.second}) {
      for (const fs::path& pack : some) fold_pack(both, pack);
    }
    const std::string folder = fmt::format("both-{}", names.size());
    for (const fs::path& pack : write(both, folder)) names.push_back(pack.filename().string());
  }
  ASSERT_THAT(names, SizeIs(6));
  EXPECT_THAT(std::vector(names.begin(), names.begin() + 3), testing::ElementsAreArray(names.begin() + 3, names.end()));
  // Written, folded and written again, the files are the same.
  Store again(folder_ / "again.db");
  for (const std::string& name : std::vector(names.begin(), names.begin() + 3))
    fold_pack(again, folder_ / "both-0" / name);
  for (const fs::path& pack : write(again, "again"))
    EXPECT_TRUE(fs::exists(folder_ / "both-0" / pack.filename())) << pack;
}

TEST_F(Packs, that_are_split_bring_what_one_brings) {
  const std::vector<fs::path> whole = swept("a", 0.01, 4, 50);
  const Store from(folder_ / "a.db", {.access = StoreAccess::read});
  const std::vector<PackFile> split =
      write_packs(from, folder_ / "split", {}, {}, fs::file_size(whole.front()) - 1).packs;
  ASSERT_THAT(split, SizeIs(4));
  EXPECT_THAT(split[0].path.filename().string(), HasSubstr("softmax-bf16-onchip-1-"));
  EXPECT_THAT(split[1].path.filename().string(), HasSubstr("softmax-bf16-onchip-2-"));
  EXPECT_LT(split[0].bytes, fs::file_size(whole.front()));
  Store one(folder_ / "one.db"), two(folder_ / "two.db");
  for (const fs::path& pack : whole) fold_pack(one, pack);
  for (const PackFile& pack : split) fold_pack(two, pack.path);
  EXPECT_EQ(WholeFile::digest(one), WholeFile::digest(two));
}

TEST_F(Packs, have_a_trial_once_that_two_of_them_bring) {
  // The base of onchip's winners is of another implementation.
  const Config plain{"streaming", {{"num_warps", 4}, {"static_dims", 0}}};
  Store store = prepared_store(folder_ / "a.db");
  StoredImplementation streaming = onchip("impl-2");
  streaming.recipe.name = "streaming";
  store.put_implementation(key_.interface_hash, streaming);
  const std::int64_t best = store.put_trial(key_, "impl-1", evidence(store, onchip_config(4)));
  const std::int64_t base = store.put_trial(key_, "impl-2", evidence(store, plain));
  store.put_winners(key_, MeasureMode::cold, {winner_of(best), winner_of(base, WinnerRole::base)});
  std::vector<fs::path> packs = write(store, "a");
  ASSERT_THAT(packs, SizeIs(3)) << "of either implementation, of the device";
  int order = 0;
  std::string first;
  do {
    Store to(folder_ / fmt::format("{}.db", ++order));
    for (const fs::path& pack : packs) EXPECT_THAT(fold_pack(to, pack), SizeIs(testing::Le(1U)));
    EXPECT_EQ(to.counts().trials, 2);
    if (first.empty()) first = WholeFile::digest(to);
    EXPECT_EQ(WholeFile::digest(to), first);
  } while (std::ranges::next_permutation(packs).found);
}

TEST_F(Packs, have_the_winners_of_an_implementation_that_was_edited_since) {
  Store store = prepared_store(folder_ / "a.db");
  put_best(store, key_, evidence(store, onchip_config(4)));
  store.put_implementation(key_.interface_hash, onchip("impl-2"));
  Trial later = full_trial(onchip_config(8));
  later.measured_at += 1;
  store.put_trial(softmax_key(8, 200), "impl-2", later);
  Store to(folder_ / "to.db");
  for (const fs::path& pack : write(store, "a")) fold_pack(to, pack);
  EXPECT_EQ(to.counts().trials, 2);
  EXPECT_EQ(to.winner_of(key_, MeasureMode::cold, WinnerRole::best)->implementation_hash, "impl-1");
}

TEST_F(Packs, leave_models_behind_that_another_version_has_learned) {
  (void)swept("a", 0.01, 4, 50);
  put_model_of_version(folder_ / "a.db", 0);
  Store to(folder_ / "to.db");
  const Store from(folder_ / "a.db");
  for (const fs::path& pack : write(from, "older")) {
    for (const OpCounts& line : fold_pack(to, pack)) EXPECT_EQ(line.models, 0U);
  }
  EXPECT_EQ(to.counts().models, 0);
  EXPECT_EQ(to.counts().binaries, from.counts().binaries) << "none that nothing needs";
  // A model of an older version here does not prevent folding a current one.
  std::vector<fs::path> packs = swept("b", 0.01, 4, 50);
  fold_pack(to, packs.at(1));
  put_model_of_version(to.path(), 0);
  EXPECT_EQ(fold_pack(to, packs.at(1)).front().models, 1U);
  EXPECT_EQ(*to.learned(key_, MeasureMode::cold)->model, model_of_warps(4, 20));
  EXPECT_EQ(fold_pack(to, packs.at(1)).front().models, 0U) << "there already";
  // A model of a newer version stays.
  put_model_of_version(to.path(), 1000);
  const OpCounts line = fold_pack(to, packs.at(1)).front();
  EXPECT_EQ(line.models, 0U);
  EXPECT_EQ(line.newer_models, 1U);
  EXPECT_EQ(to.learned(key_, MeasureMode::cold), nullptr);
}

TEST_F(Packs, mend_a_binary_that_is_damaged_here) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  const std::string hash = content_hash(std::span(kBinary));
  for (const std::string damage :
       {"UPDATE binaries SET data = zeroblob(20)", "UPDATE binaries SET size = size + 1",
        "UPDATE binaries SET hash = replace(hash, substr(hash, 1, 8), '00000000')",
        "UPDATE binaries SET hash = replace(hash, substr(hash, 1, 8), 'ffffffff')",
        "UPDATE dictionaries SET data = zeroblob(length(data))", "DELETE FROM dictionaries"}) {
    SCOPED_TRACE(damage);
    Store to(folder_ / (content_hash(damage) + ".db"));
    fold_pack(to, packs.front());
    {
      // With a checksum that does not match the row.
      OtherProgram other(to.path());
      for (const char* const function : {"row_hash", "is_intact"}) {
        const auto one = [](sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_int(context, 1); };
        other.createFunction(function, -1, true, nullptr, one, nullptr, nullptr, nullptr);
      }
      other.exec(damage);
    }
    EXPECT_THAT(refusal([&] { to.check(); }), HasSubstr("damaged"));
    fold_pack(to, packs.front());
    EXPECT_EQ(to.binary(hash), kBinary);
    const std::string key = to.winner_of(key_, MeasureMode::cold, WinnerRole::best)->winner.trial.build_key;
    EXPECT_EQ(to.binary(to.build(key).value().binary_hash), kBinary);
  }
}

TEST_F(Packs, that_fail_half_way_leave_the_cache_as_it_was) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  const fs::path cache = folder_ / "to.db";
  {
    Store to(cache);
    fold_pack(to, packs.front());
  }
  OtherProgram(cache).exec(
      "DELETE FROM winners; DELETE FROM spares; DELETE FROM binaries; PRAGMA journal_mode = DELETE");
  const std::string whole = read_file(cache);
  std::string content = whole;
  content[content.find("sm_90a") + 3] = '8';
  write_file(cache, content);
  {
    // Binaries are folded before builds, of which one is damaged.
    Store to(cache);
    const std::string text = refusal([&] { fold_pack(to, packs.front()); });
    EXPECT_THAT(text, HasSubstr("cannot fold the pack " + packs.front().string()));
    EXPECT_THAT(text, HasSubstr("of the table builds"));
    EXPECT_EQ(to.counts().binaries, 0);
    EXPECT_EQ(to.counts().winners, 0);
    // The same Store still works.
    EXPECT_EQ(fold_pack(to, packs.at(1)).front().models, 1U);
  }
  write_file(cache, whole);
  Store to(cache);
  EXPECT_EQ(fold_pack(to, packs.front()).front().added, 2U);
  EXPECT_EQ(to.counts().binaries, 2);
}

TEST_F(Packs, leave_winners_that_were_chosen_here_where_the_evidence_is_the_same) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  Store to = prepared_store(folder_ / "to.db");
  Trial own = evidence(to, onchip_config(8), 0.01);
  own.measured_at = 50;
  put_best(to, key_, own);
  const auto lines = fold_pack(to, packs.front());
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_EQ(lines.front().kept, 1U);
  EXPECT_EQ(lines.front().added, 1U);
  EXPECT_EQ(to.winner_of(key_, MeasureMode::cold, WinnerRole::best)->winner.trial.config, onchip_config(8));
}

TEST_F(Packs, that_were_changed_or_renamed_are_refused_and_leave_the_cache_as_it_was) {
  const std::vector<fs::path> packs = swept("a", 0.01, 4, 50);
  Store to(folder_ / "to.db");
  const std::string digest = WholeFile::digest(to);
  std::string bytes = read_file(packs.front());
  bytes[bytes.size() / 2] ^= 1;
  write_file(packs.front(), bytes);
  EXPECT_THAT(refusal([&] { fold_pack(to, packs.front()); }), HasSubstr("it is damaged, since the SHA-256"));
  const fs::path renamed = folder_ / "renamed.pack";
  fs::rename(packs.back(), renamed);
  EXPECT_THAT(refusal([&] { fold_pack(to, renamed); }), HasSubstr("its name does not end in the SHA-256"));
  EXPECT_EQ(WholeFile::digest(to), digest);
}

/// The bytes that this process has written to files.
std::int64_t bytes_written() {
  const std::string facts = read_file("/proc/self/io");
  return std::stoll(facts.substr(facts.find("wchar: ") + 7));
}

TEST_F(Packs, of_many_binaries_write_their_dictionary_once) {
  std::mt19937_64 random(1);
  constexpr std::int64_t kBinaries = 450;
  Store store = prepared_store(folder_ / "from.db");
  for (std::int64_t cols = 1; cols <= kBinaries; ++cols) {
    std::vector<std::byte> bytes(std::size_t{1} << 13);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    Trial trial = evidence(store, onchip_config(4));
    trial.build_key = fmt::format("build {}", cols);
    Build build;
    build.key = trial.build_key;
    build.ok = true;
    build.arch = "sm_90a";
    store.put_build(build, bytes);
    put_best(store, softmax_key(8, cols), trial);
  }
  const std::vector<fs::path> packs = write(store, "packs");
  Store to(folder_ / "to.db");
  const std::int64_t before = bytes_written();
  for (const fs::path& pack : packs) (void)fold_pack(to, pack);
  ASSERT_EQ(to.counts().binaries, kBinaries);
  // Columns, their cache, the target and its log: each writes every byte once.
  EXPECT_LT(bytes_written() - before, 8 * (kBinaries << 13));
}

class Frames : public testing::Test {
 protected:
  [[nodiscard]] std::string unpacked(const std::string& frame) const {
    write_file(folder_ / "frame", frame);
    unpack_file(folder_ / "frame", folder_ / "content");
    return read_file(folder_ / "content");
  }
  [[nodiscard]] std::string refused(const std::string& frame) const {
    try {
      (void)unpacked(frame);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
  [[nodiscard]] std::string packed(const std::string& content) const {
    write_file(folder_ / "content", content);
    pack_file(folder_ / "content", folder_ / "frame");
    return read_file(folder_ / "frame");
  }
  const store_tests::TemporaryFolder folder_{};
};

TEST_F(Frames, are_read_block_by_block) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1} << 17, (std::size_t{5} << 17) + 3}) {
    std::string content(size, 'x');
    for (std::size_t i = 0; i < size; ++i) content[i] = static_cast<char>(i * i >> 7);
    EXPECT_EQ(unpacked(packed(content)), content) << size;
  }
}

TEST_F(Frames, that_are_cut_off_have_more_behind_or_are_none_are_refused) {
  const std::string frame = packed(std::string(300'000, 'x') + "end");
  for (const std::string& bad : {std::string(), frame.substr(0, frame.size() - 1), frame + "x", frame + frame,
                                 std::string("no frame at all, but long enough to be one")}) {
    EXPECT_THAT(refused(bad), HasSubstr("is not a whole zstd frame")) << bad.size();
  }
}

TEST_F(Frames, that_claim_more_than_is_read_packed_are_refused_at_once) {
  // Magic, a header with an eight-byte size and one segment, the size, an empty last block.
  const std::string claim("\x28\xB5\x2F\xFD\xE0\0\0\0\0\x01\0\0\0\x01\0\0", 16);
  EXPECT_THAT(refused(claim), HasSubstr("is 4096 MiB unpacked; packed files are read up to 1024 MiB"));
}

}  // namespace
}  // namespace tilewright::pack_test

// SPDX-License-Identifier: Apache-2.0
#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "cache/store/binaries.hpp"
#include "cache/store/import.hpp"
#include "cache/store/store.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;
using namespace store_tests;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t kSize = 40'000;

/// As cubins are: alike but for a few bytes, and such as shrink by themselves, too.
std::vector<std::byte> binary_of(int number) {
  std::mt19937 random(7);
  std::vector<std::byte> bytes(kSize);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 7);
  bytes[100] = static_cast<std::byte>(number);
  return bytes;
}

std::string key_of(int number) { return "build " + std::to_string(number); }

class StoreRepack : public testing::Test {
 protected:
  StoreRepack() {
    Store store = prepared_store(path);
    put_winner(store, softmax_key(8, 100), onchip_config(4));
    for (int i = 0; i < kBinaries; ++i) {
      store.put_build({key_of(i), true, "", {}, "", "NVRTC 13.0", "sm_90a", 1}, binary_of(i));
    }
    store.seal();
  }

  static constexpr int kBinaries = 10;

  /// Every row of every table but how a binary is packed.
  [[nodiscard]] std::string rows() const {
    OtherProgram database(path);
    std::string text;
    SQLite::Statement tables(database, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
    while (tables.executeStep()) {
      const std::string table = tables.getColumn(0);
      SQLite::Statement every(database,
                              "SELECT " + std::string(table == "binaries" ? "id, hash, size" : "*") + " FROM " + table);
      text += table + "\n";
      while (every.executeStep()) {
        for (int column = 0; column < every.getColumnCount(); ++column)
          text += every.getColumn(column).getString() + "|";
        text += "\n";
      }
    }
    return text;
  }
  void expect_all_binaries() const {
    const Store store(path, {.access = StoreAccess::read});
    store.check();
    for (int i = 0; i < kBinaries; ++i) {
      EXPECT_EQ(store.binary(store.build(key_of(i)).value().binary_hash), binary_of(i)) << i;
    }
  }

  const TemporaryFolder folder;
  const fs::path path = folder / "c.db";
};

TEST_F(StoreRepack, keeps_every_row_and_every_binary) {
  const std::string before = rows();
  for (const Packing packing : {Packing::plain, Packing::tight, Packing::fast}) {
    Store(path).repack(packing);
    EXPECT_EQ(rows(), before);
    expect_all_binaries();
    EXPECT_EQ(Store(path, {.access = StoreAccess::read}).winners(softmax_key(8, 100), MeasureMode::cold).size(), 1U);
  }
}

TEST_F(StoreRepack, leaves_one_file_that_is_larger_when_plain_and_smaller_when_tight) {
  const auto fast = fs::file_size(path);
  Store(path).repack(Packing::plain);
  EXPECT_EQ(folder.content().size(), 1U);
  const auto plain = fs::file_size(path);
  EXPECT_GT(plain, fast + kBinaries * kSize / 2);
  Store(path).repack(Packing::tight);
  EXPECT_EQ(folder.content().size(), 1U);
  EXPECT_LE(fs::file_size(path), fast) << "no room is left where the larger ones were";
}

TEST_F(StoreRepack, is_seen_by_a_store_that_goes_on) {
  Store store(path);
  store.repack(Packing::plain);
  EXPECT_GE(store.counts().binary_bytes, static_cast<std::int64_t>(kBinaries * kSize));
  EXPECT_EQ(store.binary(store.build(key_of(3)).value().binary_hash), binary_of(3));
}

TEST_F(StoreRepack, makes_no_difference_to_what_an_import_keeps) {
  Store store(path);
  const ProblemKey key = softmax_key(16, 100);
  Trial trial = full_trial(onchip_config(4));
  trial.build_key = key_of(3);
  const std::int64_t id = store.put_trial(key, "impl-1", trial);
  store.put_winners(key, MeasureMode::cold, {winner_of(id)});
  std::vector<std::int64_t> bytes;
  for (const char* name : {"of_fast.db", "of_plain.db"}) {
    Store to(folder / name);
    import_winners(store, to);
    EXPECT_EQ(to.binary(to.build(key_of(3)).value().binary_hash), binary_of(3));
    bytes.push_back(to.counts().binary_bytes);
    store.repack(Packing::plain);
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

TEST_F(StoreRepack, names_a_damaged_binary_and_changes_none) {
  std::string hash;
  {
    OtherProgram database(path);
    // The last: others were packed before it is read.
    database.exec("UPDATE binaries SET data = x'00112233' WHERE id = (SELECT max(id) FROM binaries)");
    hash = database.execAndGet("SELECT hash FROM binaries ORDER BY id DESC LIMIT 1").getString();
  }
  const auto packed = [&] {
    SQLite::Database database(path.string());
    return database.execAndGet("SELECT group_concat(hex(data)) FROM binaries").getString();
  };
  const std::string before = packed();
  Store store(path);
  EXPECT_THAT(refusal([&] { store.repack(Packing::plain); }),
              AllOf(HasSubstr("cannot pack the binaries anew: the cache " + path.string() + " is damaged"),
                    HasSubstr("binary " + hash)));
  EXPECT_EQ(packed(), before);
}

TEST_F(StoreRepack, is_refused_in_a_batch_and_where_nothing_may_be_written) {
  Store reader(path, {.access = StoreAccess::read});
  EXPECT_THAT(refusal([&] { reader.repack(Packing::plain); }), HasSubstr("was opened for reading only"));
  Store store(path);
  const Store::Batch batch(store);
  EXPECT_THAT(refusal([&] { store.repack(Packing::plain); }), HasSubstr("has a batch of writes"));
}

}  // namespace
}  // namespace tilewright

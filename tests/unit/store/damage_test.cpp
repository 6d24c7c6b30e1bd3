// SPDX-License-Identifier: Apache-2.0
// Rows that change while their checksums stay, as a disk or a stray write changes them.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "cache/serve/match.hpp"
#include "tests/unit/store/import_fixture.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;
namespace fs = std::filesystem;

/// Writes rows with the checksums that they had.
class Disk {
 public:
  explicit Disk(const fs::path& path) : database_(path.string(), SQLite::OPEN_READWRITE) {
    constexpr int kFlags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    sqlite3_create_function(
        database_.getHandle(), "row_hash", -1, kFlags, &kept_,
        [](sqlite3_context* context, int, sqlite3_value**) {
          sqlite3_result_int64(context, *static_cast<std::int64_t*>(sqlite3_user_data(context)));
        },
        nullptr, nullptr);
    sqlite3_create_function(
        database_.getHandle(), "is_intact", -1, kFlags, nullptr,
        [](sqlite3_context* context, int, sqlite3_value**) { sqlite3_result_int(context, 1); }, nullptr, nullptr);
    database_.exec("PRAGMA ignore_check_constraints = ON; PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY");
  }

  std::vector<std::string> texts(const std::string& sql) {
    std::vector<std::string> all;
    SQLite::Statement rows(database_, sql);
    while (rows.executeStep()) all.push_back(rows.getColumn(0).getString());
    return all;
  }

  /// Puts `value` there. False where SQLite itself refuses it: two rows would be the same.
  bool put(const std::string& table, const std::string& column, std::int64_t row, const SQLite::Column& value) {
    return put(table, column, row, [&](SQLite::Statement& update) {
      if (value.isInteger()) return update.bind(1, value.getInt64());
      if (value.isFloat()) return update.bind(1, value.getDouble());
      if (value.isBlob()) return update.bind(1, value.getBlob(), value.getBytes());
      if (value.isNull()) return update.bind(1);
      update.bind(1, value.getString());
    });
  }
  template <class Bind>
  bool put(const std::string& table, const std::string& column, std::int64_t row, const Bind& bind) {
    SQLite::Statement checksum(database_, fmt::format("SELECT checksum FROM {} WHERE rowid = {}", table, row));
    checksum.executeStep();
    kept_ = checksum.getColumn(0).getInt64();
    SQLite::Statement update(database_, fmt::format("UPDATE {} SET {} = ? WHERE rowid = {}", table, column, row));
    bind(update);
    return update.tryExecuteStep() == SQLITE_DONE;
  }

  SQLite::Database& database() { return database_; }

 private:
  std::int64_t kept_ = 0;
  SQLite::Database database_;
};

class DamagedRows : public testing::Test {
 protected:
  DamagedRows() {
    Store store = prepared_store(path_);
    for (const std::int64_t cols : {100, 200}) {
      const ProblemKey key = softmax_key(8, cols);
      const std::int64_t best = put(store, key, onchip_config(cols == 100 ? 4 : 8));
      const std::int64_t base = put(store, key, onchip_config(1, 0));
      store.put_winners(key, MeasureMode::cold, {winner_of(best), winner_of(base, WinnerRole::base)});
      (void)put(store, key, onchip_config(2, 0));
      store.put_spare(key, MeasureMode::cold, {"impl-1", onchip_config(2, 0)}, onchip_config(2, 0).text());
    }
    store.put_loss_model(softmax_key(8, 100), MeasureMode::cold, model_of_warps(4));
    store.put_ceiling(h200().fingerprint(), {1024, 1, MeasureMode::cold, 40.0, std::nullopt, "GPU-1", 7});
    store.put_compute_rate(h200().fingerprint(), {6e13, "chains{}", "GPU-1", 7});
    store.put_miss({"softmax[dtype=bf16]{rows=1,cols=1}", "GPU", 1, 1, 2});
    store.end_sweep(store.begin_sweep("tilewright sweep softmax", h200().fingerprint()), "done");
    store.seal();
    for (const std::int64_t cols : {100, 200, 150}) served_.push_back(served(store, cols));
  }

  /// A trial of a config whose binary is its text.
  static std::int64_t put(Store& store, const ProblemKey& key, const Config& config) {
    const std::string text = config.text();
    Build build;
    build.key = text;
    build.ok = true;
    build.arch = "sm_90a";
    build.kernels = {{"softmax_onchip", text, 40, 0, 0, 0, 128}};
    store.put_build(build, std::as_bytes(std::span(text)));
    Trial trial = full_trial(config);
    trial.build_key = build.key;
    trial.timing->rounds_ns.assign(3, 1000);
    return store.put_trial(key, "impl-1", trial);
  }

  /// What a launch would be of: "" where nothing serves, or what would is known to be damaged.
  [[nodiscard]] static std::string served(const Store& store, std::int64_t cols) {
    try {
      const ProblemKey key = softmax_key(8, cols);
      const MatchedRow found = match(store, {key.problem, key.interface_hash, h200(), versions()});
      if (!found.row) return "";
      const auto build = store.build(found.row->winner.trial.build_key);
      const auto recipe = store.implementation_by_hash(found.row->implementation_hash);
      if (!build || !recipe) return "";
      const std::vector<std::byte> binary = store.binary(build->binary_hash);
      const std::string text(reinterpret_cast<const char*>(binary.data()), binary.size());
      // Config, kernels and binary are of each other.
      const std::string config = found.row->winner.trial.config.text();
      const bool agree = text == config && build->kernels.size() == 1 && build->kernels.front().symbol == config;
      return agree ? config : "config, kernels and binary of different ones: " + config;
    } catch (const CacheError&) {
      return "";
    }
  }

  /// Another candidate may take a place: one with specialised dims at its own shape alone.
  void expect_nothing_else_is_launched(const Store& store, const std::string& what) {
    const std::int64_t columns[] = {100, 200, 150};
    for (std::size_t i = 0; i < served_.size(); ++i) {
      std::vector<std::string> legal{"", served_[i], onchip_config(1, 0).text(), onchip_config(2, 0).text()};
      EXPECT_THAT(legal, testing::Contains(served(store, columns[i]))) << what << " at " << columns[i] << " columns";
    }
  }

  /// Changes each value of each row: of a text or a blob every `stride`-th byte.
  void change_every_value(std::size_t stride) {
    Disk disk(path_);
    const Store store(path_, {.access = StoreAccess::read});
    std::size_t changes = 0;
    for (const std::string& table :
         disk.texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")) {
      for (const std::string& column :
           disk.texts(fmt::format("SELECT name FROM pragma_table_info('{}') WHERE pk = 0", table))) {
        // The content of a binary has a hash of its own.
        if (table == "binaries" && column == "data") continue;
        for (const std::string& row : disk.texts(fmt::format("SELECT rowid FROM {}", table))) {
          changes += change(disk, store, table, column, std::stoll(row), stride);
        }
      }
    }
    EXPECT_GT(changes, 500U);
    EXPECT_NO_THROW(store.check()) << "all is as it was";
  }

  std::size_t change(Disk& disk, const Store& store, const std::string& table, const std::string& column,
                     std::int64_t row, std::size_t stride) {
    SQLite::Statement read(disk.database(), fmt::format("SELECT {} FROM {} WHERE rowid = {}", column, table, row));
    read.executeStep();
    const SQLite::Column was = read.getColumn(0);
    const std::string what = fmt::format("{}.{} of row {}", table, column, row);
    std::size_t changes = 0;
    const auto judge = [&](bool is_put) {
      if (!is_put) return;
      ++changes;
      EXPECT_NE(refusal([&] { store.check(); }), "") << what;
      expect_nothing_else_is_launched(store, what);
    };
    if (was.isText() || was.isBlob()) {
      const std::string bytes(static_cast<const char*>(was.getBlob()), static_cast<std::size_t>(was.getBytes()));
      for (std::size_t at = bytes.size() / 2 % stride; at < bytes.size(); at += stride) {
        std::string changed = bytes;
        changed[at] ^= 1;
        judge(disk.put(table, column, row, [&](SQLite::Statement& update) {
          if (was.isBlob()) return update.bind(1, changed.data(), static_cast<int>(changed.size()));
          update.bind(1, changed);
        }));
      }
    } else if (was.isInteger()) {
      judge(disk.put(table, column, row, [&](SQLite::Statement& update) { update.bind(1, was.getInt64() ^ 1); }));
    } else if (was.isFloat()) {
      judge(
          disk.put(table, column, row, [&](SQLite::Statement& update) { update.bind(1, was.getDouble() * 1.5 + 1); }));
    } else {
      judge(disk.put(table, column, row, [&](SQLite::Statement& update) { update.bind(1, 1); }));
    }
    disk.put(table, column, row, was);
    return changes;
  }

  const TemporaryFolder folder_;
  const fs::path path_ = folder_ / "c.db";
  std::vector<std::string> served_;
};

TEST_F(DamagedRows, are_found_and_give_way_to_the_next_candidate) { change_every_value(17); }

TEST_F(DamagedRows, are_found_at_every_one_of_their_many_bytes) { change_every_value(1); }

}  // namespace
}  // namespace tilewright

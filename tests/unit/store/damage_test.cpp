// SPDX-License-Identifier: Apache-2.0
// Rows that change under their checksums, as by a disk or a stray write.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "cache/store/job_queue.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/unit/serve/match.hpp"
#include "tests/unit/store/disk.hpp"
#include "tests/unit/store/import_fixture.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright::damage_test {
namespace {

using namespace store_tests;
namespace fs = std::filesystem;

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
    EXPECT_TRUE(JobQueue(path_).report({"softmax[dtype=bf16]{rows=1,cols=1}", "GPU", 1, 1, 2}));
    store.end_sweep(store.begin_sweep("tilewright sweep softmax", h200().fingerprint()), "done");
    WholeFile::seal(store);
    for (const std::int64_t cols : {100, 200, 150}) served_.push_back(served(store, cols));
  }

  /// Adds a trial of a config whose binary is the config's text.
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

  /// The config that would be launched; "" if nothing serves or the winner is reported as damaged.
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
      // Config, kernels and binary must belong together.
      const std::string config = found.row->winner.trial.config.text();
      const bool agree = text == config && build->kernels.size() == 1 && build->kernels.front().symbol == config;
      return agree ? config : "config, kernels and binary of different ones: " + config;
    } catch (const CacheError&) {
      return "";
    }
  }

  /// Another candidate may serve instead; one with specialised dims, only at its own shape.
  void expect_nothing_else_is_launched(const Store& store, const std::string& what) {
    const std::int64_t columns[] = {100, 200, 150};
    for (std::size_t i = 0; i < served_.size(); ++i) {
      std::vector<std::string> legal{"", served_[i], onchip_config(1, 0).text(), onchip_config(2, 0).text()};
      EXPECT_THAT(legal, testing::Contains(served(store, columns[i]))) << what << " at " << columns[i] << " columns";
    }
  }

  /// Changes each value of each row: of a text or a blob, each `stride`-th byte.
  void change_every_value(std::size_t stride) {
    Disk disk(path_);
    const Store store(path_, {.access = StoreAccess::read});
    std::size_t changes = 0;
    for (const std::string& table : disk.tables()) {
      for (const std::string& column : disk.columns(table)) {
        // A binary's content has its own hash.
        if (table == "binaries" && column == "data") continue;
        for (const std::int64_t row : disk.rows(table)) {
          const Place place{table, column, row};
          const std::size_t size = disk.size(place);
          for (std::size_t at = size / 2 % stride; at < size; at += stride) {
            changes += disk.change(place, at, [&] {
              const std::string what = fmt::format("{}.{} of row {}", table, column, row);
              EXPECT_NE(refusal([&] { store.check(); }), "") << what;
              expect_nothing_else_is_launched(store, what);
            });
          }
        }
      }
    }
    EXPECT_GT(changes, 500U);
    EXPECT_NO_THROW(store.check()) << "all is as it was";
  }

  /// Expects of a damaged cache that readable parts serve and unreadable ones are reported. Returns false if the whole
  /// cache is refused.
  bool expect_nothing_else_of(const std::string& bytes, const std::string& what) {
    const fs::path damaged = folder_ / "damaged.db";
    write_file(damaged, bytes);
    try {
      const Store store(damaged, {.access = StoreAccess::read});
      expect_nothing_else_is_launched(store, what);
      fs::remove(folder_ / "into.db");
      Store into(folder_ / "into.db");
      import_winners(store, into);
      return true;
    } catch (const Error&) {  // An expected outcome.
      return false;
    }
  }

  const TemporaryFolder folder_;
  const fs::path path_ = folder_ / "c.db";
  std::vector<std::string> served_;
};

/// Zeroes, fills or swaps pages, or truncates the file: one or two of these.
std::string with_lost_pages(std::string bytes, std::mt19937_64& random) {
  const std::size_t size = 4096;
  const auto below = [&](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  for (std::size_t count = 1 + below(2); count > 0; --count) {
    const std::size_t pages = bytes.size() / size;
    const std::size_t page = below(pages) * size;
    switch (below(4)) {
      case 0:
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(page), size, '\0');
        break;
      case 1:
        std::generate_n(bytes.begin() + static_cast<std::ptrdiff_t>(page), size,
                        [&] { return static_cast<char>(random()); });
        break;
      case 2:
        if (const std::size_t other = below(pages) * size; other != page) {
          std::swap_ranges(&bytes[page], &bytes[page] + size, &bytes[other]);
        }
        break;
      default:
        bytes.resize(size + below(bytes.size() - size + 1));
    }
  }
  return bytes;
}

TEST_F(DamagedRows, are_found_and_give_way_to_the_next_candidate) { change_every_value(17); }

TEST_F(DamagedRows, are_found_at_every_one_of_their_many_bytes) { change_every_value(1); }

TEST_F(DamagedRows, whose_pages_are_lost_swapped_or_cut_off_launch_nothing_else) {
  const char* asked = std::getenv("TILEWRIGHT_TEST_DAMAGED_FILES");
  const int files = asked == nullptr ? 40 : std::stoi(asked);
  const std::string whole = read_file(path_);
  std::mt19937_64 random(1);  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same files in each run
  int read = 0;
  for (int i = 0; i < files; ++i) {
    read += expect_nothing_else_of(with_lost_pages(whole, random), fmt::format("file {}", i)) ? 1 : 0;
  }
  EXPECT_GT(read, files / 20) << "some lose nothing that is asked for";
  EXPECT_LT(read, files / 2);
}

}  // namespace
}  // namespace tilewright::damage_test

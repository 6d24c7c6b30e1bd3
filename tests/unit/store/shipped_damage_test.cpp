// SPDX-License-Identifier: Apache-2.0
// The shipped winners with a byte changed under its row's checksum, many times: each launch is one that the undamaged
// file would make. TILEWRIGHT_TEST_CHANGES is the number of changes.
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "cache/base/content_hash.hpp"
#include "cache/base/error.hpp"
#include "cache/plan/plan.hpp"
#include "cache/serve/choose.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/store/disk.hpp"
#include "tests/unit/store/fixture.hpp"

namespace tilewright::shipped_damage_test {
namespace {

using namespace store_tests;
namespace fs = std::filesystem;

/// A launch's kernels, geometry, parameters, maps and workspaces, as text.
std::string text_of(const LaunchPlan& plan) {
  std::string text;
  for (const PlannedKernel& kernel : plan.kernels) {
    text += fmt::format("{} grid {} block {} cluster {} shared {} nonportable {} pdl {}:", kernel.entry, kernel.grid,
                        kernel.block, kernel.cluster, kernel.shared_bytes, kernel.nonportable_cluster, kernel.pdl);
    for (const PlannedParam& param : kernel.params) text += fmt::format(" {}.{}", int(param.kind), param.index);
    text += '\n';
  }
  for (const PlannedMap& map : plan.maps) {
    text += fmt::format("{} of {}.{} {} {} {} {} swizzle {} {}\n", map.name, int(map.over), map.index, int(map.type),
                        map.dims, map.strides, map.box, map.swizzle, map.tf32);
  }
  for (const PlannedWorkspace& space : plan.workspaces) {
    text += fmt::format("{} {} {}\n", space.name, space.bytes, int(space.zero));
  }
  for (const PlannedValue& value : plan.values) text += fmt::format("{} = {}\n", value.name, value.value);
  return text;
}

std::string text_of(const Build& build) {
  std::string text = build.binary_hash;
  for (const auto& kernel : build.kernels) text += " " + kernel.entry + "=" + kernel.symbol;
  return text;
}

class DamagedShippedWinners : public testing::Test {
 protected:
  struct Case {
    std::int64_t problem;
    ProblemQuery query;
  };

  DamagedShippedWinners() {
    for (const std::string& table : disk_.tables()) {
      if (std::vector<std::int64_t> rows = disk_.rows(table); !rows.empty()) rows_.emplace_back(table, std::move(rows));
    }
  }

  [[nodiscard]] fs::path copied() const {
    fs::copy_file(TILEWRIGHT_SHIPPED_WINNERS, folder_ / "damaged.db");
    return folder_ / "damaged.db";
  }

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(random_() % limit); }

  std::vector<WinnerRow> tuned(std::size_t count) {
    std::vector<WinnerRow> all = whole_.list_winners({.mode = MeasureMode::cold, .role = WinnerRole::best});
    std::shuffle(all.begin(), all.end(), random_);
    all.resize(std::min(all.size(), count));
    return all;
  }

  /// The rows that the winner's launch needs.
  std::vector<Place> rows_behind(const WinnerRow& winner) {
    const std::string trial = fmt::format("(SELECT {{}} FROM trials WHERE id = {})", winner.winner.trial.id);
    const auto of_trial = [&](const char* column) { return fmt::format(fmt::runtime(trial), column); };
    const std::string config = fmt::format("(SELECT implementation FROM configs WHERE id = {})", of_trial("config"));
    const std::string spec = fmt::format("(SELECT spec FROM problems WHERE id = {})", of_trial("problem"));
    std::vector<Place> places;
    for (const auto& [table, id] : std::vector<std::pair<std::string, std::string>>{
             {"trials", of_trial("id")},
             {"problems", of_trial("problem")},
             {"configs", of_trial("config")},
             {"versions", of_trial("versions")},
             {"devices", of_trial("device")},
             {"builds", of_trial("build")},
             {"binaries", fmt::format("(SELECT binary FROM builds WHERE id = {})", of_trial("build"))},
             {"winners", fmt::format("(SELECT id FROM winners WHERE trial = {})", winner.winner.trial.id)},
             {"implementations", config},
             {"specs", spec},
             {"interfaces", fmt::format("(SELECT interface FROM specs WHERE id = {})", spec)}}) {
      for (const std::int64_t row : disk_.rows(table, "id IN " + id)) places.push_back({table, {}, row});
    }
    return places;
  }

  Place anywhere() {
    const auto& [table, rows] = rows_[below(rows_.size())];
    return {table, {}, rows[below(rows.size())]};
  }

  /// Expects another program that reads the damaged row to get an error that names it.
  void expect_it_is_reported(const Place& place) {
    if (place.table == "binaries" && place.column == "data") {
      SQLite::Statement hash(reader_, "SELECT hash FROM binaries WHERE id = ?");
      hash.bind(1, place.row);
      hash.executeStep();
      const std::string name = hash.getColumn(0).getString();
      try {
        // A bit of a frame may be unused: then the content is the same.
        EXPECT_EQ(content_hash(damaged_.binary(name)), name);
      } catch (const CacheError&) {  // An expected outcome.
      }
      return;
    }
    SQLite::Statement intact(reader_, fmt::format("SELECT intact FROM {} WHERE rowid = {}", place.table, place.row));
    EXPECT_THROW(intact.executeStep(), SQLite::Exception)
        << fmt::format("{}.{} of row {}", place.table, place.column, place.row);
  }

  /// Returns whether the damaged file serves the problem; expects its plan, build and binary to be in the undamaged
  /// file.
  bool expect_a_launch_of_the_whole_file(const ProblemQuery& query) {
    try {
      const auto interface = damaged_.interface_by_hash(query.interface_hash);
      if (!interface) return false;
      const Chosen chosen = choose(damaged_, *interface, query);
      if (!chosen.choice) return false;
      const PlannedWinner& choice = *chosen.choice;
      const auto build = damaged_.build(choice.row.winner.trial.build_key);
      if (!build || !build->ok) return false;
      const std::string binary = content_hash(damaged_.binary(build->binary_hash));

      const std::string what = query.problem.key() + " " + choice.row.winner.trial.config.text();
      const auto recipe = whole_.implementation_by_hash(choice.row.implementation_hash);
      const auto there = whole_.build(build->key);
      if (!recipe || !there) {
        ADD_FAILURE() << what << ": the whole file has no such implementation or build";
        return true;
      }
      const auto plan = make_plan(whole_.interface_by_hash(query.interface_hash).value(), recipe->recipe,
                                  choice.row.winner.trial.config, query.problem, query.device);
      EXPECT_TRUE(std::holds_alternative<LaunchPlan>(plan)) << what;
      if (std::holds_alternative<LaunchPlan>(plan)) {
        EXPECT_EQ(text_of(std::get<LaunchPlan>(plan)), text_of(choice.plan)) << what;
      }
      EXPECT_EQ(text_of(*there), text_of(*build)) << what;
      EXPECT_EQ(binary, there->binary_hash) << what;
      EXPECT_TRUE(is_of(choice.row, build->key)) << what << " is not what " << build->key << " was built for";
      return true;
    } catch (const CacheError&) {
      return false;
    }
  }

  bool is_of(const WinnerRow& row, const std::string& key) {
    for (const char* table : {"trials", "spares"}) {
      SQLite::Statement query(whole_rows_,
                              fmt::format("SELECT 1 FROM {} JOIN configs ON configs.id = config JOIN implementations i "
                                          "ON i.id = implementation JOIN builds ON builds.id = build "
                                          "WHERE configs.text = ? AND i.hash = ? AND builds.key = ? LIMIT 1",
                                          table));
      query.bind(1, row.winner.trial.config.text());
      query.bind(2, row.implementation_hash);
      query.bind(3, key);
      if (query.executeStep()) return true;
    }
    return false;
  }

  const TemporaryFolder folder_;
  const fs::path path_ = copied();
  const Store whole_{TILEWRIGHT_SHIPPED_WINNERS, {.access = StoreAccess::read}};
  OtherProgram whole_rows_{TILEWRIGHT_SHIPPED_WINNERS};
  Disk disk_{path_};
  const Store damaged_{path_, {.access = StoreAccess::read}};
  OtherProgram reader_{path_};
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> rows_;
  std::mt19937_64 random_{1};  // NOLINT(cert-msc32-c,cert-msc51-cpp): the same changes in each run
};

TEST_F(DamagedShippedWinners, launch_nothing_that_the_whole_file_does_not) {
  const char* asked = std::getenv("TILEWRIGHT_TEST_CHANGES");
  const int wanted = asked == nullptr ? 1000 : std::stoi(asked);
  const std::vector<WinnerRow> cases = tuned(100);
  int changes = 0, served = 0;
  while (changes < wanted) {
    const WinnerRow& winner = cases[below(cases.size())];
    const std::vector<Place> behind = rows_behind(winner);
    Place place = changes % 2 == 0 ? behind[below(behind.size())] : anywhere();
    const std::vector<std::string> columns = disk_.columns(place.table);
    place.column = columns[below(columns.size())];
    const std::size_t size = disk_.size(place);
    if (size == 0) continue;
    changes += disk_.change(place, below(size), [&] {
      expect_it_is_reported(place);
      ProblemQuery query{winner.problem, winner.interface_hash, winner.device, winner.winner.trial.versions};
      served += expect_a_launch_of_the_whole_file(query);
      // Seldom, since each change reads the model again.
      if (changes % 20 != 0) return;
      for (auto& dim : query.problem.dims) dim.second += dim.second > 64 ? 8 : 1;
      expect_a_launch_of_the_whole_file(query);
    });
    ASSERT_FALSE(testing::Test::HasFailure()) << fmt::format("{}.{} of row {}", place.table, place.column, place.row);
  }
  EXPECT_GT(served, wanted / 2);
}

}  // namespace
}  // namespace tilewright::shipped_damage_test

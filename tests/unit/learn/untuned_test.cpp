// SPDX-License-Identifier: Apache-2.0
// The losses of untuned shapes, by sweeps of an H200: an exhaustive one of 12 shapes of a grid and 40 drawn ones
// (recorded/rows.db.zst), and a race over 120 more drawn shapes to serve from (recorded/rows_drawn.db.zst;
// gemm_drawn.db.zst has 90 of gemm). The losses must not get worse.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/launch/sample_cache.hpp"
#include "tuner/learn/drawn_shapes.hpp"
#include "tuner/learn/learn.hpp"
#include "tuner/learn/regret.hpp"
#include "tuner/search/recording_file.hpp"

namespace tilewright::testing::untuned_test {
namespace {

constexpr std::size_t kGrid = 12;
constexpr const char* kGemmBase = "simt{block_m=64,block_n=64,block_k=16,split_k=1}";
constexpr const char* kBase = "streaming{num_warps=8,vec=4,ragged=1,unroll=1}";

/// Recordings as one cache, with winners and binaries.
class Sweep {
 public:
  Sweep(std::string op, std::string base)
      : op_(std::move(op)), base_(std::move(base)), store_(folder_.path() / "cache.db") {}

  /// The first `that_serve` shapes of the recording may serve (default: all); the others are judged.
  void add(const std::string& file, std::size_t that_serve = std::numeric_limits<std::size_t>::max()) {
    const Store recording = open_recording(std::filesystem::path(TILEWRIGHT_RECORDED) / file);
    interface_ = *recording.interface_of(op_);
    device_ = recording.devices().front();
    Store::Batch batch(store_);
    store_.put_interface(interface_);
    store_.put_device(device_);
    const std::byte binary[1]{};
    store_.put_build(
        {.key = "any", .ok = true, .binary_hash = {}, .kernels = {}, .log = {}, .compiler = {}, .arch = {}}, binary);
    std::size_t added = 0;
    for (const Store::Tried& tried : recording.tried(op_)) add(recording, tried, added++ < that_serve);
    batch.commit();
  }

  /// Learns a model as `prepare` does.
  void learn_all() {
    const ProblemKey key{problem_of(interface_, spec_, ShapeDims(interface_.dims.size(), 1)), interface_.hash(),
                         device_.fingerprint()};
    store_.put_loss_model(key, MeasureMode::cold, learn(store_, interface_, device_, MeasureMode::cold).value());
  }

  [[nodiscard]] RegretSummary lost(RegretSetting setting, bool from_grid) const {
    if (from_grid) {
      setting.only_from = [this](const std::vector<std::int64_t>& shape) { return grid_.contains(shape); };
    }
    return summarise_regrets(regrets(store_, interface_, spec_, device_, MeasureMode::cold, setting));
  }

 private:
  void add(const Store& recording, const Store::Tried& tried, bool serves) {
    spec_ = tried.key.problem.spec;
    if (serves) {
      grid_.insert(shape_of(tried.key.problem));
    }
    Winner best, base;
    base.role = WinnerRole::base;
    for (const std::string& hash : tried.implementation_hashes) {
      store_.put_implementation(interface_.hash(), recording.implementation_by_hash(hash).value());
      for (Trial& trial : recording.trials(tried.key, {hash}, tried.mode)) {
        if (trial.status != TrialStatus::ok || !trial.timing) continue;
        trial.build_key = "any";
        trial.id = store_.put_trial(tried.key, hash, trial);
        if (trial.config.text() == base_) base.trial = trial;
        if (!best.trial.timing || trial.timing->median_ns < best.trial.timing->median_ns) best.trial = trial;
      }
    }
    std::vector<Winner> winners{best};
    if (base.trial.timing) winners.push_back(base);
    store_.put_winners(tried.key, tried.mode, winners);
  }

  std::string op_;
  std::string base_;
  TemporaryFolder folder_;
  Store store_;
  OpInterface interface_;
  DeviceFacts device_;
  OpSpec spec_;
  std::set<std::vector<std::int64_t>> grid_;
};

/// Bounds of the mean and the 95th percentile.
struct AtMost {
  double mean, p95;
};

void expect_at_most(const RegretSummary& summary, std::size_t shapes, AtMost most, const std::string& name) {
  const std::string what =
      fmt::format("{}: mean {:.1f} %, 95 % {:.1f} %, worst {:.1f} % at {}", name, 100 * summary.mean, 100 * summary.p95,
                  100 * summary.worst, summary.worst_at ? summary.worst_at->key() : "nothing");
  EXPECT_EQ(summary.shapes, shapes) << what;
  EXPECT_EQ(summary.unserved, 0U) << what;
  EXPECT_LE(summary.untimed, 6U) << what;
  EXPECT_LE(summary.mean, most.mean) << what;
  EXPECT_LE(summary.p95, most.p95) << what;
}

void expect_losses(const std::string& op, AtMost kept, AtMost compiled, AtMost from_grid, AtMost exported) {
  Sweep sweep(op, kBase);
  sweep.add("rows.db.zst", kGrid);
  expect_at_most(sweep.lost({}, false), 52, kept, op + ", strict");
  expect_at_most(sweep.lost({.servers = Servers::compiled}, false), 52, compiled, op + ", strict, compiled");
  expect_at_most(sweep.lost({.spares = 64}, true), 40, from_grid, op + ", from the grid, with spares");
  expect_at_most(sweep.lost({.spares = 64, .exported = true}, true), 40, exported, op + ", exported with spares");
}

TEST(Untuned, softmax_loses_no_more_than_it_did) {
  expect_losses("softmax", {0.12, 0.45}, {0.04, 0.28}, {0.13, 0.60}, {0.11, 0.55});
}

TEST(Untuned, rmsnorm_loses_no_more_than_it_did) {
  expect_losses("rmsnorm", {0.17, 0.52}, {0.05, 0.26}, {0.21, 0.46}, {0.21, 0.46});
}

struct LossesOfMany {
  AtMost around, learned;
};

/// Judges the 40 drawn shapes, served from the 12 and the 120: by the nearest shapes, and by the learned model.
// One setting an op: learning a model for each fold takes most of a minute.
void expect_losses_of_many(const std::string& op, const RegretSetting& setting, const LossesOfMany& most) {
  Sweep sweep(op, kBase);
  sweep.add("rows.db.zst", kGrid);
  sweep.add("rows_drawn.db.zst");
  expect_at_most(sweep.lost(setting, true), 40, most.around, op + ", from 132 shapes");
  sweep.learn_all();
  expect_at_most(sweep.lost(setting, true), 40, most.learned, op + ", learned of 132 shapes");
}

// By the model, the 95th percentile of so few shapes moves by points with equally good models (decision 225).
TEST(Untuned, softmax_from_many_shapes_loses_less_than_3_percent_when_it_is_exported) {
  expect_losses_of_many("softmax", {.spares = 192, .exported = true}, {{0.03, 0.10}, {0.03, 0.10}});
}

TEST(Untuned, rmsnorm_from_many_shapes_loses_less_than_4_percent_when_it_is_compiled) {
  expect_losses_of_many("rmsnorm", {.servers = Servers::compiled}, {{0.03, 0.10}, {0.035, 0.14}});
}

TEST(Untuned, gemm_loses_no_more_than_it_did_nor_much_more_when_it_is_compiled) {
  Sweep sweep("gemm", kGemmBase);
  sweep.add("gemm.db.zst");
  expect_at_most(sweep.lost({.left_out = LeftOut::itself}, false), 12, {0.21, 0.52}, "gemm, alone");
  expect_at_most(sweep.lost({.left_out = LeftOut::itself, .servers = Servers::compiled}, false), 12, {0.22, 0.52},
                 "gemm, alone, compiled");
}

TEST(Untuned, gemm_among_many_shapes_loses_no_more_than_it_did) {
  Sweep sweep("gemm", kGemmBase);
  sweep.add("gemm_drawn.db.zst");
  expect_at_most(sweep.lost({.left_out = LeftOut::itself, .servers = Servers::compiled}, false), 90, {0.11, 0.30},
                 "gemm, alone among 90, compiled");
  sweep.learn_all();
  expect_at_most(sweep.lost({.left_out = LeftOut::itself, .servers = Servers::compiled}, false), 90, {0.065, 0.28},
                 "gemm, learned of the others of 90, compiled");
}

}  // namespace
}  // namespace tilewright::testing::untuned_test

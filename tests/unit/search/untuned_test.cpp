// SPDX-License-Identifier: Apache-2.0
// What shapes never tuned lose, by an exhaustive sweep of an H200 (recorded/rows.db.zst): 12 shapes of a grid, then 40 that
// were drawn. What docs/performance.md says of them must not get worse.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/launch/sample_cache.hpp"
#include "tuner/search/recording_file.hpp"
#include "tuner/search/regret.hpp"

namespace tilewright::testing {
namespace {

constexpr std::size_t kGrid = 12;
constexpr const char* kBase = "streaming{num_warps=8,vec=4,ragged=1,unroll=1}";

/// A recording as the cache that it is of: with winners, and with binaries.
class Sweep {
 public:
  Sweep(const std::string& op, const std::string& file, std::string base)
      : base_(std::move(base)),
        recording_(open_recording(std::filesystem::path(TILEWRIGHT_RECORDED) / file)),
        store_(folder_.path() / "cache.db"),
        interface_(*recording_.interface_of(op)) {
    Store::Batch batch(store_);
    store_.put_interface(interface_);
    for (const DeviceFacts& device : recording_.devices()) store_.put_device(device);
    device_ = recording_.devices().front();
    const std::byte binary[1]{};
    store_.put_build(
        {.key = "any", .ok = true, .binary_hash = {}, .kernels = {}, .log = {}, .compiler = {}, .arch = {}}, binary);
    for (const Store::Tried& tried : recording_.tried(op)) add(tried);
    batch.commit();
  }

  [[nodiscard]] RegretSummary lost(RegretSetting setting, bool from_grid) const {
    if (from_grid) {
      setting.only_from = [this](const std::vector<std::int64_t>& shape) { return grid_.contains(shape); };
    }
    return summarise_regrets(regrets(store_, interface_, spec_, device_, MeasureMode::cold, setting));
  }

 private:
  void add(const Store::Tried& tried) {
    spec_ = tried.key.problem.spec;
    if (grid_.size() < kGrid) {
      std::vector<std::int64_t> shape;
      for (const auto& dim : tried.key.problem.dims) shape.push_back(dim.second);
      grid_.insert(shape);
    }
    Winner best, base;
    base.role = WinnerRole::base;
    for (const std::string& hash : tried.implementation_hashes) {
      store_.put_implementation(interface_.hash(), recording_.implementation_by_hash(hash).value());
      for (Trial& trial : recording_.trials(tried.key, {hash}, tried.mode)) {
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

  std::string base_;
  TemporaryFolder folder_;
  Store recording_;
  Store store_;
  OpInterface interface_;
  DeviceFacts device_;
  OpSpec spec_;
  std::set<std::vector<std::int64_t>> grid_;
};

/// Mean, and 95th percentile.
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
  const Sweep sweep(op, "rows.db.zst", kBase);
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

TEST(Untuned, gemm_loses_no_more_than_it_did_nor_much_more_when_it_is_compiled) {
  const Sweep sweep("gemm", "gemm.db.zst", "simt{block_m=64,block_n=64,block_k=16,split_k=1}");
  expect_at_most(sweep.lost({.left_out = LeftOut::itself}, false), 12, {0.21, 0.52}, "gemm, alone");
  expect_at_most(sweep.lost({.left_out = LeftOut::itself, .servers = Servers::compiled}, false), 12, {0.22, 0.52},
                 "gemm, alone, compiled");
}

}  // namespace
}  // namespace tilewright::testing

// SPDX-License-Identifier: Apache-2.0
// The claims of docs/tuning.md about strategies, against recorded sweeps of an H200 (recorded/). Each shape is held
// out.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "cache/base/error.hpp"
#include "tests/temporary_folder.hpp"
#include "tuner/search/recording_file.hpp"
#include "tuner/search/replay.hpp"

namespace tilewright::testing::recorded_test {
namespace {

const std::filesystem::path kRecorded = TILEWRIGHT_RECORDED;

struct RecordedSum {
  std::size_t problems = 0;
  std::size_t within_one = 0;
  std::size_t within_three = 0;
  double trials = 0;
  double candidates = 0;
  double measuring = 0;
  double measuring_of_all = 0;
};

// The bases of the recordings.
const std::map<std::string, std::string> kBases = {{"softmax", "streaming{num_warps=8,vec=4,ragged=1,unroll=1}"},
                                                   {"rmsnorm", "streaming{num_warps=8,vec=4,ragged=1,unroll=1}"},
                                                   {"gemm", "simt{block_m=64,block_n=64,block_k=16,split_k=1}"}};

/// The sum over all problems of an op.
RecordedSum sum_of(const std::string& strategy, const std::string& op) {
  const auto recordings = read_recordings(open_recording(kRecorded / (op + ".db.zst")), op);
  ReplaySetting setting;
  setting.bases[op] = Config::parse(kBases.at(op));
  const std::vector<Replayed> all = replay(recordings, "exhaustive", setting);
  const std::vector<Replayed> results = replay(recordings, strategy, setting);
  RecordedSum sum;
  for (std::size_t i = 0; i < results.size(); ++i) {
    ++sum.problems;
    sum.within_one += results[i].loss <= 0.01 ? 1U : 0U;
    sum.within_three += results[i].loss <= 0.03 ? 1U : 0U;
    sum.trials += static_cast<double>(results[i].trials);
    sum.candidates += static_cast<double>(results[i].candidates);
    sum.measuring += results[i].measuring_ns;
    sum.measuring_of_all += all[i].measuring_ns;
  }
  return sum;
}

TEST(Recorded, race_is_within_one_per_cent_of_exhaustive_on_every_op_at_a_third_of_its_measuring_time) {
  double measuring = 0;
  double measuring_of_all = 0;
  for (const auto& [op, base] : kBases) {
    const RecordedSum sum = sum_of("race", op);
    EXPECT_EQ(sum.problems, op == "gemm" ? 12U : 14U);
    EXPECT_EQ(sum.within_one, sum.problems) << op;
    EXPECT_LE(sum.measuring, 0.37 * sum.measuring_of_all) << op;
    measuring += sum.measuring;
    measuring_of_all += sum.measuring_of_all;
  }
  EXPECT_LE(measuring, 0.35 * measuring_of_all);
}

/// The number of an op's problems for which a strategy that tries a seventh of the configs finds a winner within 3 %.
/// `model` falls short on rmsnorm (docs/tuning.md).
struct Reached {
  const char* strategy;
  const char* op;
  std::size_t within_three;
};
constexpr Reached kReached[] = {{"local", "softmax", 14}, {"local", "rmsnorm", 14}, {"local", "gemm", 12},
                                {"model", "softmax", 14}, {"model", "rmsnorm", 13}, {"model", "gemm", 12}};

TEST(Recorded, local_and_model_are_within_three_per_cent_on_held_out_shapes_at_a_seventh_of_the_trials) {
  std::map<std::string, std::size_t> reached;
  std::map<std::string, std::size_t> problems;
  for (const auto& [strategy, op, within_three] : kReached) {
    const RecordedSum sum = sum_of(strategy, op);
    EXPECT_GE(sum.within_three, within_three) << strategy << " on " << op;
    EXPECT_LE(sum.trials, 0.15 * sum.candidates) << strategy << " on " << op;
    reached[strategy] += sum.within_three;
    problems[strategy] += sum.problems;
  }
  for (const auto& [strategy, count] : problems) {
    EXPECT_GE(static_cast<double>(reached[strategy]), 0.95 * static_cast<double>(count)) << strategy;
  }
}

TEST(Recorded, all_that_is_shipped_takes_two_mebibytes_at_most) {
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(kRecorded)) bytes += file.file_size();
  EXPECT_LE(bytes, std::uintmax_t{2} << 20);
}

TEST(Recorded, what_is_no_packed_cache_is_refused) {
  const test::TemporaryFolder folder;
  std::ofstream(folder / "text.zst") << "no frame at all";
  std::ifstream whole(kRecorded / "softmax.db.zst", std::ios::binary);
  std::string half(20000, '\0');
  whole.read(half.data(), static_cast<std::streamsize>(half.size()));
  std::ofstream(folder / "half.zst", std::ios::binary) << half;
  for (const char* name : {"text.zst", "half.zst", "absent.zst"}) {
    EXPECT_THROW(static_cast<void>(open_recording(folder / name)), Error) << name;
  }
}

}  // namespace
}  // namespace tilewright::testing::recorded_test

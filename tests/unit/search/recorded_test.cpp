// SPDX-License-Identifier: Apache-2.0
// Strategies against recorded sweeps of an H200 (recorded/): what docs/tuning.md claims of them. Each shape is held out.
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "cache/error.hpp"
#include "tuner/search/recording_file.hpp"
#include "tuner/search/replay.hpp"

namespace tilewright::testing {
namespace {

const std::filesystem::path kRecorded = TILEWRIGHT_RECORDED;

struct Sum {
  std::size_t problems = 0;
  std::size_t within_one = 0;
  std::size_t within_three = 0;
  double trials = 0;
  double candidates = 0;
  double measuring = 0;
  double measuring_of_all = 0;
};

/// Over all problems of all three ops.
Sum sum_of(const std::string& strategy) {
  // As of the recordings.
  const std::map<std::string, std::string> bases = {{"softmax", "streaming{num_warps=8,vec=4,ragged=1,unroll=1}"},
                                                    {"rmsnorm", "streaming{num_warps=8,vec=4,ragged=1,unroll=1}"},
                                                    {"gemm", "simt{block_m=64,block_n=64,block_k=16,split_k=1}"}};
  Sum sum;
  for (const auto& [op, base] : bases) {
    const auto recordings = read_recordings(open_recording(kRecorded / (op + ".db.zst")), op);
    ReplaySetting setting;
    setting.bases[op] = Config::parse(base);
    const std::vector<Replayed> all = replay(recordings, "exhaustive", setting);
    const std::vector<Replayed> results = replay(recordings, strategy, setting);
    for (std::size_t i = 0; i < results.size(); ++i) {
      ++sum.problems;
      sum.within_one += results[i].loss <= 0.01 ? 1U : 0U;
      sum.within_three += results[i].loss <= 0.03 ? 1U : 0U;
      sum.trials += static_cast<double>(results[i].trials);
      sum.candidates += static_cast<double>(results[i].candidates);
      sum.measuring += results[i].measuring_ns;
      sum.measuring_of_all += all[i].measuring_ns;
    }
  }
  EXPECT_EQ(sum.problems, 14U + 14U + 12U);
  return sum;
}

TEST(Recorded, race_is_within_one_per_cent_of_exhaustive_at_a_third_of_its_measuring_time) {
  const Sum sum = sum_of("race");
  EXPECT_GE(static_cast<double>(sum.within_one), 0.95 * static_cast<double>(sum.problems));
  EXPECT_LE(sum.measuring, 0.35 * sum.measuring_of_all);
}

TEST(Recorded, local_and_model_are_within_three_per_cent_on_held_out_shapes_at_a_seventh_of_the_trials) {
  for (const char* strategy : {"local", "model"}) {
    const Sum sum = sum_of(strategy);
    EXPECT_GE(static_cast<double>(sum.within_three), 0.95 * static_cast<double>(sum.problems)) << strategy;
    EXPECT_LE(sum.trials, 0.15 * sum.candidates) << strategy;
  }
}

TEST(Recorded, all_that_is_shipped_takes_two_mebibytes_at_most) {
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(kRecorded)) bytes += file.file_size();
  EXPECT_LE(bytes, std::uintmax_t{2} << 20);
}

TEST(Recorded, what_is_no_packed_cache_is_refused) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "tilewright-recorded-test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "text.zst") << "no frame at all";
  std::ifstream whole(kRecorded / "softmax.db.zst", std::ios::binary);
  std::string half(20000, '\0');
  whole.read(half.data(), static_cast<std::streamsize>(half.size()));
  std::ofstream(folder / "half.zst", std::ios::binary) << half;
  for (const char* name : {"text.zst", "half.zst", "absent.zst"}) {
    EXPECT_THROW(static_cast<void>(open_recording(folder / name)), Error) << name;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tilewright::testing

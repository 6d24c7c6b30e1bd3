// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "cache/model/device_facts.hpp"
#include "cache/store/store.hpp"
#include "tests/launch/sample_op.hpp"
#include "tests/temporary_folder.hpp"

/// A cache filled by hand with winners for the recording driver. Belongs to one thread.
namespace tilewright::testing {

using test::TemporaryFolder;

/// The recording driver's device as it is without settings; of another name if wanted.
[[nodiscard]] DeviceFacts recording_device(const std::string& name = "Fictional GPU", int compute_capability = 90,
                                           int sm_count = 132);

/// What a winner is made of besides its problem and config.
struct SampleWinner {
  WinnerRole role = WinnerRole::best;
  double median_ns = 1000;
  double floor_ns = 0;
  Versions versions{13000, "NVRTC 13.0", "0.1.0"};
  DeviceFacts device = recording_device();
};

class SampleCache {
 public:
  /// Opens or makes the cache.
  explicit SampleCache(const std::filesystem::path& path);

  /// Adds an op with an implementation and its binary; `key` identifies the build.
  void add_op(const OpInterface& interface, const ImplementationRecipe& recipe, const std::vector<KernelFacts>& kernels,
              const std::vector<std::byte>& binary);
  /// Adds a winner of an op added before, beside those that the problem has.
  void add_winner(const OpInterface& interface, const std::string& problem, const std::string& config,
                  const SampleWinner& winner = {});

  /// As a tuner does all the time: one more trial of a config that has won, of a sweep that goes on.
  void add_trial_of_a_sweep();

  /// `scale` with its two implementations, and for rows=8, cols=64 in fp16: a specialised best that needs 16 bytes of
  /// alignment, a dynamic one that needs 8, and a base.
  void add_scale();
  /// `strided` with the same winners as `scale`, for dense and for strided tensors.
  void add_strided();
  /// `reduce`, with a base that serves every shape.
  void add_packed();
  void add_ragged();
  void add_many();
  void add_reduce();

  /// `scale` with `count` winners of as many shapes (rows 8·i, cols 64), a base, and for every hundredth shape a binary
  /// of `bytes`: `read`, which a driver reads, and other bytes behind it.
  void add_many(int count, std::size_t bytes, const std::vector<std::byte>& read = scale_binary(),
                const DeviceFacts& device = recording_device());

  [[nodiscard]] Store& store() noexcept { return store_; }

 private:
  Store store_;
  std::int64_t sweep_ = 0;
};

}  // namespace tilewright::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "cache/model/device_facts.hpp"
#include "cache/store/store.hpp"
#include "tests/launch/sample_op.hpp"
#include "tests/temporary_folder.hpp"

/// A cache filled by hand with winners for the recording driver. One thread.
namespace tilewright::testing {

using test::TemporaryFolder;

/// The recording driver's default device, or with other facts.
[[nodiscard]] DeviceFacts recording_device(const std::string& name = "Fictional GPU", int compute_capability = 90,
                                           int sm_count = 132);

/// A winner's facts besides its problem and config.
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
  /// Adds a winner of an op added before to the problem's winners.
  void add_winner(const OpInterface& interface, const std::string& problem, const std::string& config,
                  const SampleWinner& winner = {});

  /// Adds one more trial of a winning config, as a running sweep does.
  void add_trial_of_a_sweep();

  /// Adds `scale` with its two implementations, and for rows=8, cols=64 in fp16: a specialised best that needs 16 bytes
  /// of alignment, a dynamic winner that needs 8, and a base.
  void add_scale();
  /// Adds `strided` with the winners of `scale`, for dense and for strided tensors.
  void add_strided();
  void add_packed();
  void add_ragged();
  void add_many();
  /// Adds `reduce`, with a base that serves all shapes.
  void add_reduce();

  /// Adds `scale` with winners of `count` shapes (rows 8·i, cols 64), a base, and for each hundredth shape a binary of
  /// `bytes` bytes: `read`, which a driver reads, then padding.
  void add_many(int count, std::size_t bytes, const std::vector<std::byte>& read = scale_binary(),
                const DeviceFacts& device = recording_device());

  [[nodiscard]] Store& store() noexcept { return store_; }

 private:
  Store store_;
  std::int64_t sweep_ = 0;
};

}  // namespace tilewright::testing

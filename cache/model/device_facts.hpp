// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The facts of a GPU or of the emulator (`cpu`) that decide a config's legality and speed. Trials are stored under the
/// fingerprint. Chips of one model share it, so a trial also keeps its GPU's UUID.
namespace tilewright {

struct DeviceFacts {
  /// "NVIDIA H200", or "cpu".
  std::string name;
  /// Compute capability 9.0 is 90; 0 for the emulator.
  int compute_capability = 0;
  int sm_count = 1;
  std::int64_t memory_bytes = 0;
  int memory_bus_bits = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t shared_per_block_optin = 0;
  std::int64_t shared_per_sm = 0;
  int registers_per_sm = 0;
  int max_threads_per_sm = 0;
  int max_threads_per_block = 1024;

  [[nodiscard]] bool is_cpu() const noexcept { return compute_capability == 0; }
  /// `NVIDIA H200 (sm_90, 132 SMs, 140 GiB, 6144-bit)`, or `cpu`.
  [[nodiscard]] std::string fingerprint() const;
  /// NVRTC's target: "sm_90a" if the chip has an architecture-specific target, else "sm_80"…; "cpu".
  [[nodiscard]] std::string arch() const;
  /// True if code of an implementation that requires `sm_XX[a]` runs here. The emulator runs all but "a" targets; an
  /// empty requirement runs everywhere. Throws UsageError if the text is not an architecture.
  [[nodiscard]] bool supports(std::string_view requires_arch) const;
  /// A fact by its name in formulas (`sm_count`, `l2_bytes`, `shared_per_block_optin`, `compute_capability`…).
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view fact_name) const noexcept;
  /// The names that find() knows.
  [[nodiscard]] static const std::vector<std::string>& names();

  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

/// A target of NVRTC.
struct Arch {
  /// 90 of sm_90a.
  int number = 0;
  /// 'a': of this number's chips alone; 'f': of its family; 0: of this and later numbers.
  char suffix = 0;
  friend bool operator==(const Arch&, const Arch&) = default;
};
/// nullopt if the text is not `sm_` with a number from 10 and at most a suffix.
[[nodiscard]] std::optional<Arch> arch_from(std::string_view text) noexcept;

/// The emulator's facts. Limits are those of sm_90, so a config's legality is the same as on a GPU. Few SMs and a small
/// L2 keep persistent grids and cold measurements affordable on a CPU. Memory is not limited (0).
[[nodiscard]] DeviceFacts emulator_facts();

[[nodiscard]] nlohmann::json to_json(const DeviceFacts& facts);
/// Throws CacheError if the JSON is not a device's facts.
[[nodiscard]] DeviceFacts device_facts_from_json(const nlohmann::json& json);

}  // namespace tilewright

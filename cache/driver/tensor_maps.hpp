// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "cache/driver/driver_table.hpp"
#include "cache/plan/plan.hpp"

/// The tensor maps of one argument or workspace of a plan, for the addresses and strides of each launch. The map is
/// encoded once, with the plan; a new address goes into a copy, kept for later launches. If strides or extent come with
/// the call, each new combination is encoded and kept. At most kMost are kept; the oldest of a set is replaced. Nothing
/// is allocated and no launch waits: a launch that meets an entry being written uses a copy of its own. Any number of
/// threads at once.
namespace tilewright::cuda {

class TensorMaps {
 public:
  static constexpr std::size_t kSets = 16;
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kMost = kSets * kWays;

  /// Encodes the map for the address of no tensor. `driver` must outlive this object. Throws DeviceError if the driver
  /// refuses the plan's map.
  TensorMaps(const Driver& driver, const PlannedMap& map);

  /// Most strides of one map.
  static constexpr std::size_t kMostStrides = 4;
  /// A call's strides in bytes, then its extent. Each one that the plan fixes, or that is absent, is 0.
  using Shape = std::array<std::uint64_t, kMostStrides + 1>;

  /// Writes the map of a tensor at `address` to `out`. Returns a CUresult: the driver refuses a misaligned address and
  /// invalid strides.
  [[nodiscard, gnu::hot]] Result get(Address address, TensorMap& out) noexcept { return get(address, {}, out); }
  /// The same, for a map whose strides or extent come with the call.
  [[nodiscard, gnu::hot]] Result get(Address address, const Shape& shape, TensorMap& out) noexcept;

 private:
  static constexpr std::size_t kWords = sizeof(TensorMap) / sizeof(std::uint64_t);

  /// One map with its address and shape. A read is valid if `version` was even, and the same before and after.
  struct Entry {
    std::atomic<std::uint64_t> version = 0;
    std::atomic<Address> address = 0;
    std::array<std::atomic<std::uint64_t>, kMostStrides + 1> shape{};
    std::array<std::atomic<std::uint64_t>, kWords> words{};

    [[nodiscard, gnu::hot]] bool read(Address wanted, const Shape* with, TensorMap& out) const noexcept;
    void write(Address of, const Shape& with, const TensorMap& map) noexcept;
  };
  /// The maps of addresses with one hash. Its own cache lines keep launches of other maps from disturbing it.
  struct alignas(64) Set {
    std::array<Entry, kWays> entries;
    std::atomic<std::uint32_t> next = 0;
  };

  [[nodiscard]] Result encode(Address address, const Shape& shape, TensorMap& out) const noexcept;

  const DriverTable* table_;
  TensorMap encoded_{};
  PlannedMap map_;
  bool has_shape_;  // strides or extent come with the call
  std::array<Set, kSets> sets_;
};

}  // namespace tilewright::cuda

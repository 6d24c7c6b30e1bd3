// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "cache/driver/driver_table.hpp"
#include "cache/plan/plan.hpp"

/// The tensor map of one argument or workspace of a plan, for whatever address and strides a launch brings. It is
/// encoded once, when the plan is made ready; a new address is put into a copy of that, and the copy is kept for the
/// next launch with the address. A map whose strides or whose extent come with the call is encoded for each new set of
/// address, strides and extent, and kept by all. At most kMost of them: of more, the oldest goes. Nothing is allocated,
/// and nobody waits: a launch that finds a place being written by another takes no notice of it and makes its own copy.
/// Any number of threads at once.
namespace tilewright::cuda {

class TensorMaps {
 public:
  static constexpr std::size_t kSets = 16;
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kMost = kSets * kWays;

  /// Encodes the map for a made-up address. `driver` must outlive it. Throws DeviceError when the driver refuses the
  /// plan's map.
  TensorMaps(const Driver& driver, const PlannedMap& map);

  /// Strides of one map.
  static constexpr std::size_t kMostStrides = 4;
  /// A call's strides in bytes, then its extent. One that the plan has, or that is not there, is 0.
  using Shape = std::array<std::uint64_t, kMostStrides + 1>;

  /// Writes the map of a tensor at `address` to `out`. Returns a CUresult; an address that is not aligned as maps need
  /// it, and strides that they cannot have, are the driver's to refuse.
  [[nodiscard, gnu::hot]] Result get(Address address, TensorMap& out) noexcept { return get(address, {}, out); }
  /// The same, for a map of which this comes with the call.
  [[nodiscard, gnu::hot]] Result get(Address address, const Shape& shape, TensorMap& out) noexcept;

 private:
  static constexpr std::size_t kWords = sizeof(TensorMap) / sizeof(std::uint64_t);

  /// One map with its address and shape. A reader believes what it read when `version` was even and the same before
  /// and after.
  struct Entry {
    std::atomic<std::uint64_t> version = 0;
    std::atomic<Address> address = 0;
    std::array<std::atomic<std::uint64_t>, kMostStrides + 1> shape{};
    std::array<std::atomic<std::uint64_t>, kWords> words{};

    [[nodiscard, gnu::hot]] bool read(Address wanted, const Shape* with, TensorMap& out) const noexcept;
    void write(Address of, const Shape& with, const TensorMap& map) noexcept;
  };
  /// The maps of addresses that have one hash. Cache lines of its own, so that launches of other maps do not disturb
  /// it.
  struct alignas(64) Set {
    std::array<Entry, kWays> entries;
    std::atomic<std::uint32_t> next = 0;
  };

  [[nodiscard]] Result encode(Address address, const Shape& shape, TensorMap& out) const noexcept;

  const DriverTable* table_;
  TensorMap encoded_{};
  PlannedMap map_;
  bool has_shape_;  // comes with the call, in part
  std::array<Set, kSets> sets_;
};

}  // namespace tilewright::cuda

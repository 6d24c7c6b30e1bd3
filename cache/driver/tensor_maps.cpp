// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/tensor_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>

#include "cache/plan/plan_map.hpp"

namespace tilewright::cuda {

namespace {

constexpr std::size_t kMostMapRank = 5;
/// A valid address of no tensor. Encoding does not read the memory.
constexpr Address kAnyAddress = Address{1} << 32;

/// CUtensorMapSwizzle for a definition's bytes.
int tensor_map_swizzle(std::uint32_t bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }

/// Addresses differ in their middle bits, often by equal steps: the product's highest bits spread them.
std::size_t set_of(Address address) noexcept {
  constexpr int kShift = 64 - std::countr_zero(TensorMaps::kSets);
  return static_cast<std::size_t>((address >> 4) * 0x9e3779b97f4a7c15ULL >> kShift);
}

}  // namespace

TensorMaps::TensorMaps(const Driver& driver, const PlannedMap& map)
    : table_(&driver.table()), map_(map), has_shape_(!map.stride_scalars.empty() || map.call_extent) {
  Shape planned{};
  std::ranges::copy(map.strides, planned.begin());
  if (map.call_extent) planned.back() = map.dims[map.call_extent->of_map];
  driver.check(encode(kAnyAddress, planned, encoded_), table_->tensor_map_encode_tiled.name(),
               fmt::format("encoding the tensor map '{}'", map.name));
}

Result TensorMaps::encode(Address address, const Shape& shape, TensorMap& out) const noexcept {
  constexpr int kInterleaveNone = 0;
  constexpr int kPromoteTo128Bytes = 2;
  constexpr int kFillZeros = 0;
  static constexpr std::array<std::uint32_t, kMostMapRank> kDense{1, 1, 1, 1, 1};
  std::array<std::uint64_t, kMostMapRank> dims{};
  std::ranges::copy(map_.dims, dims.begin());
  if (map_.call_extent) dims[map_.call_extent->of_map] = shape.back();
  const std::uint64_t* const strides =
      map_.stride_scalars.empty() && !map_.strides.empty() ? map_.strides.data() : shape.data();
  return table_->tensor_map_encode_tiled(&out, tensor_map_type(map_), static_cast<std::uint32_t>(map_.dims.size()),
                                         reinterpret_cast<void*>(address), dims.data(), strides, map_.box.data(),
                                         kDense.data(), kInterleaveNone, tensor_map_swizzle(map_.swizzle),
                                         kPromoteTo128Bytes, kFillZeros);
}

// Words are loaded with acquire, so that the second load of the version comes after them. A read during a write may be
// torn and is discarded.
bool TensorMaps::Entry::read(Address wanted, const Shape* with, TensorMap& out) const noexcept {
  const std::uint64_t before = version.load(std::memory_order_acquire);
  if (before == 0 || before % 2 != 0 || address.load(std::memory_order_acquire) != wanted) return false;
  for (std::size_t i = 0; with != nullptr && i < with->size(); ++i) {
    if (shape[i].load(std::memory_order_acquire) != (*with)[i]) return false;
  }
  for (std::size_t i = 0; i < kWords; ++i) out.words[i] = words[i].load(std::memory_order_acquire);
  return version.load(std::memory_order_relaxed) == before;
}

void TensorMaps::Entry::write(Address of, const Shape& with, const TensorMap& map) noexcept {
  std::uint64_t before = version.load(std::memory_order_relaxed);
  if (before % 2 != 0) return;
  // One of several writers proceeds; the others have their copies.
  if (!version.compare_exchange_strong(before, before + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
    return;
  }
  address.store(of, std::memory_order_release);
  for (std::size_t i = 0; i < with.size(); ++i) shape[i].store(with[i], std::memory_order_release);
  for (std::size_t i = 0; i < kWords; ++i) words[i].store(map.words[i], std::memory_order_release);
  version.store(before + 2, std::memory_order_release);
}

Result TensorMaps::get(Address address, const Shape& shape, TensorMap& out) noexcept {
  Address mixed = address;
  if (has_shape_) {
    // Strides are multiples of 16. Each is rotated by its own amount, so that they do not cancel.
    for (std::size_t i = 0; i < shape.size(); ++i) mixed += std::rotl(shape[i], static_cast<int>(7 * i + 3));
  }
  Set& set = sets_[set_of(mixed)];
  for (const Entry& entry : set.entries) {
    if (entry.read(address, has_shape_ ? &shape : nullptr, out)) return kSuccess;
  }
  Result status = kSuccess;
  if (has_shape_) {
    status = encode(address, shape, out);
  } else {
    out = encoded_;
    status = table_->tensor_map_replace_address(&out, reinterpret_cast<void*>(address));
  }
  if (status != kSuccess) return status;
  set.entries[set.next.fetch_add(1, std::memory_order_relaxed) % kWays].write(address, shape, out);
  return kSuccess;
}

}  // namespace tilewright::cuda

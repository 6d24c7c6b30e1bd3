// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/tensor_maps.hpp"

#include <fmt/format.h>

#include <bit>
#include <string>

#include "cache/plan/plan_map.hpp"

namespace tilewright::cuda {

namespace {

constexpr std::size_t kMostMapRank = 5;
/// Of no tensor, but such as one may have: what is encoded is not looked at there.
constexpr Address kAnyAddress = Address{1} << 32;

/// CUtensorMapSwizzle, from the bytes that a definition names.
int tensor_map_swizzle(std::uint32_t bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }

/// Addresses differ in their middle bits, often by the same step: the highest bits of the product spread them.
std::size_t set_of(Address address) noexcept {
  constexpr int kShift = 64 - std::countr_zero(TensorMaps::kSets);
  return static_cast<std::size_t>((address >> 4) * 0x9e3779b97f4a7c15ULL >> kShift);
}

}  // namespace

TensorMaps::TensorMaps(const Driver& driver, const PlannedMap& map) : table_(&driver.table()) {
  constexpr int kInterleaveNone = 0;
  constexpr int kPromoteTo128Bytes = 2;
  constexpr int kFillZeros = 0;
  static constexpr std::array<std::uint32_t, kMostMapRank> kDense{1, 1, 1, 1, 1};
  const std::string what = fmt::format("encoding the tensor map '{}'", map.name);
  driver.call(what.c_str(), table_->tensor_map_encode_tiled, &encoded_, tensor_map_type(map),
              static_cast<std::uint32_t>(map.dims.size()), reinterpret_cast<void*>(kAnyAddress), map.dims.data(),
              map.strides.data(), map.box.data(), kDense.data(), kInterleaveNone, tensor_map_swizzle(map.swizzle),
              kPromoteTo128Bytes, kFillZeros);
}

// Words are read with acquire, so that the second look at the version comes after them; what is read while another
// thread writes is thrown away, so it may be torn.
bool TensorMaps::Entry::read(Address wanted, TensorMap& out) const noexcept {
  const std::uint64_t before = version.load(std::memory_order_acquire);
  if (before == 0 || before % 2 != 0 || address.load(std::memory_order_acquire) != wanted) return false;
  for (std::size_t i = 0; i < kWords; ++i) out.words[i] = words[i].load(std::memory_order_acquire);
  return version.load(std::memory_order_relaxed) == before;
}

void TensorMaps::Entry::write(Address of, const TensorMap& map) noexcept {
  std::uint64_t before = version.load(std::memory_order_relaxed);
  if (before % 2 != 0) return;
  // Of several writers one goes on; the others have their copies.
  if (!version.compare_exchange_strong(before, before + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
    return;
  }
  address.store(of, std::memory_order_release);
  for (std::size_t i = 0; i < kWords; ++i) words[i].store(map.words[i], std::memory_order_release);
  version.store(before + 2, std::memory_order_release);
}

Result TensorMaps::get(Address address, TensorMap& out) noexcept {
  Set& set = sets_[set_of(address)];
  for (const Entry& entry : set.entries) {
    if (entry.read(address, out)) return kSuccess;
  }
  out = encoded_;
  const Result status = table_->tensor_map_replace_address(&out, reinterpret_cast<void*>(address));
  if (status != kSuccess) return status;
  set.entries[set.next.fetch_add(1, std::memory_order_relaxed) % kWays].write(address, out);
  return kSuccess;
}

}  // namespace tilewright::cuda

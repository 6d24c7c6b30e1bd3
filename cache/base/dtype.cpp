// SPDX-License-Identifier: Apache-2.0
#include "cache/base/dtype.hpp"

#include <array>

namespace tilewright {
namespace {

struct Row {
  DType type;
  std::string_view name;
  std::string_view device_type;
  std::size_t bytes;
  double roundoff;
};

constexpr std::array<Row, 9> kRows{{
    {DType::f32, "f32", "float", 4, 0x1p-24},
    {DType::f16, "f16", "__half", 2, 0x1p-11},
    {DType::bf16, "bf16", "__nv_bfloat16", 2, 0x1p-8},
    {DType::f64, "f64", "double", 8, 0x1p-53},
    {DType::i32, "i32", "int", 4, 0},
    {DType::i64, "i64", "long long", 8, 0},
    {DType::u32, "u32", "unsigned", 4, 0},
    {DType::u64, "u64", "unsigned long long", 8, 0},
    {DType::u8, "u8", "unsigned char", 1, 0},
}};

const Row& row(DType type) noexcept { return kRows[static_cast<std::size_t>(type)]; }

}  // namespace

std::string_view name(DType type) noexcept { return row(type).name; }

std::optional<DType> dtype_from(std::string_view name) noexcept {
  for (const Row& candidate : kRows) {
    if (candidate.name == name) return candidate.type;
  }
  return std::nullopt;
}

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (const Row& candidate : kRows) names.emplace_back(candidate.name);
  return names;
}

std::size_t size_of(DType type) noexcept { return row(type).bytes; }
std::string_view device_type(DType type) noexcept { return row(type).device_type; }
double unit_roundoff(DType type) noexcept { return row(type).roundoff; }

}  // namespace tilewright

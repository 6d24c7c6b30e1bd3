// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Element and scalar types, by the names that definitions and shape keys use.
namespace tilewright {

/// The word for the dtype of an op's problem, in problems and in definitions.
inline constexpr std::string_view kDTypeWord = "dtype";

enum class DType : std::uint8_t { f32, f16, bf16, f64, i32, i64, u32, u64, u8 };

/// "f32", "bf16", …
[[nodiscard]] std::string_view name(DType type) noexcept;
[[nodiscard]] std::optional<DType> dtype_from(std::string_view name) noexcept;
/// Every type's name, for "did you mean …?".
[[nodiscard]] std::vector<std::string> dtype_names();
/// Bytes of one element.
[[nodiscard]] std::size_t size_of(DType type) noexcept;
/// The type's spelling in device code: "float", "__half", "__nv_bfloat16", "long long", …
[[nodiscard]] std::string_view device_type(DType type) noexcept;
/// Half the distance between 1 and the next number, 2^-(mantissa bits + 1): the relative rounding error of a store;
/// 0 for integers.
[[nodiscard]] double unit_roundoff(DType type) noexcept;

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/model/recipe.hpp"
#include "cache/model/records.hpp"

/// Ops for tests of launching, with binaries for the recording driver. Values only.
namespace tilewright::testing {

/// `scale`: y = x * factor over {rows, cols}, with an attribute `round` (no | yes) and a scalar.
///   wide    needs cols % vec == 0 and addresses aligned to vec elements; specialises cols
///   plain   the base: serves all problems
[[nodiscard]] OpInterface scale_interface();
[[nodiscard]] ImplementationRecipe scale_wide();
[[nodiscard]] ImplementationRecipe scale_plain();
/// Kernels `wide_symbol` and `plain_symbol`, each (x, y, factor, rows, cols).
[[nodiscard]] std::vector<std::byte> scale_binary();
[[nodiscard]] std::vector<KernelFacts> scale_kernels();

/// `strided`: scale with an attribute for pitched rows; its kernels take (x, y, factor, rows, cols, x_pitch, y_pitch).
[[nodiscard]] OpInterface strided_interface();
[[nodiscard]] ImplementationRecipe strided_wide();
[[nodiscard]] ImplementationRecipe strided_plain();
[[nodiscard]] std::vector<std::byte> strided_binary();

/// `packed`: y = x over {b, t, h, d} in f16, at the call's strides; `wide` needs 16 bytes of alignment, `plain` none.
/// Kernels take (x, y, x_batch, x_token, x_head, y_batch, y_token, y_head).
[[nodiscard]] OpInterface packed_interface();
[[nodiscard]] ImplementationRecipe packed_wide();
[[nodiscard]] ImplementationRecipe packed_plain();
/// Kernel (map of x, y): the map follows the call's strides. For caches that a test makes.
[[nodiscard]] ImplementationRecipe packed_mapped();
[[nodiscard]] std::vector<std::byte> packed_binary();
[[nodiscard]] std::vector<KernelFacts> packed_kernels();

/// `ragged`: y = x over {tokens, heads, d} in f16 at the call's strides; `tokens` is bucketed. The kernel takes (x, y,
/// tokens, half, sums): a value and a workspace that depend on tokens.
[[nodiscard]] OpInterface ragged_interface();
[[nodiscard]] ImplementationRecipe ragged_rows();
[[nodiscard]] std::vector<std::byte> ragged_binary();
[[nodiscard]] std::vector<KernelFacts> ragged_kernels();

/// `many`: as many arguments as an op can have, tensors first, and more tensors than keys have bits. Both
/// implementations copy the last tensor but one to the last: `wide` needs the last and the third at multiples of 16
/// bytes, `plain` takes any address. Its domain is n in steps of 64.
[[nodiscard]] OpInterface many_interface();
[[nodiscard]] ImplementationRecipe many_wide();
[[nodiscard]] ImplementationRecipe many_plain();
[[nodiscard]] std::vector<std::byte> many_binary();
[[nodiscard]] std::vector<KernelFacts> many_kernels();
inline constexpr int kManyTensors = 40, kManyScalars = 24;

/// `reduce`: two kernels, a tensor map, a cluster, a dependent launch, a workspace of each kind of clearing, and a
/// value.
[[nodiscard]] OpInterface reduce_interface();
[[nodiscard]] ImplementationRecipe reduce_split();
[[nodiscard]] std::vector<std::byte> reduce_binary();
[[nodiscard]] std::vector<KernelFacts> reduce_kernels();

/// A binary for the recording driver, from its lines.
[[nodiscard]] std::vector<std::byte> recorded_binary(std::string_view lines);

}  // namespace tilewright::testing

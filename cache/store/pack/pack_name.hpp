// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

/// The names of packs: `gemm-bf16-simt-2-<64 digits>.pack` is the second file of the part `gemm-bf16-simt`. Pure
/// functions.
namespace tilewright {

inline constexpr std::string_view kPackSuffix = ".pack";

/// True if the file is named as a pack.
[[nodiscard]] bool is_pack(const std::filesystem::path& file);
/// The 64 hexadecimal digits at the end of a pack's name; empty if there are none.
[[nodiscard]] std::string hash_in_name(const std::filesystem::path& pack);
/// `gemm` of `gemm-bf16-simt`, `devices` of `devices`.
[[nodiscard]] std::string first_word(const std::string& name);
/// The part that a pack is named after: `gemm-bf16-simt` of `gemm-bf16-simt-2-<64 digits>.pack`.
[[nodiscard]] std::string part_in_name(const std::filesystem::path& pack);

}  // namespace tilewright

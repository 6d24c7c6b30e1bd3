// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// Identity by content: XXH3-128 as 32 lower-case hexadecimal digits. It identifies binaries, interfaces,
/// implementations and generated sources. It detects damage; it does not defend against tampering. Pure functions, for
/// any thread. Equal bytes have equal digits on every machine and in every version.
namespace tilewright {

[[nodiscard]] std::string content_hash(std::span<const std::byte> bytes);
[[nodiscard]] std::string content_hash(std::string_view text);

}  // namespace tilewright

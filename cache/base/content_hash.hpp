// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

/// Identity by content: XXH3-128 as 32 lower-case hexadecimal digits. Binaries, interfaces, implementations and
/// generated sources are all known by it. It finds damage and tells versions apart; it is no defence against tampering.
/// Pure functions, free to be called by any thread. The digits of given bytes are the same on every machine, for ever.
namespace tilewright {

[[nodiscard]] std::string content_hash(std::span<const std::byte> bytes);
[[nodiscard]] std::string content_hash(std::string_view text);

}  // namespace tilewright

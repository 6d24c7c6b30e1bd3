// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// Hashes of implementations from before schema 7 cover the bytes of sources; current ones cover their tokens. A pure
/// function.
namespace tilewright {

/// The current hash of a shipped implementation that has a former one; any other hash is returned as it is.
[[nodiscard]] std::string current_hash(const std::string& hash);

}  // namespace tilewright

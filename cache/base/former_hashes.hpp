// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

/// Before schema 7 the hash of an implementation was of its sources' bytes; it is of their tokens since. A pure
/// function.
namespace tilewright {

/// Today's hash of an implementation that was shipped under a former one; any other hash as it is.
[[nodiscard]] std::string current_hash(const std::string& hash);

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#include "cache/base/version.hpp"

namespace tilewright {

const char* version() noexcept { return TILEWRIGHT_VERSION; }

}  // namespace tilewright

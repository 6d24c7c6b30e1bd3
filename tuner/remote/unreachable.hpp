// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/base/error.hpp"

namespace tilewright {

/// A service did not answer, or not to its end: the network, a proxy or the service is away. Asked later it may.
class Unreachable : public Error {
 public:
  using Error::Error;
};

/// It was waited for as long as it may be. What was asked for may have been done.
class TimedOut final : public Unreachable {
 public:
  using Unreachable::Unreachable;
};

}  // namespace tilewright

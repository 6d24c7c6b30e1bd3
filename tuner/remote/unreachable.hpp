// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/base/error.hpp"

namespace tilewright {

/// No complete answer arrived: the network, a proxy or the service is down. A later attempt may succeed.
class Unreachable : public Error {
 public:
  using Error::Error;
};

/// The caller asked to end.
class Interrupted final : public Unreachable {
 public:
  using Unreachable::Unreachable;
};

/// The patience ran out. The service may still have acted on the request.
class TimedOut final : public Unreachable {
 public:
  using Unreachable::Unreachable;
};

}  // namespace tilewright

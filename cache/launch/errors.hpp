// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/base/error.hpp"

/// The two errors of launching alone; tilewright.h has a code for each.
namespace tilewright::launch {

/// Nothing in the cache can serve the launch.
class NoMatchError : public Error {
 public:
  using Error::Error;
};

/// The op's interface differs from the one that the application was written for.
class InterfaceError : public Error {
 public:
  using Error::Error;
};

}  // namespace tilewright::launch

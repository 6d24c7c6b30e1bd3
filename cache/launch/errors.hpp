// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache/base/error.hpp"

/// The two errors of launching that the rest of the cache does not have; each has its code in tilewright.h.
namespace tilewright::launch {

/// The cache has nothing that can serve a launch.
class NoMatchError : public Error {
 public:
  using Error::Error;
};

/// The op's interface is not the one that the application was written for.
class InterfaceError : public Error {
 public:
  using Error::Error;
};

}  // namespace tilewright::launch

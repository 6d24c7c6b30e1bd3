// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// A disk that fails: the shared library failing_disk stands between a program and the C library, by LD_PRELOAD or
/// because the program links it. It counts the calls that change files below a folder, of all processes together, and
/// fails the one that is asked for.
namespace tilewright::testing {

struct FailingDisk {
  /// Empty: no call is counted.
  char folder[256];
  std::atomic<int> calls;
  /// The call that fails, from 1; 0: none.
  int failing;
  /// And all that follow it: a disk that is full stays full.
  bool for_good;
  /// errno.
  int error;
};

/// Names the file that holds a FailingDisk, which processes share.
inline constexpr const char* kFailingDisk = "TILEWRIGHT_FAILING_DISK";

/// That of this process.
extern "C" FailingDisk* failing_disk();

}  // namespace tilewright::testing

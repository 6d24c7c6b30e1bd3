// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

/// A disk that fails: the shared library failing_disk, preloaded or linked, intercepts the C library's calls that
/// change files below a folder. It counts them over all processes, and fails the requested one.
namespace tilewright::testing {

struct FailingDisk {
  /// The folder; empty: no call is counted.
  char folder[256];
  std::atomic<int> calls;
  /// The number of the call that fails, from 1; 0: none.
  int failing;
  /// All later calls fail, too: a full disk stays full.
  bool for_good;
  /// The errno of the failure.
  int error;
};

/// Environment variable with the path of the FailingDisk file that processes share.
inline constexpr const char* kFailingDisk = "TILEWRIGHT_FAILING_DISK";

/// This process's FailingDisk.
extern "C" FailingDisk* failing_disk();

}  // namespace tilewright::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

#include "tilewright/tilewright.h"

/// The error of the launch library's C++ layer: a code of tilewright.h, and a text with the action, its object and the
/// reason. A value, shared by no threads.
namespace tilewright {

class LaunchError : public std::runtime_error {
 public:
  LaunchError(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  /// TW_ERROR_…
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

namespace detail {

/// Throws the calling thread's last error unless `code` is TW_OK.
inline void check(int code) {
  if (code != TW_OK) throw LaunchError(code, tw_last_error());
}

}  // namespace detail
}  // namespace tilewright

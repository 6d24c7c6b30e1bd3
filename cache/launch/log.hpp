// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "cache/base/descriptor.hpp"

namespace tilewright::launch {

/// Lines for people of what a launcher does, in $TILEWRIGHT_LOG: a file, to which they are appended, or "stderr"; not
/// set: none. A line is one write, with time and process, so that those of several processes stay whole. What cannot be
/// written is lost: a log stops nothing. Launches of known shapes write nothing. Any thread.
class Log {
 public:
  Log() noexcept;

  [[nodiscard]] bool is_on() const noexcept { return static_cast<bool>(file_); }
  void write(std::string_view text) const noexcept;

 private:
  Descriptor file_;
};

}  // namespace tilewright::launch

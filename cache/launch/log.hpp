// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace tilewright::launch {

/// Lines for people of what a launcher does, in $TILEWRIGHT_LOG: a file, to which they are appended, or "stderr"; not
/// set: none. A line is one write, with time and process, so that those of several processes stay whole. What cannot be
/// written is lost: a log stops nothing. Launches of known shapes write nothing. Any thread.
class Log {
 public:
  Log() noexcept;
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  [[nodiscard]] bool is_on() const noexcept { return descriptor_ >= 0; }
  void write(std::string_view text) const noexcept;

 private:
  int descriptor_ = -1;
};

}  // namespace tilewright::launch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "cache/base/descriptor.hpp"

namespace tilewright::launch {

/// Lines for people about a launcher's work, appended to the file that $TILEWRIGHT_LOG names, or to "stderr"; unset:
/// none. A line is one write, with time and process id, so lines of several processes stay whole. Failed writes are
/// ignored. Launches of known shapes write nothing. Any thread.
class Log {
 public:
  Log() noexcept;

  [[nodiscard]] bool is_on() const noexcept { return static_cast<bool>(file_); }
  void write(std::string_view text) const noexcept;

 private:
  Descriptor file_;
};

}  // namespace tilewright::launch

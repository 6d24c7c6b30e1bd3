// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <exception>
#include <string>

#include "cache/base/units.hpp"

namespace tilewright::launch {

Log::Log() noexcept {
  const char* const place = std::getenv("TILEWRIGHT_LOG");
  if (place == nullptr || *place == '\0') return;
  constexpr int kForAll = 0644;
  file_ = Descriptor(place == std::string_view("stderr")
                         ? ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)
                         : ::open(place, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, kForAll));
}

void Log::write(std::string_view text) const noexcept try {
  if (!is_on()) return;
  std::string line = fmt::format("{} tilewright[{}] {}\n", iso_moment(std::time(nullptr)), ::getpid(), text);
  // One event is one line, even if an error's text has more.
  for (std::size_t i = 0; i + 1 < line.size(); ++i) {
    if (line[i] == '\n') line[i] = ' ';
  }
  static_cast<void>(!::write(file_.get(), line.data(), line.size()));
} catch (const std::exception&) {
  // Out of memory: the line is lost.
}

}  // namespace tilewright::launch

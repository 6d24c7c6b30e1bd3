// SPDX-License-Identifier: Apache-2.0
#include "cache/base/descriptor.hpp"

#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace tilewright {

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

bool Descriptor::write(std::span<const std::byte> bytes) const noexcept {
  while (!bytes.empty()) {
    const ssize_t put = ::write(number_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put == 0) errno = ENOSPC;
    if (put <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return true;
}

bool Descriptor::lock(int how) const noexcept {
  while (::flock(number_, how) != 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace tilewright

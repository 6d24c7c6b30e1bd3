// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/notify.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "cache/base/descriptor.hpp"

namespace tilewright::service {

void notify_systemd(const std::string& state) noexcept {
  const char* const place = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (place == nullptr) return;
  const std::string_view path(place);
  if (path.size() < 2 || path.size() >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@')) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  // '@' marks an abstract socket.
  if (path[0] == '@') address.sun_path[0] = '\0';
  const Descriptor socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as the call wants it
  (void)::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                 size);
}

}  // namespace tilewright::service

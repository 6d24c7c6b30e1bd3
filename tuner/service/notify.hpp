// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tilewright::service {

/// Tells systemd of the service (sd_notify(3)): "READY=1", "STOPPING=1". Without systemd (no NOTIFY_SOCKET) nothing
/// happens; that it cannot be told is no error.
void notify_systemd(const std::string& state) noexcept;

}  // namespace tilewright::service

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tilewright::service {

/// Sends the service's state to systemd (sd_notify(3)): "READY=1", "STOPPING=1". Does nothing without NOTIFY_SOCKET;
/// ignores failures.
void notify_systemd(const std::string& state) noexcept;

}  // namespace tilewright::service

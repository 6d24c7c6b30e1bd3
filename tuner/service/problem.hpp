// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include "tuner/service/message.hpp"

/// Answers to what cannot be done: `application/problem+json` (RFC 9457), which says what was asked, why it is not done
/// and what to do next.
namespace tilewright::service {

/// `next`: what to do, a sentence; empty where `detail` says it.
[[nodiscard]] Response problem(int status, const std::string& detail, const std::string& next = "");

/// Of an exception of a use case: 400 for a wrong request, 503 for a cache that cannot be used, else 500.
[[nodiscard]] Response problem_of(const std::exception& error);

/// "Not Found"
[[nodiscard]] const char* title_of(int status) noexcept;

}  // namespace tilewright::service

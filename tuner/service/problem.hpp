// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include "tuner/service/message.hpp"

/// Answers to failed requests, as `application/problem+json` (RFC 9457): what was asked, why it failed, what to do
/// next.
namespace tilewright::service {

/// `next`: a sentence on what to do; empty if `detail` says it.
[[nodiscard]] Response problem(int status, const std::string& detail, const std::string& next = "");

/// The answer for a use case's exception: 400 for a wrong request, 503 for an unusable cache or no memory, else 500.
[[nodiscard]] Response problem_of(const std::exception& error);

/// "Not Found"
[[nodiscard]] const char* title_of(int status) noexcept;

}  // namespace tilewright::service

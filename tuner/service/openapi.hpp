// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tuner/service/router.hpp"

namespace tilewright::service {

/// The OpenAPI 3.1 document of the routes.
[[nodiscard]] std::string openapi_document(const Router& router);

}  // namespace tilewright::service

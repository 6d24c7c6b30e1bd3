// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tuner/service/router.hpp"

namespace tilewright::service {

/// Snapshots and the channels that point at them, as they lie in a folder. `publishers`: public keys of those whose
/// manifests are taken, none where it is not given; a file that changes is read again, and `told` hears where it cannot
/// be. Throws UsageError for a file of keys that is none.
void add_channel_routes(Router& router, const std::filesystem::path& folder,
                        const std::optional<std::filesystem::path>& publishers,
                        std::function<void(const std::string&)> told);

}  // namespace tilewright::service

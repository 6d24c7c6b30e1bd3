// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tuner/service/router.hpp"

namespace tilewright::service {

/// Adds the paths of a folder's snapshots and channels. `publishers`: the public keys whose manifests are accepted;
/// without it all are refused. A changed file is read again; if that fails, `told` hears why. Throws UsageError if the
/// file has no public keys.
void add_channel_routes(Router& router, const std::filesystem::path& folder,
                        const std::optional<std::filesystem::path>& publishers,
                        std::function<void(const std::string&)> told);

}  // namespace tilewright::service

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/report/table.hpp"

/// What several verbs need, from the options that they share.
namespace tilewright::cli {

/// --format
[[nodiscard]] Format format_of(const Arguments& arguments);
/// --mode, or nothing when it is not given.
[[nodiscard]] std::optional<MeasureMode> mode_of(const Arguments& arguments);
/// --cache, else the default.
[[nodiscard]] std::filesystem::path cache_path(const Arguments& arguments);
/// Throws CacheError where others may write the cache, unless TILEWRIGHT_ALLOW_SHARED_CACHE=1: for who runs binaries of
/// it.
void require_own_cache(const std::filesystem::path& path);
/// The cache for reading, also of an older schema; throws CacheError that says how to make one.
[[nodiscard]] Store open_to_read(const Arguments& arguments);
/// The same for verbs that need none: nothing where there is none; nor where the default one cannot be used or told,
/// and `why` says so. One that --cache names, and that is there, is used or refused.
[[nodiscard]] std::optional<Store> cache_if_usable(const Arguments& arguments, std::string& why);
/// What a sweep starts its compile workers with: this program, and a first word that main.cpp knows.
inline constexpr const char* kCompileWorker = "compile-worker";
[[nodiscard]] std::vector<std::string> compile_worker_command();
/// The same for the process that has the device; the device's name comes behind it.
inline constexpr const char* kDeviceWorker = "device-worker";
[[nodiscard]] std::vector<std::string> device_worker_command();
/// The folders of --ops, then the built-in ops.
[[nodiscard]] Catalogue open_catalogue(const Arguments& arguments);

}  // namespace tilewright::cli

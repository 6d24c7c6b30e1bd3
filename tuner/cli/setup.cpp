// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/setup.hpp"

#include <exception>

#include "cache/base/environment.hpp"
#include "cache/base/file_facts.hpp"
#include "tuner/definition/kernels_dir.hpp"
#include "tuner/process/process.hpp"

namespace tilewright::cli {

Format format_of(const Arguments& arguments) { return format_from(arguments.text("format", "text")).value(); }

std::optional<MeasureMode> mode_of(const Arguments& arguments) {
  if (!arguments.has("mode")) return std::nullopt;
  return measure_mode_from(arguments.text("mode")).value();
}

std::filesystem::path cache_path(const Arguments& arguments) {
  return arguments.has("cache") ? std::filesystem::path(arguments.text("cache")) : default_cache_path();
}

std::vector<std::string> compile_worker_command() { return {this_program(), kCompileWorker}; }

std::vector<std::string> device_worker_command() { return {this_program(), kDeviceWorker}; }

void require_own_cache(const std::filesystem::path& path) {
  refuse_shared_cache(path, is_set("TILEWRIGHT_ALLOW_SHARED_CACHE"));
}

Store open_to_read(const Arguments& arguments) {
  return Store(cache_path(arguments), {.access = StoreAccess::read_older});
}

std::optional<Store> cache_if_usable(const Arguments& arguments, std::string& why) {
  try {
    if (!std::filesystem::exists(cache_path(arguments))) return std::nullopt;
    return open_to_read(arguments);
  } catch (const std::exception& refusal) {
    if (arguments.has("cache")) throw;
    why = refusal.what();
    return std::nullopt;
  }
}

Catalogue open_catalogue(const Arguments& arguments) {
  const std::vector<std::string> folders = arguments.texts("ops");
  return Catalogue({folders.begin(), folders.end()}, kernels_dir());
}

}  // namespace tilewright::cli

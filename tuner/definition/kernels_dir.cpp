// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/kernels_dir.hpp"

#include "cache/base/error.hpp"
#include "cache/base/own_file.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

namespace tilewright {

namespace {

namespace fs = std::filesystem;

/// Libraries may lie one folder deeper than programs (lib/x86_64-linux-gnu).
fs::path beside(const fs::path& file) {
  const fs::path relative = fs::path("share") / "tilewright" / "kernels";
  // Not in the working folder, whose sources would become code that runs.
  if (file.empty()) return "/usr/local" / relative;
  const fs::path above = file.parent_path().parent_path();
  std::error_code missing;
  return fs::is_directory(above / relative, missing) || !fs::is_directory(above.parent_path() / relative, missing)
             ? above / relative
             : above.parent_path() / relative;
}

}  // namespace

fs::path kernels_dir() {
  const char* chosen = std::getenv("TILEWRIGHT_KERNELS_DIR");
  const bool from_environment = chosen != nullptr && *chosen != '\0';
  const fs::path place = from_environment ? fs::path(chosen) : beside(own_file());
  // Links are resolved once, here: paths in compile logs are then those of the edited files.
  std::error_code missing;
  fs::path found = fs::canonical(place, missing);
  if (missing || !fs::is_directory(found)) {
    throw Error(
        fmt::format("looking for the built-in ops: {} is not a folder{}; set TILEWRIGHT_KERNELS_DIR to the "
                    "folder that holds them, or install Tilewright again",
                    place.string(), from_environment ? " (from TILEWRIGHT_KERNELS_DIR)" : ""));
  }
  return found;
}

}  // namespace tilewright

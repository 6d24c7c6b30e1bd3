// SPDX-License-Identifier: Apache-2.0
#include "tuner/kernels_dir.hpp"

#include "cache/error.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

namespace tilewright {

std::filesystem::path kernels_dir() {
  namespace fs = std::filesystem;
  const char* chosen = std::getenv("TILEWRIGHT_KERNELS_DIR");
  const bool from_environment = chosen != nullptr && *chosen != '\0';
  const fs::path place = from_environment ? fs::path(chosen)
                                          : fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "share" /
                                                "tilewright" / "kernels";
  // Links are resolved here once, so that paths in compile logs are those of the files that one edits.
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

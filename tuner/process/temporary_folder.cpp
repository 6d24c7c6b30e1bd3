// SPDX-License-Identifier: Apache-2.0
#include "tuner/process/temporary_folder.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

#include "cache/base/error.hpp"

namespace tilewright {

std::filesystem::path temporary_folder(std::string_view doing) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (!error) return folder;
  const char* named = std::getenv("TMPDIR");
  throw Error(fmt::format("cannot {}: there is no folder {} for files that are gone with the program{}", doing,
                          named == nullptr ? "/tmp" : named,
                          named == nullptr ? ". Make it (mkdir -m 1777 /tmp), or name another: export TMPDIR=FOLDER"
                                           : ", as TMPDIR says. Type: unset TMPDIR"));
}

}  // namespace tilewright

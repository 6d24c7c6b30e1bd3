// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/own_file.hpp"

#include <dlfcn.h>

#include <system_error>

namespace tilewright::launch {

std::filesystem::path own_file() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_file), &info) == 0 || info.dli_fname == nullptr) return {};
  // Links are followed: companion files lie beside the real file. A relative name is as of load time.
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path(info.dli_fname) : whole;
}

}  // namespace tilewright::launch

// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/request.hpp"

#include <algorithm>

namespace tilewright {

std::vector<std::filesystem::path> include_dirs(const std::filesystem::path& builtin_dir, const std::string& arch) {
  // The emulator replaces some device headers, so its folder comes first.
  if (arch == "cpu") return {builtin_dir / "emulator", builtin_dir};
  return {builtin_dir};
}

std::string first_error(const std::string& log) {
  std::string first;
  for (std::size_t start = 0; start < log.size();) {
    const std::size_t end = std::min(log.find('\n', start), log.size());
    std::string line = log.substr(start, end - start);
    if (line.find("error") != std::string::npos) return line;
    if (first.empty()) first = line;
    start = end + 1;
  }
  return first.empty() ? "the compiler failed and said nothing" : first;
}

CompileRequest compile_request(const GeneratedSource& source, const std::string& arch,
                               const std::filesystem::path& builtin_dir) {
  CompileRequest request;
  request.source = source.text;
  request.name = source.name;
  request.label = source.label;
  request.entries = source.entries;
  request.arch = arch;
  request.include_dirs = include_dirs(builtin_dir, arch);
  return request;
}

}  // namespace tilewright

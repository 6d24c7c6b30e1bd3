// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/catalogue.hpp"

#include <fmt/format.h>

#include <string_view>
#include <system_error>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

/// The folder of fragments and headers that ops share. Its `.toml` files are not definitions.
constexpr std::string_view kSharedFolder = "device";

/// The definition of the op that the folder is named after, or an empty path.
fs::path definition_in(const fs::path& folder) {
  if (folder.filename() == kSharedFolder) return {};
  fs::path file = folder / folder.filename();
  file += ".toml";
  std::error_code ignored;
  return fs::is_regular_file(file, ignored) ? file : fs::path();
}

/// Op → definition file, of a folder of ops or of one op's folder.
std::map<std::string, fs::path> definitions_under(const fs::path& dir) {
  std::map<std::string, fs::path> found;
  const auto add = [&](const fs::path& folder) {
    if (fs::path file = definition_in(folder); !file.empty())
      found.emplace(folder.filename().string(), std::move(file));
  };
  add(dir);
  for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
    if (entry.is_directory()) add(entry.path());
  }
  return found;
}

fs::path existing_folder(const fs::path& dir, const char* origin) {
  std::error_code missing;
  // Canonical: "." and "ops/" then have a file name to look for.
  fs::path folder = fs::canonical(dir, missing);
  if (missing || !fs::is_directory(folder)) {
    throw UsageError(fmt::format("{} '{}' is not a folder", origin, dir.string()));
  }
  return folder;
}

}  // namespace

Catalogue::Catalogue(const std::vector<fs::path>& user_dirs, const fs::path& builtin_dir)
    : builtin_dir_(existing_folder(builtin_dir, "the folder of the built-in ops")) {
  for (const fs::path& dir : user_dirs) {
    auto definitions = definitions_under(existing_folder(dir, "--ops"));
    if (definitions.empty()) {
      throw UsageError(
          fmt::format("--ops '{}' holds no op: an op is a folder with a definition of the same name, such "
                      "as {}/saxpy/saxpy.toml",
                      dir.string(), dir.string()));
    }
    files_.merge(definitions);  // an op already there stays
  }
  auto builtins = definitions_under(builtin_dir_);
  files_.merge(builtins);
}

const OpDefinition& Catalogue::find(const std::string& op) {
  if (const auto known = loaded_.find(op); known != loaded_.end()) return known->second;
  const auto file = files_.find(op);
  if (file == files_.end()) throw UsageError(fmt::format("there is no op '{}'{}", op, suggestion(op, names())));
  return loaded_.emplace(op, load_definition(file->second, {builtin_dir_})).first->second;
}

std::vector<std::string> Catalogue::hashes(const std::string& op) const {
  const auto file = files_.find(op);
  if (file == files_.end()) return {};
  return implementation_hashes(file->second, {builtin_dir_});
}

std::vector<std::string> Catalogue::names() const {
  std::vector<std::string> result;
  for (const auto& [name, file] : files_) result.push_back(name);
  return result;
}

}  // namespace tilewright

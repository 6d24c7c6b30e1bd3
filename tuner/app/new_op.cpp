// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/new_op.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/app/new_op_sources.hpp"
#include "tuner/app/place.hpp"
#include "tuner/definition/reading/mistakes.hpp"
#include "tuner/definition/reading/names.hpp"

namespace tilewright::app {
namespace {

namespace fs = std::filesystem;

struct Example {
  std::string_view op, type, definition, kernels;
};

Example example_of(NewOpKind kind) {
  using namespace new_op_sources;
  return kind == NewOpKind::row ? Example{"l2norm", "L2Norm", kRowDefinition, kRowKernels}
                                : Example{"saxpy", "Saxpy", kFreeDefinition, kFreeKernels};
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

/// "row_sum" becomes the type "RowSum".
std::string type_name(const std::string& op) {
  std::string name;
  bool starts = true;
  for (const char c : op) {
    if (c != '_') name += starts && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    starts = c == '_';
  }
  // A name that is such a type already is that of the kernel.
  return name == op ? name + "Op" : name;
}

void check_name(const std::string& op) {
  reading::Mistakes mistakes("");
  if (!reading::check_identifier(op, "op", {}, mistakes)) {
    try {
      mistakes.throw_if_any();
    } catch (const DefinitionError& error) {
      throw UsageError(error.mistakes().front().message);
    }
  }
  const std::vector<std::string> there = open_catalogue({}).names();
  if (std::ranges::find(there, op) != there.end()) {
    throw UsageError(fmt::format("{} is a built-in op, which one of yours would hide; choose another name", op));
  }
}

void write(const fs::path& file, const std::string& text) {
  Draft draft(file);
  std::ofstream out(draft.path(), std::ios::binary);
  out << text;
  out.close();
  std::error_code error(out ? 0 : errno, std::generic_category());
  if (!error) error = draft.put_in_place();
  if (error) throw Error(fmt::format("cannot write {}: {}", file.string(), why_not_written(file, error)));
}

}  // namespace

std::vector<fs::path> new_op(const NewOpRequest& request) {
  const std::string& op = request.op;
  check_name(op);
  const fs::path home = request.folder / op;
  std::error_code error;
  fs::create_directories(request.folder, error);
  // Only a folder that this call makes is written to: no existing file is replaced.
  if (!error && !fs::create_directory(home, error) && !error) {
    throw UsageError(fmt::format("{} is there already; choose another name, or remove it", home.string()));
  }
  if (error) throw Error(fmt::format("cannot make the folder {}: {}", home.string(), error.message()));
  const Example example = example_of(request.kind);
  const auto named = [&](std::string_view text) {
    std::string mine = replaced(std::string(text), example.op, op);
    mine = replaced(std::move(mine), example.type, type_name(op));
    return replaced(std::move(mine), "docs/examples", shell_word(request.folder.string()));
  };
  std::vector<fs::path> files{home / (op + ".toml"), home / (op + ".cu")};
  write(files[0], named(example.definition));
  write(files[1], named(example.kernels));
  return files;
}

}  // namespace tilewright::app

// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/sources.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

namespace tilewright::reading {

const SourceClosure* Sources::find(const Node& name, Mistakes& mistakes) {
  std::error_code missing;
  const std::filesystem::path file = std::filesystem::canonical(folder_ / name.text, missing);
  if (missing || !std::filesystem::is_regular_file(file)) {
    mistakes.add(name.place, fmt::format("there is no file '{}' in {}", name.text, folder_.string()));
    return nullptr;
  }
  const auto known = read_.find(file);
  if (known != read_.end()) return &known->second;
  const SourceClosure& closure = read_.emplace(file, closure_of(file, kernel_dirs_)).first->second;
  for (const std::string& wrong : closure.wrong_includes) mistakes.add(name.place, wrong);
  return &closure;
}

namespace {

void mark(Node& node, const std::string& file) {
  node.place.file = &file;
  node.content.file = &file;
  for (Node& item : node.items) mark(item, file);
  for (Member& member : node.members) {
    member.place.file = &file;
    mark(member.value, file);
  }
}

}  // namespace

const Node* Sources::fragment(const Node& name, Mistakes& mistakes) {
  if (!name.text.ends_with(".toml")) {
    mistakes.add(name.place, fmt::format("'extends' is '{}'; a fragment is a file that ends in .toml", name.text));
    return nullptr;
  }
  std::vector<std::filesystem::path> folders{folder_};
  folders.insert(folders.end(), kernel_dirs_.begin(), kernel_dirs_.end());
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path file = (folder / name.text).lexically_normal();
    std::error_code missing;
    if (!std::filesystem::is_regular_file(file, missing)) continue;
    const auto [entry, is_new] = fragments_.try_emplace(file.string());
    if (is_new) {
      entry->second = parse_toml(read_file(file), entry->first);
      mark(entry->second, entry->first);
    }
    return &entry->second;
  }
  std::vector<std::string> searched;
  for (const std::filesystem::path& folder : folders) searched.push_back(folder.string());
  mistakes.add(name.place, fmt::format("there is no fragment '{}' in {}", name.text, fmt::join(searched, " or ")));
  return nullptr;
}

std::shared_ptr<const OpDefinition> Sources::other_op(const Node& name, Mistakes& mistakes) {
  if (!has_other_ops_) {
    mistakes.add(name.place,
                 fmt::format("an input made by '{}' of an op that makes inputs of another: it must draw its "
                             "own, by a fill or a formula",
                             name.text));
    return nullptr;
  }
  if (const auto known = other_ops_.find(name.text); known != other_ops_.end()) return known->second;
  std::vector<std::filesystem::path> folders{folder_.parent_path()};
  folders.insert(folders.end(), kernel_dirs_.begin(), kernel_dirs_.end());
  std::vector<std::string> searched;
  for (const std::filesystem::path& folder : folders) {
    const std::filesystem::path file = folder / name.text / (name.text + ".toml");
    searched.push_back(folder.string());
    std::error_code missing;
    if (!std::filesystem::is_regular_file(file, missing)) continue;
    std::shared_ptr<const OpDefinition>& op = other_ops_[name.text];
    try {
      op = std::make_shared<const OpDefinition>(load(file, kernel_dirs_, false));
    } catch (const DefinitionError& error) {
      mistakes.add(error);
    }
    return op;
  }
  mistakes.add(name.place, fmt::format("there is no op '{}' in {}", name.text, fmt::join(searched, " or ")));
  return nullptr;
}

void Sources::check_kernel(const SourceClosure& closure, const Node& entry,
                           const std::optional<std::vector<Passed>>& passed, const std::string& by,
                           Mistakes& mistakes) {
  std::vector<std::string> names;
  for (const SourceFile& file : closure.files) {
    for (const KernelSignature& kernel : kernels_of(file.text)) {
      names.push_back(kernel.name);
      if (kernel.name != entry.text) continue;
      // Another mistake alone may cause a type mismatch, so that is reported only without other mistakes.
      const bool is_judged = passed && (passed->size() != kernel.parameters.size() || mistakes.unusable() == 0);
      if (is_judged && !agree(kernel.parameters, *passed)) {
        mistakes.add(
            entry.place,
            fmt::format("kernel '{}' takes {} parameters in {}, and {} gives it {}: it takes ({}) and is given "
                        "({})",
                        kernel.name, kernel.parameters.size(), file.path.filename().string(), by, passed->size(),
                        fmt::join(kernel.parameters, ", "), text(*passed)));
      }
      return;
    }
  }
  mistakes.add(entry.place, fmt::format("there is no kernel '{}' in {}{}", entry.text,
                                        closure.files.front().path.filename().string(), suggestion(entry.text, names)));
}

const std::vector<SourceFile>& Sources::prelude() {
  if (!prelude_) {
    prelude_.emplace();
    for (const std::filesystem::path& dir : kernel_dirs_) {
      std::error_code missing;
      const std::filesystem::path header = std::filesystem::canonical(dir / "device" / "config.cuh", missing);
      if (missing) continue;
      prelude_ = closure_of(header, kernel_dirs_);
      break;
    }
  }
  return prelude_->files;
}

}  // namespace tilewright::reading

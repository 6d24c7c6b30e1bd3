// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/content_hash.hpp"
#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "tuner/definition/samples.hpp"

namespace tilewright {
namespace {

/// The start of the last lines, which name files of this machine.
constexpr std::string_view kSourceInclude = "#include \"/";

/// The generated struct, one member per line. Contains all that a binary may depend on, and nothing else.
class ConfigText {
 public:
  explicit ConfigText(const Problem& problem) {
    // The includes come first, so that one precompiled header serves all configs.
    text_ =
        "#include \"device/config.cuh\"\n"
        "#include <cuda_fp16.h>\n"
        "#include <cuda_bf16.h>\n"
        "namespace tilewright_generated {\n"
        "struct Config {\n";
    const DType type = problem.spec.dtype;
    text_ += fmt::format("  using dtype = {};\n", device_type(type));
    text_ += fmt::format("  static constexpr tilewright::Name dtype_name{{\"{}\"}};\n", name(type));
  }

  void parameters(const Config& config) {
    text_ += fmt::format("  static constexpr tilewright::Name implementation{{\"{}\"}};\n", config.implementation);
    for (const auto& [parameter, value] : config.values) {
      text_ += fmt::format("  static constexpr int {} = {};\n", parameter, value);
    }
  }

  void attributes(const OpSpec& spec) {
    for (const auto& [attribute, value] : spec.attributes) {
      text_ += fmt::format("  static constexpr tilewright::Name {}{{\"{}\"}};\n", attribute, value);
    }
  }

  void dim(const std::string& dim, std::int64_t value) {
    text_ += fmt::format("  static constexpr long long {} = {};\n", dim, value);
  }

  /// Appends the kernels' source files, each once.
  std::string finish(const std::vector<std::filesystem::path>& sources) {
    text_ += "};\n}\n";
    for (const std::filesystem::path& source : sources) {
      const std::string path = source.string();
      if (path.find_first_of("\"\n\\") != std::string::npos) {
        throw UsageError(
            fmt::format("cannot compile {}: its path has a quote, a backslash or a line break, which an "
                        "#include cannot name; move the op to another folder",
                        path));
      }
      text_ += fmt::format("#include \"{}\"\n", path);
    }
    return std::move(text_);
  }

 private:
  std::string text_;
};

template <class T>
void add_new(std::vector<T>& all, const T& one) {
  if (!holds(all, one)) all.push_back(one);
}

/// Whether this config may launch `kernel` for other problems or devices although `plan` omits it. A shared binary must
/// then contain it, too.
bool depends_on_run_time(const KernelRecipe& kernel, const OpInterface& interface,
                         const std::vector<std::string>& constant_dims) {
  const auto varies = [&](const std::string& name) {
    const bool is_dim = holds(interface.dims, name);
    return is_dim ? !holds(constant_dims, name) : holds(DeviceFacts::names(), name);
  };
  return std::ranges::any_of(kernel.when.names(), varies);
}

}  // namespace

GeneratedSource generate_source(const OpDefinition& definition, const Implementation& implementation,
                                const Config& config, const Problem& problem, const LaunchPlan& plan) {
  const std::vector<std::string> constant_dims =
      config.specialised() ? implementation.recipe.specialize : std::vector<std::string>();
  ConfigText text(problem);
  text.parameters(config);
  text.attributes(problem.spec);
  for (const auto& [dim, value] : problem.dims) text.dim(dim, holds(constant_dims, dim) ? value : 0);

  GeneratedSource generated;
  generated.text = text.finish({implementation.source});
  generated.name = fmt::format("{}_{}.cu", definition.interface.op, config.implementation);
  generated.label = fmt::format("{} {}", problem.key(), config.text());
  for (const KernelRecipe& kernel : implementation.recipe.kernels) {
    const bool is_planned = std::ranges::find(plan.kernels, kernel.entry, &PlannedKernel::entry) != plan.kernels.end();
    if (!is_planned && !depends_on_run_time(kernel, definition.interface, constant_dims)) continue;
    if (!holds(generated.entries, kernel.entry)) generated.entries.push_back(kernel.entry);
  }
  return generated;
}

GeneratedSource generate_reference(const OpDefinition& definition, const Problem& problem) {
  ConfigText text(problem);
  text.attributes(problem.spec);
  std::vector<std::string> dims = definition.interface.dims;
  std::vector<std::filesystem::path> sources;
  std::vector<std::string> entries{definition.reference.entry};
  // One struct holds the attributes and dims of this op and of the ops that make its inputs.
  OpSpec others;
  for (const MadeInput* made : made_inputs_of(definition)) {
    for (const auto& attribute : attributes_of(*made, problem.spec)) {
      const bool is_known = problem.spec.attribute(attribute.first) != nullptr || others.attribute(attribute.first);
      if (!is_known) others.attributes.push_back(attribute);
    }
    const OpDefinition& op = *made->op;
    for (const std::string& dim : op.interface.dims) add_new(dims, dim);
    add_new(sources, op.reference.source);
    add_new(entries, op.reference.entry);
  }
  text.attributes(others);
  for (const std::string& dim : dims) text.dim(dim, 0);
  add_new(sources, definition.reference.source);
  return {text.finish(sources), fmt::format("{}_reference.cu", definition.interface.op), std::move(entries),
          problem.key() + " reference"};
}

std::string source_key(const GeneratedSource& source, const std::string& implementation_hash) {
  // The implementation's hash covers the sources' content, so their path does not count.
  const std::string_view without_path = std::string_view(source.text).substr(0, source.text.find(kSourceInclude));
  std::string identity =
      fmt::format("tilewright source 1\n{}\n{}\n{}", implementation_hash, without_path.size(), without_path);
  for (const std::string& entry : source.entries) identity += fmt::format("{}\n", entry);
  return content_hash(identity);
}

}  // namespace tilewright

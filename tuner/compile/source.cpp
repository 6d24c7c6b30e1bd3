// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/content_hash.hpp"
#include "cache/base/error.hpp"

namespace tilewright {
namespace {

/// The start of the last line, which names a file of this machine.
constexpr std::string_view kSourceInclude = "#include \"/";

/// One member of the generated struct a line. Everything that a binary may depend on stands here and nothing else does.
class ConfigText {
 public:
  explicit ConfigText(const Problem& problem) {
    // The includes come first, so that one precompiled header serves every config.
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

  std::string finish(const std::filesystem::path& source) {
    const std::string path = source.string();
    if (path.find_first_of("\"\n\\") != std::string::npos) {
      throw UsageError(
          fmt::format("cannot compile {}: its path has a quote, a backslash or a line break, which an "
                      "#include cannot name; move the op to another folder",
                      path));
    }
    text_ += fmt::format("}};\n}}\n#include \"{}\"\n", path);
    return std::move(text_);
  }

 private:
  std::string text_;
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// True when `kernel` may be launched by this config for other problems or devices although `plan` leaves it out: then
/// a binary that serves those must hold it, too.
bool depends_on_run_time(const KernelRecipe& kernel, const OpInterface& interface,
                         const std::vector<std::string>& constant_dims) {
  const auto varies = [&](const std::string& name) {
    const bool is_dim = contains(interface.dims, name);
    return is_dim ? !contains(constant_dims, name) : contains(DeviceFacts::names(), name);
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
  for (const auto& [dim, value] : problem.dims) text.dim(dim, contains(constant_dims, dim) ? value : 0);

  GeneratedSource generated;
  generated.text = text.finish(implementation.source);
  generated.name = fmt::format("{}_{}.cu", definition.interface.op, config.implementation);
  generated.label = fmt::format("{} {}", problem.key(), config.text());
  for (const KernelRecipe& kernel : implementation.recipe.kernels) {
    const bool is_planned = std::ranges::find(plan.kernels, kernel.entry, &PlannedKernel::entry) != plan.kernels.end();
    if (!is_planned && !depends_on_run_time(kernel, definition.interface, constant_dims)) continue;
    if (!contains(generated.entries, kernel.entry)) generated.entries.push_back(kernel.entry);
  }
  return generated;
}

GeneratedSource generate_reference(const OpDefinition& definition, const Problem& problem) {
  ConfigText text(problem);
  text.attributes(problem.spec);
  for (const std::string& dim : definition.interface.dims) text.dim(dim, 0);
  return {text.finish(definition.reference.source),
          fmt::format("{}_reference.cu", definition.interface.op),
          {definition.reference.entry},
          problem.key() + " reference"};
}

std::string source_key(const GeneratedSource& source, const std::string& implementation_hash) {
  // The implementation's hash stands for the content of the source, wherever that lies.
  const std::string_view without_path = std::string_view(source.text).substr(0, source.text.rfind(kSourceInclude));
  std::string identity =
      fmt::format("tilewright source 1\n{}\n{}\n{}", implementation_hash, without_path.size(), without_path);
  for (const std::string& entry : source.entries) identity += fmt::format("{}\n", entry);
  return content_hash(identity);
}

}  // namespace tilewright

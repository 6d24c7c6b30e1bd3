// SPDX-License-Identifier: Apache-2.0
// libtilewright-jit.so: compiles a config for a problem inside an application (cache/launch/jit_abi.hpp).
#include <fmt/format.h>

#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cache/base/decode.hpp"
#include "cache/base/error.hpp"
#include "cache/base/version.hpp"
#include "cache/launch/jit_abi.hpp"
#include "cache/model/device_facts.hpp"
#include "cache/store/codecs.hpp"
#include "tuner/compile/nvrtc_compiler.hpp"
#include "tuner/compile/request.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/kernels_dir.hpp"

#define TILEWRIGHT_EXPORT extern "C" __attribute__((visibility("default")))

namespace tilewright::jit {
namespace {

std::vector<std::filesystem::path> folders_of(std::string_view text) {
  std::vector<std::filesystem::path> folders;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end > 0) folders.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return folders;
}

/// NVRTC and the requested definitions, opened once per process. Guarded by turn().
class Workshop {
 public:
  CompileResult compile(const Request& request) {
    const Config config = Config::parse(request.config);
    const auto [catalogue, definition_found, implementation_found] = sources_of(request, config);
    const OpDefinition& definition = *definition_found;
    const Implementation& implementation = *implementation_found;
    const Problem problem = parse_problem(request.problem, definition.interface);
    const DeviceFacts device = device_facts_from_json(*decode_json(request.device));
    const auto planned = make_plan(definition.interface, implementation.recipe, config, problem, device);
    if (const auto* illegal = std::get_if<Illegal>(&planned)) throw Error(illegal->reason);
    const GeneratedSource source =
        generate_source(definition, implementation, config, problem, std::get<LaunchPlan>(planned));
    CompileResult result = compiler().compile(compile_request(source, device.arch(), catalogue->builtin_dir()));
    if (!result.ok) throw Error(first_error(result.log));
    return result;
  }

 private:
  struct Sources {
    const Catalogue* catalogue;
    const OpDefinition* definition;
    const Implementation* implementation;
  };
  /// The sources that the cache was tuned with. Throws Error if they are not found.
  Sources sources_of(const Request& request, const Config& config) {
    const bool was_read_before = catalogues_.count(request.ops) != 0;
    try {
      return sources_in(catalogue_of(request.ops), request, config);
    } catch (const Error&) {
      if (!was_read_before) throw;
    }
    // The ops and the cache may have been replaced since.
    catalogues_.erase(request.ops);
    return sources_in(catalogue_of(request.ops), request, config);
  }

  static Sources sources_in(Catalogue& catalogue, const Request& request, const Config& config) {
    const std::string_view key = request.problem;
    const OpDefinition& definition = catalogue.find(op_name_of(std::string(key.substr(0, key.find('{')))));
    const Implementation& implementation = definition.implementation(config.implementation);
    if (definition.interface.hash() != request.interface_hash || implementation.hash != request.implementation_hash) {
      throw Error(
          fmt::format("the source of {} in {} differs from the one that the cache was tuned with: install that "
                      "version of the ops, or sweep again",
                      config.implementation, definition.file.parent_path().string()));
    }
    return {&catalogue, &definition, &implementation};
  }

  Catalogue& catalogue_of(const std::string& ops) {
    std::unique_ptr<Catalogue>& catalogue = catalogues_[ops];
    if (!catalogue) catalogue = std::make_unique<Catalogue>(folders_of(ops), kernels_dir());
    return *catalogue;
  }

  NvrtcCompiler& compiler() {
    if (!compiler_) compiler_ = std::make_unique<NvrtcCompiler>();
    return *compiler_;
  }

  /// By the folders of the user's ops.
  std::map<std::string, std::unique_ptr<Catalogue>> catalogues_;
  std::unique_ptr<NvrtcCompiler> compiler_;
};

/// Not destroyed, because NVRTC may be unloaded before static destructors run.
Workshop& workshop() {
  static Workshop* const kOnly = new Workshop;
  return *kOnly;
}

std::mutex& turn() {
  static std::mutex* const kOnly = new std::mutex;
  return *kOnly;
}

}  // namespace
}  // namespace tilewright::jit

TILEWRIGHT_EXPORT const char* tilewright_jit_version() {
  static const std::string kVersion(tilewright::version());
  return kVersion.c_str();
}

TILEWRIGHT_EXPORT void tilewright_jit_compile(const tilewright::jit::Request& request,
                                              const tilewright::jit::Sink& sink) {
  using namespace tilewright;
  const std::lock_guard lock(jit::turn());
  try {
    const CompileResult result = jit::workshop().compile(request);
    const std::string kernels = encode_kernels(kernel_facts(result));
    sink.compiled(sink.context, {result.binary.data(), result.binary.size(), kernels.c_str()});
  } catch (const std::exception& error) {
    sink.failed(sink.context, error.what());
  }
}

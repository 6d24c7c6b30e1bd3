// SPDX-License-Identifier: Apache-2.0
#include "tuner/compile/compiler.hpp"

#include <fmt/format.h>

#include <utility>

namespace tilewright {

ProfilerRange compile_range(const CompileRequest& request) {
  return ProfilerRange([&] {
    return fmt::format("compile {} for {}", request.label.empty() ? request.name : request.label, request.arch);
  });
}

std::vector<KernelFacts> kernel_facts(const CompileResult& result) {
  std::vector<KernelFacts> facts;
  facts.reserve(result.kernels.size());
  for (const CompiledKernel& kernel : result.kernels) {
    const KernelResources& resources = kernel.resources;
    facts.push_back({kernel.entry, kernel.symbol, resources.registers, resources.spill_store_bytes,
                     resources.spill_load_bytes, resources.local_bytes, resources.static_shared_bytes});
  }
  return facts;
}

CompileResult to_compile_result(const Build& build, std::vector<std::byte> binary) {
  CompileResult result;
  result.ok = build.ok;
  result.binary = std::move(binary);
  for (const KernelFacts& kernel : build.kernels) result.kernels.push_back({kernel.entry, kernel.symbol, {}});
  result.log = build.log;
  result.compiler = build.compiler;
  return result;
}

}  // namespace tilewright

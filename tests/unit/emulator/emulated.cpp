// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/emulator/emulated.hpp"

#include <stdexcept>

#include "tuner/compile/host_compiler.hpp"

namespace tilewright::test {

std::vector<std::byte> compile_module(const std::string& source, const std::string& entry) {
  HostCompiler compiler;
  CompileRequest request;
  request.source =
      "#include \"device/config.cuh\"\n#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n"
      "namespace tilewright_generated {\nstruct Config {};\n}\nusing namespace tilewright;\n" +
      source;
  request.name = entry + ".cu";
  request.entries = {entry};
  request.arch = "cpu";
  CompileResult result = compiler.compile(request);
  if (!result.ok) throw std::runtime_error(result.log);
  return std::move(result.binary);
}

EmulatedKernel::EmulatedKernel(const std::string& source, const std::string& entry)
    : entry_(entry), module_(EmulatorModule::load(compile_module(source, entry))) {}

EmulatedLaunch extents(unsigned blocks, unsigned threads, std::size_t shared_bytes) {
  EmulatedLaunch launch;
  launch.grid = {blocks, 1, 1};
  launch.block = {threads, 1, 1};
  launch.shared_bytes = shared_bytes;
  return launch;
}

}  // namespace tilewright::test

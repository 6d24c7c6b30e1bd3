// SPDX-License-Identifier: Apache-2.0
// A compiler process that answers at once. Configs of the implementation "wrong", or that FAKE_JIT_REFUSES names, do
// not compile; those of "odd" have unreadable kernels, and those of "huge" a binary beyond all memory. The binary is
// the file FAKE_JIT_BINARY with the kernels of FAKE_JIT_KERNELS, else the request's texts, one a line. It does not
// answer while the file FAKE_JIT_GATE exists.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <thread>

#include "cache/launch/jit_abi.hpp"

extern "C" __attribute__((visibility("default"))) const char* tilewright_jit_version() {
  return TILEWRIGHT_FAKE_VERSION;
}

extern "C" __attribute__((visibility("default"))) void tilewright_jit_compile(const tilewright::jit::Request& request,
                                                                              const tilewright::jit::Sink& sink) {
  const std::string_view config = request.config;
  if (const char* gate = std::getenv("FAKE_JIT_GATE"); gate != nullptr) {
    while (std::filesystem::exists(gate)) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const char* refused = std::getenv("FAKE_JIT_REFUSES");
  if (config.starts_with("wrong") || (refused != nullptr && config.find(refused) != config.npos))
    return sink.failed(sink.context, "error: as it was planted");
  std::string text;
  if (const char* file = std::getenv("FAKE_JIT_BINARY"); file != nullptr) {
    std::ifstream stream(file, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(stream), {});
    return sink.compiled(
        sink.context, {reinterpret_cast<const std::byte*>(text.data()), text.size(), std::getenv("FAKE_JIT_KERNELS")});
  }
  for (const char* each : {request.problem, request.config, request.interface_hash, request.implementation_hash,
                           request.device, request.ops}) {
    text.append(each).append("\n");
  }
  constexpr std::size_t kBeyondMemory = std::size_t{1} << 63;
  sink.compiled(sink.context,
                {reinterpret_cast<const std::byte*>(text.data()),
                 config.starts_with("huge") ? kBeyondMemory : text.size(), config.starts_with("odd") ? "what?" : "[]"});
}

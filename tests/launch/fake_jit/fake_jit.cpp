// SPDX-License-Identifier: Apache-2.0
// Answers at once: the binary is the request's texts, a line each; configs of an implementation "wrong" do not compile, and
// those of "odd" have kernels that nobody can read.
#include <string>
#include <string_view>

#include "cache/launch/jit_abi.hpp"

extern "C" __attribute__((visibility("default"))) const char* tilewright_jit_version() {
  return TILEWRIGHT_FAKE_VERSION;
}

extern "C" __attribute__((visibility("default"))) void tilewright_jit_compile(const tilewright::jit::Request& request,
                                                                              const tilewright::jit::Sink& sink) {
  const std::string_view config = request.config;
  if (config.starts_with("wrong")) return sink.failed(sink.context, "error: as it was planted");
  std::string text;
  for (const char* each : {request.problem, request.config, request.interface_hash, request.implementation_hash,
                           request.device, request.ops}) {
    text.append(each).append("\n");
  }
  sink.compiled(sink.context, {reinterpret_cast<const std::byte*>(text.data()), text.size(),
                               config.starts_with("odd") ? "what?" : "[]"});
}

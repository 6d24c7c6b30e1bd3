// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// The calls of libtilewright.so to libtilewright-jit.so, which only launchers that compile at run time open. Both come
/// from one build: versions are compared, so the structs need no compatibility. Texts are UTF-8, null-terminated and
/// owned by the caller; nothing is kept after the call.
namespace tilewright::jit {

/// One config to be compiled for one problem.
struct Request {
  /// "softmax[dtype=bf16]{rows=8,cols=100}"
  const char* problem;
  /// "onchip{num_warps=4,…}"
  const char* config;
  /// The interface and implementation that the cache knows; other sources are refused.
  const char* interface_hash;
  const char* implementation_hash;
  /// JSON of cache/model/device_facts.hpp.
  const char* device;
  /// Folders of ops, searched before the built-in ones, separated by ':'; may be empty.
  const char* ops;
};

struct Binary {
  const std::byte* bytes;
  std::size_t size;
  /// The compiler's facts of the kernels: JSON of cache/store/codecs.hpp.
  const char* kernels;
};

/// Receives the answer during compile(): exactly one function is called. Neither may throw.
struct Sink {
  void* context;
  void (*compiled)(void* context, const Binary& binary);
  void (*failed)(void* context, const char* why);
};

/// Names of the exported functions. Any thread may call them; compiles take turns.
constexpr const char* kVersionName = "tilewright_jit_version";
constexpr const char* kCompileName = "tilewright_jit_compile";
/// Returns the same text as version() of the same build.
using VersionFunction = const char*();
/// Does not throw.
using CompileFunction = void(const Request& request, const Sink& sink);

}  // namespace tilewright::jit

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// The calls of libtilewright.so to libtilewright-jit.so, which it opens only for launchers that compile at run time.
/// Both come from one build: the version is compared, so the structs need not be compatible. Texts are UTF-8, ended by
/// 0, and the caller's; nothing is kept after the call.
namespace tilewright::jit {

/// One config to be compiled for one problem.
struct Request {
  /// "softmax[dtype=bf16]{rows=8,cols=100}"
  const char* problem;
  /// "onchip{num_warps=4,…}"
  const char* config;
  /// The interface and the implementation that the cache knows: another source is refused.
  const char* interface_hash;
  const char* implementation_hash;
  /// JSON of cache/model/device_facts.hpp.
  const char* device;
  /// Folders of ops that are searched before the built-in ones, parted by ':'; may be empty.
  const char* ops;
};

struct Binary {
  const std::byte* bytes;
  std::size_t size;
  /// The compiler's facts of its kernels: JSON of cache/store/codecs.hpp.
  const char* kernels;
};

/// The receiver of the answer, while compile() runs: exactly one of the two is called, and they do not throw.
struct Sink {
  void* context;
  void (*compiled)(void* context, const Binary& binary);
  void (*failed)(void* context, const char* why);
};

/// The exported functions, by name. Both may be called by any thread; compiles take turns.
constexpr const char* kVersionName = "tilewright_jit_version";
constexpr const char* kCompileName = "tilewright_jit_compile";
/// As version().
using VersionFunction = const char*();
/// Never throws.
using CompileFunction = void(const Request& request, const Sink& sink);

}  // namespace tilewright::jit

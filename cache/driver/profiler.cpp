// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/profiler.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "cache/driver/shared_library.hpp"

namespace tilewright {
namespace {

// Numbers of tables, modules and callbacks, from nvtx3/nvtxDetail/nvtxTypes.h.
constexpr std::uint32_t kTableOfCallbacks = 1;
constexpr std::uint32_t kTableOfVersions = 3;
constexpr int kModuleCore = 1;
constexpr unsigned kCallbacksOfCore = 16;
constexpr std::size_t kRangePush = 9;
constexpr std::size_t kRangePop = 11;
constexpr std::uint32_t kNvtxVersion = 3;

using Slot = void (*)();
using PushRange = int(const char* name);
using PopRange = int();

struct CallbackTable {
  std::size_t struct_size;
  int (*module_functions)(int module, Slot*** table, unsigned* size);
};

struct VersionTable {
  std::size_t struct_size;
  std::uint32_t version;
  std::uint32_t reserved;
  void (*injection_version)(std::uint32_t version);
};

/// The part that a profiler fills in. The protocol's callbacks carry no user pointer, so a process has one instance.
struct Injected {
  Slot functions[kCallbacksOfCore] = {};
  // Indexed by callback number; null-terminated.
  Slot* entries[kCallbacksOfCore + 1] = {};
  Profiler profiler;
  bool active = false;

  Injected() {
    for (unsigned i = 0; i < kCallbacksOfCore; ++i) entries[i] = &functions[i];
  }
};

Injected& injected() {
  static Injected instance;
  return instance;
}

int module_functions(int module, Slot*** table, unsigned* size) {
  // Domains, resources and other modules are not used here.
  if (module != kModuleCore) return 0;
  if (table != nullptr) *table = injected().entries;
  if (size != nullptr) *size = kCallbacksOfCore;
  return 1;
}

void injection_version(std::uint32_t /*version*/) {}

const void* export_table(std::uint32_t id) {
  static const CallbackTable kCallbacks{sizeof(CallbackTable), module_functions};
  static const VersionTable kVersions{sizeof(VersionTable), kNvtxVersion, 0, injection_version};
  if (id == kTableOfCallbacks) return &kCallbacks;
  if (id == kTableOfVersions) return &kVersions;
  return nullptr;
}

const Profiler* attach() noexcept {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");  // NOLINT(concurrency-mt-unsafe): read once
  if (path == nullptr || *path == '\0') return nullptr;
  SharedLibrary library(path);
  auto* const initialize = library.find_optional<int(const void* (*)(std::uint32_t))>("InitializeInjectionNvtx2");
  // A wrong path is for the profiler to report; work continues without ranges.
  if (initialize == nullptr || initialize(export_table) == 0) return nullptr;
  library.keep_loaded();
  Injected& tool = injected();
  tool.active = tool.functions[kRangePush] != nullptr && tool.functions[kRangePop] != nullptr;
  return tool.active ? &tool.profiler : nullptr;
}

}  // namespace

const Profiler* Profiler::attached() noexcept {
  static const Profiler* const kInstance = attach();
  return kInstance;
}

void Profiler::push(const std::string& name) const noexcept {
  reinterpret_cast<PushRange*>(injected().functions[kRangePush])(name.c_str());
}

void Profiler::pop() const noexcept { reinterpret_cast<PopRange*>(injected().functions[kRangePop])(); }

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
// A profiler's injection library, as NVTX specifies it: writes the ranges it receives into FAKE_PROFILER_LOG.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using Function = void (*)();
using ExportTable = const void*(std::uint32_t id);

struct Callbacks {
  std::size_t struct_size;
  int (*module_functions)(int module, Function*** table, unsigned* size);
};

struct Versions {
  std::size_t struct_size;
  std::uint32_t version;
  std::uint32_t reserved;
  void (*set_injection_version)(std::uint32_t version);
};

void say(const char* what, const char* name) {
  std::FILE* log = std::fopen(std::getenv("FAKE_PROFILER_LOG"), "a");  // NOLINT(concurrency-mt-unsafe)
  if (log == nullptr) std::abort();
  std::fprintf(log, "%s%s\n", what, name);
  std::fclose(log);
}

int push(const char* name) {
  say("push ", name);
  return 0;
}

int pop() {
  say("pop", "");
  return 0;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(ExportTable* export_table) {
  const auto* versions = static_cast<const Versions*>(export_table(3));
  if (versions == nullptr || versions->struct_size < sizeof(Versions) || versions->version != 3) return 0;
  versions->set_injection_version(3);
  const auto* callbacks = static_cast<const Callbacks*>(export_table(1));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(Callbacks)) return 0;
  Function** table = nullptr;
  unsigned size = 0;
  // An application need not have all modules.
  for (int module = 2; module <= 6; ++module) callbacks->module_functions(module, &table, &size);
  if (callbacks->module_functions(1, &table, &size) == 0 || size <= 11) return 0;
  *table[9] = reinterpret_cast<Function>(push);
  *table[11] = reinterpret_cast<Function>(pop);
  return 1;
}

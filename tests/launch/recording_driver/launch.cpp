// SPDX-License-Identifier: Apache-2.0
// Libraries, kernels and launches of the recording driver.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "tests/launch/recording_driver/state.hpp"

using namespace recording;
// NOLINTBEGIN(readability-identifier-naming): the names are the driver's.
using tilewright::cuda::FunctionAttribute;
using tilewright::cuda::LaunchAttribute;
using tilewright::cuda::LaunchConfig;
using tilewright::cuda::TensorMap;

namespace {

constexpr const char* kMagic = "tilewright-recording\n";
constexpr unsigned kMostSharedBytes = 232448;

/// Runs and reads as much as a processor's first-level caches hold, to evict their content.
void fill_caches() {
#if defined(__x86_64__)
  asm volatile(".rept 2048; jmp 1f; .balign 16; 1:; .endr");
#endif
  constexpr std::size_t kLine = 64;
  static volatile char memory[1024 * kLine];
  for (std::size_t i = 0; i < sizeof memory; i += kLine) static_cast<void>(memory[i]);
}

/// Reads a binary of the recording driver; returns false if it is none.
bool parse(const char* code, LibraryRecord& library) {
  if (std::memcmp(code,
                  "\x7f"
                  "ELF",
                  4) == 0) {
    library.any_symbol = true;
    return true;
  }
  // PTX, which the driver compiles.
  if (std::strncmp(code, ".version", 8) == 0) return library.any_symbol = true;
  if (std::strncmp(code, kMagic, std::strlen(kMagic)) != 0) return false;
  std::istringstream lines(code + std::strlen(kMagic));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    auto kernel = std::make_unique<KernelRecord>();
    if (!(words >> kernel->symbol)) continue;
    for (unsigned size = 0; words >> size;) kernel->param_sizes.push_back(size);
    library.kernels[kernel->symbol] = std::move(kernel);
  }
  return true;
}

FunctionRecord* record_of(Function function) { return reinterpret_cast<FunctionRecord*>(function); }

/// The driver's verdict on this geometry.
Result judge(const FunctionRecord& function, const LaunchConfig& config, const recording_launch_record& record) {
  const unsigned threads = config.block_x * config.block_y * config.block_z;
  if (threads == 0 || threads > 1024) return invalid_value;
  if (config.grid_x == 0 || config.grid_y == 0 || config.grid_z == 0) return invalid_value;
  if (config.grid_x > 0x7fffffffU || config.grid_y > 65535 || config.grid_z > 65535) return invalid_value;
  if (config.shared_bytes > static_cast<unsigned>(function.shared_limit)) return invalid_value;
  const unsigned blocks = record.cluster[0] * record.cluster[1] * record.cluster[2];
  if (blocks > (function.nonportable_cluster ? 16U : 8U)) return invalid_cluster_size;
  for (int i = 0; i < 3; ++i) {
    if (record.cluster[i] == 0 || record.grid[i] % record.cluster[i] != 0) return invalid_cluster_size;
  }
  return success;
}

void read_attributes(const LaunchConfig& config, recording_launch_record& record) {
  std::fill_n(record.cluster, 3, 1U);
  for (unsigned i = 0; i < config.attribute_count; ++i) {
    const LaunchAttribute& attribute = config.attributes[i];
    if (attribute.id == LaunchAttribute::Id::cluster_dimension) {
      record.cluster[0] = attribute.value.cluster.x;
      record.cluster[1] = attribute.value.cluster.y;
      record.cluster[2] = attribute.value.cluster.z;
    } else if (attribute.id == LaunchAttribute::Id::programmatic_stream_serialization) {
      record.pdl = attribute.value.allowed;
    }
  }
}

/// Copies the values that the parameters point to; reading them exposes wrong pointers.
void read_params(const KernelRecord& kernel, void** params, recording_launch_record& record) {
  if (!kernel.sizes_known) return;
  record.param_count = static_cast<unsigned>(kernel.param_sizes.size());
  for (unsigned i = 0; i < record.param_count; ++i) {
    record.param_sizes[i] = kernel.param_sizes[i];
    std::memcpy(record.params[i], params[i], kernel.param_sizes[i]);
  }
}

/// Writes the address at both ends, unless a fifth dimension uses the last, so that a partial copy is detected.
void set_address(TensorMap& map, void* address) {
  map.words[0] = reinterpret_cast<std::uint64_t>(address);
  if ((map.words[1] & 0xff) < 5) map.words[15] = map.words[0];
}

void log(const std::string& file, const recording_launch_record& record) {
  if (std::FILE* out = std::fopen(file.c_str(), "a")) {
    std::fprintf(out, "%s grid=%u,%u,%u block=%u,%u,%u cluster=%u,%u,%u shared=%u params=%u\n", record.symbol,
                 record.grid[0], record.grid[1], record.grid[2], record.block[0], record.block[1], record.block[2],
                 record.cluster[0], record.cluster[1], record.cluster[2], record.shared_bytes, record.param_count);
    std::fclose(out);
  }
}

}  // namespace

RECORDING_API Result cuLibraryLoadData(Library* library, const void* code, int*, void**, unsigned, int*, void**,
                                       unsigned) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuLibraryLoadData"); status != success) return status;
  auto record = std::make_unique<LibraryRecord>();
  record->rejected = !parse(static_cast<const char*>(code), *record);
  *library = reinterpret_cast<Library>(record.get());
  state().libraries.insert(record.release());
  return success;
}

RECORDING_API Result cuLibraryUnload(Library library) {
  const std::lock_guard lock(state().mutex);
  state().ordered("cuLibraryUnload");
  auto* record = reinterpret_cast<LibraryRecord*>(library);
  if (state().libraries.erase(record) == 0) return invalid_handle;
  std::erase_if(state().functions, [record](const auto& entry) {
    return std::any_of(record->kernels.begin(), record->kernels.end(),
                       [&](const auto& kernel) { return kernel.second.get() == entry.first.first; });
  });
  delete record;
  return success;
}

RECORDING_API Result cuLibraryGetKernel(Kernel* kernel, Library library, const char* name) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuLibraryGetKernel"); status != success) return status;
  auto* record = reinterpret_cast<LibraryRecord*>(library);
  if (record->rejected) return invalid_image;
  auto found = record->kernels.find(name);
  if (found == record->kernels.end()) {
    if (!record->any_symbol) return not_found;
    auto any = std::make_unique<KernelRecord>();
    any->symbol = name;
    any->sizes_known = false;
    found = record->kernels.emplace(name, std::move(any)).first;
  }
  *kernel = reinterpret_cast<Kernel>(found->second.get());
  return success;
}

RECORDING_API Result cuLibraryGetKernelCount(unsigned* count, Library library) {
  const std::lock_guard lock(state().mutex);
  *count = static_cast<unsigned>(reinterpret_cast<LibraryRecord*>(library)->kernels.size());
  return success;
}

RECORDING_API Result cuLibraryEnumerateKernels(Kernel* kernels, unsigned count, Library library) {
  const std::lock_guard lock(state().mutex);
  for (const auto& entry : reinterpret_cast<LibraryRecord*>(library)->kernels) {
    if (count-- == 0) break;
    *kernels++ = reinterpret_cast<Kernel>(entry.second.get());
  }
  return success;
}

RECORDING_API Result cuKernelGetName(const char** name, Kernel kernel) {
  *name = reinterpret_cast<KernelRecord*>(kernel)->symbol.c_str();
  return success;
}

RECORDING_API Result cuKernelGetFunction(Function* function, Kernel kernel) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuKernelGetFunction"); status != success) return status;
  const ContextRecord* context = state().current();
  if (context == nullptr) return invalid_context;
  auto* record = reinterpret_cast<KernelRecord*>(kernel);
  auto& found = state().functions[{record, context->id}];
  if (!found) {
    found = std::make_unique<FunctionRecord>();
    found->kernel = record;
    found->context = context->id;
  }
  *function = reinterpret_cast<Function>(found.get());
  return success;
}

RECORDING_API Result cuFuncSetAttribute(Function function, FunctionAttribute attribute, int value) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuFuncSetAttribute"); status != success) return status;
  if (attribute == FunctionAttribute::max_dynamic_shared_size_bytes) {
    if (value < 0 || value > static_cast<int>(kMostSharedBytes)) return invalid_value;
    record_of(function)->shared_limit = value;
  } else {
    record_of(function)->nonportable_cluster = value != 0;
  }
  return success;
}

RECORDING_API Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function, int threads,
                                                                 std::size_t shared_bytes) {
  const std::lock_guard lock(state().mutex);
  if (const Result status = state().ordered("cuOccupancyMaxActiveBlocksPerMultiprocessor"); status != success) {
    return status;
  }
  if (threads <= 0) return invalid_value;
  const int by_shared = shared_bytes == 0 ? 32 : static_cast<int>(233472 / (shared_bytes + 1024));
  *blocks = std::min({32, 2048 / threads, by_shared});
  return success;
}

RECORDING_API Result cuOccupancyMaxActiveClusters(int* clusters, Function, const LaunchConfig* config) {
  const std::lock_guard lock(state().mutex);
  recording_launch_record record{};
  read_attributes(*config, record);
  *clusters =
      state().devices.front().sm_count / static_cast<int>(record.cluster[0] * record.cluster[1] * record.cluster[2]);
  return success;
}

RECORDING_API Result cuLaunchKernelEx(const LaunchConfig* config, Function function, void** params, void**) {
  if (const int fast = state().fast.load(std::memory_order_relaxed); fast != 0) {
    if (fast > 1) fill_caches();
    return success;
  }
  const std::lock_guard lock(state().mutex);
  State& all = state();
  if (const Result status = all.ordered("cuLaunchKernelEx"); status != success) return status;
  const ContextRecord* context = all.current();
  if (context == nullptr || context->id != record_of(function)->context) return invalid_context;

  recording_launch_record record{};
  const KernelRecord& kernel = *record_of(function)->kernel;
  std::strncpy(record.symbol, kernel.symbol.c_str(), sizeof record.symbol - 1);
  const unsigned grid[3] = {config->grid_x, config->grid_y, config->grid_z};
  const unsigned block[3] = {config->block_x, config->block_y, config->block_z};
  std::copy_n(grid, 3, record.grid);
  std::copy_n(block, 3, record.block);
  record.shared_bytes = config->shared_bytes;
  record.stream = config->stream;
  record.context = context->id;
  read_attributes(*config, record);
  if (const Result status = judge(*record_of(function), *config, record); status != success) return status;
  read_params(kernel, params, record);
  return enqueue(all, config->stream, [&all, record] {
    all.launches.push_back(record);
    if (!all.log_file.empty()) log(all.log_file, record);
  });
}

RECORDING_API Result cuTensorMapEncodeTiled(TensorMap* map, int type, unsigned rank, void* address,
                                            const std::uint64_t* dims, const std::uint64_t* strides,
                                            const std::uint32_t* box, const std::uint32_t*, int, int swizzle, int,
                                            int) {
  if (!state().fast.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(state().mutex);
    if (const Result status = state().ordered("cuTensorMapEncodeTiled"); status != success) return status;
  }
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) return invalid_value;
  if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0 || rank == 0 || rank > 5) return invalid_value;
  for (unsigned i = 0; i + 1 < rank; ++i) {
    if (strides[i] % 16 != 0 || strides[i] >= std::uint64_t{1} << 40) return invalid_value;
  }
  // A layout that tests can read; the driver's is secret.
  std::memset(map, 0, sizeof *map);
  map->words[1] = static_cast<std::uint64_t>(type) << 32 | static_cast<std::uint64_t>(swizzle) << 8 | rank;
  for (unsigned i = 0; i < rank; ++i) {
    map->words[2 + i] = dims[i];
    map->words[7 + i] = box[i];
    if (i + 1 < rank) map->words[12 + i] = strides[i];
  }
  set_address(*map, address);
  return success;
}

RECORDING_API Result cuTensorMapReplaceAddress(TensorMap* map, void* address) {
  if (!state().fast.load(std::memory_order_relaxed)) {
    const std::lock_guard lock(state().mutex);
    if (const Result status = state().ordered("cuTensorMapReplaceAddress"); status != success) return status;
  }
  if (reinterpret_cast<std::uintptr_t>(map) % 64 != 0) return invalid_value;
  if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) return invalid_value;
  set_address(*map, address);
  return success;
}
// NOLINTEND(readability-identifier-naming)

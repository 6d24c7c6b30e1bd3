// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <mutex>

#include "cache/driver/cuda.hpp"
#include "cache/driver/driver_table.hpp"

namespace tilewright::cuda {

namespace {

/// Dynamic shared memory beyond this must be requested, on every architecture.
constexpr std::uint32_t kSharedBytesUnasked = 48 * 1024;

/// The symbols of a library, for an error text; empty if the driver cannot list them.
std::vector<std::string> symbols_of(const DriverTable& table, Library library) {
  unsigned count = 0;
  if (table.library_get_kernel_count == nullptr || table.library_enumerate_kernels == nullptr ||
      table.kernel_get_name == nullptr || table.library_get_kernel_count(&count, library) != kSuccess) {
    return {};
  }
  std::vector<Kernel> kernels(count);
  if (table.library_enumerate_kernels(kernels.data(), count, library) != kSuccess) return {};
  std::vector<std::string> names;
  for (const Kernel kernel : kernels) {
    const char* symbol = nullptr;
    if (table.kernel_get_name(&symbol, kernel) == kSuccess && symbol != nullptr) names.emplace_back(symbol);
  }
  return names;
}

}  // namespace

/// The dynamic shared memory that functions are allowed, by context id and function. By context, since a later one may
/// use the addresses of one that ended.
struct Module::SharedLimits {
  std::mutex mutex;
  std::map<std::pair<unsigned long long, Function>, std::uint32_t> bytes;
};

Module::Module(const Driver& driver, std::span<const std::byte> binary, const std::string& what)
    : driver_(&driver), what_(what), shared_limits_(std::make_shared<SharedLimits>()) {
  if (binary.empty()) throw DeviceError(fmt::format("loading {} failed: the binary is empty", what));
  const std::string doing = fmt::format("loading {} ({} bytes)", what, binary.size());
  Library library = nullptr;
  const DriverTable* table = &driver.table();
  driver.call(doing.c_str(), table->library_load_data, &library, static_cast<const void*>(binary.data()),
              static_cast<int*>(nullptr), static_cast<void**>(nullptr), 0U, static_cast<int*>(nullptr),
              static_cast<void**>(nullptr), 0U);
  library_ = std::shared_ptr<CUlib_st>(library, [table](Library owned) { table->library_unload(owned); });
}

Function Module::function(const std::string& symbol, std::uint32_t shared_bytes, bool nonportable_cluster) const {
  const DriverTable& table = driver_->table();
  Kernel kernel = nullptr;
  const Result found = table.library_get_kernel(&kernel, library_.get(), symbol.c_str());
  if (found != kSuccess) {
    const std::vector<std::string> known =
        found == kErrorNotFound ? symbols_of(table, library_.get()) : std::vector<std::string>();
    driver_->check(found, table.library_get_kernel.name(),
                   fmt::format("finding the kernel '{}' in {}{}", symbol, what_,
                               known.empty() ? "" : fmt::format(" (it has: {})", fmt::join(known, ", "))));
  }
  Function function = nullptr;
  const std::string loading = fmt::format("loading the kernel '{}' of {}", symbol, what_);
  driver_->call(loading.c_str(), table.kernel_get_function, &function, kernel);
  if (shared_bytes > kSharedBytesUnasked) allow_shared(function, symbol, shared_bytes);
  if (nonportable_cluster) {
    const std::string doing = fmt::format("allowing the kernel '{}' clusters of more than 8 blocks", symbol);
    driver_->call(doing.c_str(), table.func_set_attribute, function,
                  FunctionAttribute::non_portable_cluster_size_allowed, 1);
  }
  return function;
}

void Module::allow_shared(Function function, const std::string& symbol, std::uint32_t bytes) const {
  const DriverTable& table = driver_->table();
  const std::string doing = fmt::format("giving the kernel '{}' {} bytes of shared memory", symbol, bytes);
  unsigned long long context = 0;
  driver_->call(doing.c_str(), table.ctx_get_id, static_cast<Context>(nullptr), &context);
  // Plans of several shapes share the function: one that needs less must not take from one that needs more.
  const std::lock_guard lock(shared_limits_->mutex);
  std::uint32_t& allowed = shared_limits_->bytes[{context, function}];
  if (bytes <= allowed) return;
  driver_->call(doing.c_str(), table.func_set_attribute, function, FunctionAttribute::max_dynamic_shared_size_bytes,
                static_cast<int>(bytes));
  allowed = bytes;
}

}  // namespace tilewright::cuda

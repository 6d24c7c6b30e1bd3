// SPDX-License-Identifier: Apache-2.0
#include "cache/driver/executable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "cache/base/limits.hpp"
#include "cache/driver/driver_table.hpp"
#include "cache/driver/tensor_maps.hpp"

namespace tilewright::cuda {

namespace {

// A launch builds its parameter block on the stack, so there is a bound: each possible parameter once.
constexpr std::size_t kMostParams = kMostArgs + kMostMaps + kMostDims + kMostValues + kMostWorkspaces;

bool has_cluster(const PlannedKernel& kernel) { return kernel.cluster != Extent{1, 1, 1}; }

std::uint32_t threads_of(const PlannedKernel& kernel) { return kernel.block[0] * kernel.block[1] * kernel.block[2]; }

}  // namespace

/// The constant part of a kernel's launch, in the order in which a launch reads it.
struct alignas(64) Executable::Launchable {
  /// The source of a parameter's value.
  enum class From : std::uint8_t { absent, argument, number, map, workspace };
  struct Param {
    From from = From::absent;
    std::uint8_t index = 0;
  };
  LaunchConfig config{};
  Function function = nullptr;
  std::uint32_t param_count = 0;
  std::array<Param, kMostParams> params{};
  std::array<LaunchAttribute, 2> attributes{};
};

void Executable::prepare(Launchable& ready, const PlannedKernel& kernel, std::size_t dims, Function function) {
  using From = Launchable::From;
  if (kernel.params.size() > kMostParams) {
    throw DeviceError(fmt::format("kernel '{}' has {} parameters; at most {} can be launched", kernel.entry,
                                  kernel.params.size(), kMostParams));
  }
  ready.function = function;
  ready.config = {.grid_x = kernel.grid[0],
                  .grid_y = kernel.grid[1],
                  .grid_z = kernel.grid[2],
                  .block_x = kernel.block[0],
                  .block_y = kernel.block[1],
                  .block_z = kernel.block[2],
                  .shared_bytes = kernel.shared_bytes,
                  .stream = nullptr,
                  .attributes = ready.attributes.data(),
                  .attribute_count = 0};
  if (has_cluster(kernel)) {
    LaunchAttribute& attribute = ready.attributes[ready.config.attribute_count++];
    attribute.id = LaunchAttribute::Id::cluster_dimension;
    attribute.value.cluster = {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]};
  }
  if (kernel.pdl) {
    LaunchAttribute& attribute = ready.attributes[ready.config.attribute_count++];
    attribute.id = LaunchAttribute::Id::programmatic_stream_serialization;
    attribute.value.allowed = 1;
  }
  for (const PlannedParam& param : kernel.params) {
    Launchable::Param& made = ready.params[ready.param_count++];
    if (param.is_absent()) continue;
    made.index = static_cast<std::uint8_t>(param.index);
    switch (param.kind) {
      case KernelParam::Kind::ptr:
      case KernelParam::Kind::scalar:
        made.from = From::argument;
        break;
      case KernelParam::Kind::dim:
        made.from = From::number;
        break;
      case KernelParam::Kind::value:
        made.from = From::number;
        made.index = static_cast<std::uint8_t>(dims + param.index);
        break;
      case KernelParam::Kind::map:
        made.from = From::map;
        break;
      case KernelParam::Kind::workspace:
        made.from = From::workspace;
        break;
    }
  }
}

Executable::Executable(const Driver& driver, std::shared_ptr<const Module> module,
                       const std::vector<KernelFacts>& kernels, const OpInterface& interface,
                       const ImplementationRecipe& recipe, const Config& config, const Problem& problem,
                       const DeviceFacts& device)
    : table_(&driver.table()), driver_(&driver), module_(std::move(module)) {
  const DriverTable& table = *table_;
  const auto function_of = [&](const PlannedKernel& kernel) {
    const auto facts = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const KernelFacts& each) { return each.entry == kernel.entry; });
    if (facts == kernels.end()) {
      throw DeviceError(fmt::format("the binary of {} has no kernel '{}': it was built from another definition",
                                    config.text(), kernel.entry));
    }
    return module_->function(facts->symbol, kernel.shared_bytes, kernel.nonportable_cluster);
  };

  Residency residency;
  residency.resident_blocks = [&](const PlannedKernel& kernel) -> std::int64_t {
    int blocks = 0;
    driver.call("asking how many blocks fit on an SM", table.occupancy_max_active_blocks, &blocks, function_of(kernel),
                static_cast<int>(threads_of(kernel)), static_cast<std::size_t>(kernel.shared_bytes));
    return std::int64_t{blocks} * device.sm_count;
  };
  residency.max_active_clusters = [&](const PlannedKernel& kernel) -> std::int64_t {
    // The driver requires a grid; any whole number of clusters gives the same answer. A kernel without clusters has
    // clusters of one block.
    Launchable ready;
    prepare(ready, kernel, problem.dims.size(), function_of(kernel));
    ready.attributes[0] = {.id = LaunchAttribute::Id::cluster_dimension, .padding = 0, .value = {}};
    ready.attributes[0].value.cluster = {kernel.cluster[0], kernel.cluster[1], kernel.cluster[2]};
    ready.config.attribute_count = 1;
    ready.config.grid_x = kernel.cluster[0];
    ready.config.grid_y = kernel.cluster[1];
    ready.config.grid_z = kernel.cluster[2];
    int clusters = 0;
    driver.call("asking how many clusters can be active", table.occupancy_max_active_clusters, &clusters,
                ready.function, static_cast<const LaunchConfig*>(&ready.config));
    return clusters;
  };

  auto planned = make_plan(interface, recipe, config, problem, device, &residency);
  if (const auto* illegal = std::get_if<Illegal>(&planned)) {
    throw Error(fmt::format("{} cannot serve {}: {}", config.text(), problem.key(), illegal->reason));
  }
  plan_ = std::get<LaunchPlan>(std::move(planned));
  if (plan_.maps.size() > kMostMaps) {
    throw DeviceError(
        fmt::format("{} has {} tensor maps; at most {} can be launched", config.text(), plan_.maps.size(), kMostMaps));
  }
  if (problem.dims.size() > kMostDims || plan_.workspaces.size() > kMostWorkspaces ||
      plan_.values.size() > kMostValues) {
    throw DeviceError(fmt::format("{} has {} dims, {} workspaces and {} values; at most {}, {} and {} can be launched",
                                  problem.key(), problem.dims.size(), plan_.workspaces.size(), plan_.values.size(),
                                  kMostDims, kMostWorkspaces, kMostValues));
  }
  maps_ = std::make_shared<std::vector<std::unique_ptr<TensorMaps>>>();
  for (const PlannedMap& map : plan_.maps) maps_->push_back(std::make_unique<TensorMaps>(driver, map));
  map_count_ = static_cast<std::uint32_t>(plan_.maps.size());
  for (const auto& dim : problem.dims) numbers_.push_back(dim.second);
  for (const PlannedValue& value : plan_.values) numbers_.push_back(value.value);
  clears_ = std::ranges::any_of(plan_.workspaces, [](const PlannedWorkspace& workspace) {
    return workspace.zero == WorkspaceRecipe::Zero::each && workspace.bytes > 0;
  });

  kernel_count_ = static_cast<std::uint32_t>(plan_.kernels.size());
  const std::shared_ptr<Launchable[]> ready(new Launchable[plan_.kernels.size()]);
  for (std::size_t i = 0; i < plan_.kernels.size(); ++i)
    prepare(ready.get()[i], plan_.kernels[i], problem.dims.size(), function_of(plan_.kernels[i]));
  kernels_ = ready;
}

void Executable::prefetch() const noexcept {
  __builtin_prefetch(kernels_.get());
  __builtin_prefetch(&kernels_.get()->params);
  __builtin_prefetch(numbers_.data());
}

int Executable::launch(Stream stream, std::span<void* const> args, std::span<const Address> workspaces,
                       std::span<const std::int64_t> dims) const noexcept {
  if (clears_) {
    for (std::size_t i = 0; i < plan_.workspaces.size(); ++i) {
      const PlannedWorkspace& workspace = plan_.workspaces[i];
      if (workspace.zero != WorkspaceRecipe::Zero::each || workspace.bytes == 0) continue;
      if (const Result status = table_->memset_d8_async(workspaces[i], 0, workspace.bytes, stream);
          status != kSuccess) {
        return status;
      }
    }
  }
  // The driver copies the parameters' values before it returns, and does not write to them. Their sources are looked up
  // in a table: branches would be mispredicted after the driver's own work.
  std::array<void*, kMostDims + kMostValues> numbers;
  for (std::size_t i = 0; i < numbers_.size(); ++i) numbers[i] = const_cast<std::int64_t*>(&numbers_[i]);
  for (std::size_t i = 0; i < dims.size(); ++i) numbers[i] = const_cast<std::int64_t*>(&dims[i]);
  std::array<TensorMap, kMostMaps> made_maps;
  std::array<void*, kMostMaps> maps;
  for (std::uint32_t i = 0; i < map_count_; ++i) {
    const PlannedMap& map = plan_.maps[i];
    Address address = 0;
    if (map.over == PlannedMap::Over::workspace) {
      address = workspaces[map.index];
    } else {
      std::memcpy(&address, args[map.index], sizeof address);
    }
    // The driver gets strides in bytes (times the element's size) whatever the caller passed, and refuses invalid ones.
    TensorMaps::Shape shape{};
    for (std::size_t s = 0; s < map.stride_scalars.size(); ++s) {
      std::memcpy(&shape[s], args[map.stride_scalars[s]], sizeof shape[s]);
      shape[s] *= size_of(map.type);
    }
    if (map.call_extent) std::memcpy(&shape.back(), numbers[map.call_extent->of_call], sizeof shape.back());
    if (const Result status = (*maps_)[i]->get(address, shape, made_maps[i]); status != kSuccess) return status;
    maps[i] = &made_maps[i];
  }
  std::array<void*, kMostWorkspaces> spaces;
  for (std::size_t i = 0; i < workspaces.size(); ++i) spaces[i] = const_cast<Address*>(&workspaces[i]);
  // An absent argument reads as a null pointer, a scalar 0 or a map of zeros.
  static constexpr TensorMap kZeros{};
  static void* const kAbsent = const_cast<TensorMap*>(&kZeros);
  const std::array<void* const*, 5> sources{&kAbsent, args.data(), numbers.data(), maps.data(), spaces.data()};

  std::array<void*, kMostParams> params;
  for (std::uint32_t k = 0; k < kernel_count_; ++k) {
    const Launchable& kernel = kernels_.get()[k];
    for (std::uint32_t i = 0; i < kernel.param_count; ++i) {
      const Launchable::Param param = kernel.params[i];
      params[i] = sources[static_cast<std::size_t>(param.from)][param.index];
    }
    LaunchConfig config = kernel.config;
    config.stream = stream;
    if (const Result status = table_->launch_kernel_ex(&config, kernel.function, params.data(), nullptr);
        status != kSuccess) {
      return status;
    }
  }
  return kSuccess;
}

int Executable::blocks_per_sm(std::size_t index) const {
  const PlannedKernel& kernel = plan_.kernels.at(index);
  int blocks = 0;
  driver_->call("asking how many blocks fit on an SM", driver_->table().occupancy_max_active_blocks, &blocks,
                kernels_.get()[index].function, static_cast<int>(threads_of(kernel)),
                static_cast<std::size_t>(kernel.shared_bytes));
  return blocks;
}

}  // namespace tilewright::cuda

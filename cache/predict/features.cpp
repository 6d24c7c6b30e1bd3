// SPDX-License-Identifier: Apache-2.0
#include "cache/predict/features.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <variant>

#include "cache/base/dtype.hpp"
#include "cache/base/error.hpp"
#include "cache/plan/padding.hpp"
#include "cache/plan/plan.hpp"

namespace tilewright {
namespace {

/// A kernel's features: padding, blocks, threads, shared memory, cluster, blocks per multiprocessor, waves, their idle
/// part, the same with padding, elements and bytes per block, elements per thread, and all threads per multiprocessor.
constexpr std::size_t kOfKernel = 13;
/// A dim's features: its length, and the power of two that divides it.
constexpr std::size_t kOfDim = 2;
/// Divisibility by 2 to this power is as good as by more.
constexpr int kMostAlignment = 8;
/// Shared memory that CUDA reserves per block, beside the block's own.
constexpr std::int64_t kReservedShared = 1024;
constexpr std::int64_t kMostBlocksOfSm = 32;
/// Beyond this, more waves make no difference.
constexpr double kMostWaves = 64;

double log2_of(double value) { return std::log2(std::max(value, 1.0)); }

/// Plans as if the device held any number of blocks, so that the grid shows all work.
std::optional<LaunchPlan> plan_of_all_work(const OpInterface& interface, const ImplementationRecipe& recipe,
                                           const Config& config, const Problem& problem, const DeviceFacts& device) {
  constexpr std::int64_t kAny = std::int64_t{1} << 31;
  const auto any = [](const PlannedKernel&) { return kAny; };
  const Residency residency{any, any};
  auto planned = make_plan(interface, recipe, config, problem, device, &residency);
  // For a grid of exactly the resident blocks.
  if (std::holds_alternative<Illegal>(planned)) planned = make_plan(interface, recipe, config, problem, device);
  if (std::holds_alternative<Illegal>(planned)) return std::nullopt;
  return std::get<LaunchPlan>(std::move(planned));
}

/// A launch's blocks on the device, as far as threads and shared memory tell.
struct Waves {
  double blocks = 0;
  /// Blocks that a multiprocessor holds, and that the device holds.
  double of_sm = 0;
  double held = 0;
  double count = 0;
};

Waves waves_of(const PlannedKernel& kernel, const DeviceFacts& device) {
  const std::int64_t threads = std::max<std::int64_t>(1, volume(kernel.block));
  std::int64_t of_sm = kMostBlocksOfSm;
  if (device.max_threads_per_sm > 0) of_sm = std::min(of_sm, device.max_threads_per_sm / threads);
  if (device.shared_per_sm > 0) {
    of_sm = std::min(of_sm, device.shared_per_sm / (std::int64_t{kernel.shared_bytes} + kReservedShared));
  }
  Waves waves;
  waves.blocks = static_cast<double>(volume(kernel.grid));
  waves.of_sm = static_cast<double>(std::max<std::int64_t>(1, of_sm));
  const std::int64_t cluster = volume(kernel.cluster);
  waves.held = static_cast<double>(std::max<std::int64_t>(1, device.sm_count / cluster) * cluster) * waves.of_sm;
  waves.count = std::ceil(waves.blocks / waves.held);
  return waves;
}

void add_kernel(std::vector<float>& features, const PlannedKernel& kernel, const DeviceFacts& device, double padding,
                double elements, double bytes) {
  const auto add = [&](double value) { features.push_back(static_cast<float>(value)); };
  const Waves waves = waves_of(kernel, device);
  const double blocks = waves.blocks;
  const auto threads = static_cast<double>(std::max<std::int64_t>(1, volume(kernel.block)));
  add(std::log(padding));
  add(log2_of(blocks));
  add(log2_of(threads));
  add(log2_of(1 + static_cast<double>(kernel.shared_bytes)));
  add(log2_of(static_cast<double>(volume(kernel.cluster))));
  add(waves.of_sm);
  add(std::min(kMostWaves, blocks / waves.held));
  add(std::log(waves.count * waves.held / blocks));
  add(std::log(padding * waves.count * waves.held / blocks));
  add(std::log2(elements * padding / blocks));
  add(std::log2(bytes * padding / blocks));
  // A hint at registers, which are unknown before compiling.
  add(std::log2(elements * padding / blocks / threads));
  add(std::log2(blocks / std::max(1, device.sm_count) * threads));
}

/// The index of a problem's value among all values of the attribute.
std::ptrdiff_t place_of(const std::string& attribute, const OpInterface& interface, const OpSpec& spec) {
  if (attribute == kDTypeWord) return std::ranges::find(interface.dtypes, spec.dtype) - interface.dtypes.begin();
  const auto declared = std::ranges::find(interface.attributes, attribute, &Attribute::name);
  const std::string* const value = spec.attribute(attribute);
  if (declared == interface.attributes.end() || value == nullptr) return 0;
  return std::ranges::find(declared->values, *value) - declared->values.begin();
}

}  // namespace

std::size_t FeatureSpace::count() const noexcept {
  return 1 + parameters.size() + kOfDim * dims + kOfKernel * kernels + attributes.size();
}

std::optional<std::vector<float>> FeatureSpace::of(const OpInterface& interface, const std::string& hash,
                                                   const ImplementationRecipe& recipe, const Config& config,
                                                   const Problem& problem, const DeviceFacts& device) const {
  const auto implementation = std::ranges::find(implementations, hash);
  if (implementation == implementations.end()) return std::nullopt;
  const auto plan = plan_of_all_work(interface, recipe, config, problem, device);
  if (!plan) return std::nullopt;

  std::vector<float> features;
  features.reserve(count());
  const auto add = [&](double value) { features.push_back(static_cast<float>(value)); };
  add(static_cast<double>(implementation - implementations.begin()));
  for (const std::string& name : parameters) {
    const auto value = std::ranges::find(config.values, name, [](const auto& each) { return each.first; });
    add(value == config.values.end() ? -1
                                     : std::log2(1 + static_cast<double>(std::max<std::int64_t>(value->second, 0))));
  }
  double elements = 1;
  for (const auto& [name, length] : problem.dims) {
    elements *= static_cast<double>(std::max<std::int64_t>(length, 1));
    add(log2_of(static_cast<double>(length)));
    add(std::min(kMostAlignment, std::countr_zero(static_cast<std::uint64_t>(std::max<std::int64_t>(length, 1)))));
  }
  const double padding = padding_or_none(recipe, config, problem, device);
  const auto bytes = static_cast<double>(std::max<std::size_t>(1, total_bytes(plan->args)));
  // From the last kernel backwards; a missing kernel has zeros.
  for (std::size_t at = 0; at < kernels; ++at) {
    if (at < plan->kernels.size()) {
      add_kernel(features, plan->kernels[plan->kernels.size() - 1 - at], device, padding, elements, bytes);
    } else {
      features.resize(features.size() + kOfKernel);
    }
  }
  for (const std::string& name : attributes) add(static_cast<double>(place_of(name, interface, problem.spec)));
  return features;
}

double log_idle(const OpInterface& interface, const ImplementationRecipe& recipe, const Config& config,
                const Problem& problem, const DeviceFacts& device) {
  const auto plan = plan_of_all_work(interface, recipe, config, problem, device);
  if (!plan) return 0;
  const Waves waves = waves_of(plan->kernels.back(), device);
  return std::log(padding_or_none(recipe, config, problem, device) * waves.count * waves.held / waves.blocks);
}

}  // namespace tilewright

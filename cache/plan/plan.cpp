// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "cache/plan/plan_map.hpp"
#include "cache/plan/plan_scope.hpp"

namespace tilewright {
namespace {

using Limits = std::array<std::int64_t, 3>;
constexpr Limits kGridLimits{std::numeric_limits<std::int32_t>::max(), 65535, 65535};
constexpr Limits kBlockLimits{1024, 1024, 64};
constexpr std::int64_t kPortableCluster = 8;
constexpr std::int64_t kLargestCluster = 16;
constexpr int kHopper = 90;

/// The index of the item of that name, or nullopt.
template <class Items>
std::optional<std::size_t> index_of(const Items& items, std::string_view name) {
  const auto found = std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
  if (found == items.end()) return std::nullopt;
  return static_cast<std::size_t>(found - items.begin());
}

/// Plans one config. Each step returns false after it has noted why the config is illegal.
class Planner {
 public:
  Planner(const OpInterface& interface, const ImplementationRecipe& recipe, const Config& config,
          const Problem& problem, const DeviceFacts& device, const Residency* residency)
      : interface_(interface),
        recipe_(recipe),
        problem_(problem),
        device_(device),
        residency_(residency),
        scope_(problem, config, device) {}

  std::variant<LaunchPlan, Illegal> plan() {
    if (!runs_on_device() || !constraints_hold()) return illegal_;
    plan_.args = plan_args(interface_, problem_);
    for (const KernelRecipe& kernel : recipe_.kernels) {
      if (kernel.when.truth(scope_) && !add_kernel(kernel)) return illegal_;
    }
    if (plan_.kernels.empty()) {
      refuse("no kernel", "it launches no kernel: `when` is false for each");
      return illegal_;
    }
    if (!align_args()) return illegal_;
    return std::move(plan_);
  }

 private:
  bool refuse(std::string rule, std::string reason) {
    illegal_ = {std::move(reason), std::move(rule)};
    return false;
  }

  /// "RULE is WHAT (values of the formula's names)".
  bool refuse(const std::string& rule, std::string_view what, const Formula& formula, const Scope& scope) {
    return refuse(rule, fmt::format("{} {}{}", rule, what, values_in(formula, scope)));
  }

  [[noreturn]] void wrong_recipe(const std::string& message) const {
    throw DefinitionError({{fmt::format("implementation {} of {}", recipe_.name, interface_.op), 0, 0, message}});
  }

  bool runs_on_device() {
    if (device_.supports(recipe_.requires_arch)) return true;
    const std::string rule = fmt::format("needs {}", recipe_.requires_arch);
    return refuse(rule, fmt::format("{}; the device is {}", rule, device_.arch()));
  }

  bool constraints_hold() {
    for (const Formula& constraint : recipe_.constraints) {
      if (constraint.truth(scope_)) continue;
      return refuse(fmt::format("constraint `{}`", constraint.text()), "is false", constraint, scope_);
    }
    return true;
  }

  bool add_kernel(const KernelRecipe& recipe) {
    PlannedKernel kernel;
    kernel.entry = recipe.entry;
    kernel.nonportable_cluster = recipe.nonportable_cluster;
    kernel.pdl = recipe.pdl && !plan_.kernels.empty() && device_.compute_capability >= kHopper;
    if (!set_block(recipe, kernel) || !set_shared(recipe, kernel) || !set_cluster(recipe, kernel) ||
        !set_grid(recipe, kernel)) {
      return false;
    }
    for (const KernelParam& param : recipe.params) {
      if (!add_param(param, kernel)) return false;
    }
    plan_.kernels.push_back(std::move(kernel));
    return true;
  }

  /// Evaluates up to three formulas; each value must be in 1…limit.
  bool set_extent(const std::string& what, const std::vector<Formula>& formulas, const Scope& scope,
                  const Limits& limits, Extent& extent) {
    constexpr std::string_view kAxes = "xyz";
    if (formulas.size() > extent.size()) wrong_recipe(fmt::format("{} has more than three formulas", what));
    for (std::size_t i = 0; i < formulas.size(); ++i) {
      const std::int64_t value = formulas[i].integer(scope);
      if (value < 1 || value > limits[i]) {
        return refuse(fmt::format("{} in {}", what, kAxes[i]), fmt::format("is {}, not 1 to {}", value, limits[i]),
                      formulas[i], scope);
      }
      extent[i] = static_cast<std::uint32_t>(value);
    }
    return true;
  }

  bool set_block(const KernelRecipe& recipe, PlannedKernel& kernel) {
    const std::string what = fmt::format("the block of {}", recipe.entry);
    if (recipe.block.empty()) wrong_recipe(fmt::format("{} has no formula", what));
    if (!set_extent(what, recipe.block, scope_, kBlockLimits, kernel.block)) return false;
    if (volume(kernel.block) <= device_.max_threads_per_block) return true;
    return refuse(what, fmt::format("{} has {} threads; the device takes {}", what, volume(kernel.block),
                                    device_.max_threads_per_block));
  }

  bool set_shared(const KernelRecipe& recipe, PlannedKernel& kernel) {
    const std::int64_t bytes = recipe.shared_bytes.integer(scope_);
    const std::string what = fmt::format("the shared memory of {}", recipe.entry);
    if (bytes < 0 || bytes > device_.shared_per_block_optin) {
      return refuse(what, fmt::format("is {} bytes, not 0 to {}", bytes, device_.shared_per_block_optin),
                    recipe.shared_bytes, scope_);
    }
    kernel.shared_bytes = static_cast<std::uint32_t>(bytes);
    return true;
  }

  bool set_cluster(const KernelRecipe& recipe, PlannedKernel& kernel) {
    const std::string what = fmt::format("the cluster of {}", recipe.entry);
    const Limits limits{kLargestCluster, kLargestCluster, kLargestCluster};
    if (!set_extent(what, recipe.cluster, scope_, limits, kernel.cluster)) return false;
    const std::int64_t blocks = volume(kernel.cluster);
    if (blocks == 1) return true;
    if (!device_.is_cpu() && device_.compute_capability < kHopper) {
      return refuse(
          what, fmt::format("{} has {} blocks; clusters need sm_90, the device is {}", what, blocks, device_.arch()));
    }
    const std::int64_t most = recipe.nonportable_cluster ? kLargestCluster : kPortableCluster;
    if (blocks <= most) return true;
    return refuse(what, fmt::format("{} has {} blocks; at most {} are allowed", what, blocks, most));
  }

  /// After block, shared memory and cluster: they decide how many blocks are resident.
  bool set_grid(const KernelRecipe& recipe, PlannedKernel& kernel) {
    const std::string what = fmt::format("the grid of {}", recipe.entry);
    if (recipe.grid.empty()) wrong_recipe(fmt::format("{} has no formula", what));
    // Residency is asked about the kernel without its grid, so the grid is filled separately.
    Extent grid{1, 1, 1};
    if (!set_extent(what, recipe.grid, GridScope(scope_, kernel, device_, residency_), kGridLimits, grid)) return false;
    kernel.grid = grid;
    for (std::size_t i = 0; i < grid.size(); ++i) {
      if (grid[i] % kernel.cluster[i] == 0) continue;
      return refuse(what, fmt::format("{} is {}, which its cluster of {} does not divide", what, fmt::join(grid, "x"),
                                      fmt::join(kernel.cluster, "x")));
    }
    return true;
  }

  bool add_param(const KernelParam& param, PlannedKernel& kernel) {
    std::optional<std::size_t> index;
    switch (param.kind) {
      case KernelParam::Kind::ptr:
      case KernelParam::Kind::scalar:
        index = arg_index(param.name);
        break;
      case KernelParam::Kind::dim: {
        const auto found = std::find(interface_.dims.begin(), interface_.dims.end(), param.name);
        if (found == interface_.dims.end()) wrong_recipe(fmt::format("there is no dim '{}'", param.name));
        index = static_cast<std::size_t>(found - interface_.dims.begin());
        break;
      }
      case KernelParam::Kind::map:
        index = map_index(param.name);
        break;
      case KernelParam::Kind::workspace:
        index = workspace_index(param.name);
        break;
      case KernelParam::Kind::value:
        index = value_index(param.name);
        break;
    }
    if (index) kernel.params.push_back({param.kind, *index});
    return index.has_value();
  }

  std::size_t arg_index(const std::string& name) const {
    if (const auto index = index_of(plan_.args, name)) return *index;
    if (!index_of(interface_.args, name)) wrong_recipe(fmt::format("there is no argument '{}'", name));
    return PlannedParam::kAbsent;
  }

  /// The map's index. Plans the map, and its workspace, at first use. nullopt: illegal.
  std::optional<std::size_t> map_index(const std::string& name) {
    if (const auto index = index_of(plan_.maps, name)) return index;
    const auto at = index_of(recipe_.maps, name);
    if (!at) wrong_recipe(fmt::format("there is no tensor map '{}'", name));
    const TensorMapRecipe& recipe = recipe_.maps[*at];
    const bool over_workspace = !recipe.workspace.empty();
    const auto over = over_workspace ? workspace_index(recipe.workspace) : arg_index(recipe.arg);
    if (!over || *over == PlannedParam::kAbsent) return over;
    auto planned = over_workspace ? plan_map(recipe, *over, plan_.workspaces[*over],
                                             recipe.type.value_or(problem_.spec.dtype), scope_)
                                  : plan_map(recipe, *over, plan_.args[*over], scope_, plan_.args);
    if (const auto* const why = std::get_if<std::string>(&planned)) {
      const std::string rule = fmt::format("tensor map {}", name);
      refuse(rule, fmt::format("{}: {}", rule, *why));
      return std::nullopt;
    }
    plan_.maps.push_back(std::get<PlannedMap>(std::move(planned)));
    for (std::size_t i = 0; !over_workspace && i < recipe.dims.size(); ++i) {
      const auto dim = std::ranges::find(interface_.dims, recipe.dims[i].text());
      if (dim == interface_.dims.end() || !interface_.is_bucketed(*dim)) continue;
      plan_.maps.back().call_extent = {.of_map = i, .of_call = static_cast<std::size_t>(dim - interface_.dims.begin())};
    }
    return plan_.maps.size() - 1;
  }

  /// As map_index().
  std::optional<std::size_t> workspace_index(const std::string& name) {
    if (const auto index = index_of(plan_.workspaces, name)) return index;
    const auto at = index_of(recipe_.workspaces, name);
    if (!at) wrong_recipe(fmt::format("there is no workspace '{}'", name));
    const WorkspaceRecipe& recipe = recipe_.workspaces[*at];
    const std::int64_t bytes = recipe.bytes.integer(scope_);
    if (bytes < 0) {
      refuse(fmt::format("workspace {}", name), fmt::format("is {} bytes", bytes), recipe.bytes, scope_);
      return std::nullopt;
    }
    plan_.workspaces.push_back({name, static_cast<std::size_t>(bytes), recipe.zero});
    return plan_.workspaces.size() - 1;
  }

  std::size_t value_index(const std::string& name) {
    if (const auto index = index_of(plan_.values, name)) return *index;
    const auto at = index_of(recipe_.values, name);
    if (!at) wrong_recipe(fmt::format("there is no value '{}'", name));
    plan_.values.push_back({name, recipe_.values[*at].value.integer(scope_)});
    return plan_.values.size() - 1;
  }

  bool align_args() {
    for (const PlannedMap& map : plan_.maps) {
      if (map.over == PlannedMap::Over::arg) raise(plan_.args[map.index], kTensorMapAlignment);
    }
    for (const auto& [name, formula] : recipe_.align) {
      const std::size_t index = arg_index(name);
      if (index == PlannedParam::kAbsent) continue;
      if (plan_.args[index].role == ArgRole::scalar) wrong_recipe(fmt::format("the scalar '{}' is aligned", name));
      const std::int64_t bytes = formula.integer(scope_);
      if (bytes < 1 || (bytes & (bytes - 1)) != 0) {
        return refuse(fmt::format("the alignment of {}", name), fmt::format("is {} bytes, not a power of two", bytes),
                      formula, scope_);
      }
      raise(plan_.args[index], static_cast<std::size_t>(bytes));
    }
    return true;
  }

  static void raise(PlannedArg& arg, std::size_t alignment) { arg.alignment = std::max(arg.alignment, alignment); }

  const OpInterface& interface_;
  const ImplementationRecipe& recipe_;
  const Problem& problem_;
  const DeviceFacts& device_;
  const Residency* residency_;
  PlanScope scope_;
  LaunchPlan plan_;
  Illegal illegal_;
};

void check_fit(const ImplementationRecipe& recipe, const Config& config) {
  const bool fits =
      config.implementation == recipe.name &&
      std::equal(config.values.begin(), config.values.end(), recipe.parameters.begin(), recipe.parameters.end(),
                 [](const auto& value, const std::string& name) { return value.first == name; });
  if (fits) return;
  throw UsageError(fmt::format("{} is not a config of {}, whose parameters are: {}", config.text(), recipe.name,
                               fmt::join(recipe.parameters, ", ")));
}

}  // namespace

std::variant<LaunchPlan, Illegal> make_plan(const OpInterface& interface, const ImplementationRecipe& recipe,
                                            const Config& config, const Problem& problem, const DeviceFacts& device,
                                            const Residency* residency) {
  check_fit(recipe, config);
  return Planner(interface, recipe, config, problem, device, residency).plan();
}

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#include "cache/plan/plan_map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/model/formula/arithmetic.hpp"

namespace tilewright {
namespace {

constexpr std::size_t kMostMapDims = 5;
constexpr std::int64_t kMostExtent = std::int64_t{1} << 32;
constexpr std::int64_t kMostBox = 256;
constexpr std::int64_t kMostStride = (std::int64_t{1} << 40) - 1;
constexpr std::int64_t kGrain = static_cast<std::int64_t>(kTensorMapAlignment);

void check_counts(const TensorMapRecipe& recipe) {
  const std::size_t rank = recipe.dims.size();
  if (rank >= 1 && rank <= kMostMapDims && recipe.box.size() == rank &&
      (recipe.strides.empty() || recipe.strides.size() + 1 == rank) &&
      (recipe.stride_scalars.empty() || recipe.stride_scalars.size() + 1 == rank)) {
    return;
  }
  const SourcePlace& place = recipe.swizzle.place();
  throw DefinitionError(
      {{place.file.empty() ? "formula" : place.file, place.line, place.column,
        fmt::format("tensor map '{}' has {} dims, {} box extents and {} strides; it takes 1 to 5 dims, as many box "
                    "extents, and one stride fewer or none",
                    recipe.name, rank, recipe.box.size(),
                    std::max(recipe.strides.size(), recipe.stride_scalars.size()))}});
}

/// Fills in `map`, whose type is set. Returns in words why the hardware refuses it; empty if it does not. The driver
/// judges strides that come with the call; dense ones stand in for them here.
std::string shape_map(const TensorMapRecipe& recipe, const Scope& scope, bool strides_come_with_the_call,
                      PlannedMap& map) {
  check_counts(recipe);
  map.name = recipe.name;
  map.tf32 = recipe.tf32.truth(scope);
  if (map.tf32 && map.type != DType::f32) {
    return fmt::format("tf32 is what f32 is rounded to, and '{}' is {}",
                       recipe.arg.empty() ? recipe.workspace : recipe.arg, name(map.type));
  }
  const auto element = static_cast<std::int64_t>(size_of(map.type));

  // A dense stride is the previous stride times the extent between them.
  std::int64_t stride = element;
  for (std::size_t i = 0; i < recipe.dims.size(); ++i) {
    const std::int64_t extent = recipe.dims[i].integer(scope);
    if (extent < 1 || extent > kMostExtent) {
      return fmt::format("dim `{}` is {}; it must be 1 to 2^32", recipe.dims[i].text(), extent);
    }
    map.dims.push_back(static_cast<std::uint64_t>(extent));
    if (i + 1 == recipe.dims.size()) break;
    const checked::Number next =
        recipe.strides.empty() ? checked::multiply(stride, extent) : recipe.strides[i].integer(scope);
    if (strides_come_with_the_call) {
      const std::int64_t most = kMostStride / kGrain * kGrain;
      stride = next ? std::min((std::min(*next, most) + kGrain - 1) / kGrain * kGrain, most) : most;
      map.strides.push_back(static_cast<std::uint64_t>(stride));
      continue;
    }
    if (!next || *next < kGrain || *next > kMostStride || *next % kGrain != 0) {
      return fmt::format("stride {} is {} bytes; it must be a multiple of 16 below 2^40", i + 1,
                         next ? fmt::to_string(*next) : "too many");
    }
    stride = *next;
    map.strides.push_back(static_cast<std::uint64_t>(stride));
  }

  for (const Formula& formula : recipe.box) {
    const std::int64_t extent = formula.integer(scope);
    if (extent < 1 || extent > kMostBox) {
      return fmt::format("box extent `{}` is {}; it must be 1 to 256", formula.text(), extent);
    }
    map.box.push_back(static_cast<std::uint32_t>(extent));
  }
  const std::int64_t row = element * map.box.front();
  if (row % kGrain != 0) return fmt::format("a row of the box is {} bytes; it must be a multiple of 16", row);

  const std::int64_t swizzle = recipe.swizzle.integer(scope);
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128) {
    return fmt::format("swizzle is {}; it must be 0, 32, 64 or 128", swizzle);
  }
  if (swizzle != 0 && row > swizzle) {
    return fmt::format("a row of the box is {} bytes, more than the swizzle of {}", row, swizzle);
  }
  map.swizzle = static_cast<std::uint32_t>(swizzle);
  return {};
}

/// Bytes from the first element to the end of the last; nullopt beyond 63 bits.
checked::Number bytes_of(const PlannedMap& map) {
  checked::Number bytes =
      checked::multiply(static_cast<std::int64_t>(map.dims.front()), static_cast<std::int64_t>(size_of(map.type)));
  for (std::size_t i = 0; bytes && i < map.strides.size(); ++i) {
    const auto way =
        checked::multiply(static_cast<std::int64_t>(map.dims[i + 1] - 1), static_cast<std::int64_t>(map.strides[i]));
    bytes = way ? checked::add(*bytes, *way) : std::nullopt;
  }
  return bytes;
}

}  // namespace

std::variant<PlannedMap, std::string> plan_map(const TensorMapRecipe& recipe, std::size_t index, const PlannedArg& arg,
                                               const Scope& scope, std::span<const PlannedArg> args) {
  if (arg.is_pitched) return fmt::format("the rows of '{}' have a pitch, which no map can follow", arg.name);
  const bool comes_with_the_call = !arg.strides.empty();
  if (comes_with_the_call && recipe.stride_scalars.empty() && recipe.dims.size() > 1) {
    return fmt::format("'{}' has strides, which this map does not follow", arg.name);
  }
  PlannedMap map;
  map.over = PlannedMap::Over::arg;
  map.index = index;
  map.type = arg.type;
  if (std::string why = shape_map(recipe, scope, comes_with_the_call, map); !why.empty()) return why;
  for (std::size_t i = 0; comes_with_the_call && i < recipe.stride_scalars.size(); ++i) {
    const auto is_it = [&](const PlannedStride& each) { return args[each.scalar].name == recipe.stride_scalars[i]; };
    const auto stride = std::find_if(arg.strides.begin(), arg.strides.end(), is_it);
    if (stride == arg.strides.end()) {
      return fmt::format("'{}' is not a stride of '{}'", recipe.stride_scalars[i], arg.name);
    }
    map.stride_scalars.push_back(stride->scalar);
  }
  return map;
}

std::variant<PlannedMap, std::string> plan_map(const TensorMapRecipe& recipe, std::size_t index,
                                               const PlannedWorkspace& workspace, DType type, const Scope& scope) {
  PlannedMap map;
  map.over = PlannedMap::Over::workspace;
  map.index = index;
  map.type = type;
  if (std::string why = shape_map(recipe, scope, false, map); !why.empty()) return why;
  const checked::Number bytes = bytes_of(map);
  if (!bytes || static_cast<std::size_t>(*bytes) > workspace.bytes) {
    return fmt::format("its extents take {} bytes, and workspace '{}' has {}",
                       bytes ? fmt::to_string(*bytes) : "too many", workspace.name, workspace.bytes);
  }
  return map;
}

int tensor_map_type(const PlannedMap& map) noexcept {
  constexpr int kTf32 = 11;
  if (map.tf32) return kTf32;
  switch (map.type) {
    case DType::u8:
      return 0;
    case DType::u32:
      return 2;
    case DType::i32:
      return 3;
    case DType::u64:
      return 4;
    case DType::i64:
      return 5;
    case DType::f16:
      return 6;
    case DType::f32:
      return 7;
    case DType::f64:
      return 8;
    case DType::bf16:
      return 9;
  }
  return 0;
}

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/model/recipe.hpp"
#include "cache/model/records.hpp"

/// Kernels that do compute, in PTX: the driver compiles them, so that the launch library is tested on a GPU without a
/// compiler. Values only.
namespace tilewright::testing {

/// For scale_interface(): both kernels of scale_kernels(), in fp32.
[[nodiscard]] std::vector<std::byte> scale_ptx();

/// For reduce_interface(), sm_90: the first kernel notes its cluster's size in `partial`, the second
/// adds the plan's value and stores that to every y.
[[nodiscard]] std::vector<std::byte> reduce_ptx();

/// `double`: y = 2x over {n}, in two kernels with everything that can go wrong between them: the first leaves 2x in a
/// workspace and counts its threads in two more, one cleared each time and one that the second kernel leaves zero. The
/// second adds to y by how much either count is wrong.
[[nodiscard]] OpInterface double_interface();
[[nodiscard]] ImplementationRecipe double_recipe();
[[nodiscard]] std::vector<KernelFacts> double_kernels();
[[nodiscard]] std::vector<std::byte> double_ptx();

}  // namespace tilewright::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/model/recipe.hpp"
#include "cache/model/records.hpp"

/// Kernels in PTX that compute: the driver compiles them, so tests of the launch library on a GPU need no compiler.
/// Values only.
namespace tilewright::testing {

/// Both kernels of scale_kernels(), in fp32, for scale_interface().
[[nodiscard]] std::vector<std::byte> scale_ptx();

/// For reduce_interface(), sm_90: the first kernel stores its cluster's size in `partial`; the second adds the plan's
/// value and stores the sum to all y.
[[nodiscard]] std::vector<std::byte> reduce_ptx();

/// `double`: y = 2x over {n}, in two kernels that detect faults between them. The first writes 2x to a workspace and
/// counts its threads in two more, one cleared before each launch and one that the second kernel resets to zero. The
/// second adds each count's error to y.
[[nodiscard]] OpInterface double_interface();
[[nodiscard]] ImplementationRecipe double_recipe();
[[nodiscard]] std::vector<KernelFacts> double_kernels();
[[nodiscard]] std::vector<std::byte> double_ptx();

}  // namespace tilewright::testing

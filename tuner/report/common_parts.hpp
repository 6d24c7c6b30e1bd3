// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// The common part of a table's configs.
namespace tilewright {

/// Takes out of texts like `onchip{num_warps=4,vec=8}` each parameter that has one value in all of the several texts of
/// that implementation, and returns these, "onchip{vec=8}", in order of appearance. Texts of another form, and one that
/// is alone of its implementation, stay; a config without parameters left loses its braces.
std::vector<std::string> take_common_parameters(std::vector<std::string>& texts);

}  // namespace tilewright

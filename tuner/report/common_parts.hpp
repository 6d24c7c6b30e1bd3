// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// The parameters that a table's configs have in common.
namespace tilewright {

/// Removes from texts like `onchip{num_warps=4,vec=8}` each parameter with one value in all texts of an implementation,
/// and returns the removed ones, "onchip{vec=8}", in order of appearance. Texts of another form, and the only text of
/// an implementation, stay; a config without parameters left loses its braces.
std::vector<std::string> take_common_parameters(std::vector<std::string>& texts);

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/model/recipe.hpp"

/// How kernel parameters are passed: as the source declares them and as a definition gives them. Pure.
namespace tilewright::reading {

/// "pointer", "float", "double", "int", "unsigned", "long long" or "unsigned long long". Empty if the text does not
/// tell: an alias, a template's type, a class.
[[nodiscard]] std::string passed_as(std::string_view declaration);

/// A parameter that a launch passes.
struct Passed {
  std::string name;
  /// The result of passed_as().
  std::string as;
};
[[nodiscard]] std::vector<Passed> passed_by(const std::vector<KernelParam>& params, const std::vector<Argument>& args);
/// All arguments, then all dims: the parameters of a reference, and of a kernel that lists none.
[[nodiscard]] std::vector<KernelParam> all_params(const std::vector<Argument>& args,
                                                  const std::vector<std::string>& dims);

/// Whether a kernel with these declarations reads the passed values correctly: the count agrees, and the size and kind
/// of each, if both are known.
[[nodiscard]] bool agree(const std::vector<std::string>& declarations, const std::vector<Passed>& passed);

/// As "pointer x, float alpha, long long n".
[[nodiscard]] std::string text(const std::vector<Passed>& passed);

}  // namespace tilewright::reading

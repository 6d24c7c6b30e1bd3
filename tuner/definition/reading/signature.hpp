// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cache/model/interface.hpp"
#include "cache/model/recipe.hpp"

/// The passing of a kernel's parameters: as its source declares them, and as a definition gives them. Pure.
namespace tilewright::reading {

/// "pointer", "float", "double", "int", "unsigned", "long long", "unsigned long long"; empty where the text does not
/// say: an alias, a type of a template, a class.
[[nodiscard]] std::string passed_as(std::string_view declaration);

/// The parameters that a launch passes.
struct Passed {
  std::string name;
  /// As passed_as() has it.
  std::string as;
};
[[nodiscard]] std::vector<Passed> passed_by(const std::vector<KernelParam>& params, const std::vector<Argument>& args);
/// Every argument, and then every dim: what a reference is passed, and a kernel whose parameters are not listed.
[[nodiscard]] std::vector<KernelParam> all_params(const std::vector<Argument>& args,
                                                  const std::vector<std::string>& dims);

/// Whether a kernel that declares these parameters reads what is passed: as many, and each of the size and the kind
/// that it is passed as, where both are known.
[[nodiscard]] bool agree(const std::vector<std::string>& declarations, const std::vector<Passed>& passed);

/// "pointer x, float alpha, long long n".
[[nodiscard]] std::string text(const std::vector<Passed>& passed);

}  // namespace tilewright::reading

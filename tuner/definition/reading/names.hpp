// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tuner/definition/reading/mistakes.hpp"

/// The names that a definition may use. Dims, attributes and parameters of one implementation share one set of names:
/// they meet in its formulas and as members of the generated `struct Config`.
namespace tilewright::reading {

/// True for a C identifier that is no word of C++ and none of the names that compilers keep for themselves; else a
/// mistake. `what` is its kind: "dim". An "argument" may be a word of C++ (`do`): its name reaches no source.
bool check_identifier(std::string_view name, std::string_view what, Place place, Mistakes& mistakes);

/// True for text that a shape key can hold: 1 to 63 letters, digits, `_`, `-`, `.` and `+`; else a mistake.
bool check_attribute_value(std::string_view value, Place place, Mistakes& mistakes);

class NameRegistry {
 public:
  /// Takes `name` for a dim, attribute or parameter (`what`). A mistake when it is no identifier, when a formula or the
  /// generated struct gives it another meaning, or when it is taken; returns whether all was well.
  bool claim(const std::string& name, std::string_view what, Place place, Mistakes& mistakes);

 private:
  /// Name → what it is.
  std::map<std::string, std::string> taken_;
};

}  // namespace tilewright::reading

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "tuner/definition/reading/mistakes.hpp"

/// The names that a definition may use. Dims, attributes and parameters of one implementation share a namespace,
/// because they meet in its formulas and as members of the generated `struct Config`.
namespace tilewright::reading {

/// Whether `name` is a C identifier, no C++ keyword, and not reserved by compilers; else adds a mistake. `what` is its
/// kind, such as "dim". An "argument" may be a keyword (`do`), because its name reaches no source.
bool check_identifier(std::string_view name, std::string_view what, Place place, Mistakes& mistakes);

/// Whether a shape key can hold `value`: 1 to 63 letters, digits, `_`, `-`, `.` and `+`; else adds a mistake.
bool check_attribute_value(std::string_view value, Place place, Mistakes& mistakes);

class NameRegistry {
 public:
  /// Takes `name` for a `what`: dim, attribute, parameter, let or index. Returns false and adds a mistake if it is no
  /// identifier, is taken, or has another meaning in formulas or in the generated struct.
  bool claim(const std::string& name, std::string_view what, Place place, Mistakes& mistakes);

 private:
  /// Name → its kind.
  std::map<std::string, std::string> taken_;
};

}  // namespace tilewright::reading

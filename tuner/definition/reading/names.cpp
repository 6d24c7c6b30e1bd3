// SPDX-License-Identifier: Apache-2.0
#include "tuner/definition/reading/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cache/base/ascii.hpp"
#include "cache/base/holds.hpp"
#include "cache/model/device_facts.hpp"

namespace tilewright::reading {
namespace {

constexpr std::string_view kCppWords[] = {
    "alignas",     "alignof",  "and",        "and_eq",    "asm",       "auto",         "bitand",
    "bitor",       "bool",     "break",      "case",      "catch",     "char",         "char16_t",
    "char32_t",    "char8_t",  "class",      "co_await",  "co_return", "co_yield",     "compl",
    "concept",     "const",    "const_cast", "consteval", "constexpr", "constinit",    "continue",
    "decltype",    "default",  "delete",     "do",        "double",    "dynamic_cast", "else",
    "enum",        "explicit", "export",     "extern",    "false",     "float",        "for",
    "friend",      "goto",     "if",         "inline",    "int",       "long",         "mutable",
    "namespace",   "new",      "noexcept",   "not",       "not_eq",    "nullptr",      "operator",
    "or",          "or_eq",    "private",    "protected", "public",    "register",     "reinterpret_cast",
    "requires",    "return",   "short",      "signed",    "sizeof",    "static",       "static_assert",
    "static_cast", "struct",   "switch",     "template",  "this",      "thread_local", "throw",
    "true",        "try",      "typedef",    "typeid",    "typename",  "union",        "unsigned",
    "using",       "virtual",  "void",       "volatile",  "wchar_t",   "while",        "xor",
    "xor_eq"};

/// Macros and built-in variables in scope of some device compiler or of the emulator's host compiler.
constexpr std::string_view kDeviceWords[] = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "assert",
                                             "NULL",      "INFINITY", "NAN",      "errno",   "linux",    "unix"};

constexpr std::string_view kFormulaWords[] = {"ceil_div", "round_up", "min", "max", "select", "pow2_ceil", "log2"};
constexpr std::string_view kPlanFacts[] = {"resident_blocks", "max_active_clusters"};
constexpr std::string_view kConfigMembers[] = {"dtype", "dtype_name", "implementation"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The name's fixed meaning in all definitions, or empty.
std::string_view meaning(std::string_view name) {
  if (holds(kConfigMembers, name)) return "a member of the generated struct Config";
  if (holds(kFormulaWords, name)) return "a function of formulas";
  if (holds(kPlanFacts, name)) return "a fact of launching in formulas";
  if (holds(DeviceFacts::names(), name)) return "a device fact in formulas";
  return {};
}

}  // namespace

bool check_identifier(std::string_view name, std::string_view what, Place place, Mistakes& mistakes) {
  const auto belongs = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
  if (name.empty() || is_digit(name.front()) || !std::ranges::all_of(name, belongs)) {
    mistakes.add(place, fmt::format("{} '{}' is not an identifier: letters, digits and _, no digit first", what, name));
    return false;
  }
  if (holds(kCppWords, name) && what != "argument") {
    mistakes.add(place, fmt::format("{} '{}' is a keyword of C++; choose another name", what, name));
    return false;
  }
  if (name.front() == '_' || name.find("__") != std::string_view::npos || holds(kDeviceWords, name)) {
    mistakes.add(place, fmt::format("{} '{}' is reserved for compilers; choose another name", what, name));
    return false;
  }
  return true;
}

bool check_attribute_value(std::string_view value, Place place, Mistakes& mistakes) {
  // The limits of `tilewright::Name` in device/config.cuh.
  constexpr std::size_t kLongest = 63;
  const auto belongs = [](char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '-' || c == '.' || c == '+';
  };
  if (!value.empty() && value.size() <= kLongest && std::ranges::all_of(value, belongs)) return true;
  mistakes.add(place, fmt::format("attribute value '{}' must be 1 to {} letters, digits, _ - . or +", value, kLongest));
  return false;
}

bool NameRegistry::claim(const std::string& name, std::string_view what, Place place, Mistakes& mistakes) {
  if (!check_identifier(name, what, place, mistakes)) return false;
  if (name == "static_dims" && what != "parameter") {
    mistakes.add(place, fmt::format("{} 'static_dims' has the name of the parameter that specialises dims", what));
    return false;
  }
  if (const std::string_view other = meaning(name); !other.empty()) {
    mistakes.add(place, fmt::format("{} '{}' clashes: that is {}; choose another name", what, name, other));
    return false;
  }
  const auto [entry, is_new] = taken_.emplace(name, what);
  if (is_new) return true;
  mistakes.add(place, entry->second == what ? fmt::format("{} '{}' appears twice", what, name)
                                            : fmt::format("{} '{}' clashes: there is {} {} of that name", what, name,
                                                          entry->second == "attribute" ? "an" : "a", entry->second));
  return false;
}

}  // namespace tilewright::reading

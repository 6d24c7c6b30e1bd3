// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cache/model/formula/formula.hpp"

/// Common parts of tests of formulas: a scope from a map, and the only mistake of a formula.
namespace tilewright::test {

class MapScope : public Scope {
 public:
  explicit MapScope(std::map<std::string, Value> values = {}) : values_(std::move(values)) {}

  [[nodiscard]] std::optional<Value> find(std::string_view name) const override {
    const auto found = values_.find(std::string(name));
    if (found == values_.end()) return std::nullopt;
    return found->second;
  }
  [[nodiscard]] std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, value] : values_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, Value> values_;
};

inline std::int64_t number(const std::string& text, std::map<std::string, Value> values = {}) {
  return Formula::parse(text).integer(MapScope(std::move(values)));
}

/// The only mistake in the DefinitionError that `action` throws.
template <class Action>
Diagnostic mistake_of(const Action& action) {
  try {
    action();
  } catch (const DefinitionError& error) {
    if (error.mistakes().size() != 1) throw std::logic_error("not one mistake: " + std::string(error.what()));
    return error.mistakes().front();
  }
  throw std::logic_error("no mistake was found");
}

/// The mistake of parsing `text` outside a file: columns count from the formula's begin.
inline Diagnostic parse_mistake(const std::string& text) {
  return mistake_of([&] { (void)Formula::parse(text); });
}

/// The mistake of evaluating `text`.
inline Diagnostic value_mistake(const std::string& text, std::map<std::string, Value> values = {}) {
  const Formula formula = Formula::parse(text);
  return mistake_of([&] { (void)formula.integer(MapScope(std::move(values))); });
}

}  // namespace tilewright::test

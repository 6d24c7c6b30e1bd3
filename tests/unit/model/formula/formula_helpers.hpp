// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cache/model/formula/formula.hpp"

/// What the tests of formulas share: a scope made of pairs, and the one mistake of a formula.
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

/// The only mistake that `action` throws as a DefinitionError.
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

/// Of parsing `text`, which stands nowhere: columns count in the formula.
inline Diagnostic parse_mistake(const std::string& text) {
  return mistake_of([&] { (void)Formula::parse(text); });
}

/// Of evaluating `text`.
inline Diagnostic value_mistake(const std::string& text, std::map<std::string, Value> values = {}) {
  const Formula formula = Formula::parse(text);
  return mistake_of([&] { (void)formula.integer(MapScope(std::move(values))); });
}

}  // namespace tilewright::test

// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/known_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/app/table_columns.hpp"
#include "tuner/report/table_query.hpp"

namespace tilewright::app {
namespace {

std::string summary_of(Catalogue& catalogue, const std::string& op) {
  try {
    return catalogue.find(op).summary;
  } catch (const Error&) {
    return "its definition has mistakes: tilewright list";
  }
}

}  // namespace

std::vector<KnownOp> known_ops(const Place& place) {
  std::vector<KnownOp> ops;
  try {
    Catalogue catalogue = open_catalogue(place);
    for (const std::string& name : catalogue.names()) ops.push_back({name, summary_of(catalogue, name)});
  } catch (const Error&) {  // No op is known.
  }
  return ops;
}

std::vector<std::string> known_devices(const Place& place) {
  std::vector<std::string> names{"cpu"};
  try {
    for (const DeviceFacts& device : open_to_read(place).devices()) {
      if (!device.is_cpu()) names.push_back(device.name);
    }
  } catch (const Error&) {  // There is no cache, or it cannot be read.
  }
  return names;
}

KnownWords::KnownWords(Place place, const std::vector<std::string>& named) : place_(std::move(place)) {
  try {
    Catalogue catalogue = open_catalogue(place_);
    const std::vector<std::string> known = catalogue.names();
    for (auto word = named.rbegin(); word != named.rend() && !definition_; ++word) {
      // A side of a comparison is no op.
      if (names_op(*word) && holds(known, op_name_of(*word))) definition_ = catalogue.find(op_name_of(*word));
    }
  } catch (const Error&) {  // The op stays unknown.
  }
}

std::vector<std::string> KnownWords::dims() const {
  return definition_ ? definition_->interface.dims : std::vector<std::string>();
}

std::vector<std::string> KnownWords::dtypes() const {
  if (!definition_) return {"f32", "f16", "bf16"};
  std::vector<std::string> names;
  for (const DType dtype : definition_->interface.dtypes) names.emplace_back(name(dtype));
  return names;
}

std::vector<Attribute> KnownWords::attributes() const {
  return definition_ ? definition_->interface.attributes : std::vector<Attribute>();
}

std::vector<std::string> KnownWords::parameters() const {
  if (!definition_) return {};
  std::vector<std::string> names{"implementation"};
  for (const Implementation& implementation : definition_->implementations) {
    for (const Parameter& parameter : implementation.space) {
      if (!holds(names, parameter.name)) names.push_back(parameter.name);
    }
  }
  return names;
}

std::vector<std::string> KnownWords::columns(View view) const {
  if (!definition_) return {};
  Table table;
  table.columns = columns_of(view, definition_->interface, definition_->implementations);
  return column_names(table);
}

std::vector<std::string> KnownWords::configs() const {
  std::vector<std::string> configs;
  if (!definition_) return configs;
  try {
    const Store store = open_to_read(place_);
    for (const WinnerRow& row : store.list_winners({.op = definition_->interface.op})) {
      configs.push_back(row.winner.trial.config.text());
    }
  } catch (const Error&) {  // There is no cache, or it cannot be read.
  }
  std::sort(configs.begin(), configs.end());
  configs.erase(std::unique(configs.begin(), configs.end()), configs.end());
  return configs;
}

std::vector<std::string> KnownWords::config_steps(const std::string& typed) const {
  std::vector<std::string> steps;
  if (!definition_) return steps;
  const std::size_t open = typed.find('{');
  const std::string name = typed.substr(0, open);
  for (const Implementation& implementation : definition_->implementations) {
    if (open == std::string::npos) {
      steps.push_back(implementation.recipe.name + (implementation.space.empty() ? "" : "{"));
      continue;
    }
    if (implementation.recipe.name != name) continue;
    const std::size_t last = typed.find_last_of("{,");
    const std::string before = typed.substr(0, last + 1);
    const std::string part = typed.substr(last + 1);
    std::vector<std::string> given;
    for (const std::string& each : split_list(before.substr(open + 1))) given.push_back(each.substr(0, each.find('=')));
    for (const Parameter& parameter : implementation.space) {
      if (holds(given, parameter.name)) continue;
      if (part.find('=') == std::string::npos) {
        steps.push_back(fmt::format("{}{}=", before, parameter.name));
      } else if (part.substr(0, part.find('=')) == parameter.name) {
        // A config has all parameters, so '}' follows the last.
        const auto there = static_cast<std::size_t>(std::count(typed.begin(), typed.end(), '='));
        const char* const after = there == implementation.space.size() ? "}" : ",";
        for (const std::int64_t value : parameter.values) {
          steps.push_back(fmt::format("{}{}={}{}", before, parameter.name, value, after));
        }
      }
    }
  }
  return steps;
}

}  // namespace tilewright::app

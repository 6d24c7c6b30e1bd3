// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "cache/model/config.hpp"
#include "cache/model/problem.hpp"
#include "tuner/report/sources.hpp"

/// The columns that tables of problems begin with, and those of the parameters of configs.
namespace tilewright {

/// Adds shape key, op, dtype, and the attributes and dims that `first` has.
template <class Line>
void add_problem(std::vector<Source<Line>>& sources, const Problem& first,
                 const std::function<const Problem&(const Line&)>& problem_of) {
  sources.push_back({data_column("shape_key"), [=](const Line& line) { return Cell(problem_of(line).key()); }});
  sources.push_back({data_column("op"), [=](const Line& line) { return Cell(problem_of(line).spec.op); }});
  sources.push_back({common_column("dtype", "dtype"),
                     [=](const Line& line) { return Cell(std::string(name(problem_of(line).spec.dtype))); }});
  for (const auto& pair : first.spec.attributes) {
    sources.push_back({common_column(pair.first, pair.first),
                       [problem_of, attribute = pair.first](const Line& line) {
                         const std::string* found = problem_of(line).spec.attribute(attribute);
                         return found != nullptr ? Cell(*found) : Cell();
                       },
                       "attribute"});
  }
  for (const auto& pair : first.dims) {
    Column dim = column(pair.first, pair.first);
    dim.common = true;
    sources.push_back(
        {dim, [problem_of, dim = pair.first](const Line& line) { return Cell(problem_of(line).dim(dim)); }, "dim"});
  }
}

/// Adds a column, for programs, for each parameter of a config in `lines` whose name no column has yet.
template <class Line>
void add_parameters(std::vector<Source<Line>>& sources, const std::vector<Line>& lines,
                    const std::function<const Config&(const Line&)>& config_of) {
  const auto known = [&](const std::string& parameter) {
    return std::any_of(sources.begin(), sources.end(),
                       [&](const Source<Line>& source) { return source.column.name == parameter; });
  };
  if (!known("implementation")) {
    sources.push_back(
        {data_column("implementation"), [=](const Line& line) { return Cell(config_of(line).implementation); }});
  }
  for (const Line& line : lines) {
    for (const auto& pair : config_of(line).values) {
      if (known(pair.first)) continue;
      sources.push_back({data_column(pair.first), [config_of, parameter = pair.first](const Line& each) {
                           return cell_of(config_of(each).find(parameter));
                         }});
    }
  }
}

}  // namespace tilewright

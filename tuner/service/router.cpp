// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/router.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <string_view>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "tuner/service/problem.hpp"

namespace tilewright::service {
namespace {

constexpr std::array<const char*, 5> kScopes{"none", "read", "report", "submit", "publish"};

/// The parts of `path` for each {name} of `pattern`, or nullopt if the path does not match.
std::optional<std::map<std::string, std::string>> match(std::string_view pattern, std::string_view path) {
  std::map<std::string, std::string> values;
  while (!pattern.empty() && !path.empty()) {
    const std::string_view wanted = pattern.substr(0, pattern.find('/', 1));
    const std::string_view part = path.substr(0, path.find('/', 1));
    if (wanted.size() > 2 && wanted[1] == '{') {
      if (part.size() < 2) return std::nullopt;
      values.emplace(wanted.substr(2, wanted.size() - 3), part.substr(1));
    } else if (wanted != part) {
      return std::nullopt;
    }
    pattern.remove_prefix(wanted.size());
    path.remove_prefix(part.size());
  }
  if (!pattern.empty() || !path.empty()) return std::nullopt;
  return values;
}

bool is_count(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 1;
}

}  // namespace

const char* name_of(Scope scope) noexcept { return kScopes[static_cast<std::size_t>(scope)]; }

std::optional<Scope> scope_from(const std::string& name) noexcept {
  for (std::size_t i = 1; i < kScopes.size(); ++i) {
    if (name == kScopes[i]) return static_cast<Scope>(i);
  }
  return std::nullopt;
}

std::optional<std::string> Call::value(const std::string& name) const {
  const auto found = std::ranges::find(target.query, name, &std::pair<std::string, std::string>::first);
  if (found == target.query.end()) return std::nullopt;
  return found->second;
}

Router::Found Router::find(const std::string& method, const std::string& path) const {
  const std::string wanted = method == "HEAD" ? "GET" : method;
  std::vector<std::string> methods;
  std::vector<std::string> paths;
  for (const Route& route : routes_) {
    if (!holds(paths, route.path)) paths.push_back(route.path);
    auto values = match(route.path, path);
    if (!values) continue;
    if (route.method == wanted) return {&route, std::move(*values), {}};
    methods.push_back(route.method);
    if (route.method == "GET") methods.emplace_back("HEAD");
  }
  if (methods.empty()) {
    return {nullptr,
            {},
            problem(404, fmt::format("there is no path {}{}", path, suggestion(path, paths)),
                    "GET /openapi.json lists all paths.")};
  }
  Response refusal = problem(405, fmt::format("{} cannot be asked with {}", path, method),
                             fmt::format("It takes {}.", fmt::join(methods, ", ")));
  refusal.headers.emplace_back("Allow", fmt::format("{}", fmt::join(methods, ", ")));
  return {nullptr, {}, std::move(refusal)};
}

std::optional<Response> check_query(const Route& route, const Target& target) {
  std::set<std::string> seen;
  std::vector<std::string> names;
  for (const Parameter& each : route.parameters) names.push_back(each.name);
  for (const auto& [name, value] : target.query) {
    if (!seen.insert(name).second) return problem(400, fmt::format("'{}' is given twice", name), "Give it once.");
    const auto known = std::ranges::find(route.parameters, name, &Parameter::name);
    if (known == route.parameters.end()) {
      if (route.takes_problem && !name.empty()) continue;
      return problem(400, fmt::format("{} does not take '{}'{}", route.path, name, suggestion(name, names)));
    }
    if (!known->words.empty() && !holds(known->words, value)) {
      return problem(400, fmt::format("{}={}: unknown value{}", name, value, suggestion(value, known->words)));
    }
    if (known->type == "integer" && !is_count(value)) {
      return problem(400, fmt::format("{}={}: that is not a whole number from 1", name, value),
                     "Write such as top=100.");
    }
  }
  for (const Parameter& each : route.parameters) {
    if (each.required && !seen.contains(each.name)) {
      return problem(400, fmt::format("{} needs {}: {}", route.path, each.name, each.says),
                     fmt::format("Write {}?{}=…", route.path, each.name));
    }
  }
  return std::nullopt;
}

}  // namespace tilewright::service

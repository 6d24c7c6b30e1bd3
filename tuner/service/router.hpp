// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tuner/service/message.hpp"
#include "tuner/service/target.hpp"

/// The table of routes: requests are matched against it, and the OpenAPI document is made from it.
namespace tilewright::service {

/// A right that a token grants.
enum class Scope : std::uint8_t { none, read, report, submit, publish };
[[nodiscard]] const char* name_of(Scope scope) noexcept;
[[nodiscard]] std::optional<Scope> scope_from(const std::string& name) noexcept;

struct Route;

/// A request with what its handler needs.
struct Call {
  Request request;
  Target target;
  /// The path's parts by the {name} of the route.
  std::map<std::string, std::string> path_values{};
  /// Name of the request's token; empty if none is required.
  std::string caller{};
  std::string id{};
  /// Null if no route matches.
  const Route* route = nullptr;

  /// The value of a query parameter, or nullopt if it is absent.
  [[nodiscard]] std::optional<std::string> value(const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& name) const { return value(name).value_or(""); }
};

struct Parameter {
  std::string name;
  std::string says;
  bool required = false;
  /// The values allowed; empty: any.
  std::vector<std::string> words{};
  /// "string" or "integer".
  std::string type = "string";
};

struct Route {
  std::string method;
  /// May have {name} as a part.
  std::string path;
  Scope scope = Scope::read;
  std::string summary;
  std::vector<Parameter> parameters{};
  /// The query may also name dims, dtype and attributes.
  bool takes_problem = false;
  /// JSON Schema of the request's body; empty: no body.
  std::string body_schema{};
  std::string body_type = "application/json";
  std::string answer_type = "application/json";
  /// Statuses besides those common to all routes.
  std::vector<int> statuses{200};
  /// The connections' thread runs the handler, which must neither wait nor read a file.
  bool at_once = false;
  /// The answer changes only with the cache.
  bool of_cache = true;
  /// The answer changes only with the winners.
  bool of_winners = false;
  std::function<Response(const Call&)> handler{};

  [[nodiscard]] bool writes() const { return method != "GET"; }
};

class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }
  [[nodiscard]] const std::vector<Route>& routes() const noexcept { return routes_; }

  struct Found {
    const Route* route = nullptr;
    std::map<std::string, std::string> path_values{};
    /// Set if no route matches: 404, or 405 with the path's methods.
    std::optional<Response> refusal{};
  };
  /// HEAD finds the route of GET.
  [[nodiscard]] Found find(const std::string& method, const std::string& path) const;

 private:
  std::vector<Route> routes_;
};

/// 400 for an unknown or repeated name, a value that is not allowed, or a missing parameter; else nullopt.
[[nodiscard]] std::optional<Response> check_query(const Route& route, const Target& target);

}  // namespace tilewright::service

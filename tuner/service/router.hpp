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

/// One table of all that the service answers: requests are found in it, and the OpenAPI document is made of it.
namespace tilewright::service {

/// The rights of a token.
enum class Scope : std::uint8_t { none, read, report, submit, publish };
[[nodiscard]] const char* name_of(Scope scope) noexcept;
[[nodiscard]] std::optional<Scope> scope_from(const std::string& name) noexcept;

struct Route;

/// A request on its way to its handler.
struct Call {
  Request request;
  Target target;
  /// The path's words where the route has {name}.
  std::map<std::string, std::string> path_values{};
  /// Whose token it came with; empty where none is asked for.
  std::string caller{};
  std::string id{};
  /// Null: there is none.
  const Route* route = nullptr;

  /// Of the query; nothing where it is not there.
  [[nodiscard]] std::optional<std::string> value(const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& name) const { return value(name).value_or(""); }
};

struct Parameter {
  std::string name;
  std::string says;
  bool required = false;
  /// All that it may be; empty: any.
  std::vector<std::string> words{};
  /// "string" or "integer".
  std::string type = "string";
};

struct Route {
  std::string method;
  /// A part may be {name}.
  std::string path;
  Scope scope = Scope::read;
  std::string summary;
  std::vector<Parameter> parameters{};
  /// The query may name dims, dtype and attributes besides.
  bool takes_problem = false;
  /// Of the request's body, a JSON Schema as text; empty: there is none.
  std::string body_schema{};
  std::string body_type = "application/json";
  std::string answer_type = "application/json";
  /// Statuses besides those that any request may have.
  std::vector<int> statuses{200};
  /// Answered by the thread of the connections: it neither waits nor reads a file.
  bool at_once = false;
  /// The answer is the same while the cache is.
  bool of_cache = true;
  /// It is the same while the winners are.
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
    /// The answer where there is no route: 404, or 405 with the methods that the path has.
    std::optional<Response> refusal{};
  };
  /// HEAD finds what GET does.
  [[nodiscard]] Found find(const std::string& method, const std::string& path) const;

 private:
  std::vector<Route> routes_;
};

/// 400 for a name that the route does not take, for one twice, for a value that it may not have, and for what is
/// missing.
[[nodiscard]] std::optional<Response> check_query(const Route& route, const Target& target);

}  // namespace tilewright::service

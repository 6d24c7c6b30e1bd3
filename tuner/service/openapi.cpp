// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/openapi.hpp"

#include <nlohmann/json.hpp>
#include <string_view>

#include "cache/base/ascii.hpp"
#include "cache/base/version.hpp"
#include "tuner/service/problem.hpp"

namespace tilewright::service {
namespace {

using Json = nlohmann::ordered_json;

Json parameter_json(const Parameter& parameter) {
  Json schema{{"type", parameter.type}};
  if (!parameter.words.empty()) schema["enum"] = parameter.words;
  if (parameter.type == "integer") schema["minimum"] = 1;
  return {{"name", parameter.name},
          {"in", "query"},
          {"required", parameter.required},
          {"description", parameter.says},
          {"schema", schema}};
}

Json problem_json() {
  return {{"name", "problem"},
          {"in", "query"},
          {"description", "dims, dtype and attributes by their names: rows=4096&cols=8192&dtype=bf16"},
          {"style", "form"},
          {"explode", true},
          {"schema", {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}}}};
}

Json parameters_json(const Route& route) {
  Json list = Json::array();
  for (std::size_t at = route.path.find('{'); at != std::string::npos; at = route.path.find('{', at + 1)) {
    const std::string name = route.path.substr(at + 1, route.path.find('}', at) - at - 1);
    list.push_back({{"name", name}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}});
  }
  for (const Parameter& each : route.parameters) list.push_back(parameter_json(each));
  if (route.takes_problem) list.push_back(problem_json());
  return list;
}

Json answer_json(const std::string& says, const std::string& type, const Json& schema) {
  return {{"description", says}, {"content", {{type, {{"schema", schema}}}}}};
}

Json responses_json(const Route& route) {
  const Json refusal{{"$ref", "#/components/schemas/Problem"}};
  std::vector<int> statuses = route.statuses;
  for (const int any : {400, 421, 429, 500, 503}) statuses.push_back(any);
  if (route.scope != Scope::none) statuses.insert(statuses.end(), {401, 403});
  if (!route.body_schema.empty()) statuses.insert(statuses.end(), {413, 415});
  std::ranges::sort(statuses);
  Json responses;
  for (const int status : statuses) {
    const bool good = status < 400;
    responses[std::to_string(status)] = good ? answer_json("Done", route.answer_type, Json::object())
                                             : answer_json(title_of(status), "application/problem+json", refusal);
  }
  if (route.method == "GET") responses["304"] = {{"description", "As the ETag of If-None-Match says"}};
  return responses;
}

Json operation_json(const Route& route) {
  std::string id = lower(route.method);
  for (const char letter : route.path)
    id += std::string_view("/{}.").find(letter) == std::string_view::npos ? letter : '_';
  Json operation{{"operationId", id}, {"summary", route.summary}, {"parameters", parameters_json(route)}};
  if (!route.body_schema.empty()) {
    operation["requestBody"] = {{"required", true},
                                {"content", {{route.body_type, {{"schema", Json::parse(route.body_schema)}}}}}};
  }
  operation["responses"] = responses_json(route);
  operation["security"] = Json::array();
  if (route.scope != Scope::none) operation["security"].push_back({{"token", Json::array({name_of(route.scope)})}});
  return operation;
}

}  // namespace

std::string openapi_document(const Router& router) {
  Json document{{"openapi", "3.1.0"},
                {"info",
                 {{"title", "Tilewright"},
                  {"version", version()},
                  {"summary", "Query, tune and watch a cache of kernel configs"},
                  {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}}};
  for (const Route& route : router.routes()) {
    document["paths"][route.path][lower(route.method)] = operation_json(route);
  }
  document["components"] = {
      {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}},
      {"schemas",
       {{"Problem",
         {{"type", "object"},
          {"required", {"type", "title", "status", "detail"}},
          {"properties",
           {{"type", {{"type", "string"}}},
            {"title", {{"type", "string"}}},
            {"status", {{"type", "integer"}}},
            {"detail", {{"type", "string"}, {"description", "what was asked, and why it is not done"}}},
            {"next", {{"type", "string"}, {"description", "what to do"}}}}}}}}}};
  return document.dump(2) + "\n";
}

}  // namespace tilewright::service

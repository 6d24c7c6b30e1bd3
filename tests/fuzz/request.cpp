// SPDX-License-Identifier: Apache-2.0
// A request's method and target: a route with its values, or a refusal that says why.
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/fuzz/input.hpp"
#include "tuner/service/router.hpp"

namespace {

using namespace tilewright::service;

Router made() {
  Router router;
  Route query;
  query.method = "GET";
  query.path = "/v1/query";
  query.takes_problem = true;
  query.parameters.resize(3);
  query.parameters[0].name = "op";
  query.parameters[0].required = true;
  query.parameters[1].name = "mode";
  query.parameters[1].words = {"cold", "hot"};
  query.parameters[2].name = "top";
  query.parameters[2].type = "integer";
  router.add(query);
  Route campaign;
  campaign.method = "DELETE";
  campaign.path = "/v1/campaigns/{id}";
  router.add(campaign);
  return router;
}

/// Expects a refusal with valid JSON.
void check(const Response& refusal) {
  if (refusal.status < 400 || !nlohmann::json::accept(refusal.body)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Router kRouter = made();
  const std::string_view text = tilewright::fuzz::text_of(data, size);
  const std::size_t space = text.find(' ');
  const std::string method(text.substr(0, space));
  const auto target = parse_target(space == std::string_view::npos ? "" : text.substr(space + 1));
  if (!target) return 0;
  if (!is_plain_utf8(target->path) || target->query.size() > kMostNames) std::abort();
  const Router::Found found = kRouter.find(method, target->path);
  if (found.refusal) check(*found.refusal);
  if (found.route == nullptr) return 0;
  if (const auto refusal = check_query(*found.route, *target)) check(*refusal);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/queue_routes.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include "tuner/service/problem.hpp"
#include "tuner/service/read_routes.hpp"

namespace tilewright::service {
namespace {

constexpr const char* kMissesSchema = R"({
  "type": "object", "required": ["misses"], "additionalProperties": false,
  "properties": {"misses": {"type": "array", "maxItems": 10000, "items": {
    "type": "object", "required": ["problem", "device"], "additionalProperties": false,
    "properties": {
      "problem": {"type": "string", "description": "a whole shape key"},
      "device": {"type": "string", "description": "the device's fingerprint"},
      "count": {"type": "integer", "minimum": 1, "maximum": 1000000000}}}}}})";

constexpr const char* kCampaignSchema = R"({
  "type": "object", "required": ["sweeps"], "additionalProperties": false,
  "properties": {
    "name": {"type": "string", "maxLength": 200},
    "devices": {"type": "array", "items": {"type": "string"}, "description": "of the service; default: all of them"},
    "budget": {"type": "string", "description": "of everything: 60s, 5m, 8h"},
    "priority": {"type": "integer", "minimum": -100, "maximum": 100,
                 "description": "the highest is tuned first; below 0 it waits for misses, too; default: 0"},
    "sweeps": {"type": "array", "minItems": 1, "maxItems": 64, "items": {
      "type": "object", "required": ["op", "interface", "shapes"], "additionalProperties": false,
      "properties": {
        "op": {"type": "string"},
        "interface": {"type": "string", "description": "the hash of the op's interface, as GET /v1/ops tells it"},
        "implementations": {"type": "array", "items": {"type": "string"}, "description": "hashes that the op must have"},
        "dtype": {"type": ["string", "array"], "items": {"type": "string"}},
        "attributes": {"type": "object", "additionalProperties": {"type": ["string", "array"]}},
        "shapes": {"type": "array", "minItems": 1, "maxItems": 1000, "items": {"type": "string"}}}}}}})";

app::Submitter submitter_of(const Call& call) { return {call.caller, call.request.header("idempotency-key")}; }

/// The refusal of an invalid Idempotency-Key, or nullopt.
std::optional<Response> refuse_key(const app::Submitter& submitter) {
  if (submitter.key.size() <= 255 && is_plain_utf8(submitter.key)) return std::nullopt;
  return problem(400, "the Idempotency-Key has more than 255 bytes, or control characters", "Send a UUID.");
}
Response answer_of(const std::optional<JobQueue::Answer>& answer) {
  if (!answer) {
    return problem(422, "this Idempotency-Key came with another request", "Send a new key with each new request.");
  }
  Response response;
  response.status = answer->status;
  response.body = answer->text;
  return response;
}

/// The number in {id}, or nullopt if it is not one.
std::optional<std::int64_t> id_of(const Call& call) {
  const std::string& text = call.path_values.at("id");
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 1) return std::nullopt;
  return id;
}
Response no_campaign(const Call& call) {
  return problem(404, fmt::format("there is no campaign {}", call.path_values.at("id")),
                 "GET /v1/campaigns lists all.");
}

}  // namespace

void add_queue_routes(Router& router, const app::Place& place, Tuner& tuner) {
  Route report{.method = "POST",
               .path = "/v1/misses",
               .scope = Scope::report,
               .summary = "Report shapes that were met untuned; they are tuned by weight",
               .body_schema = kMissesSchema,
               .statuses = {200, 422}};
  report.handler = [place, &tuner](const Call& call) {
    const app::Submitter submitter = submitter_of(call);
    if (std::optional<Response> refusal = refuse_key(submitter)) return std::move(*refusal);
    Response response = answer_of(app::report_misses(place, call.request.body, submitter));
    tuner.wake();
    return response;
  };
  router.add(std::move(report));
  Route misses{.method = "GET", .path = "/v1/misses", .summary = "Shapes that were reported and wait"};
  misses.handler = [place](const Call&) { return json_of(app::list_reported_misses(place)); };
  router.add(std::move(misses));
  Route submit{.method = "POST",
               .path = "/v1/campaigns",
               .scope = Scope::submit,
               .summary = "Have problems of installed ops tuned",
               .body_schema = kCampaignSchema,
               .statuses = {202, 422}};
  submit.handler = [place, &tuner](const Call& call) {
    const app::Submitter submitter = submitter_of(call);
    if (std::optional<Response> refusal = refuse_key(submitter)) return std::move(*refusal);
    Response response = answer_of(app::submit_campaign(place, tuner.devices(), call.request.body, submitter));
    tuner.wake();
    return response;
  };
  router.add(std::move(submit));
  Route campaigns{.method = "GET", .path = "/v1/campaigns", .summary = "Campaigns, the latest first"};
  campaigns.handler = [place](const Call&) { return json_of(app::list_campaigns(place)); };
  router.add(std::move(campaigns));
  Route campaign{
      .method = "GET", .path = "/v1/campaigns/{id}", .summary = "A campaign with its problems", .statuses = {200, 404}};
  campaign.handler = [place](const Call& call) {
    const std::optional<std::int64_t> id = id_of(call);
    const std::optional<Table> table = id ? app::show_campaign(place, *id) : std::nullopt;
    return table ? json_of(*table) : no_campaign(call);
  };
  router.add(std::move(campaign));
  Route cancel{.method = "DELETE",
               .path = "/v1/campaigns/{id}",
               .scope = Scope::submit,
               .summary = "Cancel a campaign; what was measured is kept",
               .statuses = {200, 404, 409}};
  cancel.handler = [place, &tuner](const Call& call) {
    const std::optional<std::int64_t> id = id_of(call);
    if (!id || !app::show_campaign(place, *id)) return no_campaign(call);
    if (!app::cancel_campaign(place, *id)) return problem(409, fmt::format("campaign {} is over", *id));
    tuner.cancel(*id);
    return json_of(app::show_campaign(place, *id).value());
  };
  router.add(std::move(cancel));
}

}  // namespace tilewright::service

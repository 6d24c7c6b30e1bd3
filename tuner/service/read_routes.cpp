// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/read_routes.hpp"

#include <algorithm>
#include <utility>

#include "cache/base/holds.hpp"
#include "tuner/app/list.hpp"
#include "tuner/app/query.hpp"

namespace tilewright::service {
namespace {

const Parameter kOp{"op", "an op (softmax), its spec (softmax[dtype=bf16]) or a whole shape key", true};
const Parameter kDevice{"device", "a device of the cache by its name or a part of it, cpu, or sm_90"};

/// The op and the query's other names, as words of a command line.
app::ProblemWords words_of(const Call& call, const Route& route) {
  std::vector<std::string> words{call.text("op")};
  for (const auto& [name, value] : call.target.query) {
    if (std::ranges::find(route.parameters, name, &Parameter::name) != route.parameters.end()) continue;
    words.push_back(name + "=" + value);
  }
  return app::read_problem_words(words);
}

Route query_route(const app::Place& place, app::PlaceWatch& watch) {
  Route route{
      .method = "GET", .path = "/v1/query", .summary = "The config that serves a problem, and how well it fits"};
  route.parameters = {kOp, kDevice};
  route.takes_problem = true;
  route.of_winners = true;
  route.handler = [place, route, &watch](const Call& call) {
    const app::PlaceWatch::Lease open = watch.open();
    return json_of(app::table_of(app::query(*open, words_of(call, route), call.text("device")), place));
  };
  return route;
}

Route table_route(const app::Place& place, const char* path, const char* summary, app::View view) {
  Route route{.method = "GET", .path = path, .summary = summary};
  route.parameters = {kOp,
                      kDevice,
                      {"mode", "how it was measured; default: cold", false, {"cold", "hot", "events"}},
                      {"where", "only rows of which this is true: cols>=4096 and dtype=bf16"},
                      {"sort", "columns to sort by, with commas; with - in front the greatest first"},
                      {"top", "rows at most, after sorting", false, {}, "integer"},
                      {"columns", "these columns in this order, with commas"}};
  route.takes_problem = true;
  route.handler = [place, route, view](const Call& call) {
    app::TableRequest request;
    request.place = place;
    request.problems = words_of(call, route);
    request.view = view;
    request.device = call.text("device");
    request.mode = measure_mode_from(call.value("mode").value_or("cold")).value();
    request.query.where = call.text("where");
    if (const auto sort = call.value("sort")) request.query.sort = app::split_list(*sort);
    if (const auto columns = call.value("columns")) request.query.columns = app::split_list(*columns);
    if (const auto top = call.value("top")) request.query.top = std::stoull(*top);
    return json_of(app::table(request));
  };
  return route;
}

}  // namespace

Response json_of(const Table& table) {
  Response response;
  response.body = render(table, Format::json);
  return response;
}

void add_read_routes(Router& router, const app::Place& place, app::PlaceWatch& watch) {
  router.add(query_route(place, watch));
  router.add(table_route(place, "/v1/winners", "Winners of an op over shapes", app::View::winners));
  router.add(table_route(place, "/v1/trials", "Every config that was tried of an op's problems", app::View::configs));
  router.add(table_route(place, "/v1/history", "Winners of an op over versions, drivers and time", app::View::history));
  Route ops{.method = "GET", .path = "/v1/ops", .summary = "Ops that can be tuned"};
  ops.handler = [place](const Call&) { return json_of(app::list_ops(place).table); };
  router.add(std::move(ops));
  Route devices{.method = "GET", .path = "/v1/devices", .summary = "Devices that the cache has trials of"};
  devices.handler = [place](const Call&) { return json_of(app::list_devices(place)); };
  router.add(std::move(devices));
  Route sweeps{.method = "GET", .path = "/v1/sweeps", .summary = "Sweeps, the latest first"};
  sweeps.parameters = {{"top", "sweeps at most", false, {}, "integer"}};
  sweeps.handler = [place](const Call& call) {
    Table table = app::list_sweeps(place);
    TableQuery query;
    if (const auto top = call.value("top")) query.top = std::stoull(*top);
    apply(query, table);
    return json_of(table);
  };
  router.add(std::move(sweeps));
}

}  // namespace tilewright::service

// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/page_routes.hpp"

#include <fmt/format.h>

#include <utility>

#include "cache/base/content_hash.hpp"
#include "tuner/service/problem.hpp"

namespace tilewright::service {
namespace {

/// The index is remade at most this often, since sweeps change the cache all the time.
constexpr std::chrono::seconds kLeastAge{10};

std::string text_of(const PageJson& json) { return json.dump(-1, ' ', false, PageJson::error_handler_t::replace); }

Route file_route(PageFile file) {
  Route route{.method = "GET",
              .path = "/" + std::string(file.name),
              .scope = Scope::none,
              .summary = file.name.empty() ? "The page: winners, what is tuned, what waits" : "A part of the page",
              .answer_type = std::string(file.type),
              .at_once = true};
  route.handler = [file = std::move(file)](const Call&) {
    Response response;
    response.type = std::string(file.type);
    response.body = file.text;
    // The page's own meta tag sets the other directives; frame-ancestors works only in a header.
    response.headers = {{"Referrer-Policy", "no-referrer"}, {"Content-Security-Policy", "frame-ancestors 'none'"}};
    return response;
  };
  return route;
}

}  // namespace

std::shared_ptr<const PageData::Made> PageData::made() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

Response PageData::index() {
  const std::uint64_t state = watch_.state();
  std::shared_ptr<const Made> now = made();
  const auto is_good = [&] {
    return now && (now->state == state || std::chrono::steady_clock::now() - now->at < kLeastAge);
  };
  if (!is_good()) {
    const std::unique_lock lock(making_, std::try_to_lock);
    if (!lock.owns_lock() && !now) {
      Response busy = problem(503, "the page's data are being made", "Ask again in a second.");
      busy.headers.emplace_back("Retry-After", "1");
      return busy;
    }
    now = made();
    if (lock.owns_lock() && !is_good()) {
      Made fresh{state, {}, {}, {}, app::report({place_, "", "", true}).page};
      fresh.at = std::chrono::steady_clock::now();
      fresh.id = content_hash(text_of(fresh.page.index));
      PageJson with_id{{"id", fresh.id}};
      with_id.update(std::exchange(fresh.page.index, {}));
      fresh.text = text_of(with_id) + "\n";
      now = std::make_shared<const Made>(std::move(fresh));
      const std::lock_guard guard(mutex_);
      made_ = now;
    }
  }
  Response response;
  response.body = now->text;
  response.headers = {{"ETag", '"' + now->id + '"'}, {"Cache-Control", "no-cache"}};
  return response;
}

Response PageData::block(const std::string& name, const std::string& id) const {
  const std::shared_ptr<const Made> now = made();
  if (!now || now->id != id) {
    return problem(404, "the cache has changed, so these data of the page are gone", "GET /v1/page for the new.");
  }
  const auto found = now->page.blocks.find(name);
  if (found == now->page.blocks.end()) {
    return problem(404, fmt::format("the page has no block {}", name), "GET /v1/page names the ops that have blocks.");
  }
  Response response;
  response.type = "application/octet-stream";
  response.body = found->second;
  return response;
}

void add_page_routes(Router& router, PageData& data) {
  for (PageFile& file : service_page()) router.add(file_route(std::move(file)));
  Route index{
      .method = "GET", .path = "/v1/page", .summary = "What the page shows: the index of its data", .of_cache = false};
  index.handler = [&data](const Call&) { return data.index(); };
  router.add(std::move(index));
  Route block{.method = "GET",
              .path = "/v1/page/{block}",
              .summary = "A part of the page's data, compressed (tuner/report/block.hpp)",
              .answer_type = "application/octet-stream",
              .statuses = {200, 404},
              .at_once = true};
  block.parameters = {{"of", "the id of the index", true}};
  block.handler = [&data](const Call& call) { return data.block(call.path_values.at("block"), call.text("of")); };
  router.add(std::move(block));
}

}  // namespace tilewright::service

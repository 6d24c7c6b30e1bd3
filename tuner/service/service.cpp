// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>
#include <utility>

#include "cache/base/content_hash.hpp"
#include "cache/base/error.hpp"
#include "cache/base/version.hpp"
#include "tuner/app/place_watch.hpp"
#include "tuner/app/query.hpp"
#include "tuner/app/service_lock.hpp"
#include "tuner/service/answers.hpp"
#include "tuner/service/channel_routes.hpp"
#include "tuner/service/event_hub.hpp"
#include "tuner/service/gate.hpp"
#include "tuner/service/measures.hpp"
#include "tuner/service/notify.hpp"
#include "tuner/service/openapi.hpp"
#include "tuner/service/page_routes.hpp"
#include "tuner/service/problem.hpp"
#include "tuner/service/queue_routes.hpp"
#include "tuner/service/read_routes.hpp"
#include "tuner/service/router.hpp"
#include "tuner/service/tuner.hpp"
#include "tuner/service/worker_pool.hpp"

namespace tilewright::service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAnswerBytes = std::size_t{64} << 20;
constexpr std::size_t kMostWaiting = 1024;
/// The connections' share of the two seconds that an end takes.
constexpr std::chrono::milliseconds kGrace{1500};
constexpr std::chrono::seconds kWarmUp{20};

/// At least two, so that a table of a hundred thousand trials does not delay queries.
std::size_t worker_count() { return std::clamp(std::thread::hardware_concurrency(), 2U, 8U); }

/// "5f3a…-17"
class Ids {
 public:
  Ids() : prefix_(fmt::format("{:08x}", std::random_device()())) {}
  [[nodiscard]] std::string next() { return fmt::format("{}-{}", prefix_, ++count_); }

 private:
  const std::string prefix_;
  std::uint64_t count_ = 0;
};

bool is_id(const std::string& text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '-' || letter == '_' || letter == '.';
  });
}

/// Adds the request's id as a header, and to a problem document.
void add_id(Response& response, const std::string& id) {
  response.headers.emplace_back("X-Request-Id", id);
  constexpr std::string_view kEnd = "\n}\n";
  if (response.type != "application/problem+json" || !response.body.ends_with(kEnd)) return;
  response.body.resize(response.body.size() - kEnd.size());
  response.body += fmt::format(",\n  \"request_id\": \"{}\"{}", id, kEnd);
}

/// Adds an ETag; makes it a 304 without a body if the client has the same answer already.
void add_etag(const Request& request, Response& response) {
  if (response.status != 200 || response.stream) return;
  const auto own = std::ranges::find(response.headers, "ETag", &std::pair<std::string, std::string>::first);
  const std::string etag = own != response.headers.end() ? own->second : '"' + content_hash(response.body) + '"';
  if (own == response.headers.end()) {
    response.headers.emplace_back("ETag", etag);
    response.headers.emplace_back("Cache-Control", "no-cache");
  }
  const std::string known = request.header("if-none-match");
  if (known != "*" && known.find(etag) == std::string::npos) return;
  response.status = 304;
  response.type.clear();
  response.body.clear();
  response.file = {};
}

/// Throws UsageError if a read-only service is to tune.
std::vector<app::TuningDevice> tuning_devices_of(const Settings& settings) {
  if (settings.devices.empty()) return {};
  if (settings.read_only) throw UsageError("--read-only tunes nothing: leave --devices or --read-only out");
  return app::tuning_devices(settings.devices);
}

std::filesystem::path channels_folder(const Settings& settings) {
  if (settings.channels) return *settings.channels;
  return app::cache_path(settings.place).string() + "-channels";
}

}  // namespace

struct Service::Impl {
  Impl(const Settings& given, Log told)
      : settings(given),
        log(std::move(told)),
        gate(given, told_errors()),
        lock(given.read_only ? nullptr : std::make_unique<app::ServiceLock>(app::cache_path(given.place))),
        watch(given.place),
        page(given.place, watch),
        measures(given.place, channels_folder(given)),
        tuner(given.place, tuning_devices_of(given),
              [this](const nlohmann::ordered_json& event) {
                events.publish(event);
                measures.heard(event);
                tell(event);
              }),
        server(
            given.bind, given.port, given.limits, given.tls,
            [this](Request request, Responder responder) { handle(std::move(request), std::move(responder)); },
            told_errors()),
        workers(worker_count(), kMostWaiting) {
    add_routes();
  }

  void add_routes();
  /// Has each worker read the cache ahead of requests.
  void warm_up();
  void handle(Request request, Responder responder);
  /// The route's answer: kept from before if the cache has not changed, else made.
  [[nodiscard]] Response answer(const Route& route, const Call& call);
  void tell(const Call& call, const Response& response, Clock::time_point began);
  void tell(const nlohmann::ordered_json& event) {
    const std::lock_guard guard(log_mutex);
    log(event);
  }
  [[nodiscard]] std::function<void(const std::string&)> told_errors() {
    return [this](const std::string& text) { tell({{"event", "error"}, {"text", text}}); };
  }

  const Settings settings;
  const Log log;
  std::mutex log_mutex;
  Gate gate;
  std::unique_ptr<app::ServiceLock> lock;
  app::PlaceWatch watch;
  PageData page;
  Measures measures;
  /// `served` is for routes of winners alone: a sweep's trials make `answers` stale, not these.
  Answers answers{kAnswerBytes / 2}, served{kAnswerBytes / 2};
  std::atomic<std::size_t> warming = 0;
  std::atomic<bool> stopping = false;
  /// Half: what happens while a returning client reads what it missed needs room, too.
  EventHub events{settings.limits.stream_bytes / 2};
  Tuner tuner;
  Router router;
  Ids ids;
  HttpServer server;
  /// Last, to be destroyed first: the workers answer through the server.
  WorkerPool workers;
};

void Service::Impl::add_routes() {
  Route health{
      .method = "GET", .path = "/healthz", .scope = Scope::none, .summary = "The service runs", .at_once = true};
  health.handler = [](const Call&) {
    Response response;
    response.body = nlohmann::ordered_json{{"status", "ok"}, {"version", version()}}.dump(2) + "\n";
    return response;
  };
  router.add(std::move(health));
  Route ready{.method = "GET", .path = "/readyz", .scope = Scope::none, .summary = "The cache can be read"};
  ready.handler = [this](const Call&) {
    static_cast<void>(watch.state());
    for (std::size_t left = warming; left > 0; left = warming) warming.wait(left);
    Response response;
    response.body = nlohmann::ordered_json{{"status", "ready"}, {"read_only", settings.read_only}}.dump(2) + "\n";
    return response;
  };
  router.add(std::move(ready));
  add_read_routes(router, settings.place, watch);
  add_queue_routes(router, settings.place, tuner);
  add_channel_routes(router, channels_folder(settings), settings.publishers, told_errors());
  add_page_routes(router, page);
  router.add(metrics_route(measures, [this] { return events.listeners(); }));
  Route listen{.method = "GET",
               .path = "/v1/events",
               .summary = "What is being tuned, as server-sent events",
               .answer_type = "text/event-stream",
               .at_once = true};
  listen.handler = [this](const Call& call) { return events.stream(call.request.header("last-event-id")); };
  router.add(std::move(listen));
  Route document{
      .method = "GET", .path = "/openapi.json", .scope = Scope::none, .summary = "This document", .at_once = true};
  document.handler = [this](const Call&) {
    Response response;
    response.body = openapi_document(router);
    return response;
  };
  router.add(std::move(document));
}

void Service::Impl::warm_up() {
  // On a slow disk warming up ends here, and later requests read the rest.
  const auto end = Clock::now() + kWarmUp;
  for (std::size_t i = worker_count(); i > 0; --i) {
    ++warming;
    const bool posted = workers.post([this, end] {
      try {
        static_cast<void>(watch.state());  // A cache opened before this counts as stale.
        app::warm_up(*watch.open(), [this, end] { return stopping || Clock::now() > end; });
      } catch (const std::exception&) {  // A request that meets the error reports it.
      }
      --warming;
      warming.notify_all();
    });
    if (!posted) --warming;
  }
}

Response Service::Impl::answer(const Route& route, const Call& call) try {
  const bool is_kept = route.method == "GET" && route.scope == Scope::read && !route.at_once && route.of_cache;
  if (!is_kept) return route.handler(call);
  const std::uint64_t state = route.of_winners ? watch.winners_state() : watch.state();
  Answers& all = route.of_winners ? served : answers;
  if (std::optional<Response> kept = all.find(call.request.target, state)) return std::move(*kept);
  Response response = route.handler(call);
  if (response.status == 200 && !response.stream) all.keep(call.request.target, state, response);
  return response;
} catch (const std::exception& error) {
  return problem_of(error);
}

void Service::Impl::handle(Request request, Responder responder) {
  const Clock::time_point began = Clock::now();
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  const std::string given = call->request.header("x-request-id");
  call->id = is_id(given) ? given : ids.next();
  const auto finish = [this, call, began, responder = std::move(responder)](Response response) {
    add_etag(call->request, response);
    add_id(response, call->id);
    tell(*call, response, began);
    responder(std::move(response));
  };
  std::optional<Target> target = parse_target(call->request.target);
  if (!target) {
    return finish(problem(400,
                          "the path is broken: it begins with / and has whole %-escapes of UTF-8, and at most 64 names",
                          "GET /openapi.json lists all paths."));
  }
  call->target = std::move(*target);
  Router::Found found = router.find(call->request.method, call->target.path);
  call->route = found.route;
  if (std::optional<Response> refusal = gate.refuse(*call, found.route)) return finish(std::move(*refusal));
  if (found.refusal) return finish(std::move(*found.refusal));
  call->path_values = std::move(found.path_values);
  const Route& route = *found.route;
  if (std::optional<Response> refusal = check_query(route, call->target)) return finish(std::move(*refusal));
  if (route.at_once) return finish(answer(route, *call));
  if (workers.post([this, &route, call, finish] { finish(answer(route, *call)); })) return;
  Response busy = problem(503, "too many requests wait", "Ask again in a second, less often.");
  busy.headers.emplace_back("Retry-After", "1");
  finish(std::move(busy));
}

void Service::Impl::tell(const Call& call, const Response& response, Clock::time_point began) {
  const Clock::duration took = Clock::now() - began;
  measures.answered(call, response, took);
  nlohmann::ordered_json event{{"event", "request"}, {"id", call.id}, {"client", gate.client_of(call.request)}};
  if (!call.caller.empty()) event["token"] = call.caller;
  event["method"] = call.request.method;
  // Without the query, which may be long.
  event["path"] = call.request.target.substr(0, std::min(call.request.target.find('?'), std::size_t{200}));
  event["status"] = response.status;
  event["bytes"] = response.size();
  event["ms"] = static_cast<double>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()) / 1e3;
  tell(event);
}

Service::Service(const Settings& settings, Log log) : impl_(std::make_unique<Impl>(settings, std::move(log))) {}
Service::~Service() = default;

std::string Service::url() const {
  const std::string& address = impl_->settings.bind;
  const bool is_long = address.find(':') != std::string::npos;
  return fmt::format("{}://{}{}{}:{}", impl_->settings.tls ? "https" : "http", is_long ? "[" : "", address,
                     is_long ? "]" : "", port());
}

std::uint16_t Service::port() const noexcept { return impl_->server.port(); }

bool Service::run(const std::function<bool()>& cancelled) {
  impl_->tell({{"event", "started"},
               {"url", url()},
               {"cache", app::cache_path(impl_->settings.place).string()},
               {"read_only", impl_->settings.read_only}});
  // It keeps its priority, and starts after the server has its port.
  impl_->tuner.start();
  give_way();
  impl_->warm_up();
  bool ready = false;
  impl_->server.run([&] {
    impl_->events.tick();
    if (!ready && impl_->warming == 0) {
      ready = true;
      notify_systemd("READY=1\nSTATUS=" + url());
      impl_->tell({{"event", "ready"}});
    }
    if (impl_->stopping || !cancelled()) return;
    impl_->stopping = true;
    impl_->tuner.stop();
    impl_->events.end();
    notify_systemd("STOPPING=1");
    impl_->tell({{"event", "stopping"}});
    impl_->server.stop(kGrace);
  });
  impl_->tell({{"event", "stopped"}});
  return impl_->workers.is_idle();
}

}  // namespace tilewright::service

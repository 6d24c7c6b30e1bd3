// SPDX-License-Identifier: Apache-2.0
// Admission.
#include <fmt/format.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

#include "tests/service/fixture.hpp"
#include "tuner/app/place.hpp"
#include "tuner/app/service_lock.hpp"
#include "tuner/service/tokens.hpp"

namespace tilewright::testing {
namespace {

using service::Scope;
using service::Service;

class Gates : public ServiceTest {
 protected:
  [[nodiscard]] std::filesystem::path tokens() const { return folder / "tokens.json"; }
  [[nodiscard]] std::string make(const std::string& name, const std::set<Scope>& scopes,
                                 std::optional<std::int64_t> expires_at = {}) const {
    return "Authorization: Bearer " + service::add_token(tokens(), name, scopes, expires_at) + "\r\n";
  }
  /// The error of starting a service with these settings; empty if it starts.
  [[nodiscard]] std::string refusal() const {
    return error_of([&] { const Service made(settings, [](const nlohmann::ordered_json&) {}); });
  }
};

TEST_F(Gates, other_addresses_than_this_machine_need_tokens_and_a_proxy) {
  settings.port = 0;
  settings.bind = "0.0.0.0";
  EXPECT_TRUE(contains(refusal(), "without tokens everybody may do everything")) << refusal();
  EXPECT_TRUE(contains(refusal(), "--new-token")) << refusal();
  settings.behind_proxy = true;
  EXPECT_TRUE(contains(refusal(), "without tokens")) << refusal();
  static_cast<void>(make("a", {Scope::read}));
  settings.tokens = tokens();
  EXPECT_EQ(refusal(), "");
  settings.behind_proxy = false;
  EXPECT_TRUE(contains(refusal(), "a token sent without TLS can be read")) << refusal();
  EXPECT_TRUE(contains(refusal(), "--certificate FILE")) << refusal();
  for (const char* own : {"127.0.0.1", "127.0.0.9", "::1"}) {
    settings.bind = own;
    settings.tokens.reset();
    const std::string why = refusal();
    EXPECT_TRUE(why.empty() || contains(why, "cannot listen on ::1")) << own << why;
    settings.behind_proxy = true;
    EXPECT_TRUE(contains(refusal(), "without tokens, who reaches the proxy")) << own << refusal();
    EXPECT_TRUE(contains(refusal(), "--new-token")) << own << refusal();
    settings.behind_proxy = false;
  }
  settings.bind = "localhost";
  EXPECT_TRUE(contains(refusal(), "not an IP address")) << refusal();
}

TEST_F(Gates, one_cache_has_one_service_and_any_number_that_only_read) {
  const RunningService first(settings);
  settings.port = 0;
  EXPECT_TRUE(contains(refusal(), "another service uses the cache")) << refusal();
  EXPECT_TRUE(contains(refusal(), "--read-only")) << refusal();
  settings.read_only = true;
  const RunningService second(settings);
  EXPECT_EQ(second.get("/v1/devices").status, 200);
  settings.port = first.port();
  EXPECT_TRUE(contains(refusal(), "cannot listen on 127.0.0.1 port")) << refusal();
}

TEST_F(Gates, a_service_waits_for_one_that_is_ending) {
  auto ending = std::make_unique<app::ServiceLock>(app::cache_path(settings.place));
  const std::jthread ends([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ending.reset();
  });
  settings.port = 0;
  EXPECT_EQ(refusal(), "");
}

TEST_F(Gates, without_tokens_a_page_that_leads_its_name_here_is_refused) {
  const RunningService service(settings);
  HttpClient client(service.port());
  client.send("GET /v1/devices HTTP/1.1\r\nHost: evil.example:8470\r\n\r\n");
  EXPECT_EQ(client.read().value_or(HttpAnswer{}).status, 421);
  for (const char* own : {"localhost", "localhost:8470", "127.0.0.1:1", "[::1]:8470"}) {
    client.send(fmt::format("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", own));
    EXPECT_EQ(client.read().value_or(HttpAnswer{}).status, 200) << own;
  }
  for (const char* other : {"127.0.0.1.evil.example", "localhost.evil.example", "[::2]"}) {
    client.send(fmt::format("GET /healthz HTTP/1.1\r\nHost: {}\r\n\r\n", other));
    EXPECT_EQ(client.read().value_or(HttpAnswer{}).status, 421) << other;
  }
}

TEST_F(Gates, a_token_allows_what_its_scopes_say) {
  const std::string reads = make("reader", {Scope::read});
  const std::string reports = make("engine", {Scope::report});
  settings.tokens = tokens();
  const RunningService service(settings);
  EXPECT_EQ(service.get("/healthz").status, 200);
  EXPECT_EQ(service.get("/v1/devices", reads).status, 200);
  const HttpAnswer none = service.get("/v1/devices");
  EXPECT_EQ(none.status, 401);
  EXPECT_EQ(none.headers.at("www-authenticate"), "Bearer");
  EXPECT_TRUE(contains(none.json()["next"], "--new-token")) << none.body;
  const HttpAnswer other = service.get("/v1/devices", reports);
  EXPECT_EQ(other.status, 403);
  EXPECT_TRUE(contains(other.body, "scope 'read'")) << other.body;
  for (const char* wrong : {"Basic abc", "Bearer", "Bearer ", "bearer x", "Bearer tw_", ""}) {
    EXPECT_EQ(service.get("/v1/devices", fmt::format("Authorization: {}\r\n", wrong)).status, 401) << wrong;
  }
}

TEST_F(Gates, an_unknown_and_an_expired_token_are_told_the_same) {
  const std::string expired = make("old", {Scope::read}, 1'000'000'000);
  const std::string good = make("new", {Scope::read}, 9'000'000'000);
  settings.tokens = tokens();
  const RunningService service(settings);
  const auto told = [&](const std::string& header) {
    const HttpAnswer answer = service.get("/v1/devices", header + "X-Request-Id: same\r\n");
    EXPECT_EQ(answer.status, 401);
    return answer.body;
  };
  EXPECT_EQ(service.get("/v1/devices", good).status, 200);
  EXPECT_EQ(told(expired), told("Authorization: Bearer tw_" + std::string(64, '0') + "\r\n"));
}

TEST_F(Gates, the_file_has_no_token_and_what_is_taken_out_of_it_is_void_at_once) {
  const std::string header = make("a", {Scope::read});
  const std::string secret = header.substr(header.find("tw_"), 67);
  const std::string text = read_file(tokens());
  EXPECT_FALSE(contains(text, secret.substr(3))) << text;
  struct stat facts {};
  ASSERT_EQ(::stat(tokens().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600U);
  EXPECT_NE(make("b", {Scope::read}), header);
  EXPECT_TRUE(contains(error_of([&] { static_cast<void>(make("a", {Scope::read})); }), "has a token 'a'"));
  settings.tokens = tokens();
  const RunningService service(settings);
  EXPECT_EQ(service.get("/v1/devices", header).status, 200);
  { std::ofstream(tokens()) << "{\"tokens\": []}\n"; }
  EXPECT_EQ(service.get("/v1/devices", header).status, 401);
  // A new token is known at once; after a broken file the previous tokens stay.
  const std::string late = make("c", {Scope::read});
  EXPECT_EQ(service.get("/v1/devices", late).status, 200);
  { std::ofstream(tokens()) << "{\"tokens\": [{]"; }
  EXPECT_EQ(service.get("/v1/devices", late).status, 200);
  const auto told = [&] {
    std::size_t count = 0;
    for (const nlohmann::json& event : service.events()) {
      count += event["event"] == "error" && contains(event["text"], "stay in force") ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(told(), 1U);
  EXPECT_EQ(service.get("/v1/devices", late).status, 200);
  EXPECT_EQ(told(), 1U) << "once for each change";
  std::filesystem::remove(tokens());
  EXPECT_EQ(service.get("/v1/devices", late).status, 200);
  EXPECT_EQ(told(), 2U);
}

TEST_F(Gates, a_file_that_is_none_of_tokens_is_refused_with_what_to_type) {
  settings.tokens = tokens();
  settings.port = 0;
  EXPECT_TRUE(contains(refusal(), "--new-token")) << refusal();
  for (const char* text : {"", "[]", "{}", "{\"tokens\": [{\"name\": \"a\"}]}", "{\"tokens\": {}}",
                           "{\"tokens\": [{\"name\": \"a\", \"sha256\": \"00\", \"scopes\": [\"read\"]}]}"}) {
    { std::ofstream(tokens()) << text; }
    EXPECT_TRUE(contains(refusal(), tokens().string())) << text << refusal();
  }
  std::filesystem::remove(tokens());
  static_cast<void>(make("a", {Scope::read}));
  ::chmod(tokens().c_str(), 0666);
  EXPECT_TRUE(contains(refusal(), "chmod 600")) << refusal();
}

TEST_F(Gates, a_token_without_scopes_leaves_the_others_readable) {
  static_cast<void>(make("nothing", {}));
  const std::string reads = make("reads", {Scope::read});
  settings.tokens = tokens();
  const RunningService service(settings);
  EXPECT_EQ(service.get("/v1/devices", reads).status, 200);
}

TEST_F(Gates, too_many_requests_of_one_client_are_put_off) {
  settings.requests_per_second = 5;
  settings.behind_proxy = true;
  static_cast<void>(make("a", {Scope::read}));
  settings.tokens = tokens();
  const RunningService service(settings);
  int served = 0;
  HttpAnswer last;
  for (int i = 0; i < 40; ++i) {
    last = service.get("/healthz", "X-Forwarded-For: 1.2.3.4, 10.0.0.1\r\n");
    served += last.status == 200 ? 1 : 0;
  }
  EXPECT_EQ(last.status, 429) << last.body;
  EXPECT_EQ(last.headers.at("retry-after"), "1");
  EXPECT_TRUE(contains(last.body, "address 10.0.0.1")) << last.body;
  EXPECT_GE(served, 10);
  EXPECT_LT(served, 40);
  // A proxy may add a line of its own below the client's.
  EXPECT_EQ(service.get("/healthz", "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 10.0.0.1\r\n").status, 429);
  EXPECT_EQ(service.get("/healthz", "X-Forwarded-For: 10.0.0.2\r\n").status, 200);
}

}  // namespace
}  // namespace tilewright::testing

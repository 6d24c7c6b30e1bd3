// SPDX-License-Identifier: Apache-2.0
// Valid and invalid requests over a socket.
#include <fmt/format.h>

#include "tests/service/fixture.hpp"
#include "tests/service/program_service.hpp"

namespace tilewright::testing {
namespace {

using Http = ServiceTest;
using std::chrono::milliseconds;

constexpr const char* kHealth = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST_F(Http, answers_several_requests_of_a_connection_also_when_they_come_at_once) {
  const RunningService service(settings);
  HttpClient client(service.port());
  client.send(std::string(kHealth) + kHealth + "GET /v1/devices HTTP/1.1\r\nHost: localhost\r\n\r\n" + kHealth);
  for (int i = 0; i < 4; ++i) {
    const auto answer = client.read();
    ASSERT_TRUE(answer) << i;
    EXPECT_EQ(answer->status, 200);
  }
  client.send("GET /healthz HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.read().value_or(HttpAnswer{}).status, 200);
  EXPECT_TRUE(client.is_closed_within(milliseconds(3000)));
}

TEST_F(Http, says_of_an_unknown_path_or_method_what_there_is) {
  const RunningService service(settings);
  const HttpAnswer path = service.get("/v1/querry");
  EXPECT_EQ(path.status, 404);
  EXPECT_TRUE(contains(path.json()["detail"], "did you mean '/v1/query'")) << path.body;
  for (const char* method : {"DELETE", "PUT", "OPTIONS", "BREW"}) {
    const HttpAnswer answer = ask(service.port(), method, "/v1/query?op=demo");
    EXPECT_EQ(answer.status, 405) << method << answer.body;
    EXPECT_EQ(answer.headers.at("allow"), "GET, HEAD") << method;
  }
}

TEST_F(Http, takes_no_path_for_a_file) {
  const RunningService service(settings);
  for (const char* target :
       {"/v1/../etc/passwd", "/v1/query/../query", "//v1/query", "/v1//query", "/v1/query/", "/v1%2Fquery?op=demo",
        "/%2e%2e/%2e%2e/etc/passwd", "/v1/query;x=1", "/V1/QUERY", "/v1/%71uery%00", "/v1/query%", "/v1/query%zz",
        "/%ff", "/%c0%ae%c0%ae/", "/v1/query?op=%00", "/v1/query?op=%ed%a0%80", "/v1/query?op=demo%0d%0aX:%20y"}) {
    const HttpAnswer answer = service.get(target);
    EXPECT_TRUE(answer.status == 404 || answer.status == 400) << target << " " << answer.status << answer.body;
    EXPECT_TRUE(answer.json().is_object()) << target << answer.body;
    EXPECT_FALSE(contains(answer.body, "root:")) << target;
  }
  // Escaped letters are equal to plain ones.
  EXPECT_EQ(service.get("/v1/%71uery?%6fp=demo&rows=1&cols=64").status, 200);
}

TEST_F(Http, refuses_what_is_no_request) {
  const RunningService service(settings);
  for (const std::string& text :
       {std::string("nonsense\r\n\r\n"), std::string("GET\r\n\r\n"), std::string("GET /healthz HTTP/9.9\r\n\r\n"),
        std::string("GET /healthz HTTP/1.1\r\nHost localhost\r\n\r\n"),
        std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\r\n\r\n"),
        std::string("POST /healthz HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        std::string("POST /healthz HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
        std::string("POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc"),
        std::string("POST /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        "GET /a b HTTP/1.1\r\n\r\n" + std::string(64, '\0')}) {
    HttpClient client(service.port());
    client.send(text);
    client.finish();
    const auto answer = client.read();
    if (answer) {
      EXPECT_TRUE(answer->status == 400 || answer->status == 405) << text << answer->status;
    }
    EXPECT_TRUE(client.is_closed_within(milliseconds(3000))) << text;
  }
  EXPECT_EQ(service.get("/healthz").status, 200);
}

TEST_F(Http, has_limits_of_header_and_body) {
  settings.limits.header_bytes = 2000;
  settings.limits.body_bytes = 5000;
  const RunningService service(settings);
  EXPECT_EQ(service.get("/healthz", "X: " + std::string(1500, 'x') + "\r\n").status, 200);
  const HttpAnswer header = service.get("/healthz", "X: " + std::string(100'000, 'x') + "\r\n");
  EXPECT_EQ(header.status, 431) << header.body;
  const HttpAnswer body = ask(service.port(), "POST", "/v1/query", "", std::string(3'000'000, 'x'));
  EXPECT_EQ(body.status, 413) << body.body;
  EXPECT_TRUE(contains(body.body, "5000 bytes"));
  // An excessive Content-Length is refused before the body arrives; so is an excessive chunked body.
  HttpClient told(service.port());
  told.send(
      "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1099511627776\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(told.read().value_or(HttpAnswer{}).status, 413);
  HttpClient pieces(service.port());
  pieces.send("POST /v1/query HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 20; ++i) pieces.send("200\r\n" + std::string(512, 'x') + "\r\n");
  EXPECT_EQ(pieces.read().value_or(HttpAnswer{}).status, 413);
}

TEST_F(Http, who_waits_to_be_told_may_send_a_body) {
  const RunningService service(settings);
  HttpClient client(service.port());
  client.send("POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read().value_or(HttpAnswer{}).status, 100);
  client.send("{}");
  EXPECT_EQ(client.read().value_or(HttpAnswer{}).status, 405);
}

TEST_F(Http, lets_go_of_clients_that_are_slow_or_silent) {
  settings.limits.request_time = milliseconds(300);
  settings.limits.idle_time = milliseconds(300);
  const RunningService service(settings);
  HttpClient silent(service.port());
  HttpClient half(service.port());
  half.send("GET /healthz HTTP/1.1\r\nHo");
  HttpClient no_body(service.port());
  no_body.send("POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc");
  HttpClient drops(service.port());
  for (int i = 0; i < 12; ++i) {
    drops.send(i == 0 ? "GET /healthz HTTP/1.1\r\n" : fmt::format("X-{}: y\r\n", i));
    std::this_thread::sleep_for(milliseconds(50));
  }
  for (HttpClient* client : {&half, &no_body, &drops}) {
    const auto answer = client->read();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 408) << answer->body;
    EXPECT_TRUE(client->is_closed_within(milliseconds(3000)));
  }
  EXPECT_TRUE(silent.is_closed_within(milliseconds(3000)));
  EXPECT_EQ(service.get("/healthz").status, 200);
}

TEST_F(Http, lets_go_of_clients_that_do_not_take_their_answers) {
  settings.limits.write_time = milliseconds(300);
  const RunningService service(settings);
  HttpClient slow(service.port());
  std::string requests;
  for (int i = 0; i < 40; ++i) requests += "GET /echarts.js HTTP/1.1\r\nHost: localhost\r\n\r\n";
  slow.send(requests);
  const auto is_open = [&] {
    const auto metrics = service.get("/metrics").body;
    return contains(metrics, "route=\"/echarts.js\"");
  };
  EXPECT_TRUE(comes(is_open));
  std::this_thread::sleep_for(milliseconds(1000));
  std::size_t whole = 0;
  while (slow.read()) ++whole;
  EXPECT_LT(whole, 40U) << "it was let go of";
  EXPECT_EQ(service.get("/healthz").status, 200);
}

TEST_F(Http, a_client_that_leaves_in_the_middle_is_nobody_elses_matter) {
  const RunningService service(settings);
  for (int i = 0; i < 50; ++i) {
    HttpClient client(service.port());
    client.send(i % 2 == 0 ? "GET /v1/devices HTTP/1.1\r\nHost: localhost\r\n\r\n" : "GET /v1/dev");
  }
  EXPECT_EQ(service.get("/v1/devices").status, 200);
}

TEST_F(Http, more_clients_than_it_takes_wait_for_their_turn) {
  settings.limits.connections = 4;
  const RunningService service(settings);
  std::vector<std::unique_ptr<HttpClient>> clients;
  for (int i = 0; i < 10; ++i) {
    clients.push_back(std::make_unique<HttpClient>(service.port()));
    clients.back()->send(kHealth);
  }
  for (auto& client : clients) {
    const auto answer = client->read();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    client.reset();
  }
}

TEST_F(Http, has_the_id_of_the_request_where_it_is_one) {
  const RunningService service(settings);
  EXPECT_EQ(service.get("/healthz", "X-Request-Id: rank-7.a_b\r\n").headers.at("x-request-id"), "rank-7.a_b");
  const std::string made = service.get("/healthz", "X-Request-Id: a b\"\r\n").headers.at("x-request-id");
  EXPECT_FALSE(contains(made, "\""));
  EXPECT_NE(service.get("/healthz").headers.at("x-request-id"), made);
  const auto is_told = [&](const nlohmann::json& event) {
    return event["event"] == "request" && event["id"] == made && event["status"] == 200 && event["path"] == "/healthz";
  };
  const auto events = service.events();
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), is_told)) << nlohmann::json(events);
}

TEST_F(Http, ends_within_two_seconds_and_answers_what_is_under_way) {
  RunningService service(settings);
  HttpClient idle(service.port());
  HttpClient half(service.port());
  half.send("GET /healthz HTT");
  HttpClient asking(service.port());
  asking.send("GET /v1/winners?op=demo HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::uint16_t port = service.port();
  std::this_thread::sleep_for(milliseconds(100));
  const auto began = std::chrono::steady_clock::now();
  service.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - began, under_load(std::chrono::seconds(2)));
  EXPECT_EQ(asking.read().value_or(HttpAnswer{}).status, 200);
  EXPECT_TRUE(idle.is_closed_within(milliseconds(1000)));
  EXPECT_TRUE(half.is_closed_within(milliseconds(1000)));
  // The port is free at once.
  settings.port = port;
  const service::Service again(settings, [](const nlohmann::ordered_json&) {});
  EXPECT_EQ(again.port(), port);
}

}  // namespace
}  // namespace tilewright::testing

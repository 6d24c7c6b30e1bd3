// SPDX-License-Identifier: Apache-2.0
// The service's answers about a cache.
#include "cache/store/store.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/other_program.hpp"
#include "tests/service/fixture.hpp"
#include "tuner/app/place_watch.hpp"

namespace tilewright::testing {
namespace {

using Reading = ServiceTest;

TEST_F(Reading, answers_the_very_bytes_that_the_command_line_prints) {
  use_swept_cache();
  settings.place.ops = {TILEWRIGHT_TEST_OPS};
  const RunningService service(settings);
  const std::vector<std::pair<std::string, std::vector<std::string>>> asked{
      {"/v1/query?op=shift&rows=2&cols=33", {"query", "shift", "rows=2", "cols=33"}},
      {"/v1/query?op=shift&rows=7&cols=30&dtype=f32", {"query", "shift", "rows=7", "cols=30", "dtype=f32"}},
      {"/v1/query?op=shift%7Brows%3D7,cols%3D3%7D&device=sm_90",
       {"query", "shift{rows=7,cols=3}", "--device", "sm_90"}},
      {"/v1/winners?op=shift", {"table", "shift"}},
      {"/v1/winners?op=shift&where=cols%3E1&sort=-cols&top=1&columns=cols,time_ns",
       {"table", "shift", "--where", "cols>1", "--sort", "-cols", "--top", "1", "--columns", "cols,time_ns"}},
      {"/v1/trials?op=shift&mode=cold", {"table", "shift", "--all", "--mode", "cold"}},
      {"/v1/history?op=shift", {"table", "shift", "--history"}},
      {"/v1/ops", {"list", "ops"}},
      {"/v1/devices", {"list", "devices"}},
      {"/v1/sweeps", {"list", "sweeps"}}};
  for (auto [target, words] : asked) {
    words.insert(words.end(), {"--format", "json"});
    const Outcome printed = run_on_ops(words);
    const HttpAnswer answer = service.get(target);
    EXPECT_EQ(answer.status, 200) << target << answer.body;
    EXPECT_EQ(answer.headers.at("content-type"), "application/json");
    EXPECT_EQ(answer.body, printed.out) << target << printed.err;
    EXPECT_GT(answer.body.size(), 20U) << target;
    // Once more, from the kept answer.
    EXPECT_EQ(service.get(target).body, printed.out) << target;
  }
}

TEST_F(Reading, sends_nothing_again_to_who_has_it) {
  const RunningService service(settings);
  const HttpAnswer first = service.get("/v1/query?op=demo&rows=2&cols=64");
  ASSERT_EQ(first.status, 200) << first.body;
  const std::string etag = first.headers.at("etag");
  const HttpAnswer again =
      service.get("/v1/query?op=demo&rows=2&cols=64", "If-None-Match: \"other\", " + etag + "\r\n");
  EXPECT_EQ(again.status, 304);
  EXPECT_TRUE(again.body.empty());
  EXPECT_EQ(again.headers.at("etag"), etag);
  EXPECT_EQ(service.get("/v1/query?op=demo&rows=2&cols=64", "If-None-Match: \"other\"\r\n").status, 200);
}

TEST_F(Reading, answers_anew_once_the_cache_has_changed_or_is_another_file) {
  const RunningService service(settings);
  const std::string asked = "/v1/winners?op=demo&columns=rows";
  EXPECT_EQ(service.get(asked).json()["rows"].size(), 3U);
  fill_demo_cache(cache(), 5);
  EXPECT_EQ(service.get(asked).json()["rows"].size(), 5U);
  const std::string other = (folder / "other.db").string();
  fill_demo_cache(other, 7);
  {
    Store store{std::filesystem::path(other)};
    WholeFile::seal(store);
  }
  std::filesystem::remove(cache() + "-wal");
  std::filesystem::remove(cache() + "-shm");
  std::filesystem::rename(other, cache());
  EXPECT_EQ(service.get(asked).json()["rows"].size(), 7U);
}

TEST_F(Reading, what_is_served_stands_while_a_sweep_stores_trials_and_is_asked_anew_when_it_has_ended) {
  app::PlaceWatch watch(settings.place);
  Store store{std::filesystem::path(cache())};
  const std::int64_t sweep = store.begin_sweep("sweep", demo_device().fingerprint());
  const WinnerRow row = store.list_winners({.op = "demo", .role = WinnerRole::best}).front();
  const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
  Winner winner = store.winners(key, row.mode).front();
  const auto store_trial = [&](const char* chip) {
    winner.trial.gpu_uuid = chip;
    winner.trial.sweep = sweep;
    winner.trial.id = store.put_trial(key, row.implementation_hash, winner.trial);
  };
  store_trial("GPU-1111");
  const std::uint64_t content = watch.state(), winners = watch.winners_state();
  store_trial("GPU-2222");
  EXPECT_NE(watch.state(), content);
  EXPECT_EQ(watch.winners_state(), winners);
  store.put_winners(key, row.mode, {winner});
  const std::uint64_t after = watch.winners_state();
  EXPECT_GT(after, winners);
  store.end_sweep(sweep, "done");
  EXPECT_GT(watch.winners_state(), after);
}

TEST_F(Reading, a_cache_that_could_not_be_read_is_looked_at_again) {
  app::PlaceWatch watch(settings.place);
  const std::uint64_t before = watch.winners_state();
  OtherProgram other(cache());
  other.exec("ALTER TABLE pins RENAME TO hidden");
  for (int i = 0; i < 2; ++i) EXPECT_THROW((void)watch.winners_state(), CacheError) << i;
  app::PlaceWatch later(settings.place);
  for (int i = 0; i < 2; ++i) EXPECT_THROW((void)later.winners_state(), CacheError) << i;
  other.exec("ALTER TABLE hidden RENAME TO pins");
  EXPECT_EQ(watch.winners_state(), before);
}

TEST_F(Reading, head_has_the_header_of_get_and_no_body) {
  const RunningService service(settings);
  const HttpAnswer whole = service.get("/v1/devices");
  HttpClient client(service.port());
  client.send("HEAD /v1/devices HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const auto head = client.read(false);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->status, 200);
  EXPECT_EQ(head->headers.at("content-length"), std::to_string(whole.body.size()));
  EXPECT_EQ(head->headers.at("etag"), whole.headers.at("etag"));
  // The next answer follows on the connection, without a body between.
  client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.read().value_or(HttpAnswer{}).status, 200);
}

TEST_F(Reading, says_of_what_is_asked_wrongly_what_is_right) {
  const RunningService service(settings);
  const std::vector<std::pair<std::string, std::string>> asked{
      {"/v1/query?op=sofmax&rows=1&cols=64", "did you mean 'softmax'"},
      {"/v1/query?op=demo&row=1&cols=64", "did you mean 'rows'"},
      {"/v1/query?op=demo&rows=1", "cols"},
      {"/v1/query?op=demo&rows=0&cols=64", "rows"},
      {"/v1/query?op=demo&rows=1,2&cols=64", "rows"},
      {"/v1/query?op=demo&rows=99999999999999999999&cols=64", "rows"},
      {"/v1/query?op=demo&rows=1&cols=64&device=nobody", "knows no device"},
      {"/v1/query?op=demo&op=demo", "given twice"},
      {"/v1/query", "needs op"},
      {"/v1/query?op=", "op"},
      {"/v1/winners?op=demo&mode=warm", "cold, hot, events"},
      {"/v1/winners?op=demo&top=0", "whole number"},
      {"/v1/winners?op=demo&top=-1", "whole number"},
      {"/v1/winners?op=demo&columns=nothing", "column"},
      {"/v1/winners?op=demo&where=rows%3E", "where"},
      {"/v1/devices?op=demo", "does not take 'op'"},
      {"/v1/query?op=demo%5B%5B%5B&rows=1&cols=2", "demo"}};
  for (const auto& [target, says] : asked) {
    const HttpAnswer answer = service.get(target);
    EXPECT_EQ(answer.status, 400) << target << answer.body;
    EXPECT_EQ(answer.headers.at("content-type"), "application/problem+json") << target;
    const nlohmann::json document = answer.json();
    EXPECT_EQ(document["status"], 400);
    EXPECT_EQ(document["title"], "Bad Request");
    EXPECT_EQ(document["request_id"], answer.headers.at("x-request-id"));
    EXPECT_TRUE(contains(document["detail"], says)) << target << document;
  }
}

TEST_F(Reading, the_page_is_at_the_root_and_its_data_are_the_caches) {
  use_swept_cache();
  const RunningService service(settings);
  const HttpAnswer page = service.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.headers.at("content-type"), "text/html; charset=utf-8");
  EXPECT_EQ(page.headers.at("content-security-policy"), "frame-ancestors 'none'");
  for (const char* file : {"page.css", "page.js", "echarts.js"}) {
    EXPECT_TRUE(contains(page.body, file)) << file;
    EXPECT_EQ(service.get(std::string("/") + file).status, 200) << file;
  }
  const nlohmann::json index = service.get("/v1/page").json();
  EXPECT_EQ(index["ops"], nlohmann::json({"shift"}));
  const std::string of = "?of=" + index["id"].get<std::string>();
  for (const char* block : {"winners", "evidence", "trials"}) {
    const HttpAnswer answer = service.get(std::string("/v1/page/shift.") + block + of);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_GT(answer.body.size(), 50U);
  }
  EXPECT_EQ(service.get("/v1/page/shift.more" + of).status, 404);
  const HttpAnswer older = service.get("/v1/page/shift.winners?of=0123");
  EXPECT_EQ(older.status, 404);
  EXPECT_TRUE(contains(older.body, "the cache has changed")) << older.body;
}

TEST_F(Reading, of_a_cache_that_cannot_be_read_is_told_and_goes_on) {
  std::filesystem::remove(cache());
  const RunningService service(settings);
  EXPECT_EQ(service.get("/healthz").status, 200);
  for (const char* target : {"/readyz", "/v1/query?op=demo&rows=1&cols=64"}) {
    const HttpAnswer answer = service.get(target);
    EXPECT_EQ(answer.status, 503) << target << answer.body;
    EXPECT_EQ(answer.headers.at("retry-after"), "5");
    EXPECT_TRUE(contains(answer.json()["detail"], cache())) << answer.body;
  }
  fill_demo_cache(cache(), 1);
  EXPECT_EQ(service.get("/readyz").status, 200);
  EXPECT_EQ(service.get("/v1/query?op=demo&rows=1&cols=64").status, 200);
}

TEST_F(Reading, the_document_is_that_of_the_docs) {
  const RunningService service(settings);
  EXPECT_EQ(service.get("/openapi.json").body, read_file(TILEWRIGHT_OPENAPI))
      << "docs/openapi.json is what GET /openapi.json answers";
}

TEST_F(Reading, the_document_describes_every_path_and_each_answers_as_it_says) {
  const RunningService service(settings);
  const nlohmann::json document = service.get("/openapi.json").json();
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::set<std::string> ids;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      EXPECT_TRUE(ids.insert(operation["operationId"]).second) << path;
      EXPECT_FALSE(operation["summary"].get<std::string>().empty()) << path;
      if (method != "get" || path.find('{') != std::string::npos || path == "/v1/events") continue;
      std::string target = path;
      for (const auto& parameter : operation["parameters"]) {
        if (parameter.value("required", false)) target += "?op=demo&rows=1&cols=64";
      }
      const HttpAnswer answer = service.get(target);
      EXPECT_EQ(answer.status, 200) << target << answer.body;
      const auto& content = operation["responses"]["200"]["content"];
      EXPECT_TRUE(content.contains(answer.headers.at("content-type"))) << target;
    }
  }
  EXPECT_GE(ids.size(), 9U);
}

}  // namespace
}  // namespace tilewright::testing

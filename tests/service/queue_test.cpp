// SPDX-License-Identifier: Apache-2.0
// Tuning requests: kept, counted once, tuned, cancelled, resumed.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>

#include "cache/store/job_queue.hpp"
#include "cache/store/store.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/other_program.hpp"
#include "tests/service/fixture.hpp"
#include "tests/service/program_service.hpp"
#include "tuner/app/service_queue.hpp"

namespace tilewright::testing {
namespace {

using nlohmann::json;

class Queues : public ServiceTest {
 protected:
  Queues() { settings.place.ops = {TILEWRIGHT_TEST_OPS}; }

  [[nodiscard]] static std::string misses(const std::vector<std::string>& problems, int count = 1) {
    json list = json::array();
    for (const std::string& each : problems) list.push_back({{"problem", each}, {"device", "cpu"}, {"count", count}});
    return json{{"misses", list}}.dump();
  }
  /// A sweep of `shift`, with the hashes that the service reports.
  template <class AnyService>
  [[nodiscard]] static json sweep_of_shift(const AnyService& service, const std::string& shapes) {
    const json ops = service.get("/v1/ops").json();
    for (const json& row : ops["rows"]) {
      if (row["op"] == "shift") return {{"op", "shift"}, {"interface", row["interface_hash"]}, {"shapes", {shapes}}};
    }
    return {};
  }
  [[nodiscard]] std::vector<std::string> on_emulator() const {
    return {"--cache", cache(), "--ops", TILEWRIGHT_TEST_OPS, "--devices", "cpu"};
  }
  template <class AnyService>
  [[nodiscard]] static std::string state_of(const AnyService& service, int id) {
    return service.get(fmt::format("/v1/campaigns/{}", id)).json()["summary"].value("state", "");
  }
  [[nodiscard]] std::unique_ptr<const ProgramService> with_lost_gpus(int count) const {
    const std::map<std::string, std::string> lost{{"TILEWRIGHT_LIBCUDA", TILEWRIGHT_RECORDING_DRIVER},
                                                  {"TILEWRIGHT_RECORDING_DEVICES", std::to_string(count)},
                                                  {"TILEWRIGHT_RECORDING_FAIL", "cuDevicePrimaryCtxRetain:719"}};
    for (const auto& [name, value] : lost) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<std::string> options = on_emulator();
    options.back() = "all";
    auto service = std::make_unique<const ProgramService>(folder, options);
    for (const auto& [name, value] : lost) ::unsetenv(name.c_str());
    return service;
  }
  /// The campaign's state. A report wakes the tuner, which otherwise waits for a lost device.
  [[nodiscard]] static std::string wake_and_see(const ProgramService& service, int id) {
    EXPECT_EQ(service.post("/v1/misses", misses({"shift{rows=1,cols=33}"})).status, 200);
    return state_of(service, id);
  }
};

TEST_F(Queues, misses_sum_up_and_a_request_that_is_repeated_counts_once) {
  const RunningService service(settings);
  const std::string body = misses({"shift{rows=5,cols=33}", "shift[dtype=f32]{rows=6,cols=33}"}, 3);
  const HttpAnswer first = service.post("/v1/misses", body, "Idempotency-Key: a\r\n");
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_EQ(first.json()["accepted"], 2);
  EXPECT_EQ(service.post("/v1/misses", body, "Idempotency-Key: a\r\n").body, first.body);
  const auto asked = [&] { return service.get("/v1/misses").json()["rows"][0]["asked"]; };
  EXPECT_EQ(asked(), 3);
  EXPECT_EQ(service.post("/v1/misses", body, "Idempotency-Key: b\r\n").status, 200);
  EXPECT_EQ(service.post("/v1/misses", body).status, 200);
  EXPECT_EQ(asked(), 9);
  const HttpAnswer other = service.post("/v1/misses", misses({}), "Idempotency-Key: a\r\n");
  EXPECT_EQ(other.status, 422) << other.body;
  EXPECT_EQ(service.post("/v1/misses", body, "Idempotency-Key: " + std::string(300, 'x') + "\r\n").status, 400);
  EXPECT_EQ(service.get("/v1/misses").json()["rows"].size(), 2U);
}

TEST_F(Queues, a_miss_that_is_none_is_refused_by_itself_and_a_document_that_is_none_as_a_whole) {
  const RunningService service(settings);
  const HttpAnswer mixed = service.post(
      "/v1/misses",
      R"({"misses": [{"problem": "shift{rows=5,cols=33}", "device": "cpu"}, {"problem": "nope{rows=1}", "device": "cpu"},
        {"problem": "shift{rows=5}", "device": "cpu"}, {"problem": "shift{rows=0,cols=1}", "device": "cpu"}, 7,
        {"problem": "shift{rows=5,cols=33}", "device": ""}, {"problem": "shift{rows=5,cols=33}", "device": "cpu", "count": 0},
        {"problem": "shift{rows=5,cols=33}"}, {"problem": "shift{rows=5,cols=33}", "device": "cpu", "source": "x"},
        {"problem": "shift{rows=9223372036854775807,cols=9223372036854775807}", "device": "cpu"}]})");
  EXPECT_EQ(mixed.status, 200) << mixed.body;
  EXPECT_EQ(mixed.json()["accepted"], 1);
  EXPECT_EQ(mixed.json()["refused"].size(), 9U) << mixed.body;
  EXPECT_FALSE(contains(mixed.body, "from the cache")) << mixed.body;
  EXPECT_EQ(service.get("/v1/misses").json()["rows"].size(), 1U);
  std::string many = R"({"misses": [)";
  for (int i = 0; i <= 10'000; ++i) many += i == 0 ? "1" : ",1";
  for (const std::string& wrong :
       {std::string(), std::string("{"), std::string("[]"), std::string("{}"), std::string(R"({"misses": {}})"),
        std::string(R"({"misses": [], "more": 1})"), std::string("\xff\xfe"), many + "]}", std::string(100'000, '[')}) {
    const HttpAnswer answer = service.post("/v1/misses", wrong.empty() ? " " : wrong);
    EXPECT_EQ(answer.status, 400) << wrong.substr(0, 50) << answer.body;
  }
  EXPECT_EQ(ask(service.port(), "POST", "/v1/misses", "Content-Type: text/plain\r\n", misses({})).status, 415);
}

TEST_F(Queues, a_service_that_only_reads_takes_nothing) {
  settings.read_only = true;
  const RunningService service(settings);
  for (const char* target : {"/v1/misses", "/v1/campaigns"}) {
    const HttpAnswer answer = service.post(target, misses({"shift{rows=5,cols=33}"}));
    EXPECT_EQ(answer.status, 403) << answer.body;
    EXPECT_TRUE(contains(answer.json()["next"], "--read-only")) << answer.body;
  }
  EXPECT_EQ(ask(service.port(), "DELETE", "/v1/campaigns/1").status, 403);
  EXPECT_EQ(service.get("/v1/misses").json()["rows"].size(), 0U);
  settings.devices = {"cpu"};
  EXPECT_TRUE(contains(error_of([&] { const service::Service made(settings, [](const auto&) {}); }), "--read-only"));
}

TEST_F(Queues, a_campaign_names_the_ops_that_are_here_and_devices_of_the_service) {
  {
    const RunningService service(settings);
    const json campaign{{"sweeps", {sweep_of_shift(service, "rows=2 cols=33")}}};
    const HttpAnswer nowhere = service.post("/v1/campaigns", campaign.dump());
    EXPECT_EQ(nowhere.status, 400);
    EXPECT_TRUE(contains(nowhere.json()["detail"], "--devices")) << nowhere.body;
    EXPECT_EQ(ask(service.port(), "DELETE", "/v1/campaigns/7").status, 404);
    EXPECT_EQ(service.get("/v1/campaigns/x").status, 404);
  }
  const ProgramService service(folder, on_emulator());
  const json good = sweep_of_shift(service, "rows=2 cols=33");
  const auto refused = [&](const json& sweep, const json& more, const std::string& says) {
    json campaign{{"sweeps", {sweep}}};
    if (more.is_object()) campaign.update(more);
    const HttpAnswer answer = service.post("/v1/campaigns", campaign.dump());
    EXPECT_EQ(answer.status, 400) << campaign << answer.body;
    EXPECT_TRUE(contains(answer.body, says)) << answer.body;
  };
  const auto with = [&](const char* name, const json& value) {
    json sweep = good;
    sweep[name] = value;
    return sweep;
  };
  refused(with("interface", std::string(32, '0')), {}, "GET /v1/ops");
  refused(with("implementations", {std::string(32, '0')}), {}, "no implementation");
  refused(with("op", "shft"), {}, "did you mean 'shift'");
  refused(with("op", "../shift"), {}, "no op");
  refused(with("shapes", json::array()), {}, "1 to 1000");
  refused(with("shapes", {"rows=1..100000+1 cols=1..100000+1"}), {}, "at most 10000 problems");
  refused(with("shapes", {"rows=1..20000+1 cols=33"}), {}, "at most 10000 problems");
  refused(with("shapes", {"rows=1..1000+1 cols=1..1000+1"}), {}, "at most 10000 problems");
  refused(with("shapes_file", "/etc/passwd"), {}, "shapes_file");
  refused(with("source", "int main() {}"), {}, "source");
  refused(with("dtype", 7), {}, "dtype");
  refused(with("attributes", {{"act", "tanh"}}), {}, "act");
  refused(good, {{"devices", {"cuda:0"}}}, "no device 'cuda:0'");
  refused(good, {{"budget", "long"}}, "budget");
  for (const json& wrong : {json(101), json(-101), json(1.5), json("high")}) {
    refused(good, {{"priority", wrong}}, "priority");
  }
  EXPECT_EQ(service.get("/v1/campaigns").json()["rows"].size(), 0U);
}

TEST_F(Queues, a_campaign_is_tuned_as_by_sweep_and_is_served_and_told_of) {
  const ProgramService service(folder, on_emulator());
  HttpClient listener(service.port());
  listener.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const json campaign{{"name", "two"}, {"sweeps", {sweep_of_shift(service, "rows=2,3 cols=33")}}};
  const HttpAnswer accepted = service.post("/v1/campaigns", campaign.dump());
  EXPECT_EQ(accepted.status, 202) << accepted.body;
  EXPECT_EQ(accepted.json()["problems"], 2);
  ASSERT_TRUE(comes([&] { return state_of(service, 1) == "done"; }))
      << service.get("/v1/campaigns/1").body << service.log();
  EXPECT_EQ(service.get("/v1/query?op=shift&rows=3&cols=33&device=cpu").json()["rows"][0]["match_fit"], "exact");
  EXPECT_EQ(ask(service.port(), "DELETE", "/v1/campaigns/1").status, 409);
  EXPECT_TRUE(contains(service.get("/v1/sweeps").body, "campaign 1"));
  const std::string told = listener.read_until("\"campaign\":1,\"state\":\"done\"");
  EXPECT_TRUE(contains(told, "event: job_started\n")) << told;
  EXPECT_TRUE(contains(told, "event: trial\n")) << told;
  // The command line has nothing left to measure.
  const json again = json_of({"sweep", "shift", "rows=2,3", "cols=33", "--device", "cpu"});
  EXPECT_EQ(again["summary"]["measured"], 0) << again;
}

TEST_F(Queues, what_is_missed_most_is_tuned_first_and_forgotten_then) {
  const ProgramService service(folder, on_emulator());
  const std::string body = json{{"misses",
                                 {{{"problem", "shift{rows=2,cols=33}"}, {"device", "cpu"}, {"count", 1}},
                                  {{"problem", "shift{rows=4,cols=33}"}, {"device", "cpu"}, {"count", 9}},
                                  {{"problem", "shift{rows=3,cols=33}"}, {"device", "elsewhere"}}}}}
                               .dump();
  HttpClient listener(service.port());
  listener.send("GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(contains(listener.read_until("retry"), "retry"));
  EXPECT_EQ(service.post("/v1/misses", body).json()["accepted"], 3);
  ASSERT_TRUE(comes([&] { return service.get("/v1/misses").json()["rows"].size() == 1; })) << service.log();
  EXPECT_TRUE(contains(service.get("/v1/misses").body, "elsewhere"));
  const std::string told = listener.read_until("rows=2,cols=33}\",\"device");
  EXPECT_LT(told.find("rows=4,cols=33"), told.find("rows=2,cols=33")) << told;
}

TEST_F(Queues, a_campaign_that_matters_more_goes_before_one_that_came_earlier_and_one_below_0_after_misses) {
  {
    // Without devices all jobs wait.
    const RunningService service(settings);
    for (const int priority : {-1, 0, 7}) {
      const json campaign{{"priority", priority},
                          {"sweeps", {sweep_of_shift(service, fmt::format("rows={} cols=33", 10 + priority))}}};
      ASSERT_TRUE(app::submit_campaign(settings.place, app::tuning_devices({"cpu"}), campaign.dump(), {}));
    }
    ASSERT_EQ(service.post("/v1/misses", misses({"shift{rows=4,cols=33}"})).status, 200);
    EXPECT_EQ(service.get("/v1/campaigns").json()["rows"][0]["priority"], 7);
  }
  const ProgramService service(folder, on_emulator());
  ASSERT_TRUE(comes([&] { return state_of(service, 1) == "done"; })) << service.get("/v1/campaigns").body;
  const json sweeps = service.get("/v1/sweeps").json();
  std::vector<std::string> commands;
  for (const json& row : sweeps["rows"]) commands.push_back(row["command"]);
  EXPECT_EQ(commands,
            (std::vector<std::string>{"serve, campaign 1", "serve", "serve, campaign 2", "serve, campaign 3"}))
      << "the latest first";
}

TEST_F(Queues, a_campaign_that_is_cancelled_ends_and_keeps_what_was_measured) {
  const ProgramService service(folder, on_emulator());
  const json campaign{{"sweeps", {sweep_of_shift(service, "rows=1..200+1 cols=33")}}};
  EXPECT_EQ(service.post("/v1/campaigns", campaign.dump()).status, 202);
  ASSERT_TRUE(comes([&] { return service.get("/v1/campaigns/1").json()["summary"].value("done", 0) >= 1; }));
  // Another process's request: nobody wakes the tuner.
  ASSERT_TRUE(app::report_misses(settings.place, misses({"shift{rows=300,cols=33}"}), {}));
  // A job under way is interrupted; between two jobs there would be none.
  ASSERT_TRUE(comes([&] {
    const json rows = service.get("/v1/campaigns/1").json()["rows"];
    return std::ranges::any_of(rows, [](const json& row) { return row["state"] == "running"; });
  }));
  const auto began = std::chrono::steady_clock::now();
  const HttpAnswer cancelled = ask(service.port(), "DELETE", "/v1/campaigns/1");
  EXPECT_EQ(cancelled.status, 200) << cancelled.body;
  EXPECT_EQ(cancelled.json()["summary"]["state"], "cancelled");
  const auto done = cancelled.json()["summary"]["done"].get<int>();
  // The next request starts at once; the cancelled one is dropped.
  ASSERT_TRUE(comes([&] { return service.get("/v1/misses").json()["rows"].empty(); })) << service.log();
  EXPECT_LT(std::chrono::steady_clock::now() - began, under_load(std::chrono::seconds(10)));
  EXPECT_TRUE(contains(service.log(), "cancelled")) << service.log();
  EXPECT_EQ(service.get("/v1/campaigns/1").json()["summary"]["done"], done);
  EXPECT_EQ(service.get("/v1/query?op=shift&rows=1&cols=33&device=cpu").json()["rows"][0]["match_fit"], "exact");
}

TEST_F(Queues, what_was_acknowledged_outlives_kills_and_nothing_is_measured_twice) {
  const char* more = std::getenv("TILEWRIGHT_TEST_KILLS");
  const int kills = more == nullptr ? 4 : std::atoi(more);
  std::set<std::string> acknowledged;
  auto service = std::make_unique<ProgramService>(folder, on_emulator());
  const json campaign{{"sweeps", {sweep_of_shift(*service, fmt::format("rows=1..{}+1 cols=33", 2 * kills))}}};
  ASSERT_EQ(service->post("/v1/campaigns", campaign.dump()).status, 202);
  for (int i = 0; i < kills; ++i) {
    const std::string key = fmt::format("shift[dtype=f32,act=none]{{rows={},cols=40}}", 1 + i % 6);
    if (service->post("/v1/misses", misses({key}), fmt::format("Idempotency-Key: {}\r\n", i)).status == 200) {
      acknowledged.insert(key);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100 + 137 * i % 900));
    EXPECT_EQ(service->end(SIGKILL), 128 + SIGKILL);
    service.reset();
    service = std::make_unique<ProgramService>(folder, on_emulator());
  }
  ASSERT_TRUE(comes([&] { return state_of(*service, 1) == "done"; })) << service->get("/v1/campaigns/1").body;
  ASSERT_TRUE(comes([&] { return service->get("/v1/misses").json()["rows"].empty(); })) << service->log();
  for (const std::string& key : acknowledged) {
    std::string target = "/v1/query?op=";
    for (const char letter : key)
      target += std::isalnum(static_cast<unsigned char>(letter)) != 0 ? std::string(1, letter)
                                                                      : fmt::format("%{:02x}", letter);
    EXPECT_EQ(service->get(target + "&device=cpu").json()["rows"][0]["match_fit"], "exact") << key;
  }
  EXPECT_EQ(service->end(SIGINT), 0);
  OtherProgram database(cache());
  SQLite::Statement twice(database,
                          "SELECT count(*) FROM (SELECT 1 FROM trials WHERE look <> 'final' AND sweep IN (SELECT id "
                          "FROM sweeps) GROUP BY problem, device, config, mode, look HAVING count(*) > 1)");
  ASSERT_TRUE(twice.executeStep());
  EXPECT_EQ(twice.getColumn(0).getInt(), 0);
}

TEST_F(Queues, a_disk_that_fills_is_told_and_what_was_acknowledged_stays) {
  // As on a full disk, writes fail without a signal.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  const ProgramService service(folder, {"--cache", cache(), "--ops", TILEWRIGHT_TEST_OPS});
  std::signal(SIGXFSZ, before);
  std::size_t acknowledged = 0;
  const auto report = [&] {
    const HttpAnswer answer =
        service.post("/v1/misses", misses({fmt::format("shift{{rows={},cols=33}}", 301 + acknowledged)}));
    if (answer.status == 200) ++acknowledged;
    return answer;
  };
  const auto waiting = [&] { return service.get("/v1/misses").json()["rows"].size(); };
  // The log's index of new pages fits into this limit; the log soon does not.
  service.fill_disk(std::size_t{64} << 10);
  HttpAnswer last = report();
  for (int i = 0; i < 100 && last.status == 200; ++i) last = report();
  EXPECT_EQ(last.status, 503) << last.body;
  EXPECT_EQ(last.headers.at("content-type"), "application/problem+json");
  EXPECT_TRUE(contains(last.json()["detail"], cache())) << last.body;
  EXPECT_EQ(waiting(), acknowledged) << "what only reads goes on";
  service.fill_disk(0);
  EXPECT_EQ(report().status, 200);
  EXPECT_EQ(waiting(), acknowledged);
}

TEST_F(Queues, threads_that_answer_give_way_to_the_one_that_tunes) {
  const auto nice_of_threads = [] {
    std::vector<int> all;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
      all.push_back(::getpriority(PRIO_PROCESS, static_cast<id_t>(std::stoi(task.path().filename().string()))));
    }
    return all;
  };
  const std::vector<int> before = nice_of_threads();
  const int own = before.front();
  settings.devices = {"cpu"};
  const RunningService service(settings);
  ASSERT_EQ(service.get("/readyz").status, 200);
  const std::vector<int> threads = nice_of_threads();
  EXPECT_GE(std::ranges::count(threads, own), static_cast<long>(before.size()) + 1) << "the one that tunes";
  EXPECT_GE(std::ranges::count(threads, std::min(own + 10, 19)), 3);
}

TEST_F(Queues, control_c_in_a_campaign_ends_within_two_seconds_and_the_next_goes_on) {
  {
    ProgramService service(folder, on_emulator());
    const json campaign{{"sweeps", {sweep_of_shift(service, "rows=1..6+1 cols=33")}}};
    ASSERT_EQ(service.post("/v1/campaigns", campaign.dump()).status, 202);
    ASSERT_TRUE(comes([&] { return contains(service.log(), "problem_started"); }));
    const auto began = std::chrono::steady_clock::now();
    EXPECT_EQ(service.end(SIGINT), 0) << service.log();
    EXPECT_LT(std::chrono::steady_clock::now() - began, under_load(std::chrono::seconds(2)));
  }
  const ProgramService service(folder, on_emulator());
  ASSERT_TRUE(comes([&] { return state_of(service, 1) == "done"; })) << service.get("/v1/campaigns/1").body;
}

TEST_F(Queues, a_gpu_that_is_lost_in_a_campaign_is_tried_three_times_and_the_service_goes_on) {
  const auto started = with_lost_gpus(1);
  const ProgramService& service = *started;
  const json campaign{{"sweeps", {sweep_of_shift(service, "rows=1 cols=33")}}};
  ASSERT_EQ(service.post("/v1/campaigns", campaign.dump()).status, 202);
  EXPECT_TRUE(comes([&] { return wake_and_see(service, 1) == "failed"; }))
      << service.get("/v1/campaigns/1").body << service.log();
  const json told = service.get("/v1/campaigns/1").json();
  EXPECT_EQ(told["rows"][0]["attempts"], 3) << told;
  EXPECT_TRUE(contains(told["rows"][0]["reason"], "719")) << told;
  EXPECT_EQ(service.get("/readyz").status, 200);
}

TEST_F(Queues, equal_gpus_take_turns_at_a_job_and_one_that_its_campaign_names_has_it_alone) {
  const auto started = with_lost_gpus(2);
  const ProgramService& service = *started;
  int campaigns = 0;
  const auto tries_of = [&](json campaign) {
    const std::string before = service.log();
    campaign["sweeps"] = {sweep_of_shift(service, "rows=1 cols=33")};
    EXPECT_EQ(service.post("/v1/campaigns", campaign.dump()).status, 202);
    ++campaigns;
    EXPECT_TRUE(comes([&] { return wake_and_see(service, campaigns) == "failed"; })) << service.log();
    const auto names = [&] {
      std::vector<std::string> told;
      const std::string log = service.log().substr(before.size()), sign = "the context of ";
      for (std::size_t at = log.find(sign); at != std::string::npos; at = log.find(sign, at + 1)) {
        told.push_back(log.substr(at + sign.size(), 6));
      }
      return told;
    };
    // The cache has a job's end before the log.
    EXPECT_TRUE(comes([&] { return names().size() >= 3; })) << service.log();
    return names();
  };
  EXPECT_EQ(tries_of({}), (std::vector<std::string>{"cuda:0", "cuda:1", "cuda:0"}));
  EXPECT_EQ(tries_of({{"devices", {"cuda:1"}}}), (std::vector<std::string>(3, "cuda:1")));
}

TEST_F(Queues, a_lost_gpu_that_its_campaign_names_rests_before_it_is_tried_again) {
  const auto started = with_lost_gpus(2);
  const ProgramService& service = *started;
  const json campaign{{"sweeps", {sweep_of_shift(service, "rows=1 cols=33")}}, {"devices", {"cuda:1"}}};
  ASSERT_EQ(service.post("/v1/campaigns", campaign.dump()).status, 202);
  ASSERT_TRUE(comes([&] { return contains(service.log(), "the context of cuda:1"); })) << service.log();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  EXPECT_EQ(state_of(service, 1), "running") << service.log();
}

TEST_F(Queues, a_clock_that_is_set_back_repeats_and_holds_up_nothing) {
  const std::string body = misses({"shift{rows=5,cols=33}"}, 3);
  {
    const RunningService service(settings);
    ASSERT_EQ(service.post("/v1/misses", body, "Idempotency-Key: a\r\n").status, 200);
    const json campaign{{"sweeps", {sweep_of_shift(service, "rows=1 cols=33")}}, {"devices", {"cpu"}}};
    ASSERT_TRUE(app::submit_campaign(settings.place, app::tuning_devices({"cpu"}), campaign.dump(), {}));
    // Reported when the clock was decades ahead.
    OtherProgram database(cache());
    database.exec("UPDATE misses SET first_at = 4102444800, last_at = 4102444800");
    database.exec("UPDATE idempotency_keys SET answered_at = 4102444800");
    database.exec("UPDATE campaigns SET submitted_at = 4102444800");
    EXPECT_EQ(service.post("/v1/misses", body, "Idempotency-Key: a\r\n").status, 200);
    EXPECT_EQ(service.get("/v1/misses").json()["rows"][0]["asked"], 3);
  }
  const ProgramService service(folder, on_emulator());
  EXPECT_TRUE(comes([&] { return state_of(service, 1) == "done"; })) << service.get("/v1/campaigns/1").body;
}

TEST_F(Queues, a_cache_that_is_replaced_is_written_and_tuned_from_then_on) {
  const ProgramService service(folder, on_emulator());
  ASSERT_EQ(service.post("/v1/misses", misses({"shift{rows=5,cols=33}"})).status, 200);
  ASSERT_TRUE(comes([&] { return service.get("/v1/misses").json()["rows"].empty(); }));
  const std::string other = (folder / "other.db").string();
  fill_demo_cache(other, 7);
  for (const char* suffix : {"-wal", "-shm"}) std::filesystem::remove(cache() + suffix);
  std::filesystem::rename(other, cache());
  EXPECT_EQ(service.get("/v1/winners?op=demo&columns=rows").json()["rows"].size(), 7U);
  const json campaign{{"sweeps", {sweep_of_shift(service, "rows=1 cols=33")}}};
  const HttpAnswer taken = service.post("/v1/campaigns", campaign.dump());
  ASSERT_EQ(taken.status, 202) << taken.body;
  EXPECT_EQ(taken.json()["id"], 1) << "it has a queue of its own";
  EXPECT_TRUE(comes([&] { return state_of(service, 1) == "done"; })) << service.get("/v1/campaigns/1").body;
  EXPECT_EQ(service.get("/v1/query?op=shift&rows=1&cols=33&device=cpu").json()["rows"][0]["match_fit"], "exact");
}

TEST_F(ServiceTest, a_miss_whose_device_is_lost_counts_its_tries_until_the_service_starts_anew) {
  JobQueue queue(cache());
  const Miss miss{"demo[dtype=f32,act=none]{rows=9,cols=9}", "device", 1, 1, 1};
  const std::vector<std::string> devices{"device"};
  ASSERT_TRUE(queue.once("", "", [&] {
    EXPECT_TRUE(queue.report(miss));
    return JobQueue::Answer{200, ""};
  }));
  for (std::int64_t attempt = 1; attempt <= 3; ++attempt) {
    ASSERT_EQ(queue.misses_to_tune(devices, 9).size(), 1U);
    const Job job = queue.take(miss);
    EXPECT_EQ(job.attempts, attempt);
    queue.finish(job, JobState::queued, "the GPU is lost");
  }
  EXPECT_FALSE(queue.take(devices, -app::kMostPriority)) << "it is no campaign's";
  queue.recover();
  Job job = queue.take(miss);
  EXPECT_EQ(job.attempts, 1);
  queue.finish(job, JobState::queued, "the GPU is lost");
  job = queue.take(miss);
  queue.finish(job, JobState::failed, "the GPU is lost");
  EXPECT_TRUE(queue.misses_to_tune(devices, 9).empty());
}

}  // namespace
}  // namespace tilewright::testing

// SPDX-License-Identifier: Apache-2.0
// The verb `serve`.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"
#include "tests/service/fixture.hpp"
#include "tests/service/program_service.hpp"

namespace tilewright::testing {
namespace {

class ServeVerb : public CliTest {
 protected:
  ServeVerb() { fill_demo_cache(cache(), 1); }
  [[nodiscard]] Outcome serve(std::vector<std::string> options, RunOptions how = {}) const {
    options.insert(options.begin(), {"serve", "--port", "0", "--cache", cache()});
    return run(options, how);
  }
};

TEST_F(ServeVerb, serves_until_control_c_and_tells_systemd) {
  const std::string path = (folder / "notify").string();
  const int told = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(::bind(told, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const Outcome outcome = serve({}, {.environment = {{"NOTIFY_SOCKET", path}}, .interrupt = Interrupt{"ready", {}}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(contains(outcome.out, "Serving http://127.0.0.1:")) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "stopped")) << outcome.err;
  EXPECT_LT(outcome.after_interrupt, under_load(std::chrono::seconds(2)));
  std::string messages;
  std::array<char, 512> block{};
  for (ssize_t n; (n = ::recv(told, block.data(), block.size(), MSG_DONTWAIT)) > 0;) {
    messages.append(block.data(), static_cast<std::size_t>(n)).append("|");
  }
  ::close(told);
  EXPECT_TRUE(messages.starts_with("READY=1\nSTATUS=http://127.0.0.1:")) << messages;
  EXPECT_TRUE(messages.ends_with("|STOPPING=1|")) << messages;
}

TEST_F(ServeVerb, ends_in_time_though_a_request_is_at_work) {
  // A pipe as definition, without a writer: its reader blocks.
  const std::filesystem::path op = folder / "ops" / "slow";
  std::filesystem::create_directories(op);
  ASSERT_EQ(::mkfifo((op / "slow.toml").c_str(), 0600), 0);
  ProgramService service(folder, {"--cache", cache(), "--ops", (folder / "ops").string()});
  const HttpClient client(service.port());
  client.send("GET /v1/ops HTTP/1.1\r\nHost: localhost\r\n\r\n");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(service.end(SIGINT), 0) << service.log();
  EXPECT_LT(std::chrono::steady_clock::now() - began, under_load(std::chrono::seconds(2)));
}

TEST_F(ServeVerb, logs_an_object_a_line_where_that_is_asked_for) {
  const Outcome outcome = serve({"--log-format", "json"}, {.interrupt = Interrupt{"started", {}}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json first = nlohmann::json::parse(outcome.err.substr(0, outcome.err.find('\n')), nullptr, false);
  EXPECT_EQ(first["event"], "started") << outcome.err;
  EXPECT_TRUE(first.contains("time") && first.contains("url")) << first;
}

TEST_F(ServeVerb, makes_tokens_and_prints_each_once) {
  const std::string file = (folder / "tokens.json").string();
  const Outcome made =
      run({"serve", "--tokens", file, "--new-token", "ci", "--scopes", "read,submit", "--expires", "90"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_TRUE(made.out.starts_with("tw_")) << made.out;
  EXPECT_EQ(made.out.size(), 68U);
  const nlohmann::json tokens = nlohmann::json::parse(read_file(file));
  EXPECT_EQ(tokens["tokens"][0]["scopes"], nlohmann::json({"read", "submit"}));
  EXPECT_GT(tokens["tokens"][0]["expires_at"], 1'700'000'000);
  EXPECT_EQ(run({"serve", "--tokens", file, "--new-token", "old", "--expires", "200000000000000"}).code, 0);
  EXPECT_GT(nlohmann::json::parse(read_file(file))["tokens"][1]["expires_at"], tokens["tokens"][0]["expires_at"]);
  EXPECT_EQ(run({"serve", "--new-token", "ci"}).code, 2);
  EXPECT_EQ(run({"serve", "--scopes", "read"}).code, 2);
  EXPECT_EQ(run({"serve", "--tokens", file, "--new-token", "x", "--scopes", "all"}).code, 2);
}

TEST_F(ServeVerb, says_what_is_wrong_before_it_listens) {
  EXPECT_EQ(serve({"--bind", "0.0.0.0"}).code, 2);
  EXPECT_EQ(serve({"--bind", "nowhere"}).code, 2);
  EXPECT_EQ(run({"serve", "--port", "65536"}).code, 2);
  EXPECT_EQ(serve({"--tokens", (folder / "none").string()}).code, 2);
  const RunOptions without{.environment = {{"TILEWRIGHT_LIBCUDA", "/nonexistent/libcuda.so.1"}}};
  const Outcome first_gpu = serve({"--devices", "cuda"}, without);
  EXPECT_NE(first_gpu.code, 0);
  EXPECT_TRUE(contains(first_gpu.err, "cuda:0 cannot be tuned on")) << first_gpu.err;
  const Outcome twice = serve({"--devices", "cuda,cuda:0"}, without);
  EXPECT_EQ(twice.code, 2);
  EXPECT_TRUE(contains(twice.err, "names cuda:0 twice")) << twice.err;
  const Outcome elsewhere = serve({"--bind", "192.0.2.1", "--behind-proxy"});
  EXPECT_EQ(elsewhere.code, 2);
  EXPECT_TRUE(contains(elsewhere.err, "docs/service.md")) << elsewhere.err;
}

TEST_F(ServeVerb, is_found_by_doctor) {
  const auto told = [&] {
    const nlohmann::json document = json_of({"doctor"});
    for (const auto& row : document["rows"]) {
      if (row["part"] == "service") return row["what"].get<std::string>();
    }
    return std::string();
  };
  EXPECT_TRUE(contains(told(), "none serves this cache")) << told();
  service::Settings settings;
  settings.place.cache = cache();
  const RunningService service(settings);
  EXPECT_EQ(told(), "one serves this cache");
}

}  // namespace
}  // namespace tilewright::testing

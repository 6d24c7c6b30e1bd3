// SPDX-License-Identifier: Apache-2.0
// `tilewright key`, `publish` and `promote`, with a service and with a folder.
#include <fmt/format.h>

#include <csignal>
#include <fstream>

#include "cache/store/pack/sha256.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/service/fixture.hpp"
#include "tests/service/program_service.hpp"
#include "tuner/remote/remote_shelf.hpp"

namespace tilewright::testing {
namespace {

class Publishing : public CliTest {
 protected:
  Publishing() {
    fill_demo_cache(cache(), 3);
    EXPECT_EQ(run({"key", key()}).code, 0);
  }
  [[nodiscard]] std::string key() const { return (folder / "key").string(); }
  [[nodiscard]] std::string shelf() const { return (folder / "shelf").string(); }
  [[nodiscard]] Outcome publish(const std::string& to, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"publish", to, "--key", key(), "--cache", cache(), "--format", "json"});
    return run(more);
  }
  [[nodiscard]] Outcome promote(const std::string& at, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"promote", at, "--key", key()});
    return run(more);
  }
  /// Gives the winner of the demo's first row another time, on another chip.
  void measure_again(double median_ns, const char* chip) const {
    Store store{std::filesystem::path(cache())};
    const WinnerRow row = store.list_winners({.op = "demo", .role = WinnerRole::best}).front();
    const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
    Winner winner = store.winners(key, row.mode).front();
    winner.trial.gpu_uuid = chip;
    winner.trial.timing = Timing{median_ns, median_ns * 0.999, median_ns * 1.001, median_ns * 0.99, {}, 10, 2, 100};
    winner.trial.timing->rounds_ns.assign(30, median_ns);
    winner.trial.id = store.put_trial(key, row.implementation_hash, winner.trial);
    store.put_winners(key, row.mode, {winner});
  }
  [[nodiscard]] nlohmann::json channel(const char* name) const {
    return nlohmann::json::parse(read_file(folder / "shelf" / "v1" / "channels" / name))["manifest"];
  }
};

TEST_F(Publishing, a_snapshot_of_the_winners_stands_by_its_hash_and_serves) {
  const Outcome published = publish(shelf());
  ASSERT_EQ(published.code, 0) << published.err;
  const nlohmann::json row = nlohmann::json::parse(published.out)["rows"][0];
  EXPECT_EQ(row["channel"], "candidate");
  EXPECT_EQ(row["sequence"], 1);
  const std::string hash = row["snapshot"].get<std::string>().substr(7);
  const auto file = folder / "shelf" / "v1" / "blobs" / hash;
  EXPECT_EQ(sha256_of(file), hash);
  EXPECT_EQ(row["bytes"], std::filesystem::file_size(file));
  const Store snapshot(file, {.access = StoreAccess::read});
  EXPECT_EQ(WholeFile::digest(snapshot), row["content"]);
  const Outcome asked = run({"query", "demo", "rows=2", "cols=64", "--cache", file.string(), "--format", "json"});
  EXPECT_EQ(nlohmann::json::parse(asked.out)["rows"][0]["match_fit"], "exact") << asked.out << asked.err;
}

TEST_F(Publishing, the_same_content_is_published_once) {
  ASSERT_EQ(publish(shelf()).code, 0);
  const Outcome again = publish(shelf());
  EXPECT_EQ(again.code, 0);
  EXPECT_TRUE(contains(again.err, "nothing was published")) << again.err;
  EXPECT_EQ(channel("candidate")["sequence"], 1);
}

TEST_F(Publishing, a_promotion_writes_its_test_cases_over_no_cache) {
  ASSERT_EQ(publish(shelf()).code, 0);
  const std::string before = read_file(cache());
  const Outcome outcome = promote(shelf(), {"--junit", cache()});
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  EXPECT_TRUE(contains(outcome.err, "is an SQLite database")) << outcome.err;
  EXPECT_EQ(read_file(cache()), before);
  EXPECT_FALSE(std::filesystem::exists(folder / "shelf" / "v1" / "channels" / "stable")) << "nothing was promoted";
}

TEST_F(Publishing, the_first_candidate_becomes_stable_and_the_next_has_to_pass_the_gate) {
  ASSERT_EQ(publish(shelf()).code, 0);
  const Outcome first = promote(shelf());
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(channel("stable")["snapshot"], channel("candidate")["snapshot"]);
  EXPECT_EQ(promote(shelf()).code, 0) << "it is already";
  EXPECT_EQ(channel("stable")["sequence"], 1);
  measure_again(1100, "GPU-2222");
  ASSERT_EQ(publish(shelf()).code, 0);
  EXPECT_EQ(channel("candidate")["sequence"], 2);
  const Outcome undecided = promote(shelf());
  EXPECT_EQ(undecided.code, 3) << undecided.out << undecided.err;
  EXPECT_TRUE(contains(undecided.err, "--accept-undecided")) << undecided.err;
  EXPECT_EQ(channel("stable")["sequence"], 1);
  EXPECT_EQ(promote(shelf(), {"--accept-undecided"}).code, 0);
  EXPECT_EQ(channel("stable")["sequence"], 2);
  EXPECT_EQ(channel("stable")["snapshot"], channel("candidate")["snapshot"]);
  measure_again(1200, "GPU-2222");
  ASSERT_EQ(publish(shelf()).code, 0);
  const Outcome slower = promote(shelf(), {"--accept-undecided", "--junit", (folder / "gate.xml").string()});
  EXPECT_EQ(slower.code, 1) << slower.out << slower.err;
  EXPECT_TRUE(contains(slower.err, "makes problems slower")) << slower.err;
  EXPECT_TRUE(contains(read_file(folder / "gate.xml"), "<failure")) << read_file(folder / "gate.xml");
  EXPECT_EQ(channel("stable")["sequence"], 2);
  EXPECT_EQ(promote(shelf(), {"--fail-if", "slower > 20 %"}).code, 0);
}

TEST_F(Publishing, what_another_has_signed_is_promoted_where_that_key_is_named) {
  ASSERT_EQ(publish(shelf()).code, 0);
  const std::string other = (folder / "other").string();
  ASSERT_EQ(run({"key", other}).code, 0);
  const Outcome refused = run({"promote", shelf(), "--key", other});
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(contains(refused.err, "--publishers")) << refused.err;
  EXPECT_EQ(run({"promote", shelf(), "--key", other, "--publishers", key() + ".pub"}).code, 0);
}

TEST_F(Publishing, a_service_takes_it_with_a_token_and_no_private_key) {
  const std::string tokens = (folder / "tokens.json").string();
  const Outcome made = run({"serve", "--tokens", tokens, "--new-token", "ci", "--scopes", "read,publish"});
  std::ofstream(folder / "token") << made.out;
  const ProgramService service(folder, {"--cache", cache(), "--tokens", tokens, "--publishers", key() + ".pub"});
  const std::string url = fmt::format("http://127.0.0.1:{}", service.port());
  const Outcome without = publish(url);
  EXPECT_EQ(without.code, 1);
  EXPECT_TRUE(contains(without.err, "needs a token")) << without.err;
  const std::vector<std::string> token{"--token-file", (folder / "token").string()};
  const Outcome published = publish(url, token);
  ASSERT_EQ(published.code, 0) << published.err << service.log();
  EXPECT_EQ(promote(url, token).code, 0);
  EXPECT_EQ(service.get("/v1/channels/stable").status, 401);
  const Outcome open_line = publish("http://tuning.example", token);
  EXPECT_EQ(open_line.code, 2);
  EXPECT_TRUE(contains(open_line.err, "a token sent without TLS can be read")) << open_line.err;
}

TEST_F(Publishing, an_upload_whose_bytes_are_all_there_and_were_never_judged_begins_anew) {
  const std::string tokens = (folder / "tokens.json").string();
  std::string token = run({"serve", "--tokens", tokens, "--new-token", "ci", "--scopes", "read,publish"}).out;
  token.erase(token.find_last_not_of('\n') + 1);
  const ProgramService service(
      folder, {"--cache", cache(), "--tokens", tokens, "--channels", shelf(), "--publishers", key() + ".pub"});
  const auto file = folder / "whole", blobs = folder / "shelf" / "v1" / "blobs";
  std::ofstream(file) << "abcdef";
  const std::string hash = sha256_of(file);
  std::filesystem::create_directories(blobs);
  std::ofstream(blobs / (hash + ".part")) << "abcxyz";
  ClientSettings settings;
  settings.token = token;
  open_snapshot_place(fmt::format("http://127.0.0.1:{}", service.port()), settings).place->put_snapshot(file, hash);
  EXPECT_EQ(sha256_of(blobs / hash), hash);
}

TEST_F(Publishing, a_disk_of_the_service_that_fills_is_told_and_what_was_published_stays) {
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  const ProgramService service(folder, {"--cache", cache(), "--channels", shelf(), "--publishers", key() + ".pub"});
  std::signal(SIGXFSZ, before);
  const std::string url = fmt::format("http://127.0.0.1:{}", service.port());
  ASSERT_EQ(publish(url).code, 0);
  ASSERT_EQ(promote(url).code, 0);
  const nlohmann::json stable = channel("stable");
  measure_again(990, "GPU-1111");
  // Too little room for a snapshot, then for a manifest.
  service.fill_disk(100'000);
  const Outcome full = publish(url);
  EXPECT_EQ(full.code, 1);
  EXPECT_TRUE(contains(full.err, "there is no room for it")) << full.err;
  service.fill_disk(0);
  ASSERT_EQ(publish(url).code, 0);
  service.fill_disk(100);
  const Outcome manifest = promote(url, {"--accept-undecided"});
  EXPECT_EQ(manifest.code, 1);
  EXPECT_TRUE(contains(manifest.err, "there is no room for it")) << manifest.err;
  EXPECT_TRUE(contains(service.log(), "status=503")) << service.log();
  EXPECT_FALSE(contains(service.log(), "status=500")) << service.log();
  EXPECT_EQ(channel("stable"), stable);
  service.fill_disk(0);
  EXPECT_EQ(promote(url, {"--accept-undecided"}).code, 0);
  EXPECT_EQ(channel("stable")["snapshot"], channel("candidate")["snapshot"]);
}

TEST_F(Publishing, says_what_is_wrong) {
  EXPECT_EQ(run({"publish", shelf(), "--cache", cache()}).code, 2);
  EXPECT_EQ(run({"publish", shelf(), "--key", key() + ".pub", "--cache", cache()}).code, 2);
  EXPECT_EQ(publish(shelf(), {"--channel", "../x"}).code, 2);
  EXPECT_EQ(publish("ftp://host").code, 2);
  const Outcome away = publish("http://127.0.0.1:1");
  EXPECT_EQ(away.code, 1);
  EXPECT_TRUE(contains(away.err, "127.0.0.1 port 1 cannot be reached")) << away.err;
  const Outcome none = promote(shelf());
  EXPECT_EQ(none.code, 1);
  EXPECT_TRUE(contains(none.err, "tilewright publish")) << none.err;
  EXPECT_EQ(run({"key", key()}).code, 1) << "never over one that is there";
}

}  // namespace
}  // namespace tilewright::testing

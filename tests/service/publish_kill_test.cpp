// SPDX-License-Identifier: Apache-2.0
// kill -9, many times and at any moment, of publish, promote, pull, or their service: no half-written file is served,
// kept files stay valid, misses count once, and the next run of each succeeds.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <thread>

#include "cache/store/miss_file.hpp"
#include "cache/store/pack/sha256.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/service/fixture.hpp"
#include "tests/service/program_service.hpp"
#include "tuner/process/process.hpp"
#include "tuner/snapshot/pulled_folder.hpp"
#include "tuner/snapshot/shelf.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using std::chrono::milliseconds;

class PublishKills : public CliTest {
 protected:
  PublishKills() {
    make_key_pair(folder / "key");
    fill_demo_cache(cache(), 1);
    start_service();
  }
  void start_service() {
    service_.reset();
    const Words words{"--cache", cache(), "--channels", shelf_.title(), "--publishers", (folder / "key.pub").string()};
    service_ = std::make_unique<ProgramService>(folder, words);
  }
  [[nodiscard]] std::string url() const { return fmt::format("http://127.0.0.1:{}", service_->port()); }
  [[nodiscard]] fs::path to() const { return folder / "pulled"; }
  [[nodiscard]] fs::path misses() const { return folder / "misses"; }
  [[nodiscard]] std::string private_key() const { return (folder / "key").string(); }

  /// A command that publishes other content each round.
  [[nodiscard]] Words publish(int round) const {
    const std::string tuned = (folder / fmt::format("tuned{}.db", round % 5)).string();
    if (!fs::exists(tuned)) fill_demo_cache(tuned, static_cast<std::size_t>(2 + round % 5));
    return {"publish", url(), "--key", private_key(), "--cache", tuned};
  }
  [[nodiscard]] Words promote() const { return {"promote", url(), "--key", private_key(), "--accept-undecided"}; }
  [[nodiscard]] Words pull() const {
    return {"pull",           url(), "--to", to().string(), "--publishers", private_key() + ".pub", "--misses",
            misses().string()};
  }
  [[nodiscard]] Words pin() {
    const auto stable = shelf_.manifest("stable");
    return {"pull", url(), "--to", to().string(), "--misses", "off", "--pin", "sha256:" + stable->manifest.snapshot};
  }

  [[nodiscard]] static pid_t start(Words words) {
    words.insert(words.begin(), TILEWRIGHT_PROGRAM);
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    const pid_t process = start_process(words, {nothing, nothing, nothing});
    ::close(nothing);
    return process;
  }
  void require_success(const Words& words) const {
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << words.front() << ": " << outcome.out << outcome.err;
  }

  /// Expects the invariants of the folders.
  void require_whole() {
    for (const auto& each : fs::directory_iterator(folder / "shelf" / "v1" / "blobs")) {
      const std::string name = each.path().filename();
      EXPECT_TRUE(!is_snapshot_hash(name) || sha256_of(each.path()) == name) << "half a snapshot has its name";
    }
    const PublicKeys keys(folder / "key.pub");
    for (const std::string& channel : shelf_.channels()) {
      const SignedManifest now = shelf_.manifest(channel).value();
      EXPECT_TRUE(is_signed(now, keys));
      EXPECT_GE(now.manifest.sequence, sequences_[channel]);
      sequences_[channel] = now.manifest.sequence;
      EXPECT_TRUE(shelf_.snapshot(now.manifest.snapshot)) << channel << " points at what is not there";
    }
    const PulledFolder pulled(to());
    static_cast<void>(pulled.manifest("stable"));
    const auto linked = pulled.linked("stable");
    EXPECT_EQ(fs::is_symlink(pulled.link("stable")), linked.has_value()) << "the link leads nowhere";
    if (!linked) return;
    EXPECT_EQ(sha256_of(pulled.link("stable")), *linked);
    const Store opened(pulled.link("stable"), {.access = StoreAccess::read});
    opened.check();
  }
  [[nodiscard]] int misses_at_service() const {
    int count = 0;
    const nlohmann::json waiting = service_->get("/v1/misses").json();
    for (const auto& row : waiting["rows"]) count += row["asked"].get<int>();
    return count;
  }

  Shelf shelf_{folder / "shelf"};
  std::map<std::string, std::int64_t> sequences_;
  std::unique_ptr<ProgramService> service_;
};

TEST_F(PublishKills, leave_what_is_whole_and_let_the_next_run_succeed) {
  const char* const more = std::getenv("TILEWRIGHT_TEST_KILLS");
  const int kills = more == nullptr ? 16 : std::atoi(more);
  std::mt19937 random(static_cast<unsigned>(kills));
  for (const Words& words : {publish(0), promote(), pull()}) require_success(words);
  for (int round = 1; round <= kills; ++round) {
    // One step of the round is killed; the next ones continue from its state.
    const std::vector<Words> steps{publish(round), promote(), pull(), pin()};
    const std::size_t victim = random() % steps.size();
    const bool is_services = random() % 3 == 0;
    ASSERT_TRUE(MissFile(misses()).append(
        std::vector<Miss>{{"softmax[dtype=f32]{rows=7,cols=9}", demo_device().fingerprint(), 1, 1, 2}}));
    for (std::size_t i = 0; i < victim; ++i) require_success(steps[i]);
    const pid_t process = start(steps[victim]);
    // Most steps take less.
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 150'000));
    if (is_services) {
      EXPECT_EQ(service_->end(SIGKILL), 128 + SIGKILL);
    } else {
      ::kill(process, SIGKILL);
    }
    static_cast<void>(wait_for_process(process));
    require_whole();
    if (is_services) start_service();
    for (const Words& words : {publish(round), promote(), pull(), pin()}) require_success(words);
    require_whole();
    EXPECT_EQ(PulledFolder(to()).linked("stable"), shelf_.manifest("stable")->manifest.snapshot);
    EXPECT_EQ(misses_at_service(), round);
    if (HasFailure()) FAIL() << "in round " << round << " after " << steps[victim].front() << service_->log();
  }
  const std::vector<fs::path> places{folder / "shelf" / "v1" / "blobs", folder / "shelf" / "v1" / "channels", to()};
  for (const fs::path& place : places) std::ofstream(place / "stable.12.new") << "left by a kill";
  for (const Words& words : {publish(kills + 1), promote(), pull()}) require_success(words);
  for (const fs::path& place : places) {
    for (const auto& each : fs::directory_iterator(place)) EXPECT_NE(each.path().extension(), ".new") << each.path();
  }
}

}  // namespace
}  // namespace tilewright::testing

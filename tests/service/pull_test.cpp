// SPDX-License-Identifier: Apache-2.0
// `tilewright pull`, from a folder and from a service.
#include <fmt/format.h>

#include <atomic>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include "cache/base/clock.hpp"
#include "cache/store/miss_file.hpp"
#include "cache/store/pack/sha256.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/service/fixture.hpp"
#include "tests/service/program_service.hpp"
#include "tuner/app/pull.hpp"
#include "tuner/remote/unreachable.hpp"
#include "tuner/snapshot/files.hpp"
#include "tuner/snapshot/shelf.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

class Pulling : public CliTest {
 protected:
  Pulling() {
    make_key_pair(folder / "key");
    publish(3);
  }
  /// Publishes a cache of `problems` problems as stable; returns its hash.
  std::string publish(std::size_t problems) {
    const fs::path file = folder / "snapshot.db";
    fs::remove(file);
    fill_demo_cache(file.string(), problems);
    {
      Store store(file);
      WholeFile::seal(store);
    }
    return publish_file(file);
  }
  std::string publish_file(const fs::path& file, const std::function<void(Manifest&)>& change = {}) {
    Manifest manifest{"stable",
                      ++sequence_,
                      sha256_of(file),
                      static_cast<std::int64_t>(fs::file_size(file)),
                      std::string(32, 'b'),
                      7,
                      "0.1.0",
                      now_seconds() - 7260};
    if (change) change(manifest);
    shelf_.put_snapshot(file, sha256_of(file));
    shelf_.put_manifest(sign(manifest, PrivateKey(folder / "key")));
    return manifest.snapshot;
  }
  [[nodiscard]] Outcome pull(const std::string& from, std::vector<std::string> more = {}, RunOptions how = {}) const {
    more.insert(more.begin(), {"pull", from, "--to", to().string()});
    const bool is_pinned = std::ranges::find(more, "--pin") != more.end();
    if (!is_pinned) more.insert(more.end(), {"--publishers", (folder / "key.pub").string()});
    if (std::ranges::find(more, "--misses") == more.end()) more.insert(more.end(), {"--misses", "off"});
    return run(more, how);
  }
  [[nodiscard]] Outcome pull() const { return pull(shelf_.title()); }
  [[nodiscard]] fs::path to() const { return folder / "pulled"; }
  /// The hash that the link leads to.
  [[nodiscard]] std::string linked() const { return PulledFolder(to()).linked("stable").value_or("nothing"); }
  [[nodiscard]] fs::path blob(const std::string& hash) const { return folder / "shelf" / "v1" / "blobs" / hash; }

  Shelf shelf_{folder / "shelf"};
  std::int64_t sequence_ = 0;
};

TEST_F(Pulling, puts_what_the_channel_points_at_where_applications_open_it) {
  const Outcome first = pull();
  ASSERT_EQ(first.code, 0) << first.err;
  EXPECT_EQ(sha256_of(to() / "stable.db"), linked());
  const Outcome asked = run({"query", "demo", "rows=2", "cols=64", "--cache", (to() / "stable.db").string()});
  EXPECT_TRUE(contains(asked.out, "exact")) << asked.out << asked.err;
  const Outcome again = pull(shelf_.title(), {"--format", "json"});
  EXPECT_EQ(nlohmann::json::parse(again.out)["rows"][0]["outcome"], "current") << again.out;
  const std::string next = publish(4);
  EXPECT_EQ(pull().code, 0);
  EXPECT_EQ(linked(), next);
}

TEST_F(Pulling, takes_nothing_older_than_what_was_here) {
  const std::string old = read_file(folder / "shelf" / "v1" / "channels" / "stable");
  const std::string next = publish(4);
  ASSERT_EQ(pull().code, 0);
  std::ofstream(folder / "shelf" / "v1" / "channels" / "stable") << old;
  const Outcome replayed = pull();
  EXPECT_EQ(replayed.code, 1);
  EXPECT_TRUE(contains(replayed.err, "which is not newer than")) << replayed.err;
  EXPECT_EQ(linked(), next);
  // Nor another manifest with the same number.
  sequence_ = 1;
  fs::remove(folder / "shelf" / "v1" / "channels" / "stable");
  publish(5);
  EXPECT_EQ(pull().code, 1);
  EXPECT_EQ(linked(), next);
  std::ofstream(to() / "stable.json") << "{";
  const Outcome damaged = pull();
  EXPECT_EQ(damaged.code, 1);
  EXPECT_TRUE(contains(damaged.err, "Move it away")) << damaged.err;
}

TEST_F(Pulling, takes_nothing_that_is_signed_by_others_or_has_other_bytes) {
  const std::string first = linked();
  ASSERT_EQ(pull().code, 0);
  const std::string good = linked();
  make_key_pair(folder / "other");
  const Outcome other =
      run({"pull", shelf_.title(), "--to", to().string(), "--publishers", (folder / "other.pub").string()});
  EXPECT_EQ(other.code, 1);
  EXPECT_TRUE(contains(other.err, "signed by none of the keys in")) << other.err;
  const std::string next = publish(4);
  const auto size = fs::file_size(blob(next));
  {
    std::fstream file(blob(next), std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(5000);
    file.put('x');
  }
  const Outcome changed = pull();
  EXPECT_EQ(changed.code, 1);
  EXPECT_TRUE(contains(changed.err, "has another hash")) << changed.err;
  fs::resize_file(blob(next), size + 1);
  EXPECT_TRUE(contains(pull().err, "longer than its manifest says"));
  fs::resize_file(blob(next), size / 2);
  EXPECT_TRUE(contains(pull().err, "has another hash"));
  EXPECT_EQ(linked(), good);
}

TEST_F(Pulling, takes_nothing_that_this_program_cannot_read) {
  ASSERT_EQ(pull().code, 0);
  const std::string good = linked();
  publish_file(folder / "snapshot.db", [](Manifest& manifest) { manifest.schema = 8; });
  const Outcome newer = pull();
  EXPECT_EQ(newer.code, 1);
  EXPECT_TRUE(contains(newer.err, "Use a newer Tilewright")) << newer.err;
  std::ofstream(folder / "text") << "no cache";
  publish_file(folder / "text");
  const Outcome text = pull();
  EXPECT_EQ(text.code, 1);
  EXPECT_FALSE(contains(text.err, "hash")) << text.err;
  EXPECT_EQ(linked(), good);
}

TEST_F(Pulling, a_pin_is_one_snapshot_and_needs_no_key) {
  const std::string hash = sha256_of(folder / "snapshot.db");
  publish(4);
  const Outcome pinned = pull(shelf_.title(), {"--pin", "sha256:" + hash, "--format", "json"});
  ASSERT_EQ(pinned.code, 0) << pinned.err;
  const std::string file = nlohmann::json::parse(pinned.out)["rows"][0]["file"];
  EXPECT_EQ(file, (to() / "snapshots" / (hash + ".db")).string());
  EXPECT_EQ(sha256_of(file), hash);
  EXPECT_EQ(linked(), "nothing");
  EXPECT_EQ(pull("http://127.0.0.1:1", {"--pin", "sha256:" + hash}).code, 0) << "it is here";
  EXPECT_EQ(pull(shelf_.title(), {"--pin", "sha256:" + std::string(64, 'a')}).code, 1);
  EXPECT_EQ(pull(shelf_.title(), {"--pin", hash}).code, 2);
  EXPECT_EQ(run({"pull", shelf_.title(), "--to", to().string()}).code, 2) << "neither a key nor a pin";
}

TEST_F(Pulling, nothing_but_its_own_link_is_written_over) {
  fs::create_directories(to());
  std::ofstream(to() / "stable.db") << "mine";
  const Outcome refused = pull();
  EXPECT_EQ(refused.code, 1);
  EXPECT_TRUE(contains(refused.err, "is not a link")) << refused.err;
  EXPECT_EQ(read_file(to() / "stable.db"), "mine");
}

TEST_F(Pulling, a_disk_that_fills_leaves_what_was_there) {
  ASSERT_EQ(pull().code, 0);
  const std::string good = linked();
  const std::string next = publish(4);
  const ProgramService service(folder, {"--cache", cache(), "--channels", shelf_.title()});
  const std::string url = fmt::format("http://127.0.0.1:{}", service.port());
  for (const std::string& from : {shelf_.title(), url}) {
    const Outcome full = pull(from, {}, {.most_file_bytes = 100'000});
    EXPECT_EQ(full.code, 1) << from;
    EXPECT_TRUE(contains(full.err, "there is no room for it")) << full.err;
    EXPECT_EQ(linked(), good);
    EXPECT_FALSE(fs::exists(to() / "snapshots" / (next + ".part"))) << "it would keep the disk full";
  }
  EXPECT_EQ(pull(url).code, 0);
  EXPECT_EQ(linked(), next);
}

TEST_F(Pulling, goes_on_where_it_was_interrupted) {
  const std::string hash = sha256_of(folder / "snapshot.db");
  const ProgramService service(folder, {"--cache", cache(), "--channels", shelf_.title()});
  const std::string url = fmt::format("http://127.0.0.1:{}", service.port());
  const fs::path part = to() / "snapshots" / (hash + ".part");
  fs::create_directories(part.parent_path());
  fs::copy_file(folder / "snapshot.db", part);
  fs::resize_file(part, 100'000);
  ASSERT_EQ(pull(url).code, 0);
  EXPECT_EQ(linked(), hash);
  EXPECT_TRUE(contains(service.log(), "status=206")) << service.log();
  // A part with other content is discarded, then the whole is fetched.
  const std::string next = publish(4);
  std::ofstream(to() / "snapshots" / (next + ".part")) << "something else";
  EXPECT_EQ(pull(url).code, 1);
  EXPECT_EQ(linked(), hash);
  EXPECT_EQ(pull(url).code, 0);
  EXPECT_EQ(linked(), next);
}

TEST_F(Pulling, where_nobody_answers_what_is_there_stays_and_its_age_is_told) {
  const Outcome nothing = pull("http://127.0.0.1:1");
  EXPECT_EQ(nothing.code, 1);
  EXPECT_TRUE(contains(nothing.err, "cannot be reached")) << nothing.err;
  ASSERT_EQ(pull().code, 0);
  const Outcome away = pull("http://127.0.0.1:1");
  EXPECT_EQ(away.code, 3);
  EXPECT_TRUE(contains(away.out, "it was signed 2 hours ago")) << away.out;
  EXPECT_NE(linked(), "nothing");
}

TEST_F(Pulling, clocks_play_no_part) {
  // From a publisher whose clock is a day ahead, then from one whose clock has stopped.
  publish_file(folder / "snapshot.db", [](Manifest& manifest) { manifest.signed_at = now_seconds() + 86'400; });
  ASSERT_EQ(pull().code, 0);
  EXPECT_TRUE(contains(pull("http://127.0.0.1:1").out, "it was signed 0 s ago"));
  fs::remove(folder / "snapshot.db");
  fill_demo_cache((folder / "snapshot.db").string(), 5);
  {
    Store store(folder / "snapshot.db");
    WholeFile::seal(store);
  }
  const std::string next = publish_file(folder / "snapshot.db", [](Manifest& manifest) { manifest.signed_at = 0; });
  EXPECT_EQ(pull().code, 0);
  EXPECT_EQ(linked(), next);
}

TEST_F(Pulling, missed_shapes_are_sent_once_and_wait_where_they_are_not_taken) {
  fill_demo_cache(cache(), 1);
  const fs::path misses = folder / "misses";
  const std::string device = demo_device().fingerprint();
  ASSERT_TRUE(MissFile(misses).append(std::vector<Miss>{{"softmax[dtype=f32]{rows=7,cols=9}", device, 3, 1, 2}}));
  {
    const ProgramService reader(folder, {"--cache", cache(), "--channels", shelf_.title(), "--read-only"});
    const Outcome kept = pull(fmt::format("http://127.0.0.1:{}", reader.port()), {"--misses", misses.string()});
    EXPECT_EQ(kept.code, 0) << kept.err;
    EXPECT_TRUE(contains(kept.out, "Misses could not be sent, and wait: this service is read-only")) << kept.out;
  }
  ASSERT_TRUE(MissFile(misses).append(std::vector<Miss>{{"softmax[dtype=f32]{rows=8,cols=9}", device, 1, 1, 2},
                                                        {"unheard[dtype=f32]{rows=8}", device, 1, 1, 2}}));
  const ProgramService service(folder, {"--cache", cache(), "--channels", shelf_.title()});
  const std::string url = fmt::format("http://127.0.0.1:{}", service.port());
  const auto asked = [&] {
    std::map<std::string, int> counts;
    const nlohmann::json misses_now = service.get("/v1/misses").json();
    for (const auto& row : misses_now["rows"]) counts[row["problem"]] = row["asked"];
    return counts;
  };
  const std::string first = "softmax[dtype=f32,pitch=dense]{rows=7,cols=9}",
                    second = "softmax[dtype=f32,pitch=dense]{rows=8,cols=9}";
  const Outcome sent = pull(url, {"--misses", misses.string()});
  EXPECT_EQ(sent.code, 0) << sent.err;
  EXPECT_EQ(asked(), (std::map<std::string, int>{{first, 3}})) << "those that waited" << sent.out << service.log();
  const Outcome more = pull(url, {"--misses", misses.string()});
  EXPECT_TRUE(contains(more.out, "The service does not take 1 missed shape: ")) << more.out;
  EXPECT_TRUE(contains(more.err + more.out, "unheard")) << more.out;
  EXPECT_EQ(asked(), (std::map<std::string, int>{{first, 3}, {second, 1}}));
  EXPECT_EQ(pull(url, {"--misses", misses.string()}).code, 0);
  EXPECT_EQ(asked(), (std::map<std::string, int>{{first, 3}, {second, 1}}));
  EXPECT_FALSE(fs::exists(misses));
}

TEST_F(Pulling, doctor_tells_what_is_here_how_old_and_why_pulls_fail) {
  std::filesystem::permissions(folder, fs::perms::owner_all);
  const auto told = [&](const std::string& name, const std::string& pin = "") {
    const Outcome outcome =
        run({"doctor", "--format", "json"}, {.environment = {{"TILEWRIGHT_PULLED", to().string()},
                                                             {"TILEWRIGHT_CACHE", (to() / "stable.db").string()},
                                                             {"TILEWRIGHT_SNAPSHOT", pin}}});
    const nlohmann::json findings = nlohmann::json::parse(outcome.out);
    for (const auto& row : findings["rows"]) {
      if (row["part"] == name) return row;
    }
    return nlohmann::json();
  };
  EXPECT_TRUE(told("pulled stable").is_null()) << "nothing was pulled";
  EXPECT_EQ(pull("http://127.0.0.1:1").code, 1);
  EXPECT_TRUE(contains(told("pulled stable")["wrong"], "Pulls have failed for ")) << told("pulled stable");
  ASSERT_EQ(pull().code, 0);
  EXPECT_EQ(told("pulled stable")["wrong"], "");
  EXPECT_EQ(told("pulled stable")["what"],
            fmt::format("sha256:{}…, number 1, signed 2 hours ago", linked().substr(0, 12)));
  EXPECT_EQ(told("pulled stable")["where"], (to() / "stable.db").string());
  EXPECT_EQ(pull("http://127.0.0.1:1").code, 3);
  EXPECT_TRUE(contains(told("pulled stable")["wrong"], "cannot be reached")) << told("pulled stable");
  EXPECT_TRUE(contains(told("pulled stable")["type"], "tilewright pull URL --channel stable"));
  const std::string hash = linked();
  EXPECT_EQ(told("pinned snapshot", "sha256:" + hash)["where"], (to() / "snapshots" / (hash + ".db")).string());
  const std::string absent = "sha256:" + std::string(64, 'a');
  EXPECT_TRUE(contains(told("pinned snapshot", absent)["type"], "tilewright pull URL --pin " + absent));
  EXPECT_EQ(told("pinned snapshot", hash)["type"], "unset TILEWRIGHT_SNAPSHOT");
  const fs::path file = to() / "snapshots" / (hash + ".db");
  fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
  std::ofstream(file, std::ios::app) << "x";
  EXPECT_EQ(told("pulled stable")["type"], "rm " + file.string());
  fs::remove(file);
  EXPECT_EQ(told("pulled stable")["found"], false);
}

TEST_F(Pulling, goes_on_until_control_c) {
  const Outcome outcome = pull(shelf_.title(), {"--every", "100ms"}, {.interrupt = Interrupt{"number 1", {}}});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(outcome.after_interrupt, under_load(std::chrono::seconds(1)));
  EXPECT_EQ(pull(shelf_.title(), {"--every", "soon"}).code, 2);
}

TEST_F(Pulling, an_interrupted_pull_is_no_failed_one) {
  ASSERT_EQ(pull().code, 0);
  const ProgramService service(folder, {"--cache", cache(), "--channels", shelf_.title()});
  app::PullRequest request{.from = {.name = fmt::format("http://127.0.0.1:{}", service.port())},
                           .folder = to(),
                           .publishers = folder / "key.pub"};
  request.from.cancelled = [] { return true; };
  app::Puller puller(request);
  EXPECT_THROW(static_cast<void>(puller.pull()), Interrupted);
  EXPECT_FALSE(fs::exists(to() / "stable.failed"));
}

TEST_F(Pulling, one_process_at_a_time_pulls_into_a_folder_and_others_wait) {
  std::atomic<bool> cancelled = false;
  app::PullRequest request{.from = {.name = shelf_.title()}, .folder = to(), .publishers = folder / "key.pub"};
  request.from.cancelled = [&] { return cancelled.load(); };
  app::Puller puller(request);
  auto other = std::make_unique<FolderLock>(to());
  auto waiting = std::async(std::launch::async, [&] { return error_of([&] { static_cast<void>(puller.pull()); }); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  cancelled = true;
  EXPECT_TRUE(contains(waiting.get(), "another process works in"));
  cancelled = false;
  waiting = std::async(std::launch::async, [&] { return error_of([&] { static_cast<void>(puller.pull()); }); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  other.reset();
  EXPECT_EQ(waiting.get(), "");
  EXPECT_NE(linked(), "nothing");
}

TEST_F(Pulling, beside_one_that_goes_on_a_snapshot_can_be_pinned) {
  const std::string hash = sha256_of(folder / "snapshot.db");
  std::thread going_on([&] {
    const Outcome outcome = pull(shelf_.title(), {"--every", "100ms"}, {.interrupt = Interrupt{"number 2", {}}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
  });
  EXPECT_TRUE(comes([&] { return linked() == hash; }));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(pull(shelf_.title(), {"--pin", "sha256:" + hash}).code, 0);
  publish(4);
  going_on.join();
}

TEST_F(Pulling, the_newest_stay_and_what_is_open) {
  const PulledFolder pulled(to());
  fs::create_directories(to() / "snapshots");
  const auto hash = [](int i) { return fmt::format("{:064x}", i); };
  for (int i = 0; i < 6; ++i) {
    std::ofstream(pulled.snapshot(hash(i))) << i;
    fs::last_write_time(pulled.snapshot(hash(i)), fs::file_time_type::clock::now() - std::chrono::minutes(i));
  }
  pulled.point("stable", hash(5));
  const std::ifstream open(pulled.snapshot(hash(4)));
  pulled.forget_old(2);
  for (const int kept : {0, 1, 4, 5}) EXPECT_TRUE(fs::exists(pulled.snapshot(hash(kept)))) << kept;
  for (const int gone : {2, 3}) EXPECT_FALSE(fs::exists(pulled.snapshot(hash(gone)))) << gone;
}

TEST(NextPull, comes_at_no_fixed_time_and_later_after_failures) {
  using std::chrono::milliseconds;
  EXPECT_EQ(app::next_pull(milliseconds(30'000), 0, 0), milliseconds(27'000));
  EXPECT_EQ(app::next_pull(milliseconds(30'000), 0, 1), milliseconds(33'000));
  EXPECT_EQ(app::next_pull(milliseconds(30'000), 1, 0), milliseconds(30'000));
  EXPECT_EQ(app::next_pull(milliseconds(30'000), 1, 1), milliseconds(60'000));
  EXPECT_EQ(app::next_pull(milliseconds(30'000), 100, 1), milliseconds(3'600'000));
  EXPECT_EQ(app::next_pull(std::chrono::hours(5), 3, 1), std::chrono::hours(5));
}

}  // namespace
}  // namespace tilewright::testing

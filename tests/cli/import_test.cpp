// SPDX-License-Identifier: Apache-2.0
#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "cache/store/pack/pack.hpp"
#include "cache/store/pack/sha256.hpp"
#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/predict/hand_made_model.hpp"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

class ImportVerb : public CliTest {
 protected:
  /// Runs with the test's cache.
  [[nodiscard]] Outcome run_here(std::vector<std::string> words) const {
    words.insert(words.end(), {"--cache", cache()});
    return run(words);
  }
  [[nodiscard]] nlohmann::json json_here(std::vector<std::string> words) const {
    words.insert(words.end(), {"--format", "json"});
    const Outcome outcome = run_here(std::move(words));
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out, nullptr, false);
  }
  ImportVerb() { fill_demo_cache(file(), 4); }
  /// Adds a learned model to a cache of the demo.
  static void learn(const std::string& path, std::size_t shapes) {
    Store store{fs::path(path)};
    const WinnerRow row = store.list_winners({.role = WinnerRole::best}).at(0);
    store.put_loss_model({row.problem, row.interface_hash, row.device.fingerprint()}, row.mode,
                         test::model_of({{row.implementation_hash}, {"vec"}, 2}, {.feature = 1, .cut = 2}, {}, shapes));
  }
  static std::size_t learned_from(const std::string& path) {
    const Store store(path, {.access = StoreAccess::read});
    const WinnerRow row = store.list_winners({.role = WinnerRole::best}).at(0);
    const auto learned = store.learned({row.problem, row.interface_hash, row.device.fingerprint()}, row.mode);
    return learned ? learned->model->shapes() : 0;
  }
  [[nodiscard]] std::string file() const { return (folder / "other.db").string(); }
  [[nodiscard]] Store::Counts counts() const { return Store(cache(), {.access = StoreAccess::read}).counts(); }
  static std::string bytes_of(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

TEST_F(ImportVerb, makes_a_cache_and_tells_what_came) {
  const auto json = json_here({"import", file()});
  EXPECT_EQ(json["rows"][0]["op"], "demo");
  EXPECT_EQ(json["rows"][0]["added"], 4);
  EXPECT_EQ(json["rows"][0]["replaced"], 0);
  EXPECT_EQ(json_of({"query", "demo", "rows=2", "cols=64"})["rows"][0]["match_fit"], "exact");
}

TEST_F(ImportVerb, a_second_time_changes_nothing) {
  (void)json_here({"import", file()});
  const Store::Counts before = counts();
  const auto json = json_here({"import", file()});
  EXPECT_EQ(json["rows"][0]["same"], 4);
  EXPECT_EQ(json["rows"][0]["added"], 0);
  EXPECT_EQ(counts().trials, before.trials);
  EXPECT_EQ(counts().winners, before.winners);
}

TEST_F(ImportVerb, merges_several_files_and_tells_conflicts) {
  const std::string third = (folder / "third.db").string();
  fill_demo_cache(third, 6);
  {
    Store store{fs::path(third)};
    const OpInterface interface = demo_interface();
    const Store::WinnerRow row =
        store.list_winners({.op = "demo", .fingerprint = {}, .mode = {}, .role = WinnerRole::best}).at(0);
    Trial better = row.winner.trial;
    better.config = Config::parse("plain{vec=8}");
    better.timing->rounds_ns.assign(20, better.timing->median_ns);
    const ProblemKey key{row.problem, interface.hash(), row.device.fingerprint()};
    Winner winner = row.winner;
    winner.trial.id = store.put_trial(key, row.implementation_hash, better);
    store.put_winners(key, MeasureMode::cold, {winner});
  }
  const auto conflicts = json_here({"import", file(), third, "--conflicts"});
  ASSERT_EQ(conflicts["rows"].size(), 1U);
  EXPECT_EQ(conflicts["rows"][0]["problem"], "demo[dtype=f32,act=none]{rows=1,cols=64}");
  EXPECT_EQ(conflicts["rows"][0]["there"], "plain{vec=8}");
  EXPECT_TRUE(contains(conflicts["rows"][0]["there_evidence"], "20 rounds"));
  EXPECT_EQ(conflicts["rows"][0]["taken"], "there");
  // The other way round: the target has the better evidence and stays.
  const Outcome again = run_here({"import", file()});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(contains(again.err, "plain{vec=8} (")) << again.err;
  EXPECT_TRUE(contains(again.out, "kept")) << again.out;
}

TEST_F(ImportVerb, brings_what_was_learned_of_more_shapes) {
  learn(file(), 20);
  (void)json_here({"import", file()});
  EXPECT_EQ(learned_from(cache()), 20U);
  learn(cache(), 30);
  (void)json_here({"import", file()});
  EXPECT_EQ(learned_from(cache()), 30U) << "its own is of more";
  learn(file(), 31);
  const auto json = json_here({"import", file()});
  EXPECT_EQ(json["rows"][0]["same"], 4) << "of the winners none is new";
  EXPECT_EQ(learned_from(cache()), 31U);
  // Exported again.
  const std::string out = (folder / "out.db").string();
  EXPECT_EQ(run_here({"export", "-o", out}).code, 0);
  EXPECT_EQ(learned_from(out), 31U);
}

TEST_F(ImportVerb, takes_a_file_of_a_schema_that_knew_of_no_models) {
  const std::string older = (folder / "older.db").string();
  make_older_cache(file(), older, 5);
  learn(file(), 20);
  (void)json_here({"import", file()});
  const auto json = json_here({"import", older});
  EXPECT_EQ(json["rows"][0]["same"], 4);
  EXPECT_EQ(learned_from(cache()), 20U);
}

TEST_F(ImportVerb, of_several_files_brings_none_where_one_is_missing) {
  const Outcome outcome = run_here({"import", file(), (folder / "absent.db").string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(ImportVerb, takes_an_export_of_what_was_really_swept) {
  use_swept_cache();
  const std::string out = (folder / "shift.db").string();
  EXPECT_EQ(run_here({"export", "-o", out, "shift"}).code, 0);
  fs::remove(cache());
  fs::remove(cache() + "-wal");
  fs::remove(cache() + "-shm");
  const auto json = json_here({"import", out});
  EXPECT_EQ(json["rows"][0]["device"], "cpu");
  EXPECT_GE(counts().binaries, 1);
  EXPECT_EQ(json_of({"table", "shift"})["rows"][0]["match"], "exact, fresh, same device");
}

TEST_F(ImportVerb, reads_a_cache_that_is_packed) {
  use_swept_cache();
  const std::string out = (folder / "shift.db").string();
  EXPECT_EQ(run_here({"export", "-o", out, "shift"}).code, 0);
  const std::string whole = bytes_of(out);
  std::string frame(ZSTD_compressBound(whole.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), whole.data(), whole.size(), 3));
  std::ofstream(out + ".zst", std::ios::binary) << frame;
  const std::string into = (folder / "into.db").string();
  EXPECT_EQ(run({"import", out + ".zst", "--cache", into}).code, 0);
  const Store imported(into, {.access = StoreAccess::read});
  imported.check();
  EXPECT_EQ(imported.counts().binary_bytes, Store(out, {.access = StoreAccess::read}).counts().binary_bytes);
}

TEST_F(ImportVerb, takes_the_winners_that_are_shipped) {
  const fs::path shipped =
      fs::path(TILEWRIGHT_PROGRAM).parent_path().parent_path() / "share/tilewright/kernels/winners/nvidia-h200";
  std::uintmax_t bytes = 0;
  for (const auto& pack : fs::directory_iterator(shipped)) {
    EXPECT_LE(pack.file_size(), kMostPackBytes) << pack.path();
    EXPECT_TRUE(pack.path().stem().string().ends_with(sha256_of(pack.path()))) << pack.path();
    bytes += pack.file_size();
  }
  EXPECT_LT(bytes, 182'000'000U);
  const Store folded(TILEWRIGHT_SHIPPED_WINNERS, {.access = StoreAccess::read});
  EXPECT_LT(fs::file_size(folded.path()), 485'000'000U);
  const auto json = json_here({"import", shipped.string()});
  EXPECT_GE(json["rows"].size(), 13U);
  EXPECT_EQ(counts().models, folded.counts().models);
  EXPECT_TRUE(contains(json["notes"].back().get<std::string>(),
                       fmt::format("gained {} trials, {} binaries and {} learned models.", counts().trials,
                                   counts().binaries, counts().models)))
      << json["notes"];
  for (const auto& row : json["rows"]) EXPECT_TRUE(contains(row["device"].get<std::string>(), "NVIDIA H200"));
  const auto served = json_here({"query", "rmsnorm", "rows=8192", "cols=4096", "dtype=bf16"});
  EXPECT_EQ(served["rows"][0]["match_fit"], "exact");
}

TEST_F(ImportVerb, ships_no_share_above_102_percent_and_ceilings_that_hold) {
  std::size_t placed = 0;
  std::size_t outrun = 0;
  for (const std::string& op : Store(TILEWRIGHT_SHIPPED_WINNERS, {.access = StoreAccess::read}).ops()) {
    const Outcome outcome = run({"table", op, "--cache", TILEWRIGHT_SHIPPED_WINNERS, "--format", "json"});
    const auto json = nlohmann::json::parse(outcome.out);
    ASSERT_EQ(outcome.code, json["rows"].empty() ? 1 : 0) << op << outcome.err;
    for (const auto& row : json["rows"]) {
      EXPECT_TRUE(contains(row["match"].get<std::string>(), "fresh"))
          << row["shape_key"] << ": its kernel's sources have changed since";
      const auto& share = row["share_of_ceiling"];
      EXPECT_LE(share.is_null() ? 0 : share.get<double>(), 1.02) << row["shape_key"];
      EXPECT_TRUE(share.is_null() || row["launch_bound"] == false) << row["shape_key"];
      // Tokens share rows of the table, which then come from L2: this beats the copy's ceiling.
      if (op == "embedding") continue;
      if (row["bound"] != "memory" || row["share_of_memory_ceiling"].is_null()) continue;
      ++placed;
      const double of_copies = row["share_of_memory_ceiling"];
      // Copies of few bytes end before they are at their rate: kernels with more bytes under way outrun them.
      EXPECT_LT(of_copies, row["bytes"] < 16'000'000 ? 1.1 : 1.07) << row["shape_key"];
      if (of_copies > 1.02) ++outrun;
    }
  }
  EXPECT_GT(placed, 4000U);
  // GPUs of one model differ by some percent, and not each that timed a kernel has timed copies. What only reads
  // outruns a copy by some 6 %.
  EXPECT_LE(outrun, placed / 150) << "copies that a kernel outran: the ceiling is a mistake";
}

TEST_F(ImportVerb, ships_what_serves_an_untuned_shape_as_its_page_shows) {
  const Outcome outcome = run({"query", "softmax", "rows=100", "cols=5000", "dtype=bf16", "--device", "H200", "--cache",
                               TILEWRIGHT_SHIPPED_WINNERS});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  // The page's lines are narrower.
  const auto without_blanks = [](std::string text) {
    std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
    return text;
  };
  EXPECT_TRUE(contains(without_blanks(bytes_of(TILEWRIGHT_UNTUNED_DOCUMENT)), without_blanks(outcome.out)))
      << outcome.out;
}

TEST(ShippedWinners, have_all_servers_that_their_shapes_tell_of) {
  const Store store(TILEWRIGHT_SHIPPED_WINNERS, {.access = StoreAccess::read});
  const std::string device = store.devices().front().fingerprint();
  for (const char* spec :
       {"softmax[dtype=bf16]", "gemm[dtype=bf16]", "rmsnorm[dtype=bf16]", "layernorm[dtype=bf16]",
        "add_rmsnorm[dtype=bf16,store=yes]", "swiglu[dtype=bf16,layout=packed]", "bias_act[dtype=bf16,act=gelu]"}) {
    const OpInterface interface = store.interface_of(std::string(spec, std::strchr(spec, '['))).value();
    const std::vector<std::int64_t> ones(interface.dims.size(), 1);
    const ProblemKey key{make_problem(parse_spec(spec, interface), interface, ones), interface.hash(), device};
    const auto learned = store.learned(key, MeasureMode::cold);
    ASSERT_TRUE(learned) << spec;
    const auto identities = [](const std::vector<StoredConfig>& servers) {
      std::multiset<std::pair<std::string, std::string>> found;
      for (const StoredConfig& each : servers) found.emplace(each.id.implementation_hash, each.id.config.text());
      return found;
    };
    const auto tuned = store.tuned_shapes(key, MeasureMode::cold);
    const auto known = identities(servers_of(store.known_shapes(key, MeasureMode::cold, tuned)));
    EXPECT_GT(known.size(), 100U) << spec;
    const auto servers = identities(learned->servers);
    std::remove_const_t<decltype(servers)> lacking, extra;
    std::ranges::set_difference(known, servers, std::inserter(lacking, lacking.end()));
    std::ranges::set_difference(servers, known, std::inserter(extra, extra.end()));
    EXPECT_TRUE(lacking.empty() && extra.empty())
        << spec << " lacks " << ::testing::PrintToString(lacking) << ", has " << ::testing::PrintToString(extra);
  }
}

TEST(ShippedWinners, have_a_binary_each) {
  const Store store(TILEWRIGHT_SHIPPED_WINNERS, {.access = StoreAccess::read});
  for (const Store::WinnerRow& row : store.list_winners({})) {
    EXPECT_FALSE(row.winner.trial.build_key.empty()) << row.problem.key() << ' ' << row.winner.trial.config.text();
  }
}

TEST(ShippedWinners, are_known_to_the_model_of_their_spec) {
  const Store store(TILEWRIGHT_SHIPPED_WINNERS, {.access = StoreAccess::read});
  std::set<std::string> specs, unknown;
  std::size_t models = 0;
  for (const Store::WinnerRow& row : store.list_winners({.mode = MeasureMode::cold, .role = WinnerRole::best})) {
    const std::string spec = row.problem.spec.text();
    const auto learned = store.learned({row.problem, row.interface_hash, row.device.fingerprint()}, MeasureMode::cold);
    const bool is_first = specs.insert(spec).second;
    if (is_first && learned) ++models;
    if (!learned) continue;
    const std::vector<std::string>& known = learned->model->space().implementations;
    if (std::ranges::find(known, row.implementation_hash) == known.end()) {
      unknown.insert(spec + " " + row.winner.trial.config.implementation);
    }
  }
  EXPECT_EQ(unknown, std::set<std::string>()) << "untuned shapes are not served by them: type tilewright prepare";
  EXPECT_EQ(models, static_cast<std::size_t>(store.counts().models)) << "the others are out of date";
}

TEST_F(ImportVerb, ships_more_than_the_base_for_shapes_of_other_specs) {
  const Store store(TILEWRIGHT_SHIPPED_WINNERS, {.access = StoreAccess::read});
  std::map<std::string, std::map<std::string, std::vector<Problem>>> tuned;  // by op and spec
  for (const WinnerRow& row : store.list_winners({.mode = MeasureMode::cold, .role = WinnerRole::best})) {
    tuned[row.problem.spec.op][row.problem.spec.text()].push_back(row.problem);
  }
  std::size_t asked = 0;
  std::vector<std::string> by_base;
  for (const auto& [op, specs] : tuned) {
    const std::vector<Problem>& most =
        std::ranges::max_element(specs, {}, [](const auto& spec) { return spec.second.size(); })->second;
    for (const auto& [spec, problems] : specs) {
      for (const std::size_t part : {1U, 3U}) {
        std::vector<std::string> words{"query", op, fmt::format("dtype={}", name(problems.front().spec.dtype))};
        const auto add = [&](const auto& named) { words.push_back(fmt::format("{}={}", named.first, named.second)); };
        std::ranges::for_each(problems.front().spec.attributes, add);
        std::ranges::for_each(most[most.size() * part / 4].dims, add);
        words.insert(words.end(), {"--device", "H200", "--cache", TILEWRIGHT_SHIPPED_WINNERS, "--format", "json"});
        const Outcome outcome = run(words);
        const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
        ASSERT_FALSE(json.is_discarded()) << spec << outcome.err;
        ++asked;
        if (json["rows"][0]["match_fit"] == "default") by_base.push_back(json["rows"][0]["shape_key"]);
      }
    }
  }
  EXPECT_GT(asked, 900U);
  // Few winners and no spares: type tilewright prepare after a sweep.
  EXPECT_LE(by_base.size(), asked / 20) << fmt::format("{}", fmt::join(by_base, "\n"));
}

TEST_F(ImportVerb, keeps_what_has_the_better_evidence) {
  fill_demo_cache(cache(), 1);
  {
    OtherProgram better(cache());
    better.exec("UPDATE trials SET low_ns = median_ns, high_ns = median_ns, measured_at = 5");
  }
  const auto json = json_here({"import", file()});
  EXPECT_EQ(json["rows"][0]["kept"], 1);
  EXPECT_EQ(json["rows"][0]["added"], 3);
  EXPECT_TRUE(contains(json["notes"][0].get<std::string>(), "better evidence"));
}

TEST_F(ImportVerb, refuses_a_damaged_file_and_leaves_both_alone) {
  (void)json_here({"import", file()});
  const std::string before = bytes_of(cache());
  { OtherProgram(file()).exec("PRAGMA wal_checkpoint(TRUNCATE)"); }
  for (const std::size_t part : {2U, 3U}) {
    fs::copy_file(file(), file() + ".cut", fs::copy_options::overwrite_existing);
    fs::resize_file(file() + ".cut", fs::file_size(file()) / part / 4096 * 4096);
    const Outcome outcome = run_here({"import", file() + ".cut"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(contains(outcome.err, "damaged")) << outcome.err;
    EXPECT_TRUE(contains(outcome.err, ".cut")) << outcome.err;
  }
  EXPECT_EQ(bytes_of(cache()), before);
}

TEST_F(ImportVerb, refuses_a_newer_file_and_what_is_no_cache) {
  { OtherProgram(file()).exec("PRAGMA user_version = 99"); }
  const Outcome newer = run_here({"import", file()});
  EXPECT_EQ(newer.code, 1);
  EXPECT_TRUE(contains(newer.err, "has schema 99")) << newer.err;
  std::ofstream(folder / "notes.txt") << std::string(5000, 'x');
  const Outcome text = run_here({"import", (folder / "notes.txt").string()});
  EXPECT_EQ(text.code, 1);
  EXPECT_TRUE(contains(text.err, "is not a cache")) << text.err;
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(ImportVerb, names_what_is_missing) {
  EXPECT_EQ(run_here({"import"}).code, 2);
  const Outcome outcome = run_here({"import", (folder / "none.db").string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_TRUE(contains(outcome.err, "there is no file")) << outcome.err;
}

}  // namespace
}  // namespace tilewright::testing

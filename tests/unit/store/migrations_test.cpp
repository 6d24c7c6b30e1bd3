// SPDX-License-Identifier: Apache-2.0
#include "cache/store/sqlite/migrations.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "cache/base/content_hash.hpp"
#include "cache/store/binaries.hpp"
#include "cache/store/codecs.hpp"
#include "cache/store/sqlite/database.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/store/fixture.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright::migrations_test {
namespace {

using namespace store_tests;
using ::testing::HasSubstr;

constexpr std::array kThree{
    Migration{1, "001_first", "CREATE TABLE a (id INTEGER PRIMARY KEY, x TEXT); INSERT INTO a (x) VALUES ('kept');"},
    Migration{2, "002_second", "ALTER TABLE a ADD COLUMN y INTEGER NOT NULL DEFAULT 7;"},
    // As when tables are rebuilt: the child's reference must survive the exchange of its parent.
    Migration{3, "003_third",
              "CREATE TABLE child (a INTEGER REFERENCES a (id)); INSERT INTO child VALUES (1); "
              "CREATE TABLE b (id INTEGER PRIMARY KEY, x TEXT, y INTEGER); INSERT INTO b SELECT * FROM a; "
              "DROP TABLE a; ALTER TABLE b RENAME TO a;"}};

Database open_with(const std::filesystem::path& path, std::span<const Migration> steps,
                   StoreAccess access = StoreAccess::write) {
  return {path, StoreOptions{access, std::chrono::milliseconds(200)}, Surroundings{steps, {}}};
}

int user_version(const std::filesystem::path& path) {
  SQLite::Database database(path.string());
  return database.execAndGet("PRAGMA user_version").getInt();
}

TEST(Migrations, are_numbered_from_one_without_a_gap) {
  int expected = 1;
  for (const Migration& step : migrations()) {
    EXPECT_EQ(step.version, expected++);
    EXPECT_THAT(step.sql, HasSubstr("SPDX"));
  }
  EXPECT_EQ(schema_version(), static_cast<int>(migrations().size()));
}

TEST(Migrations, an_empty_database_of_version_0_becomes_a_cache) {
  const TemporaryFolder folder;
  { SQLite::Database empty((folder / "c.db").string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE); }
  EXPECT_EQ(user_version(folder / "c.db"), 0);
  Store store(folder / "c.db");
  EXPECT_EQ(store.counts().schema, schema_version());
  store.check();
}

TEST(Migrations, every_missing_step_is_taken_once_and_rows_are_kept) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  { (void)open_with(path, std::span(kThree).first(1)); }
  EXPECT_EQ(user_version(path), 1);
  Database database = open_with(path, kThree);
  EXPECT_EQ(user_version(path), 3);
  Query row = database.query("SELECT x, y FROM a JOIN child ON child.a = a.id");
  ASSERT_TRUE(row.next());
  EXPECT_EQ(row.text(0), "kept");
  EXPECT_EQ(row.integer(1), 7);
  EXPECT_FALSE(row.next());
  (void)open_with(path, kThree);  // nothing left to do
  EXPECT_EQ(user_version(path), 3);
}

TEST(Migrations, ceilings_of_schema_1_are_plain_copies) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  {
    Database first = open_with(path, migrations().first(1));
    first.run("INSERT INTO devices (fingerprint, compute_capability, facts) VALUES (?, ?, ?)", "GPU", 90, "{}");
    first.run(
        "INSERT INTO ceilings (device, mode, bytes, memcpy_ns, gpu_uuid, measured_at) VALUES (1, 'cold', ?, ?, '', 1)",
        1024, 50.0);
  }
  EXPECT_EQ(user_version(path), 1);
  Store store(path);
  EXPECT_EQ(store.counts().schema, schema_version());
  EXPECT_EQ(store.ceiling("GPU", 1024, 1, MeasureMode::cold)->memcpy_ns, 50);
  EXPECT_FALSE(store.ceiling("GPU", 1024, 2, MeasureMode::cold).has_value());
  EXPECT_FALSE(store.compute_rate("GPU").has_value());
  store.check();
}

/// Adds a trial of op's plain{} on GPU and its winner, as in schema 2 and later.
void put_rows_of_schema_2(Database& database) {
  database.run("INSERT INTO devices (fingerprint, compute_capability, facts) VALUES ('GPU', 90, '{}')");
  database.run("INSERT INTO interfaces (hash, op, definition, sequence) VALUES ('i', 'op', '{}', 1)");
  database.run("INSERT INTO implementations (interface, hash, name, recipe) VALUES (1, 'm', 'plain', '{}')");
  database.run("INSERT INTO specs (interface, op, dtype, attributes, text) VALUES (1, 'op', 'f32', '[]', 'op')");
  database.run("INSERT INTO problems (spec, dims) VALUES (1, 'n=8')");
  database.run("INSERT INTO configs (implementation, text) VALUES (1, 'plain{}')");
  database.run("INSERT INTO versions (driver, compiler, tilewright) VALUES (0, 'c', 't')");
  database.run(
      "INSERT INTO trials (problem, device, config, mode, status, reason, versions, measured_at, gpu_uuid, compared) "
      "VALUES (1, 1, 1, 'cold', 'ok', '', 1, 5, '', 0)");
  database.run(
      "INSERT INTO winners (problem, device, mode, role, position, spec, trial, configs_considered, configs_failed, "
      "strategy) VALUES (1, 1, 'cold', 'best', 0, 1, 1, 1, 0, 'exhaustive')");
}

TEST(Migrations, trials_of_schema_2_were_looked_at_wholly_and_winners_say_nothing_of_their_choice) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  {
    Database second = open_with(path, migrations().first(2));
    put_rows_of_schema_2(second);
  }
  Store store(path);
  EXPECT_EQ(store.trial(1)->look, LookLength::whole);
  Database third = open_with(path, migrations());
  Query query = third.query("SELECT choice FROM winners");
  ASSERT_TRUE(query.next());
  EXPECT_EQ(decode_choice(query.text(0), ""), Selection{});
}

TEST(Migrations, rows_of_schema_3_stay_whole_when_trials_are_made_anew) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  {
    Database third = open_with(path, migrations().first(3));
    put_rows_of_schema_2(third);
    third.run("INSERT INTO rounds (trial, nanoseconds) VALUES (1, ?)",
              std::span<const std::byte>(encode_rounds(std::vector{7.0, 8.0})));
    third.run(
        "INSERT INTO builds (key, ok, kernels, log, compiler, arch, milliseconds) VALUES "
        "('k', 0, '[]', 'bad', 'c', 'sm_90', 4.5)");
    third.run(
        "INSERT INTO trials (problem, device, config, mode, status, reason, versions, build, measured_at, gpu_uuid, "
        "median_ns, low_ns, high_ns, min_ns, launches_per_round, input_sets, floor_ns, compared, max_absolute, "
        "max_relative, norm_relative, sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw, throttle_reasons, look) "
        "VALUES (1, 1, 1, 'cold', 'ok', 'busy', 1, 1, 6, 'GPU-1', 1, 2, 3, 4, 5, 6, 7, 1, 8, 9, 10, 11, 12, 13, 14, "
        "15, "
        "'final')");
  }
  Store store(path);
  EXPECT_EQ(store.counts().schema, schema_version());
  store.check();
  EXPECT_TRUE(store.trial(1)->look == LookLength::whole && !store.trial(1)->timing && !store.trial(1)->phases);
  const Trial second = store.trial(2).value();
  EXPECT_EQ(second.reason, "busy");
  EXPECT_EQ(second.build_key, "k");
  EXPECT_EQ(second.gpu_uuid, "GPU-1");
  EXPECT_EQ(second.measured_at, 6);
  EXPECT_EQ(second.timing->median_ns, 1);
  EXPECT_EQ(second.timing->floor_ns, 7);
  EXPECT_EQ(second.accuracy->norm_relative, 10);
  EXPECT_EQ(second.readings.throttle_reasons, 15u);
  EXPECT_EQ(second.look, LookLength::final);
  EXPECT_EQ(second.phases, std::nullopt);
  EXPECT_EQ(store.build("k")->milliseconds, 4.5);
  EXPECT_EQ(store.build("k")->began_us, std::nullopt);
  Database now = open_with(path, migrations());
  const auto count = [&](const char* sql) {
    Query query = now.query(sql);
    return query.next() ? query.integer(0) : -1;
  };
  EXPECT_EQ(count("SELECT length(nanoseconds) FROM rounds WHERE trial = 1"), 16);
  EXPECT_EQ(count("SELECT count(*) FROM winner_table"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM pragma_index_list('trials')"), 2) << "by problem, and those that failed";
  // The references still hold: a winner's trial cannot be deleted.
  EXPECT_THROW(now.run("DELETE FROM trials WHERE id = 1"), SQLite::Exception);
}

TEST(Migrations, compute_rates_of_schema_4_are_of_fp32) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  {
    Database fourth = open_with(path, migrations().first(4));
    fourth.run("INSERT INTO devices (fingerprint, compute_capability, facts) VALUES ('GPU', 90, '{}')");
    fourth.run(
        "INSERT INTO compute_rates (device, flops_per_second, config, gpu_uuid, measured_at) "
        "VALUES (1, 6e13, 'chains{}', 'GPU-1', 5)");
  }
  Store store(path);
  EXPECT_EQ(store.counts().schema, schema_version());
  store.check();
  ASSERT_EQ(store.compute_rates("GPU").size(), 1U);
  EXPECT_EQ(store.compute_rate("GPU", kFp32)->flops_per_second, 6e13);
  EXPECT_EQ(store.compute_rate("GPU", kFp32)->gpu_uuid, "GPU-1");
}

TEST(Migrations, a_step_that_fails_leaves_the_file_at_the_step_before) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  { (void)open_with(path, std::span(kThree).first(1)); }
  const std::array broken{kThree[0], Migration{2, "002_broken", "CREATE TABLE c (x); CREATE TABLE c (x);"}};
  const std::string text = refusal([&] { (void)open_with(path, broken); });
  EXPECT_THAT(text, HasSubstr(path.string()));
  EXPECT_THAT(text, HasSubstr("002_broken"));
  EXPECT_THAT(text, HasSubstr("already exists"));
  EXPECT_EQ(user_version(path), 1);
  Database database = open_with(path, std::span(kThree).first(1));
  EXPECT_FALSE(database.query("SELECT 1 FROM sqlite_schema WHERE name = 'c'").next());
}

TEST(Migrations, a_step_that_breaks_a_reference_is_rolled_back) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  { (void)open_with(path, kThree); }
  const std::array broken{kThree[0], kThree[1], kThree[2], Migration{4, "004_loses", "DELETE FROM a;"}};
  EXPECT_THAT(refusal([&] { (void)open_with(path, broken); }), HasSubstr("004_loses"));
  EXPECT_EQ(user_version(path), 3);
  Database database = open_with(path, kThree);
  EXPECT_TRUE(database.query("SELECT 1 FROM a").next());
}

TEST(Migrations, a_newer_schema_is_refused_for_writing_and_reading_and_left_as_it_is) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  make_export(path);
  {
    OtherProgram database(path);
    database.exec("PRAGMA user_version = 1000");
  }
  const auto before = folder.content();
  for (const auto access : {StoreAccess::write, StoreAccess::read}) {
    const std::string text = refusal([&] { Store store(path, {access, std::chrono::seconds(1)}); });
    EXPECT_THAT(text, HasSubstr("cannot open the cache: the cache " + path.string() + " has schema 1000"));
    EXPECT_THAT(text, HasSubstr("knows schemas up to"));
    EXPECT_THAT(text, HasSubstr("TILEWRIGHT_CACHE=FILE"));
    EXPECT_EQ(folder.content(), before);
  }
}

TEST(Migrations, an_older_schema_is_not_changed_by_a_reader_who_says_what_to_do) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  { (void)open_with(path, std::span(kThree).first(2)); }
  const auto before = folder.content();
  const std::string text = refusal([&] { (void)open_with(path, kThree, StoreAccess::read); });
  EXPECT_THAT(text, HasSubstr("has schema 2 and this program reads schema 3"));
  EXPECT_THAT(text, HasSubstr("tilewright sweep"));
  EXPECT_EQ(folder.content(), before);
}

TEST(Migrations, an_older_schema_is_brought_forward_in_a_copy_for_a_reader_who_takes_it) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  { (void)open_with(path, std::span(kThree).first(2)); }
  const auto before = folder.content();
  {
    Database reader = open_with(path, kThree, StoreAccess::read_older);
    EXPECT_EQ(reader.handle().execAndGet("SELECT count(*) FROM child").getInt(), 1);
  }
  EXPECT_EQ(folder.content(), before);
}

TEST(Migrations, a_reader_who_takes_older_schemas_sees_what_is_written_to_one_of_this_schema) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  Database writer = open_with(path, kThree);
  Database reader = open_with(path, kThree, StoreAccess::read_older);
  writer.handle().exec("UPDATE a SET x = 'changed'");
  EXPECT_EQ(reader.handle().execAndGet("SELECT x FROM a").getString(), "changed");
}

TEST(Migrations, schema_7_keeps_every_row_of_schema_6_and_gives_spares_models_and_rules_their_own) {
  const TemporaryFolder folder;
  const auto path = folder / "c.db";
  const std::vector<std::byte> model = model_of_warps(4).encode();
  {
    Database sixth = open_with(path, migrations().first(6));
    put_rows_of_schema_2(sixth);
    sixth.run("UPDATE devices SET facts = ?, fingerprint = ?", encode_facts(h200()), h200().fingerprint());
    sixth.run("UPDATE interfaces SET op = 'softmax', definition = ?, hash = ?", encode_interface(softmax_interface()),
              softmax_interface().hash());
    sixth.run("UPDATE implementations SET recipe = ?", encode_recipe(onchip().recipe));
    sixth.run("UPDATE specs SET op = 'softmax', dtype = 'bf16', text = 'softmax[dtype=bf16]'");
    sixth.run("UPDATE problems SET dims = 'rows=8,cols=100'");
    sixth.run("UPDATE configs SET text = ?", onchip_config(4).text());
    sixth.run(R"(UPDATE winners SET choice = '{"finalists":2,"margin":[1,2],"tied":[],"tie_broken_by":"","pruned":{},)"
              R"("at":7,"forbidden":{"rule":5}}')");
    // A finalist that lost; an export left out its rounds.
    sixth.run(
        "INSERT INTO trials (problem, device, config, mode, status, reason, versions, measured_at, gpu_uuid, compared, "
        "look) VALUES (1, 1, 1, 'cold', 'ok', '', 1, 5, '', 0, 'final')");
    sixth.run("INSERT INTO binaries (hash, size, data) VALUES (?, 3, ?)", content_hash("abc"),
              std::span<const std::byte>(compress_binary(std::as_bytes(std::span("abc", 3)))));
    sixth.run(
        "INSERT INTO builds (key, ok, binary, kernels, log, compiler, arch, milliseconds) VALUES "
        "('k', 1, 1, '[]', '', 'c', 'sm_90', 4.5)");
    sixth.run("INSERT INTO configs (implementation, text) VALUES (1, ?)", onchip_config(2, 0).text());
    for (int times = 0; times < 2; ++times) {
      sixth.run(
          "INSERT INTO trials (problem, device, config, mode, status, reason, versions, build, measured_at, gpu_uuid, "
          "compared) VALUES (1, 1, 2, 'cold', 'pruned', 'compiled for shapes around that were not tuned', 1, 1, 5, '', "
          "0)");
    }
    sixth.run(
        "INSERT INTO loss_models (spec, device, mode, shapes, learned_at, hash, size, data) VALUES (1, 1, 'cold', ?, "
        "9, ?, ?, ?)",
        static_cast<std::int64_t>(model_of_warps(4).shapes()), content_hash(model), model.size(),
        std::span<const std::byte>(compress_binary(model)));
    sixth.run(
        "INSERT INTO requests (shape_key, device_fingerprint, count, first_at, last_at) VALUES ('s', 'd', 3, 1, 2)");
  }
  EXPECT_THAT(refusal([&] { const Store reader(path, {.access = StoreAccess::read}); }), HasSubstr("has schema 6"));
  Store store(path);
  store.check();
  const ProblemKey key = softmax_key(8, 100);
  EXPECT_EQ(store.winner_of(key, MeasureMode::cold, WinnerRole::best)->winner.choice.forbidden,
            (std::map<std::string, std::int64_t>{{"rule", 5}}));
  EXPECT_EQ(store.winner_of(key, MeasureMode::cold, WinnerRole::best)->winner.choice.without_rounds, 1);
  EXPECT_EQ(store.build_of_spare(key, MeasureMode::cold, {"m", onchip_config(2, 0)}), "k");
  EXPECT_EQ(store.counts().trials, 2) << "a spare is no trial";
  EXPECT_EQ(*store.learned(key, MeasureMode::cold)->model, model_of_warps(4));
  EXPECT_EQ(store.learned(key, MeasureMode::cold)->learned_at, 9);
  EXPECT_EQ(store.list_misses(), (std::vector<Miss>{{"s", "d", 3, 1, 2}}));
}

}  // namespace
}  // namespace tilewright::migrations_test

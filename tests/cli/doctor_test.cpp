// SPDX-License-Identifier: Apache-2.0
#include <SQLiteCpp/SQLiteCpp.h>

#include <fstream>
#include <sstream>

#include "tests/cli/demo_cache.hpp"
#include "tests/cli/program.hpp"
#include "tests/other_program.hpp"

namespace tilewright::testing {
namespace {

/// In a folder that only this user may write: otherwise doctor reports it.
class DoctorVerb : public CliTest {
 protected:
  DoctorVerb() { std::filesystem::permissions(folder, std::filesystem::perms::owner_all); }
};

nlohmann::json part(const nlohmann::json& json, const std::string& name) {
  for (const auto& row : json["rows"]) {
    if (row["part"] == name) return row;
  }
  return {{"missing", "there is no such part"}};
}

TEST_F(DoctorVerb, tells_every_part_and_what_it_found) {
  fill_demo_cache(cache(), 2);
  const auto json = json_of({"doctor"});
  for (const char* name : {"CUDA driver", "NVRTC", "C++ compiler", "ops", "cache"}) {
    EXPECT_TRUE(part(json, name).contains("found")) << name;
  }
  EXPECT_EQ(part(json, "C++ compiler")["found"], true);
  EXPECT_TRUE(contains(part(json, "ops")["what"], "shift"));
  EXPECT_TRUE(contains(part(json, "ops")["what"], "softmax"));
  EXPECT_TRUE(contains(part(json, "cache")["what"],
                       "schema 7; 1 op, 1 device, 2 problems, 2 trials, 4 configs kept to serve them"));
  EXPECT_EQ(part(json, "cache")["where"], cache());
}

const RunOptions kBare{.environment = {{"TILEWRIGHT_LIBCUDA", "/nonexistent/libcuda.so.1"},
                                       {"TILEWRIGHT_NVRTC", "/nonexistent/libnvrtc.so"},
                                       {"CXX", "/nonexistent/g++"}}};

TEST_F(DoctorVerb, fits_eighty_columns_however_long_paths_are) {
  const std::filesystem::path deep = folder / "a-folder-with-a-long-name" / "and-another-one-in-it" / "caches-of-h200";
  std::filesystem::create_directories(deep);
  const std::string cache = (deep / "cache.db").string();
  fill_demo_cache(cache, 1);
  RunOptions narrow = kBare;
  narrow.environment["COLUMNS"] = "80";
  narrow.environment["TILEWRIGHT_NVRTC"] = (deep / "libnvrtc.so.13").string();
  const Outcome outcome = run({"doctor", "--cache", cache}, narrow);
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    // Commands are for copying and are not wrapped.
    const bool is_command = line.rfind("  tilewright ", 0) == 0;
    EXPECT_TRUE(is_command || line.size() <= 80) << line << "\n" << outcome.out;
  }
  EXPECT_TRUE(contains(outcome.out, "caches-of-h200/")) << outcome.out;
  EXPECT_EQ(
      part(nlohmann::json::parse(run({"doctor", "--cache", cache, "--format", "json"}, narrow).out), "cache")["where"],
      cache);
}

/// Expects each faulty part to name a command.
void expect_commands(const nlohmann::json& json) {
  for (const auto& row : json["rows"]) {
    EXPECT_EQ(row["wrong"].get<std::string>().empty(), row["type"].get<std::string>().empty()) << row;
  }
}

TEST_F(DoctorVerb, ends_whatever_is_wrong_with_a_command) {
  for (const RunOptions& options : {RunOptions{}, kBare}) {
    const Outcome outcome = run_on_ops({"doctor", "--format", "json"}, options);
    const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    ASSERT_TRUE(json.is_object()) << outcome.out << outcome.err;
    expect_commands(json);
  }
  const auto json = nlohmann::json::parse(run_on_ops({"doctor", "--format", "json"}, kBare).out, nullptr, false);
  EXPECT_EQ(part(json, "CUDA driver")["type"], "unset TILEWRIGHT_LIBCUDA");
  EXPECT_EQ(part(json, "NVRTC")["type"], "unset TILEWRIGHT_NVRTC");
  EXPECT_EQ(part(json, "C++ compiler")["type"], "unset CXX");
  EXPECT_TRUE(contains(run_on_ops({"doctor"}, kBare).out, "Type:\n  unset CXX\n"));
}

TEST_F(DoctorVerb, tells_a_library_that_is_no_driver_and_one_that_is_no_nvrtc) {
  // Any existing library works.
  const std::string other = "libc.so.6";
  const auto json =
      nlohmann::json::parse(run_on_ops({"doctor", "--format", "json"},
                                       {.environment = {{"TILEWRIGHT_LIBCUDA", other}, {"TILEWRIGHT_NVRTC", other}}})
                                .out,
                            nullptr, false);
  EXPECT_TRUE(contains(part(json, "CUDA driver")["wrong"], "is too old or is not one")) << json;
  EXPECT_EQ(part(json, "NVRTC")["found"], false);
  expect_commands(json);
}

TEST_F(DoctorVerb, tells_definitions_that_have_mistakes) {
  const auto outcome = run({"doctor", "--format", "json", "--ops", TILEWRIGHT_TEST_BROKEN_OPS, "--cache", cache()});
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(contains(part(json, "ops")["wrong"], "has mistakes")) << json;
  EXPECT_TRUE(contains(part(json, "ops")["type"], "tilewright list --ops ")) << json;
  const auto missing = nlohmann::json::parse(
      run({"doctor", "--format", "json", "--ops", "/nonexistent", "--cache", cache()}).out, nullptr, false);
  EXPECT_EQ(part(missing, "ops")["found"], false);
  expect_commands(missing);
}

TEST_F(DoctorVerb, tells_a_cache_that_others_can_write_and_one_that_this_user_cannot) {
  fill_demo_cache(cache(), 1);
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  std::filesystem::permissions(cache(), std::filesystem::perms::all);
  const auto open = json_of({"doctor"}, 1);
  EXPECT_TRUE(contains(part(open, "cache rights")["type"], "chmod go-w " + cache())) << open;
  std::filesystem::permissions(cache(), std::filesystem::perms(0644));
  EXPECT_EQ(part(json_of({"doctor"}), "cache rights").contains("type"), false);
}

TEST_F(DoctorVerb, tells_stale_winners_and_how_to_judge_them_anew) {
  use_swept_cache();
  const auto fresh = json_of({"doctor"});
  EXPECT_EQ(part(fresh, "winners of cpu")["what"], "problems served: 1, by stale winners: 0") << fresh;
  {
    OtherProgram database(cache());
    database.exec("UPDATE versions SET compiler = 'g++ 1.0'");
  }
  const auto stale = json_of({"doctor"});
  EXPECT_EQ(part(stale, "winners of cpu")["what"], "problems served: 1, by stale winners: 1") << stale;
  EXPECT_EQ(part(stale, "winners of cpu")["type"], "tilewright sweep --revalidate --device cpu --cache " + cache());
  expect_commands(stale);
}

TEST_F(DoctorVerb, says_what_each_missing_part_costs) {
  const Outcome outcome = run_on_ops({"doctor"}, kBare);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.out, "/nonexistent/libcuda.so.1")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "/nonexistent/libnvrtc.so")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "/nonexistent/g++")) << outcome.out;
  EXPECT_TRUE(contains(outcome.out, "Nothing can be tuned here")) << outcome.out;
}

TEST_F(DoctorVerb, takes_a_cache_that_is_not_there_yet_for_no_fault) {
  const Outcome outcome = run_on_ops({"doctor"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(contains(outcome.out, "the first sweep makes it")) << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(cache()));
}

/// Doctor's command for the cache, which it reports as unsound.
std::string command_for_cache(const Outcome& outcome) {
  const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(outcome.code, 1) << outcome.out << outcome.err;
  EXPECT_FALSE(contains(json["advice"].dump(), "Ready to tune")) << json;
  return part(json, "cache")["type"];
}

TEST_F(DoctorVerb, has_a_command_for_each_way_in_which_a_cache_is_no_good) {
  const std::string file = cache();
  const auto told = [&] { return command_for_cache(run_on_ops({"doctor", "--format", "json"})); };
  const auto set_schema = [&](const char* schema) {
    fill_demo_cache(file, 2);
    OtherProgram database(file);
    database.exec(schema);
    database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  };
  set_schema("PRAGMA user_version = 99");
  EXPECT_EQ(told(), "mv " + file + " " + file + ".newer");
  std::filesystem::remove(file);
  set_schema("PRAGMA user_version = 3");
  EXPECT_EQ(told(), "tilewright import " + file + " --cache " + file);
  std::filesystem::remove(file);
  fill_demo_cache(file, 200);
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  EXPECT_EQ(told(), "mv " + file + " " + file + ".damaged");
  std::ofstream(file, std::ios::trunc).flush();
  EXPECT_EQ(told(), "tilewright sweep softmax --cache " + file);
  std::filesystem::remove(file);
  { SQLite::Database(file, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE).exec("CREATE TABLE things (id INTEGER)"); }
  EXPECT_EQ(told(), "mv " + file + " " + file + ".old");
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  EXPECT_EQ(told(), "tilewright doctor --cache " + file + "/cache.db");
}

TEST_F(DoctorVerb, without_a_home_tells_of_all_else) {
  const Outcome outcome = run({"doctor", "--format", "json"}, {.environment = {{"XDG_CACHE_HOME", ""}, {"HOME", ""}}});
  EXPECT_TRUE(contains(command_for_cache(outcome), "export TILEWRIGHT_CACHE=/")) << outcome.out;
  EXPECT_EQ(part(nlohmann::json::parse(outcome.out), "C++ compiler")["found"], true);
}

TEST_F(DoctorVerb, of_a_cache_that_is_read_only_has_a_command_that_can_be_typed) {
  if (!nobody_can_run_the_program()) GTEST_SKIP() << "the user nobody cannot reach the program";
  fill_demo_cache(cache(), 2);
  std::filesystem::permissions(folder, std::filesystem::perms(0755));
  std::filesystem::permissions(cache(), std::filesystem::perms(0444));
  const Outcome outcome = run_on_ops({"doctor", "--format", "json"}, {.as_nobody = true});
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(part(nlohmann::json::parse(outcome.out), "cache")["type"],
            "tilewright import " + cache() + " --cache tilewright.db");
}

TEST_F(DoctorVerb, answers_a_missing_driver_with_no_program_of_the_driver) {
  const RunOptions options{.environment = {{"TILEWRIGHT_LIBCUDA", ""}, {"LD_LIBRARY_PATH", ""}}};
  const auto json = nlohmann::json::parse(run_on_ops({"doctor", "--format", "json"}, options).out, nullptr, false);
  const auto driver = part(json, "CUDA driver");
  if (driver["found"] == true) GTEST_SKIP() << "there is a driver";
  const std::string command = driver["type"];
  EXPECT_TRUE(command == "sudo apt-get install cuda-drivers" || command == "tilewright sweep softmax --device cpu")
      << command;
}

TEST_F(DoctorVerb, finds_a_damaged_cache) {
  std::ofstream(cache()) << "this is no cache\n";
  const Outcome outcome = run_on_ops({"doctor"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(contains(outcome.out, "is not a cache of Tilewright")) << outcome.out;
  EXPECT_EQ(part(json_of({"doctor"}, 1), "cache")["type"], "mv " + cache() + " " + cache() + ".old");
}

}  // namespace
}  // namespace tilewright::testing

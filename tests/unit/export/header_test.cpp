// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/header.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cache/store/import.hpp"
#include "tests/launch/recording_driver/recording.hpp"
#include "tests/launch/sample_cache.hpp"

namespace tilewright::testing {
namespace {

using ::testing::HasSubstr;

// An application without the library: it finds its winner at compile time and launches it with the driver alone.
constexpr const char* kApplication = R"cpp(
#include "winners.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstring>

  namespace winners = tilewright_winners;

  // At compile time.
  constexpr const winners::Winner* served = winners::scale_f16_no::find(8, 64);
  static_assert(served->kernel_count == 1 && served->dims[1] == 64);
  static_assert(served->kernels[0].block[0] == 64 && served->argument_count == 3 && served->alignment[0] == 16);
  static_assert(winners::scale_f16_no::find(8, 65) == nullptr && winners::scale_f16_no::find(0, 0) == nullptr);
  static_assert(winners::reduce_f16::find(64, 256)->kernel_count == 2);
  static_assert(
      winners::reduce_f16::find(64, 256)->kernels[1].params[3].kind == winners::Param::Kind::value &&
      winners::reduce_f16::find(64, 256)->values[winners::reduce_f16::find(64, 256)->kernels[1].params[3].index] == 4);
  static_assert(winners::reduce_f16::find(64, 256)->map_count == 1 &&
                winners::reduce_f16::find(64, 256)->workspace_count == 3);

  struct LaunchConfig {
    unsigned grid[3], block[3], shared_bytes;
    void* stream;
    void* attributes;
    unsigned attribute_count;
  };

  int main(int, char** argv) {
    void* cuda = dlopen(argv[1], RTLD_NOW);
    if (cuda == nullptr) return 10;
    const auto call = [cuda](const char* name, auto... values) {
      return reinterpret_cast<int (*)(decltype(values)...)>(dlsym(cuda, name))(values...);
    };
    void *context = nullptr, *library = nullptr, *kernel = nullptr, *function = nullptr;
    if (call("cuInit", 0u) != 0) return 11;
    if (call("cuDevicePrimaryCtxRetain", &context, 0) != 0 || call("cuCtxSetCurrent", context) != 0) return 12;
    void* none = nullptr;
    if (call("cuLibraryLoadData", &library, static_cast<const void*>(served->binary->data), none, none, 0u, none, none,
             0u) != 0)
      return 13;
    const winners::Kernel& launched = served->kernels[0];
    if (call("cuLibraryGetKernel", &kernel, library, launched.symbol) != 0) return 14;
    if (call("cuKernelGetFunction", &function, kernel) != 0) return 15;

    long long x = 0x7f0000000000, y = 0x7f0000100000;
    float factor = 2;
    long long dims[] = {8, 64};
    void* arguments[] = {&x, &y, &factor};
    void* params[8];
    for (unsigned i = 0; i < launched.param_count; ++i) {
      const winners::Param param = launched.params[i];
      params[i] =
          param.kind == winners::Param::Kind::dim ? static_cast<void*>(&dims[param.index]) : arguments[param.index];
    }
    LaunchConfig config{};
    std::memcpy(config.grid, launched.grid, sizeof config.grid);
    std::memcpy(config.block, launched.block, sizeof config.block);
    config.shared_bytes = launched.shared_bytes;
    if (call("cuLaunchKernelEx", &config, function, static_cast<void**>(params), static_cast<void**>(nullptr)) != 0)
      return 16;
    std::printf("%s", served->config);
    return 0;
  }
)cpp";

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// A source of a program with two headers, and the other one.
constexpr const char* kOneSource = R"cpp(
#include "one.hpp"
#include <cstdio>
  const char* other_config();
  const char* other_binary();
  int main() {
    constexpr auto* served = tilewright_winners::scale_f16_no::find(8, 64);
    static_assert(tilewright_winners::reduce_f16::find(64, 256)->kernel_count == 2);
    std::printf("%s\n%s%s\n%s", served->config, served->binary->data, other_config(), other_binary());
    return 0;
  }
)cpp";
constexpr const char* kOtherSource = R"cpp(
#include "other.hpp"
#include "third.hpp"
  const char* other_config() {
    return tilewright_winners::scale_f16_no::find(8, 64)->config;
  }
  const char* other_binary() { return tilewright_winners::strided_f16_dense::find(8, 64)->binary->data; }
)cpp";

class Header : public ::testing::Test {
 protected:
  Header() : cache_(folder_.path() / "cache.db") {
    cache_.add_scale();
    cache_.add_strided();
    cache_.add_reduce();
  }
  [[nodiscard]] std::string made(const WinnerSelection& filter = {}) {
    return header_text(cache_.store(), selected_winners(cache_.store(), filter), counts_);
  }

  TemporaryFolder folder_;
  SampleCache cache_;
  HeaderCounts counts_;
};

TEST_F(Header, serves_an_application_that_has_nothing_else) {
  std::ofstream(folder_.path() / "winners.hpp") << made();
  std::ofstream(folder_.path() / "main.cpp") << kApplication;
  const std::string folder = folder_.path().string();
  const std::string compile = std::string(TILEWRIGHT_CXX) + " -std=c++17 -Wall -Wextra -Werror -o " + folder + "/app " +
                              folder + "/main.cpp -ldl 2> " + folder + "/errors";
  ASSERT_EQ(std::system(compile.c_str()), 0) << read(folder_.path() / "errors");
  const std::string run =
      "TILEWRIGHT_RECORDING_LOG=" + folder + "/log " + folder + "/app " + Recording::path() + " > " + folder + "/out";
  ASSERT_EQ(std::system(run.c_str()), 0);
  EXPECT_EQ(read(folder_.path() / "out"), "wide{num_warps=2,vec=8,static_dims=1}");
  EXPECT_THAT(read(folder_.path() / "log"), HasSubstr("wide_symbol"));
}

TEST_F(Header, serves_beside_others_of_the_same_program) {
  const std::string folder = folder_.path().string();
  const auto compiles = [&](const std::string& what) {
    return std::system(
               (std::string(TILEWRIGHT_CXX) + " -std=c++17 -Wall -Wextra -Werror " + what + " 2> " + folder + "/errors")
                   .c_str()) == 0;
  };
  std::vector<WinnerRow> rows = selected_winners(cache_.store(), {.ops = {"scale"}, .devices = {}});
  rows[0].winner.trial.build_key.clear();
  std::ofstream(folder_.path() / "one.hpp") << made();
  std::ofstream(folder_.path() / "other.hpp") << header_text(cache_.store(), rows, counts_);
  std::ofstream(folder_.path() / "third.hpp") << made({.ops = {"strided"}, .devices = {}});
  std::ofstream(folder_.path() / "one.cpp") << kOneSource;
  std::ofstream(folder_.path() / "other.cpp") << kOtherSource;
  ASSERT_TRUE(compiles("-o " + folder + "/app " + folder + "/one.cpp " + folder + "/other.cpp"))
      << read(folder_.path() / "errors");
  ASSERT_EQ(std::system((folder + "/app > " + folder + "/out").c_str()), 0);
  const auto text = [](const std::vector<std::byte>& lines) {
    return std::string(reinterpret_cast<const char*>(lines.data()));
  };
  EXPECT_EQ(read(folder_.path() / "out"), "wide{num_warps=2,vec=8,static_dims=1}\n" + text(scale_binary()) +
                                              "wide{num_warps=4,vec=4,static_dims=0}\n" + text(strided_binary()));

  std::ofstream(folder_.path() / "both.cpp") << "#include \"one.hpp\"\n#include \"other.hpp\"\n";
  EXPECT_FALSE(compiles("-fsyntax-only " + folder + "/both.cpp"));
  EXPECT_THAT(read(folder_.path() / "errors"), HasSubstr("another header has winners of scale[dtype=f16"));
}

TEST_F(Header, says_which_strides_and_extents_of_a_map_come_with_the_call) {
  EXPECT_THAT(made({.ops = {"reduce"}, .devices = {}}), HasSubstr(", 0, {}, false, 0, 0},\n")) << "all are planned";
  const OpInterface op = ragged_interface();
  ImplementationRecipe recipe = ragged_rows();
  recipe.name = "mapped";
  recipe.requires_arch = "sm_90";
  const auto formula = [](const char* text) { return Formula::parse(text); };
  recipe.maps = {{"m",
                  "x",
                  {formula("d"), formula("heads"), formula("tokens")},
                  {formula("8"), formula("1"), formula("4")},
                  {},
                  formula("0"),
                  {}}};
  recipe.maps[0].stride_scalars = {"x_head", "x_token"};
  recipe.kernels[0].params[0] = {KernelParam::Kind::map, "m"};
  cache_.add_op(op, recipe, ragged_kernels(), ragged_binary());
  cache_.add_winner(op, "ragged{tokens=100,heads=3,d=8}", "mapped{}");
  const std::string text = made({.ops = {"ragged"}, .devices = {}});
  EXPECT_THAT(counts_.left_out, ::testing::IsEmpty());
  EXPECT_THAT(text, HasSubstr(", 2, {3, 2}, true, 2, 0},\n")) << "x_head, x_token; dims[2] is tokens";
}

TEST_F(Header, is_the_same_for_the_same_winners) {
  const std::string first = made();
  EXPECT_EQ(made(), first);
}

TEST_F(Header, counts_its_shapes_and_binaries) {
  (void)made();
  EXPECT_EQ(counts_.shapes, 4U) << "scale, strided twice, reduce";
  EXPECT_EQ(counts_.binaries, 3U);
  EXPECT_TRUE(counts_.left_out.empty());
  counts_ = {};
  (void)made({.ops = {"scale"}, .devices = {}});
  EXPECT_EQ(counts_.shapes, 1U);
}

TEST_F(Header, leaves_spares_behind_and_counts_them) {
  const WinnerRow row = selected_winners(cache_.store(), {.ops = {"scale"}, .devices = {}}).front();
  const Config spare = Config::parse("wide{num_warps=8,vec=2,static_dims=0}");
  cache_.store().put_spare({row.problem, row.interface_hash, row.device.fingerprint()}, row.mode,
                           {row.implementation_hash, spare}, row.winner.trial.build_key);
  EXPECT_THAT(made(), ::testing::Not(HasSubstr("num_warps=8,vec=2")));
  EXPECT_EQ(counts_.spares, 1U);
  EXPECT_EQ(counts_.shapes, 4U);
}

TEST_F(Header, is_for_one_device) {
  EXPECT_THROW((void)header_text(cache_.store(), {}, counts_), UsageError);
  cache_.add_winner(scale_interface(), "scale[dtype=f16]{rows=8,cols=64}", "plain{num_warps=8}",
                    {.device = recording_device("Other GPU")});
  EXPECT_THROW((void)made(), UsageError);
}

TEST_F(Header, takes_another_winner_where_the_best_has_no_binary) {
  std::vector<WinnerRow> rows = selected_winners(cache_.store(), {.ops = {"scale"}, .devices = {}});
  rows[0].winner.trial.build_key.clear();
  const std::string text = header_text(cache_.store(), rows, counts_);
  EXPECT_THAT(text, HasSubstr("wide{num_warps=4,vec=4,static_dims=0}"));
  for (WinnerRow& row : rows) row.winner.trial.build_key.clear();
  counts_ = {};
  (void)header_text(cache_.store(), rows, counts_);
  EXPECT_EQ(counts_.shapes, 0U);
  ASSERT_EQ(counts_.left_out.size(), 1U);
  EXPECT_THAT(counts_.left_out[0], HasSubstr("has no stored binary"));
}

TEST_F(Header, has_what_is_pinned_and_nothing_that_is_banned) {
  const std::vector<WinnerRow> rows = selected_winners(cache_.store(), {.ops = {"scale"}, .devices = {}});
  const auto decide = [&](PinKind kind, const WinnerRow& row) {
    const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
    cache_.store().put_pin(
        {{kind, {row.implementation_hash, row.winner.trial.config}, true, "its bits differ", 0}, key});
  };
  const std::string best = rows[0].winner.trial.config.text(), dynamic = rows[1].winner.trial.config.text();
  decide(PinKind::pin, rows[1]);
  const std::string pinned = header_text(cache_.store(), rows, counts_);
  EXPECT_THAT(pinned, HasSubstr(dynamic));
  EXPECT_THAT(pinned, ::testing::Not(HasSubstr(best)));
  for (const WinnerRow& row : rows) decide(PinKind::ban, row);
  counts_ = {};
  (void)header_text(cache_.store(), rows, counts_);
  ASSERT_EQ(counts_.left_out.size(), 1U);
  EXPECT_THAT(counts_.left_out[0], HasSubstr(": its bits differ"));
}

TEST_F(Header, says_how_a_grid_depends_on_what_fits_on_the_device) {
  const OpInterface op = scale_interface();
  const auto with_grid = [&](const std::string& name, const std::string& grid) {
    ImplementationRecipe recipe = scale_plain();
    recipe.name = name;
    recipe.kernels[0].grid = {Formula::parse(grid)};
    cache_.add_op(op, recipe, scale_kernels(), scale_binary());
    cache_.add_winner(op, "scale[dtype=f16]{rows=100000,cols=64}", name + "{num_warps=8}");
    std::vector<WinnerRow> rows = selected_winners(cache_.store(), {.ops = {"scale"}, .devices = {}});
    std::erase_if(rows, [&](const WinnerRow& row) { return row.winner.trial.config.implementation != name; });
    counts_ = {};
    return header_text(cache_.store(), rows, counts_);
  };
  EXPECT_THAT(with_grid("a", "min(rows, 3 * resident_blocks)"), HasSubstr("Kernel::Resident::blocks, 3,"));
  EXPECT_THAT(with_grid("b", "min(rows, 2 * max_active_clusters)"), HasSubstr("Kernel::Resident::clusters, 2,"));
  EXPECT_THAT(with_grid("c", "rows"), HasSubstr("Kernel::Resident::none, 0,"));
  (void)with_grid("d", "min(rows, resident_blocks * resident_blocks)");
  ASSERT_EQ(counts_.left_out.size(), 1U);
  EXPECT_THAT(counts_.left_out[0], HasSubstr("a header cannot express"));
}

}  // namespace
}  // namespace tilewright::testing

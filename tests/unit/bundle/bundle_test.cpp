// SPDX-License-Identifier: Apache-2.0
#include "cache/store/bundle/bundle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "cache/store/bundle/bundle_keys.hpp"
#include "cache/store/bundle/container.hpp"
#include "cache/store/import.hpp"
#include "tests/unit/serve/match.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright {
namespace {

using namespace store_tests;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::byte> kBinary(5000, std::byte{42});

/// A cache with winners of two shapes, and its bundle.
class BundleTest : public testing::Test {
 protected:
  BundleTest() {
    put(key_, {onchip_config(4), onchip_config(8, 0), onchip_config(1, 0)});
    put(other_, {onchip_config(16), onchip_config(8, 0), onchip_config(1, 0)});
    // A winner of the other shape, tried on this one, too.
    store_.put_trial(key_, "impl-1", full_trial(onchip_config(16), 1500));
    counts_ = write_bundle(store_, selected_winners(store_, {}), path_);
  }

  void put(const ProblemKey& key, const std::vector<Config>& configs) {
    std::vector<Winner> winners;
    for (const Config& config : configs) {
      Trial trial = full_trial(config, 1000 + 100 * static_cast<double>(winners.size()));
      trial.build_key = "build of " + config.text();
      Build build;
      build.key = trial.build_key;
      build.ok = true;
      build.arch = "sm_90a";
      build.compiler = "NVRTC 13.0";
      build.kernels = {{"softmax_onchip", "_Z7softmax", 40, 0, 0, 0, 128}};
      store_.put_build(build, kBinary);
      winners.push_back(winner_of(store_.put_trial(key, "impl-1", trial), static_cast<WinnerRole>(winners.size())));
    }
    store_.put_winners(key, MeasureMode::cold, winners);
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_ / "winners.bundle";
  Store store_ = prepared_store(folder_ / "c.db");
  ProblemKey key_ = softmax_key(8, 100);
  ProblemKey other_ = softmax_key(16, 200);
  BundleCounts counts_;
};

TEST_F(BundleTest, serves_what_is_pinned_and_nothing_that_is_banned) {
  Trial slow = full_trial(onchip_config(2, 0), 9000);
  slow.build_key = "build of " + onchip_config(8, 0).text();
  store_.put_trial(other_, "impl-1", slow);
  const auto decide = [&](PinKind kind, const Config& config, ProblemKey key, bool is_of_problem) {
    if (!is_of_problem) key.problem.dims.clear();
    store_.put_pin({{kind, {"impl-1", config}, is_of_problem, "why", 0}, key});
  };
  decide(PinKind::ban, onchip_config(4), key_, true);
  decide(PinKind::pin, onchip_config(2, 0), other_, true);
  decide(PinKind::ban, onchip_config(1, 0), key_, false);
  (void)write_bundle(store_, selected_winners(store_, {}), path_);
  const Bundle bundle(path_);
  const auto served = [](const WinnerSource& source, const ProblemKey& key) {
    const MatchedRow found = match(source, {key.problem, key.interface_hash, h200(), {}});
    return found.row ? found.row->winner.trial.config.text() + " " + found.row->winner.trial.build_key : "none";
  };
  EXPECT_THAT(served(bundle, key_), HasSubstr(onchip_config(8, 0).text()));
  EXPECT_THAT(served(bundle, other_), HasSubstr(onchip_config(2, 0).text()));
  for (const ProblemKey& key : {key_, other_, softmax_key(9, 100), softmax_key(17, 200)}) {
    EXPECT_EQ(served(bundle, key), served(store_, key));
    ASSERT_EQ(bundle.pins(key).pins.size(), store_.pins(key).pins.size());
  }
  EXPECT_EQ(bundle.pins(key_).pins.front().text(), store_.pins(key_).pins.front().text());
}

TEST_F(BundleTest, counts_what_it_has) {
  EXPECT_EQ(counts_.winners, 6U);
  EXPECT_EQ(counts_.binaries, 1U) << "equal binaries are stored once";
  EXPECT_EQ(counts_.without_binary, 0U);
}

TEST_F(BundleTest, answers_as_the_cache_does) {
  const Bundle bundle(path_);
  EXPECT_THAT(bundle.ops(), ElementsAre("softmax"));
  ASSERT_EQ(bundle.devices().size(), 1U);
  EXPECT_EQ(bundle.devices()[0].fingerprint(), h200().fingerprint());
  EXPECT_EQ(bundle.interface_of("softmax")->hash(), key_.interface_hash);
  EXPECT_EQ(bundle.interface_by_hash(key_.interface_hash)->dims, softmax_interface().dims);
  EXPECT_EQ(bundle.interface_of("gemm"), std::nullopt);
  EXPECT_EQ(bundle.implementation_by_hash("impl-1")->recipe, store_.implementation_by_hash("impl-1")->recipe);
  EXPECT_FALSE(bundle.implementation_by_hash("impl-2").has_value());
  for (const ProblemKey& key : {key_, other_}) {
    for (const WinnerRole role : {WinnerRole::best, WinnerRole::dynamic, WinnerRole::base}) {
      const auto expected = store_.winner_of(key, MeasureMode::cold, role);
      const auto row = bundle.winner_of(key, MeasureMode::cold, role);
      ASSERT_TRUE(row.has_value());
      EXPECT_EQ(row->problem, expected->problem);
      EXPECT_EQ(row->interface_hash, expected->interface_hash);
      EXPECT_EQ(row->implementation_hash, "impl-1");
      EXPECT_EQ(row->device.fingerprint(), expected->device.fingerprint());
      EXPECT_EQ(row->device.l2_bytes, expected->device.l2_bytes);
      EXPECT_EQ(row->winner.role, role);
      EXPECT_EQ(row->winner.trial.config, expected->winner.trial.config);
      EXPECT_EQ(row->winner.trial.timing->median_ns, expected->winner.trial.timing->median_ns);
      EXPECT_EQ(row->winner.trial.versions, expected->winner.trial.versions);
      EXPECT_EQ(row->winner.trial.build_key, expected->winner.trial.build_key);
      EXPECT_EQ(row->winner.base_ns, expected->winner.base_ns);
      EXPECT_EQ(bundle.newest_of_spec(key_, MeasureMode::cold, role)->winner.trial.config,
                store_.newest_of_spec(key_, MeasureMode::cold, role)->winner.trial.config);
    }
  }
  EXPECT_EQ(bundle.winner_of(key_, MeasureMode::hot, WinnerRole::best), std::nullopt);
  EXPECT_EQ(bundle.winner_of(softmax_key(9, 100), MeasureMode::cold, WinnerRole::best), std::nullopt);
  EXPECT_EQ(bundle.winner_of(softmax_key(8, 100, a100()), MeasureMode::cold, WinnerRole::best), std::nullopt);
}

TEST_F(BundleTest, knows_of_the_shapes_what_the_cache_knows) {
  const Bundle bundle(path_);
  EXPECT_THAT(bundle.tuned_shapes(key_, MeasureMode::cold), ElementsAre(ElementsAre(8, 100), ElementsAre(16, 200)));
  const std::vector<std::vector<std::int64_t>> both{{8, 100}, {16, 200}};
  const auto texts = [](const std::vector<ShapeSummary>& shapes) {
    std::vector<std::string> found;
    for (const ShapeSummary& shape : shapes) {
      for (const ConfigSummary& known : shape.configs) {
        found.push_back(std::to_string(shape.dims[0]) + " " + (known.role ? std::string(name(*known.role)) : "-") +
                        " " + known.id.implementation_hash + " " + known.id.config.text() + " " +
                        std::to_string(known.median_ns));
      }
    }
    return found;
  };
  const std::vector<std::vector<std::int64_t>> one{{8, 100}};
  for (const auto& shapes : {both, one}) {
    EXPECT_THAT(texts(bundle.known_shapes(key_, MeasureMode::cold, shapes)),
                testing::UnorderedElementsAreArray(texts(store_.known_shapes(key_, MeasureMode::cold, shapes))));
  }
  EXPECT_TRUE(bundle.tuned_shapes(softmax_key(8, 100, a100()), MeasureMode::cold).empty());
}

TEST_F(BundleTest, gives_the_binaries_with_their_kernels) {
  const Bundle bundle(path_);
  const auto row = bundle.winner_of(key_, MeasureMode::cold, WinnerRole::best);
  const auto build = bundle.build(row->winner.trial.build_key);
  ASSERT_TRUE(build.has_value());
  EXPECT_TRUE(build->ok);
  EXPECT_EQ(build->kernels, store_.build(build->key)->kernels);
  EXPECT_EQ(build->arch, "sm_90a");
  EXPECT_EQ(bundle.binary(build->binary_hash), kBinary);
  EXPECT_EQ(bundle.build("of another"), std::nullopt);
  EXPECT_THAT(refusal([&] { (void)bundle.binary(std::string(32, '0')); }), HasSubstr("holds no binary"));
}

TEST_F(BundleTest, is_matched_as_a_cache_is) {
  const Bundle bundle(path_);
  const auto served = [&](const ProblemKey& key, const DeviceFacts& device) {
    return match(bundle, {key.problem, key.interface_hash, device, versions()}).match.text();
  };
  EXPECT_EQ(served(key_, h200()), "exact, fresh, same device");
  EXPECT_EQ(served(key_, gh200_slice()), "exact, fresh, same architecture");
  EXPECT_EQ(served(key_, a100()), "none");
}

TEST_F(BundleTest, with_what_cannot_be_understood_is_an_error) {
  ContainerWriter writer;
  writer.put("ops", "not json");
  writer.put("interface\n" + key_.interface_hash, R"({"op": 3})");
  writer.put("build\nx", "{}");
  writer.put("binary\nx", "no frame");
  writer.write(path_);
  const Bundle bundle(path_);
  EXPECT_THAT(refusal([&] { (void)bundle.ops(); }), HasSubstr("cannot read the ops in the bundle"));
  EXPECT_THROW((void)bundle.interface_by_hash(key_.interface_hash), CacheError);
  EXPECT_THROW((void)bundle.build("x"), CacheError);
  EXPECT_THROW((void)bundle.binary("x"), CacheError);
}

TEST_F(BundleTest, whose_kernels_nest_too_deep_for_the_stack_is_an_error) {
  constexpr std::size_t kDeep = 400'000;
  const std::string kernels = std::string(kDeep, '[') + std::string(kDeep, ']');
  ContainerWriter writer;
  writer.put("build\nx", R"({"binary":"h","compiler":"c","arch":"a","kernels":)" + kernels + "}");
  writer.write(path_);
  EXPECT_THAT(refusal([&] { (void)Bundle(path_).build("x"); }), HasSubstr("deeper than 64 levels"));
}

TEST_F(BundleTest, tells_winners_whose_binaries_are_missing) {
  const ProblemKey third = softmax_key(32, 300);
  store_.put_winners(third, MeasureMode::cold,
                     {winner_of(store_.put_trial(third, "impl-1", full_trial(onchip_config(2))))});
  const BundleCounts counts = write_bundle(store_, selected_winners(store_, {}), path_);
  EXPECT_EQ(counts.winners, 7U);
  EXPECT_EQ(counts.without_binary, 1U);
}

TEST_F(BundleTest, has_spares_and_serves_by_them) {
  // The winners are of 100 and 200 columns; the dynamic one's binary is missing.
  store_.put_spare(other_, MeasureMode::cold, {"impl-1", onchip_config(2, 0)},
                   "build of " + onchip_config(8, 0).text());
  const std::filesystem::path path = folder_ / "spares.bundle";
  write_bundle(store_, selected_winners(store_, {}), path);
  const Bundle bundle(path);
  bool found = false;
  for (const ShapeSummary& shape : bundle.known_shapes(key_, MeasureMode::cold, {{8, 100}, {16, 200}})) {
    for (const ConfigSummary& each : shape.configs) {
      if (each.id.config != onchip_config(2, 0)) continue;
      found = true;
      EXPECT_TRUE(each.is_spare && each.has_binary && !each.was_timed());
      EXPECT_EQ(shape.dims, (std::vector<std::int64_t>{16, 200}));
    }
  }
  EXPECT_TRUE(found);
  const auto row = bundle.timed(other_, MeasureMode::cold, {"impl-1", onchip_config(2, 0)});
  ASSERT_TRUE(row.has_value());
  EXPECT_FALSE(row->winner.trial.timing.has_value());
  EXPECT_EQ(bundle.binary(bundle.build(row->winner.trial.build_key)->binary_hash), kBinary);
  // Both offer the same configs in the same order.
  const Problem untuned = softmax_problem(12, 160);
  const auto offered = [&](const WinnerSource& source) {
    std::vector<std::string> texts;
    const ProblemQuery query{untuned, key_.interface_hash, h200()};
    Candidates candidates(source, query);
    while (const auto candidate = candidates.next()) {
      const Trial& trial = candidate->row.winner.trial;
      texts.push_back(trial.config.text() + " " + trial.build_key);
    }
    return texts;
  };
  EXPECT_THAT(offered(bundle),
              testing::Contains(onchip_config(2, 0).text() + " build of " + onchip_config(8, 0).text()));
  EXPECT_EQ(offered(bundle), offered(store_));
}

/// A bundle of a cache with a learned model and a spare.
class LearnedBundleTest : public BundleTest {
 protected:
  LearnedBundleTest() {
    put_spare(store_, other_, onchip_config(2, 0));
    // Only timed, of an implementation that has not won.
    store_.put_implementation(key_.interface_hash, onchip("impl-2"));
    store_.put_trial(key_, "impl-2", full_trial(onchip_config(64, 0), 1800));
    store_.put_loss_model(key_, MeasureMode::cold, model_);
  }
  [[nodiscard]] Bundle bundle(const WinnerSelection& filter = {}) {
    write_bundle(store_, selected_winners(store_, filter), path_);
    return Bundle(path_);
  }
  /// The configs offered for an untuned shape.
  [[nodiscard]] std::vector<std::string> offered(const WinnerSource& source, bool with_compiles) const {
    std::vector<std::string> texts;
    ProblemQuery query{softmax_problem(12, 160), key_.interface_hash, h200()};
    query.with_compiles = with_compiles;
    Candidates candidates(source, query);
    while (const auto candidate = candidates.next()) {
      const WinnerRow& row = candidate->row;
      texts.push_back(std::string(name(candidate->match.fit)) + " " + row.implementation_hash + " " +
                      row.winner.trial.config.text() + (candidate->needs_compile ? " compiled" : ""));
    }
    return texts;
  }

  const LossModel model_ =
      test::model_of(onchip_space({"impl-1", "impl-2"}), {.feature = 1, .cut = 2.5F, .otherwise = 1},
                     {{0, onchip_config(4).text()}, {1, onchip_config(1, 0).text()}}, 24);
};

TEST_F(LearnedBundleTest, carries_the_model_and_who_can_serve) {
  const Bundle bundle = this->bundle();
  const auto learned = bundle.learned(softmax_key(1, 1), MeasureMode::cold);
  ASSERT_NE(learned, nullptr) << "the dims of the key play no part";
  EXPECT_EQ(*learned->model, model_);
  EXPECT_THAT(texts_of(learned->servers),
              testing::UnorderedElementsAreArray(texts_of(store_.learned(key_, MeasureMode::cold)->servers)));
  EXPECT_THAT(
      texts_of(learned->servers),
      ElementsAre("8x100 best onchip{num_warps=4,static_dims=1}", "8x100 dynamic onchip{num_warps=8,static_dims=0}",
                  "16x200 best onchip{num_warps=16,static_dims=1}", "16x200 onchip{num_warps=2,static_dims=0}"));
  EXPECT_EQ(bundle.learned(key_, MeasureMode::cold), learned) << "read once";
  bundle.check();
}

TEST_F(LearnedBundleTest, serves_what_the_cache_serves_in_the_same_order) {
  const Bundle bundle = this->bundle();
  EXPECT_EQ(offered(bundle, false), offered(store_, false));
  EXPECT_EQ(offered(bundle, true), offered(store_, true));
  EXPECT_EQ(offered(bundle, false).front(), "nearest impl-1 onchip{num_warps=2,static_dims=0}");
  EXPECT_THAT(offered(bundle, true), testing::Contains("nearest impl-2 onchip{num_warps=1,static_dims=0} compiled"));
}

TEST_F(LearnedBundleTest, wants_what_never_won_without_spares_too) {
  // Without spares, times of configs that did not win stay behind. Their implementation comes along for the model.
  const Bundle bundle = this->bundle({.wanted = [&](const Problem& problem) { return problem == key_.problem; }});
  EXPECT_THAT(offered(bundle, true), testing::Contains("nearest impl-2 onchip{num_warps=1,static_dims=0} compiled"));
}

TEST_F(LearnedBundleTest, of_a_part_of_the_winners_has_no_other_servers) {
  const Bundle bundle = this->bundle({.wanted = [&](const Problem& problem) { return problem == key_.problem; }});
  const auto learned = bundle.learned(key_, MeasureMode::cold);
  EXPECT_EQ(*learned->model, model_) << "of all shapes: what was learned is not forgotten";
  EXPECT_THAT(texts_of(learned->servers), ElementsAre("8x100 best onchip{num_warps=4,static_dims=1}",
                                                      "8x100 dynamic onchip{num_warps=8,static_dims=0}"));
}

TEST_F(LearnedBundleTest, has_no_spare_that_failed_in_another_spec_and_neither_it_nor_the_cache_is_served_by_one) {
  const std::string spare = "nearest impl-1 onchip{num_warps=2,static_dims=0}";
  ASSERT_THAT(offered(store_, false), testing::Contains(spare));
  store_.put_trial(softmax_key(8, 100, h200(), DType::f32), "impl-1", wrong_trial(onchip_config(2, 0)));
  const Bundle bundle = this->bundle();
  EXPECT_THAT(texts_of(bundle.learned(key_, MeasureMode::cold)->servers),
              testing::Not(testing::Contains("16x200 onchip{num_warps=2,static_dims=0}")));
  EXPECT_THAT(offered(bundle, false), testing::Not(testing::Contains(spare)));
  EXPECT_EQ(offered(bundle, false), offered(store_, false));
  EXPECT_EQ(bundle.build("build of onchip{num_warps=2,static_dims=0}"), std::nullopt) << "nor has it its binary";
}

TEST_F(LearnedBundleTest, knows_nothing_of_another_spec_device_or_mode) {
  const Bundle bundle = this->bundle();
  EXPECT_EQ(bundle.learned(key_, MeasureMode::hot), nullptr);
  EXPECT_EQ(bundle.learned(softmax_key(8, 100, a100()), MeasureMode::cold), nullptr);
  EXPECT_EQ(bundle.learned(softmax_key(8, 100, h200(), DType::f32), MeasureMode::cold), nullptr);
}

TEST_F(LearnedBundleTest, whose_model_is_damaged_says_so_whenever_it_is_asked) {
  const std::string whole = bundle::encode_servers(1, {{{8, 100}, WinnerRole::best, {"impl-1", onchip_config(4)}}});
  const std::vector<std::byte> model = model_.encode();
  const std::pair<std::vector<std::byte>, std::string> damages[] = {
      {std::vector<std::byte>(model.begin(), model.end() - 1), whole},
      {{}, whole},
      {model, "not json"},
      {model, R"([[[8, 100], "best", "impl-1"]])"},
      {model, R"([[[8, 100], "winner", "impl-1", "onchip{}"]])"},
      {model, R"([[[8, 100], null, "impl-1", "onchip{"]])"},
  };
  for (const auto& [bytes, servers] : damages) {
    ContainerWriter writer;
    writer.put(bundle::loss_model_key(key_, MeasureMode::cold), bytes);
    writer.put(bundle::servers_key(key_, MeasureMode::cold), servers);
    writer.write(path_);
    const Bundle bundle(path_);
    for (int i = 0; i < 2; ++i) {
      const std::string text = refusal([&] { (void)bundle.learned(key_, MeasureMode::cold); });
      EXPECT_THAT(text, HasSubstr("cannot read the loss model in the bundle " + path_.string())) << servers;
    }
  }
}

TEST_F(LearnedBundleTest, whose_model_is_of_another_version_has_none) {
  const std::vector<std::uint8_t> cbor = nlohmann::json::to_cbor({{"version", 1000}});
  const auto other = std::as_bytes(std::span(cbor));
  ContainerWriter writer;
  writer.put(bundle::loss_model_key(key_, MeasureMode::cold), std::vector<std::byte>(other.begin(), other.end()));
  writer.put(bundle::servers_key(key_, MeasureMode::cold), bundle::encode_servers(1, {}));
  writer.write(path_);
  EXPECT_EQ(Bundle(path_).learned(key_, MeasureMode::cold), nullptr);
}

TEST_F(BundleTest, of_a_cache_that_has_learned_nothing_has_no_model) {
  EXPECT_EQ(Bundle(path_).learned(key_, MeasureMode::cold), nullptr);
}

}  // namespace
}  // namespace tilewright

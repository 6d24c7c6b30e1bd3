// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/content_hash.hpp"
#include "cache/store/binaries.hpp"
#include "tests/other_program.hpp"
#include "tests/unit/predict/hand_made_model.hpp"
#include "tests/unit/store/fixture.hpp"

/// Common parts of tests of learned models: configs with a binary, which may serve, and models of onchip that depend on
/// its warps alone.
namespace tilewright::store_tests {

inline FeatureSpace onchip_space(std::vector<std::string> implementations = {"impl-1"}) {
  return {std::move(implementations), {"num_warps", "static_dims"}, 2};
}

/// Configs with fewer than `least` warps lose a factor of e, all others nothing; with `most` the others lose.
inline LossModel model_of_warps(std::int64_t least, std::size_t shapes = 16, const std::vector<Config>& configs = {},
                                bool most = false) {
  std::vector<std::pair<std::size_t, std::string>> known;
  for (const Config& config : configs) known.emplace_back(0, config.text());
  // Between the features of `least` and of one fewer, which are log2(1 + warps).
  const auto cut = static_cast<float>(std::log2(static_cast<double>(least) + 0.5));
  return test::model_of(onchip_space(),
                        {.feature = 1, .cut = cut, .below = most ? 0.0 : 1.0, .otherwise = most ? 1.0 : 0.0}, known,
                        shapes);
}

/// A trial with a binary.
inline Trial built_trial(Store& store, const Config& config, double median_ns = 1000) {
  Trial trial = full_trial(config, median_ns);
  trial.build_key = "build of " + config.text();
  Build build;
  build.key = trial.build_key;
  build.ok = true;
  build.arch = "sm_90a";
  build.kernels = {{"softmax_onchip", "_Z7softmax", 40, 0, 0, 0, 128}};
  store.put_build(build, std::vector<std::byte>(100, std::byte{42}));
  return trial;
}

/// A trial that gave a wrong result.
inline Trial wrong_trial(const Config& config) {
  Trial trial = full_trial(config);
  trial.status = TrialStatus::wrong_result;
  trial.timing.reset();
  return trial;
}

/// Adds a winner with a binary to the problem's winners.
inline std::int64_t put_server(Store& store, const ProblemKey& key, const Config& config,
                               WinnerRole role = WinnerRole::best, const std::string& implementation = "impl-1") {
  const std::int64_t id = store.put_trial(key, implementation, built_trial(store, config));
  std::vector<Winner> winners = store.winners(key, MeasureMode::cold);
  winners.push_back(winner_of(id, role));
  store.put_winners(key, MeasureMode::cold, winners);
  return id;
}

/// Adds a spare that was not timed at that shape.
inline void put_spare(Store& store, const ProblemKey& key, const Config& config,
                      const std::string& implementation = "impl-1") {
  store.put_spare(key, MeasureMode::cold, {implementation, config}, built_trial(store, config).build_key);
}

/// Replaces all models of a cache by models of another version.
inline void put_model_of_version(const std::filesystem::path& cache, int version) {
  const std::vector<std::uint8_t> cbor = nlohmann::json::to_cbor({{"version", version}, {"more", "than we know"}});
  const auto model = std::as_bytes(std::span(cbor));
  const std::vector<std::byte> frame = compress_binary(model);
  OtherProgram database(cache);
  SQLite::Statement put(
      database, "UPDATE binaries SET hash = ?, size = ?, data = ? WHERE id IN (SELECT binary FROM loss_models)");
  put.bind(1, content_hash(model));
  put.bind(2, static_cast<std::int64_t>(model.size()));
  put.bind(3, frame.data(), static_cast<int>(frame.size()));
  put.exec();
}

/// "8x100 best onchip{…}"; without a role for spares.
inline std::vector<std::string> texts_of(const std::vector<StoredConfig>& servers) {
  std::vector<std::string> texts;
  for (const StoredConfig& each : servers) {
    texts.push_back(std::to_string(each.tuned_for.at(0)) + "x" + std::to_string(each.tuned_for.at(1)) + " " +
                    (each.role ? std::string(name(*each.role)) + " " : "") + each.id.config.text());
  }
  return texts;
}

}  // namespace tilewright::store_tests

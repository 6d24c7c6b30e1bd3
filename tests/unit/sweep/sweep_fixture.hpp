// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/temporary_folder.hpp"
#include "tests/unit/sweep/fake_device.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/sweep/sweep.hpp"

namespace tilewright::testing {

/// Records a sweep's reports.
class Listener : public SweepListener {
 public:
  void problem_started(const Problem& problem, std::size_t index, std::size_t of, std::size_t configs,
                       std::size_t already_measured) override {
    started.push_back(problem.key() + " " + std::to_string(index) + "/" + std::to_string(of) + " " +
                      std::to_string(configs) + " " + std::to_string(already_measured));
  }
  void trial_done(const Problem&, const Trial& trial, bool is_best_so_far) override {
    trials.push_back(trial);
    if (is_best_so_far) best = trial.config.text();
  }
  void problem_done(const Problem& problem, const std::vector<Winner>&) override {
    done.push_back(problem.key());
    ++finished;
  }
  void note(const std::string& line) override { notes.push_back(line); }

  std::vector<std::string> started;
  std::vector<std::string> done;
  /// The size of `done`, for other threads.
  std::atomic<std::size_t> finished = 0;
  std::vector<std::string> notes;
  std::vector<Trial> trials;
  std::string best;
};

/// A folder with a cache, the op `twice`, and functions to sweep it.
class SweepFixture : public ::testing::Test {
 protected:
  SweepFixture() : catalogue({TILEWRIGHT_TEST_OPS}, TILEWRIGHT_TEST_KERNELS) {
    request.definition = &catalogue.find("twice");
    request.ceilings = false;
    request.jobs = 2;
    // Rounds end a measurement here, not the time, of which a busy machine may have any amount pass.
    request.stop = {.relative_interval = 0.01, .min_rounds = 5, .max_rounds = 9, .budget = std::chrono::minutes(1)};
    request.command = "tilewright sweep twice";
    use_shapes("n=100");
  }

  void use_shapes(const std::string& text) {
    const OpInterface& interface = request.definition->interface;
    request.problems = parse_shapes(text, parse_spec("twice", interface), interface);
  }

  [[nodiscard]] Store open() const { return Store(folder / "cache.db"); }

  SweepSummary sweep(Device& device, const std::function<bool()>& interrupted = {}) {
    Store store = open();
    return run_sweep(request, catalogue, device, store, listener, interrupted);
  }

  [[nodiscard]] ProblemKey key(const Device& device, std::size_t problem = 0) const {
    return {request.problems.at(problem), request.definition->interface.hash(), device.facts().fingerprint()};
  }

  /// All trials of a problem in the cache.
  [[nodiscard]] std::vector<Trial> trials(const Device& device, std::size_t problem = 0) const {
    std::vector<std::string> hashes;
    for (const Implementation& implementation : request.definition->implementations)
      hashes.push_back(implementation.hash);
    return open().trials(key(device, problem), hashes, request.mode);
  }

  [[nodiscard]] std::vector<Winner> winners(const Device& device, std::size_t problem = 0) const {
    return open().winners(key(device, problem), request.mode);
  }

  /// The stored trial of the config with this fault.
  [[nodiscard]] Trial trial_of(const Device& device, Fault fault) const {
    for (const Trial& trial : trials(device)) {
      if (trial.config.value_or("fault", 0) == static_cast<int>(fault)) return trial;
    }
    ADD_FAILURE() << "no trial with fault " << static_cast<int>(fault);
    return {};
  }

  const test::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
  Catalogue catalogue;
  SweepRequest request;
  Listener listener;
};

/// The number of legal configs of twice, and of those whose fault fails their own trial.
inline constexpr std::size_t kConfigs = 12;
inline constexpr std::size_t kFailing = 5;
inline constexpr const char* kBest = "plain{fault=0,speed=3,static_dims=0}";

}  // namespace tilewright::testing

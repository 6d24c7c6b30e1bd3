// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tests/gpu/device_fixture.hpp"
#include "tests/launch/sample_cache.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/kernels_dir.hpp"
#include "tuner/definition/space.hpp"

/// An op on the first GPU: compiles its configs, loads them, and puts them into a cache for the launch library.
namespace tilewright::testing {

class OpOnGpu : public OnGpu {
 protected:
  /// A config on the device, with cleared workspaces.
  struct Loaded {
    std::unique_ptr<DeviceExecutable> executable;
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<Address> workspaces;
  };
  /// A problem with configs that threads compile.
  struct Trials {
    Problem problem;
    std::vector<Candidate> configs;
    std::future<CompileResult> reference;
    std::vector<std::future<CompileResult>> binaries;
  };

  /// The op `name`, from the folders `ops` or built in. Tests skip on GPUs before compute capability `least`.
  OpOnGpu(std::vector<std::filesystem::path> ops, std::string name, int least = 90)
      : ops_(std::move(ops)), name_(std::move(name)), least_(least) {}

  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    if (device_->facts().compute_capability < least_) GTEST_SKIP() << "needs sm_" << least_;
    catalogue_.emplace(ops_, kernels_dir());
    op_ = &catalogue_->find(name_);
  }

  [[nodiscard]] CompileResult compile(const GeneratedSource& source) const {
    const CompileResult result = device_->compiler().compile(
        {source.text, source.name, source.entries, device_->facts().arch(), {kernels_dir()}, {}});
    if (!result.ok) throw Error(result.log);
    return result;
  }
  [[nodiscard]] LaunchPlan plan(const Candidate& candidate, const Problem& problem) const {
    return std::get<LaunchPlan>(
        make_plan(op_->interface, candidate.implementation->recipe, candidate.config, problem, device_->facts()));
  }
  [[nodiscard]] CompileResult compile(const Candidate& candidate, const Problem& problem) const {
    return compile(
        generate_source(*op_, *candidate.implementation, candidate.config, problem, plan(candidate, problem)));
  }
  [[nodiscard]] Trials begin(const Problem& problem, std::vector<Candidate> configs) const {
    // Opens the compiler before threads share it.
    static_cast<void>(device_->compiler());
    Trials trials{problem, std::move(configs), {}, {}};
    trials.reference =
        std::async(std::launch::async, [this, problem] { return compile(generate_reference(*op_, problem)); });
    for (const Candidate& config : trials.configs) {
      trials.binaries.push_back(
          std::async(std::launch::async, [this, problem, config] { return compile(config, problem); }));
    }
    return trials;
  }
  [[nodiscard]] Loaded load(const Candidate& candidate, const Problem& problem, const CompileResult& binary) const {
    Loaded loaded;
    loaded.executable = device_->load(binary.binary, kernel_facts(binary), op_->interface,
                                      candidate.implementation->recipe, candidate.config, problem);
    for (const PlannedWorkspace& workspace : loaded.executable->plan().workspaces) {
      const std::size_t bytes = std::max<std::size_t>(workspace.bytes, 1);
      loaded.buffers.push_back(device_->allocate(bytes, "workspace " + workspace.name));
      loaded.workspaces.push_back(loaded.buffers.back()->address());
      device_->fill(loaded.workspaces.back(), 0, bytes);
    }
    return loaded;
  }
  /// Fills a new cache at `path` with this config as the base, which serves all shapes.
  void serve(const std::string& path, const Candidate& candidate, const Problem& problem) const {
    SampleCache cache(path);
    const CompileResult binary = compile(candidate, problem);
    cache.add_op(op_->interface, candidate.implementation->recipe, kernel_facts(binary), binary.binary);
    cache.add_winner(op_->interface, problem.key(), candidate.config.text(),
                     {.role = WinnerRole::base, .device = device_->facts()});
  }

  const OpDefinition* op_ = nullptr;

 private:
  std::vector<std::filesystem::path> ops_;
  std::string name_;
  int least_;
  std::optional<Catalogue> catalogue_;
};

}  // namespace tilewright::testing

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tests/gpu/device_fixture.hpp"
#include "tests/launch/sample_cache.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/kernels_dir.hpp"
#include "tuner/definition/space.hpp"

/// An op on the first GPU: compiles its configs and puts them into a cache for the launch library.
namespace tilewright::testing {

class OpOnGpu : public OnGpu {
 protected:
  /// The op `name`, from the folders `ops` or built in.
  OpOnGpu(std::vector<std::filesystem::path> ops, std::string name) : ops_(std::move(ops)), name_(std::move(name)) {}

  void SetUp() override {
    OnGpu::SetUp();
    if (IsSkipped()) return;
    if (device_->facts().compute_capability < 90) GTEST_SKIP() << "needs sm_90";
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
  std::optional<Catalogue> catalogue_;
};

}  // namespace tilewright::testing

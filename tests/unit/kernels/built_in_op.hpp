// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuner/definition/catalogue.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/device/device.hpp"
#include "tuner/verify/verify.hpp"

/// A built-in op on the emulator: checks its configs against its reference, as a sweep does.
namespace tilewright {

[[nodiscard]] std::filesystem::path test_kernels_dir();

/// An H200's facts; nothing is launched on it.
[[nodiscard]] DeviceFacts facts_of_an_h200();
/// An A100's facts: without clusters and bulk copies.
[[nodiscard]] DeviceFacts facts_of_an_a100();

class BuiltInOp {
 public:
  /// Searches the folders `more` first, which may hold ops that are not built in.
  explicit BuiltInOp(const std::string& op, const std::vector<std::filesystem::path>& more = {});

  [[nodiscard]] const OpDefinition& definition() const { return *definition_; }
  [[nodiscard]] Problem problem(const std::string& key) const;
  /// Legal configs of one implementation, at most `most`, evenly spread over the space.
  [[nodiscard]] std::vector<Config> sample(const Problem& problem, const std::string& implementation,
                                           std::size_t most) const;
  [[nodiscard]] bool is_legal(const Problem& problem, const Config& config) const;
  /// Empty if the config is right for all data sets of `options`; else what is wrong.
  [[nodiscard]] std::string fault(const Problem& problem, const Config& config,
                                  const ArgumentSet::Options& options = {});
  /// The bytes of all outputs after each of `launches` launches, which order threads and blocks differently.
  [[nodiscard]] std::vector<std::vector<std::byte>> outputs(const Problem& problem, const Config& config, int launches);

 private:
  /// A config that is ready to run, and its workspaces. Uncleared ones hold NaN, as used memory might.
  struct Loaded {
    std::unique_ptr<DeviceExecutable> executable;
    std::vector<std::unique_ptr<DeviceBuffer>> buffers;
    std::vector<Address> workspaces;
  };
  Loaded load(const Problem& problem, const Candidate& candidate, const LaunchPlan& plan);
  /// The last few are kept, as configs of a problem are checked one after the other.
  Verifier& verifier(const Problem& problem, const ArgumentSet::Options& options);
  const CompileResult& compile(const std::string& text, const std::vector<std::string>& entries);

  Catalogue catalogue_;
  const OpDefinition* definition_;
  std::unique_ptr<Device> device_;
  /// By source: each is compiled once.
  std::map<std::string, CompileResult> binaries_;
  /// By problem and options, the latest first.
  std::list<std::pair<std::string, Verifier>> verifiers_;
};

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/driver/cuda.hpp"
#include "cache/launch/ready_plan.hpp"
#include "cache/match.hpp"
#include "cache/winner_source.hpp"

/// From a problem to what serves it: reads the cache, judges what it finds, loads the binary. The slow road, taken once a
/// shape; belongs to one thread at a time.
namespace tilewright::launch {

/// What an op is asked for: its interface, by content and by hash.
struct OpIdentity {
  OpInterface interface;
  std::string interface_hash;
  OpSpec spec;
};

/// A winner that can serve, with the plan that proves it.
struct Choice {
  Match match;
  WinnerRow row;
  ImplementationRecipe recipe;
  LaunchPlan plan;
};

/// A choice, or why there is none.
struct Chosen {
  std::optional<Choice> choice;
  std::string why;
};

/// Alignment of an argument's address, and of its pitch where it has one, as a power of two (3: 8 bytes), for each argument
/// in call order.
using Alignments = std::vector<unsigned>;

class Resolver {
 public:
  /// Throws as open_source.
  Resolver(std::filesystem::path path, bool allow_shared);

  /// Throws UsageError for an unknown op or a spec that does not fit it, and InterfaceError when `spec` names an interface
  /// ("softmax@0f…[dtype=bf16]") that the cache does not have.
  [[nodiscard]] OpIdentity identify(const std::string& spec) const;

  /// The first that can serve of: what match() says, the problem's fastest config without specialised dims, the base.
  /// Throws UsageError when an address is aligned to less than every caller of the op must give.
  [[nodiscard]] Chosen choose(const OpIdentity& op, const Problem& problem, const DeviceFacts& device,
                              const Versions& versions, const Alignments& alignments) const;

  /// Loads a choice into the current context. Throws CacheError when its binary is missing or damaged, DeviceError when the
  /// driver rejects it.
  [[nodiscard]] std::shared_ptr<const ReadyPlan> load(const cuda::Driver& driver, const OpIdentity& op,
                                                      const Problem& problem, const DeviceFacts& device,
                                                      const Choice& choice);

  /// Reopens the cache if it has changed since it was last looked at; true if so. When it throws, nothing has changed.
  bool refresh();

  [[nodiscard]] const WinnerSource& source() const noexcept { return *source_; }

 private:
  std::filesystem::path path_;
  bool allow_shared_;
  std::unique_ptr<WinnerSource> source_;
  /// By content; kept until the end, since functions of them may be in captured graphs.
  std::map<std::string, std::shared_ptr<const cuda::Module>> modules_;
};

}  // namespace tilewright::launch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/choose.hpp"
#include "cache/driver/cuda.hpp"
#include "cache/launch/ready_plan.hpp"
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

/// In place of the record of how a winner was named (cache/store/records.hpp), which plays no part in launching.
using Choice = Serving;

class Resolver {
 public:
  /// Throws as open_source.
  Resolver(std::filesystem::path path, bool allow_shared);

  /// Throws UsageError for an unknown op or a spec that does not fit it, and InterfaceError when `spec` names an interface
  /// ("softmax@0f…[dtype=bf16]") that the cache does not have.
  [[nodiscard]] OpIdentity identify(const std::string& spec) const;

  /// As choose(); why nobody can serve says what would help.
  [[nodiscard]] Chosen choose(const OpIdentity& op, const Problem& problem, const DeviceFacts& device,
                              const Versions& versions, const Alignments& alignments) const;

  /// A choice and its plan in the current context.
  struct Resolved {
    Chosen chosen;
    std::shared_ptr<const ReadyPlan> plan;
  };
  /// As choose(), and loads it. What cannot be loaded (its binary is missing or damaged, the driver rejects it, it turns out
  /// illegal only then) gives way to the next, as what is illegal does; where nothing is left, the first such error is
  /// thrown. Throws DeviceError for a driver that fails in any other way.
  [[nodiscard]] Resolved resolve(const cuda::Driver& driver, const OpIdentity& op, const Problem& problem,
                                 const DeviceFacts& device, const Versions& versions, const Alignments& alignments);

  /// Reopens the cache if it has changed since it was last looked at; true if so. When it throws, nothing has changed.
  bool refresh();

  [[nodiscard]] const WinnerSource& source() const noexcept { return *source_; }

 private:
  /// Throws CacheError when the binary is missing or damaged, DeviceError when the driver rejects it.
  [[nodiscard]] std::shared_ptr<const ReadyPlan> load(const cuda::Driver& driver, const OpIdentity& op,
                                                      const Problem& problem, const DeviceFacts& device,
                                                      const Choice& choice);
  static Chosen explained(Chosen chosen, const WinnerSource& source, const Problem& problem, const DeviceFacts& device);

  std::filesystem::path path_;
  bool allow_shared_;
  std::unique_ptr<WinnerSource> source_;
  /// By content; kept until the end, since functions of them may be in captured graphs.
  std::map<std::string, std::shared_ptr<const cuda::Module>> modules_;
};

}  // namespace tilewright::launch

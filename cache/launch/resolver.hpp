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
  /// thrown. Throws DeviceError for a driver that fails in any other way. The plan is `last`, what the same served before in
  /// this context, if it would be the same again.
  [[nodiscard]] Resolved resolve(const cuda::Driver& driver, const OpIdentity& op, const Problem& problem,
                                 const DeviceFacts& device, const Versions& versions, const Alignments& alignments,
                                 const std::shared_ptr<const ReadyPlan>& last);

  // What was compiled at run time, for launchers that do so. It stays when the cache changes: whatever its content, an
  // implementation of the same hash is the same source.
  /// From now on configs that need a compile are looked at: found in `keep`, else told as Chosen::wanted.
  void allow_compiles() { compiles_ = true; }
  /// The name under which a wanted config is kept.
  [[nodiscard]] static std::string compile_key(const Serving& wanted, const Problem& problem,
                                               const DeviceFacts& device);
  [[nodiscard]] static bool is_compiled_here(const Choice& choice);
  /// Keeps a binary; without one, that the config does not compile.
  void keep(const std::string& compile_key, std::vector<std::byte> binary, std::vector<KernelFacts> kernels);

  /// Reopens the cache if it has changed since it was last looked at; true if what is served may have, too. A tuner writes
  /// all the time, and winners seldom. When it throws, nothing has changed.
  bool refresh();

  [[nodiscard]] const WinnerSource& source() const noexcept { return *source_; }

 private:
  /// Throws CacheError when the binary is missing or damaged, DeviceError when the driver rejects it.
  [[nodiscard]] std::shared_ptr<const ReadyPlan> load(const cuda::Driver& driver, const OpIdentity& op,
                                                      const Problem& problem, const DeviceFacts& device,
                                                      const Choice& choice,
                                                      const std::shared_ptr<const ReadyPlan>& last);
  static Chosen explained(Chosen chosen, const WinnerSource& source, const Problem& problem, const DeviceFacts& device);

  struct Compiled {
    std::vector<std::byte> binary;
    std::vector<KernelFacts> kernels;
  };
  [[nodiscard]] CompiledHere compiled_here(const Problem& problem, const DeviceFacts& device) const;

  std::filesystem::path path_;
  bool allow_shared_;
  bool compiles_ = false;
  /// By compile_key; no bytes where it does not compile.
  std::map<std::string, Compiled> compiled_;
  std::unique_ptr<WinnerSource> source_;
  /// Of `source_`; 0: not known, as at first, since that would cost every start the reading of all winners.
  std::uint64_t winners_state_ = 0;
  /// By content; kept until the end, since functions of them may be in captured graphs.
  std::map<std::string, std::shared_ptr<const cuda::Module>> modules_;
};

}  // namespace tilewright::launch

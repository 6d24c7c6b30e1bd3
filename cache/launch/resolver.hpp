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
#include "cache/launch/sources.hpp"
#include "cache/serve/choose.hpp"
#include "cache/serve/expectation.hpp"

/// From a problem to the config that serves it: reads the cache, judges its candidates, loads the binary. The fallback
/// serves where the cache cannot, and where the cache was not tuned for the shape and the fallback fits better
/// (decision 232). The slow road, taken once a shape; belongs to one thread at a time.
namespace tilewright::launch {

/// An op's interface, by content and by hash.
struct OpIdentity {
  OpInterface interface;
  std::string interface_hash;
  OpSpec spec;
};

/// The problem to serve, and the device.
struct Asked {
  const OpIdentity& op;
  const Problem& problem;
  const DeviceFacts& device;
  const Versions& versions;
  /// Empty: to anything.
  const Alignments& alignments;
};

class Resolver {
 public:
  explicit Resolver(Sources sources) : sources_(std::move(sources)) {}

  /// Throws UsageError for an unknown op or a spec that does not fit it, and InterfaceError when `spec` names an
  /// interface ("softmax@0f…[dtype=bf16]") that the cache does not have.
  [[nodiscard]] OpIdentity identify(const std::string& spec);

  /// The config that serves, of which file; where that is the fallback, why the cache does not.
  struct Answer {
    Chosen chosen;
    std::filesystem::path file;
    std::string cache_error = {};
    /// Why the fallback could not be asked, where it was to be; empty: it could, or there is none.
    std::string fallback_error = {};
    /// The expectation of the config that serves, where it was not measured.
    std::optional<Expectation> expected = std::nullopt;
  };
  /// As choose(); `why` also says what would help.
  [[nodiscard]] Answer choose(const Asked& asked);

  /// A choice and its plan in the current context.
  struct Resolved {
    Chosen chosen;
    std::shared_ptr<const ReadyPlan> plan;
  };
  /// Chooses as choose() does, and loads the config. One that cannot be loaded (its binary is missing or damaged, the
  /// driver rejects it, it turns out illegal) gives way to the next; where none is left, the first such error is
  /// thrown. Throws DeviceError for a driver that fails in any other way. Returns `last`, the plan of this context
  /// before, if the new one would be the same.
  [[nodiscard]] Resolved resolve(const cuda::Driver& driver, const Asked& asked,
                                 const std::shared_ptr<const ReadyPlan>& last);

  // Configs compiled at run time, for launchers that do so. They stay when the cache changes: an implementation
  // of the same hash is the same source.
  /// From now on configs that need a compile are looked at: found in `keep`, else told as Chosen::wanted.
  void allow_compiles() { compiles_ = true; }
  /// The name under which a wanted config is kept.
  [[nodiscard]] static std::string compile_key(const PlannedWinner& wanted, const Problem& problem,
                                               const DeviceFacts& device);
  [[nodiscard]] static bool is_compiled_here(const PlannedWinner& choice);
  /// Keeps a binary; without one, that the config does not compile.
  void keep(const std::string& compile_key, std::vector<std::byte> binary, std::vector<KernelFacts> kernels);

  [[nodiscard]] Sources& sources() noexcept { return sources_; }

 private:
  // Given `better_than`, only what fits better serves.
  [[nodiscard]] Chosen choose_from(const WinnerSource& source, const Asked& asked, const Obstacle& obstacle,
                                   const Match* better_than) const;
  [[nodiscard]] Resolved resolve_from(const WinnerSource& source, const cuda::Driver& driver, const Asked& asked,
                                      const std::shared_ptr<const ReadyPlan>& last, const Match* better_than);
  /// Throws CacheError when the binary is missing or damaged, DeviceError when the driver rejects it.
  [[nodiscard]] std::shared_ptr<const ReadyPlan> load(const WinnerSource& source, const cuda::Driver& driver,
                                                      const Asked& asked, const PlannedWinner& choice,
                                                      const std::shared_ptr<const ReadyPlan>& last);

  struct Compiled {
    std::vector<std::byte> binary;
    std::vector<KernelFacts> kernels;
  };
  [[nodiscard]] CompiledHere compiled_here(const Problem& problem, const DeviceFacts& device) const;

  Sources sources_;
  bool compiles_ = false;
  /// Compiled configs by compile_key; no bytes where one does not compile.
  std::map<std::string, Compiled> compiled_;
  /// Modules by content, kept until the end, since captured graphs may hold their functions.
  std::map<std::string, std::shared_ptr<const cuda::Module>> modules_;
};

}  // namespace tilewright::launch

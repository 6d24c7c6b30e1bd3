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
/// serves if the cache cannot, or if the cache was not tuned for the shape and the fallback fits better (decision 232).
/// Runs once per shape; for one thread at a time.
namespace tilewright::launch {

/// An op's interface, its hash, and the spec.
struct OpIdentity {
  OpInterface interface;
  std::string interface_hash;
  OpSpec spec;
};

/// A problem to serve, and its device.
struct Asked {
  const OpIdentity& op;
  const Problem& problem;
  const DeviceFacts& device;
  const Versions& versions;
  /// Empty: all arguments are fully aligned.
  const Alignments& alignments;
};

class Resolver {
 public:
  explicit Resolver(Sources sources) : sources_(std::move(sources)) {}

  /// Throws UsageError if the op is unknown or the spec does not fit it, and InterfaceError if `spec` names an
  /// interface ("softmax@0f…[dtype=bf16]") that the cache does not have.
  [[nodiscard]] OpIdentity identify(const std::string& spec);

  /// The choice, and its file. `cache_error` says why the cache does not serve if the fallback does.
  struct Answer {
    Chosen chosen;
    std::filesystem::path file;
    std::string cache_error = {};
    /// Why the fallback was needed but could not be used; else empty.
    std::string fallback_error = {};
    /// The expectation of the config that serves, if it was not measured.
    std::optional<Expectation> expected = std::nullopt;
  };
  /// As tilewright::choose(); `why` also names a remedy.
  [[nodiscard]] Answer choose(const Asked& asked);

  /// A choice and its plan in the current context.
  struct Resolved {
    Chosen chosen;
    std::shared_ptr<const ReadyPlan> plan;
  };
  /// Chooses as choose() does, and loads the config. A config that cannot be loaded (its binary is missing or damaged,
  /// the driver rejects it, it proves illegal) gives way to the next. If none is left, throws the first such error.
  /// Throws DeviceError for other failures of the driver. Returns `last`, the context's previous plan, if the new one
  /// equals it.
  [[nodiscard]] Resolved resolve(const cuda::Driver& driver, const Asked& asked,
                                 const std::shared_ptr<const ReadyPlan>& last);

  // Configs compiled at run time, for launchers with jit. They stay when the cache changes: equal implementation hashes
  // mean equal sources.
  /// From now on considers configs that need a compile: those kept serve, others are reported as Chosen::wanted.
  void allow_compiles() { compiles_ = true; }
  /// The key of a wanted config for keep().
  [[nodiscard]] static std::string compile_key(const PlannedWinner& wanted, const Problem& problem,
                                               const DeviceFacts& device);
  [[nodiscard]] static bool is_compiled_here(const PlannedWinner& choice);
  /// Keeps a binary; an empty one records that the config does not compile.
  void keep(const std::string& compile_key, std::vector<std::byte> binary, std::vector<KernelFacts> kernels);

  [[nodiscard]] Sources& sources() noexcept { return sources_; }

 private:
  // With `better_than`, only a better fit serves.
  [[nodiscard]] Chosen choose_from(const WinnerSource& source, const Asked& asked, const Obstacle& obstacle,
                                   const Match* better_than) const;
  [[nodiscard]] Resolved resolve_from(const WinnerSource& source, const cuda::Driver& driver, const Asked& asked,
                                      const std::shared_ptr<const ReadyPlan>& last, const Match* better_than);
  /// Throws CacheError if the binary is missing or damaged, DeviceError if the driver rejects it.
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
  /// Compiled configs by compile_key; an empty binary means that the config does not compile.
  std::map<std::string, Compiled> compiled_;
  /// Modules by content, kept to the end: captured graphs may hold their functions.
  std::map<std::string, std::shared_ptr<const cuda::Module>> modules_;
};

}  // namespace tilewright::launch

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/store/history.hpp"
#include "cache/store/store.hpp"
#include "tuner/analysis/roofline.hpp"
#include "tuner/definition/definition.hpp"

/// The trials of a cache one by one, each with its problem, device, build and roofline, for exports to other programs.
/// One trial at a time is in memory with its rounds.
namespace tilewright {

/// Receives an export, piece by piece.
using Write = std::function<void(std::string_view)>;

/// The current definition of an op; null if there is none on this machine.
using FindDefinition = std::function<const OpDefinition*(const std::string& op)>;

/// The trials to take; an empty field takes all.
struct TrialSelection {
  std::vector<std::string> ops{};
  /// Fingerprints.
  std::vector<std::string> devices{};
  std::vector<DType> dtypes{};
  std::optional<MeasureMode> mode{};
  std::function<bool(const Problem&)> wanted{};
};

struct TrialRecord {
  Problem problem;
  std::string interface_hash;
  std::string implementation_hash;
  const DeviceFacts* device = nullptr;
  /// With its rounds.
  Trial trial;
  /// Null if it has none, or the build was left behind.
  const History::BuildOf* build = nullptr;
  /// Whether no newer trial of the same problem, device, mode and config counts.
  bool newest = false;
  /// The roofline by the newest ceilings and the op's definition, if that is here and has the same interface.
  Roofline roofline{};
};

/// The trials of a cache, chosen once. `store` must outlive it.
class TrialRecords {
 public:
  TrialRecords(const Store& store, TrialSelection selection, FindDefinition find_definition);

  [[nodiscard]] std::size_t size() const noexcept { return chosen_.size(); }
  /// Calls `visit` for each trial, in the order in which they were made.
  void visit(const std::function<void(const TrialRecord&)>& visit) const;
  /// The number of an op's problems that have chosen trials on a device.
  struct Counted {
    std::string op;
    std::string device;
    std::size_t problems = 0;
  };
  /// Counts by op, then device.
  [[nodiscard]] std::vector<Counted> count() const;

  /// The names in the chosen trials, each once: of attributes, dims, parameters.
  [[nodiscard]] std::vector<std::string> attributes() const;
  [[nodiscard]] std::vector<std::string> dims() const;
  [[nodiscard]] std::vector<std::string> parameters() const;

 private:
  [[nodiscard]] bool takes(const History::TrialOf& trial) const;
  [[nodiscard]] const History::Spec& spec_of(const History::TrialOf& trial) const;

  const Store& store_;
  TrialSelection selection_;
  FindDefinition find_definition_;
  History history_;
  std::vector<const History::TrialOf*> chosen_;
};

}  // namespace tilewright

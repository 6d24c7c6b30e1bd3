// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/base/dtype.hpp"
#include "cache/model/formula/formula.hpp"
#include "cache/model/interface.hpp"
#include "tuner/definition/reading/section.hpp"

/// The names that a formula may use, and the reading of formulas. Formulas are checked when read, not when a problem
/// first needs them.
namespace tilewright::reading {

/// When names become known: from reading an op to computing a grid. Each stage includes the names of the earlier ones.
enum class Stage : std::uint8_t {
  call,     ///< attributes and the dtype: which arguments are present
  problem,  ///< and dims: shapes and costs
  config,   ///< and parameters and device facts: constraints and most of a launch
  grid,     ///< and facts of a loaded kernel: resident_blocks, max_active_clusters
};

/// Names that are known from Stage::grid on.
inline constexpr std::array<std::string_view, 2> kLateNames{"resident_blocks", "max_active_clusters"};

/// A named formula (lets.hpp) with all other lets substituted.
struct Let {
  std::vector<FormulaPiece> pieces;
  /// The first stage that knows all its names.
  Stage stage = Stage::config;
};

struct Vocabulary {
  std::vector<std::string> dims;
  std::vector<Attribute> attributes;
  std::vector<DType> dtypes;
  std::vector<std::string> parameters;
  /// The implementation's named formulas.
  std::map<std::string, Let> lets = {};
  /// False if one of these could not be read. Then no name is reported as unknown.
  bool complete = true;

  /// The names for Formula::check.
  [[nodiscard]] std::vector<KnownName> known(Stage stage) const;
  /// Whether a dim or an attribute has this name.
  [[nodiscard]] bool is_of_problem(std::string_view name) const;
};

/// A formula in a text, or a whole number or truth value without quotes. If it does not parse or Formula::check refuses
/// it at `stage`: nullopt and all its mistakes.
[[nodiscard]] std::optional<Formula> read_formula(const Node& node, const std::string& what, Stage stage,
                                                  const Vocabulary& vocabulary, Mistakes& mistakes);

/// A list of `least` to `most` formulas. If the list or one of them is unusable: nullopt and the mistakes.
[[nodiscard]] std::optional<std::vector<Formula>> read_formulas(const Node& list, const std::string& what,
                                                                std::size_t least, std::size_t most, Stage stage,
                                                                const Vocabulary& vocabulary, Mistakes& mistakes);

}  // namespace tilewright::reading

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

/// The names that a formula may use where it stands, and the reading of formulas. A formula of a definition is checked
/// when it is read, not when some problem happens to need it.
namespace tilewright::reading {

/// From the few names that are known when an op is opened to all that are known when a grid is computed; each stage
/// knows what the one before knows, too.
enum class Stage : std::uint8_t {
  call,     ///< attributes and the dtype: which arguments there are
  problem,  ///< and dims: shapes and costs
  config,   ///< and parameters and device facts: constraints and most of a launch
  grid,     ///< and what only a loaded kernel can tell: resident_blocks, max_active_clusters
};

/// Names that are known from Stage::grid on.
inline constexpr std::array<std::string_view, 2> kLateNames{"resident_blocks", "max_active_clusters"};

/// A named formula (lets.hpp), in which no name of another is left.
struct Let {
  std::vector<FormulaPiece> pieces;
  /// The first at which all its names are known.
  Stage stage = Stage::config;
};

struct Vocabulary {
  std::vector<std::string> dims;
  std::vector<Attribute> attributes;
  std::vector<DType> dtypes;
  std::vector<std::string> parameters;
  /// Those of an implementation.
  std::map<std::string, Let> lets = {};
  /// False when one of these could not be read: then no name is called unknown.
  bool complete = true;

  /// The names for Formula::check.
  [[nodiscard]] std::vector<KnownName> known(Stage stage) const;
  /// Whether a dim or an attribute has that name.
  [[nodiscard]] bool is_of_problem(std::string_view name) const;
};

/// A formula in a text, or a whole number or truth value, which TOML writes without quotes. Nothing, and every mistake
/// in it, when it does not parse or Formula::check finds fault with it at `stage`.
[[nodiscard]] std::optional<Formula> read_formula(const Node& node, const std::string& what, Stage stage,
                                                  const Vocabulary& vocabulary, Mistakes& mistakes);

/// A list of `least` to `most` formulas. Nothing, and the mistakes, when it or one of them is not usable.
[[nodiscard]] std::optional<std::vector<Formula>> read_formulas(const Node& list, const std::string& what,
                                                                std::size_t least, std::size_t most, Stage stage,
                                                                const Vocabulary& vocabulary, Mistakes& mistakes);

}  // namespace tilewright::reading

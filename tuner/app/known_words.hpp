// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/app/place.hpp"

/// Words that a request may name, for completion: the ops of a place, and an op's dtypes, attributes, parameters,
/// columns and configs. Throws nothing: what cannot be read gives no words.
namespace tilewright::app {

struct KnownOp {
  std::string name;
  std::string summary;
};
[[nodiscard]] std::vector<KnownOp> known_ops(const Place& place);
/// Names of the GPUs that the cache has trials of, after "cpu".
[[nodiscard]] std::vector<std::string> known_devices(const Place& place);

/// Views of `tilewright table`.
enum class TableView { winners, all, by, compare, history };

/// The known words of one op.
class KnownWords {
 public:
  /// The last of `named` that is an op of the place; where there is none, it knows no word.
  KnownWords(Place place, const std::vector<std::string>& named);

  [[nodiscard]] bool is_known() const noexcept { return definition_.has_value(); }
  [[nodiscard]] std::vector<std::string> dims() const;
  /// The op's dtypes; of an unknown op, those of most ops.
  [[nodiscard]] std::vector<std::string> dtypes() const;
  [[nodiscard]] std::vector<Attribute> attributes() const;
  /// "implementation", and all parameters of its implementations, each once.
  [[nodiscard]] std::vector<std::string> parameters() const;
  /// Names of the columns that `tilewright table` has of it: of the table itself, so that none is forgotten.
  [[nodiscard]] std::vector<std::string> columns(TableView view) const;
  /// The configs of its winners in the cache, each once.
  [[nodiscard]] std::vector<std::string> configs() const;
  /// The words that may come next in a config, from its implementations and their parameters: the whole text
  /// each, which is complete where it ends in '}'.
  [[nodiscard]] std::vector<std::string> config_steps(const std::string& typed) const;

 private:
  Place place_;
  std::optional<OpDefinition> definition_;
};

}  // namespace tilewright::app

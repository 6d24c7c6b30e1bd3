// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tuner/app/place.hpp"
#include "tuner/app/table.hpp"

/// Words that a request may name, for completion: the ops of a place, and an op's dtypes, attributes, parameters,
/// columns and configs. Throws nothing: an unreadable source gives no words.
namespace tilewright::app {

struct KnownOp {
  std::string name;
  std::string summary;
};
[[nodiscard]] std::vector<KnownOp> known_ops(const Place& place);
/// "cpu", then the names of the GPUs that the cache has trials of.
[[nodiscard]] std::vector<std::string> known_devices(const Place& place);

/// The known words of one op.
class KnownWords {
 public:
  /// Knows the last of `named` that is an op of the place; if none is, no op.
  KnownWords(Place place, const std::vector<std::string>& named);

  [[nodiscard]] bool is_known() const noexcept { return definition_.has_value(); }
  [[nodiscard]] std::vector<std::string> dims() const;
  /// The op's dtypes; for an unknown op, those of most ops.
  [[nodiscard]] std::vector<std::string> dtypes() const;
  [[nodiscard]] std::vector<Attribute> attributes() const;
  /// "implementation", then the parameters of all implementations, each once.
  [[nodiscard]] std::vector<std::string> parameters() const;
  /// Names of the columns that `tilewright table` has for the op, taken from a table.
  [[nodiscard]] std::vector<std::string> columns(View view) const;
  /// The configs of its winners in the cache, each once.
  [[nodiscard]] std::vector<std::string> configs() const;
  /// The possible continuations of a config, from its implementations and their parameters, each as the whole text. A
  /// text that ends in '}' is complete.
  [[nodiscard]] std::vector<std::string> config_steps(const std::string& typed) const;

 private:
  Place place_;
  std::optional<OpDefinition> definition_;
};

}  // namespace tilewright::app

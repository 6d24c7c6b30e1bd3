// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cli/verb.hpp"

/// A verb's command line, parsed: the words in order, the options by name. Options may stand in any order.
namespace tilewright::cli {

class Arguments {
 public:
  /// Throws UsageError for an unknown option or option value (with the nearest right one), an option without its value,
  /// or a doubled option that may stand once.
  Arguments(const Verb& verb, const std::vector<std::string>& words);

  [[nodiscard]] const Verb& verb() const noexcept { return *verb_; }
  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
  /// The word at `index`. Throws UsageError with what is missing and the verb's usage.
  [[nodiscard]] const std::string& word(std::size_t index, const std::string& what) const;
  /// Throws UsageError if there are more than `most` words.
  void require_at_most(std::size_t most) const;

  [[nodiscard]] bool has(const std::string& option) const { return values_.count(option) != 0; }
  [[nodiscard]] std::string text(const std::string& option, const std::string& otherwise = "") const;
  /// Values of an option that may be repeated.
  [[nodiscard]] std::vector<std::string> texts(const std::string& option) const;
  /// A value above `most` counts as `most`. Throws UsageError if it is not a whole number of at least `least`.
  [[nodiscard]] std::int64_t integer(const std::string& option, std::int64_t otherwise, std::int64_t least,
                                     std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;

  /// The command as it was typed, for the sweep's row and for messages.
  [[nodiscard]] const std::string& command() const noexcept { return command_; }

 private:
  const Verb* verb_;
  std::vector<std::string> words_;
  std::map<std::string, std::vector<std::string>> values_;
  std::string command_;
};

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/cli/verb.hpp"

/// A verb's command line, read: the words in order, the options by name. The order of options does not matter.
namespace tilewright::cli {

class Arguments {
 public:
  /// Throws UsageError for an option that the verb does not have, or a word that it does not take (with the nearest
  /// right one), one without its value, or one given twice that may not be.
  Arguments(const Verb& verb, const std::vector<std::string>& words);

  [[nodiscard]] const Verb& verb() const noexcept { return *verb_; }
  [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }
  /// The word at `index`; throws UsageError that says what is missing, with the verb's usage.
  [[nodiscard]] const std::string& word(std::size_t index, const std::string& what) const;
  /// Throws UsageError when there are more than `most` words.
  void require_at_most(std::size_t most) const;

  [[nodiscard]] bool has(const std::string& option) const { return values_.count(option) != 0; }
  [[nodiscard]] std::string text(const std::string& option, const std::string& otherwise = "") const;
  /// Values of an option that may be repeated.
  [[nodiscard]] std::vector<std::string> texts(const std::string& option) const;
  /// A whole number of at least `least`; throws UsageError.
  [[nodiscard]] std::int64_t integer(const std::string& option, std::int64_t otherwise, std::int64_t least) const;

  /// The command as it was typed, for the sweep's row and for messages.
  [[nodiscard]] const std::string& command() const noexcept { return command_; }

 private:
  const Verb* verb_;
  std::vector<std::string> words_;
  std::map<std::string, std::vector<std::string>> values_;
  std::string command_;
};

}  // namespace tilewright::cli

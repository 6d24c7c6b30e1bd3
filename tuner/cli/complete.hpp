// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// The words that may come next on a command line, from the table of verbs and from this machine: ops, their dims,
/// types and attributes, devices of the cache. Shells ask for them with each press of Tab (completion_verb.cpp), so
/// nothing here opens a device or fails: an unreadable source offers nothing.
namespace tilewright::cli {

/// The first word of a question from a shell's script; it is no verb.
inline constexpr const char* kCompleteWords = "complete-words";

struct Offer {
  std::string word;
  /// A few words, or empty.
  std::string says;
};

struct Completion {
  /// Whether the shell offers names of files, or of folders.
  enum class Files { none, files, folders } files = Files::none;
  /// If true, the word goes on: the shell adds no blank.
  bool unfinished = false;
  /// Only words that begin with the typed text.
  std::vector<Offer> offers;
};

/// `words` stand behind the program's name; the last is being typed, and may be empty.
[[nodiscard]] Completion complete(const std::vector<std::string>& words);

/// The answer to a shell's script: "files", "folders" or "words", and " unfinished" if it is; then a line for each
/// offer, with a tab before its explanation.
[[nodiscard]] std::string completion_text(const Completion& completion);

}  // namespace tilewright::cli

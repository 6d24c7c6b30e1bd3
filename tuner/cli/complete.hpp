// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

/// The words that may come next on a command line, by the verbs' own tables and by what is on the machine: ops, their
/// dims, types and attributes, devices of the cache. Shells ask for it with each press of Tab (completion_verb.cpp), so
/// nothing here opens a device, and nothing fails: what cannot be read offers nothing.
namespace tilewright::cli {

/// The first word that a shell's script asks with; it is no verb.
inline constexpr const char* kCompleteWords = "complete-words";

struct Offer {
  std::string word;
  /// In a few words; may be empty.
  std::string says;
};

struct Completion {
  /// Names of files, or of folders, are the shell's to offer.
  enum class Files { none, files, folders } files = Files::none;
  /// More of the word is to come: no blank behind it.
  bool unfinished = false;
  /// Those alone that begin with what is typed.
  std::vector<Offer> offers;
};

/// `words` stand behind the program's name; the last of them is being typed, and may be empty.
[[nodiscard]] Completion complete(const std::vector<std::string>& words);

/// The answer to a shell's script: "files", "folders" or "words", and " unfinished" where it is; then a line for each
/// offer, with a tab before what it says.
[[nodiscard]] std::string completion_text(const Completion& completion);

}  // namespace tilewright::cli

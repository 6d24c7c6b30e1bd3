// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// A verb as its users see it: name, options, examples. Parsing, `--help`, docs/cli.md, completions and man pages use
/// these values, so that they cannot differ.
namespace tilewright::cli {

class Arguments;
class Console;

enum class ExitCode : int { done = 0, failed = 1, usage = 2, partly = 3 };

/// The kind of words that completion offers for a value without a fixed list. A value named FILE or DIR needs none: it
/// is completed as a path.
enum class Takes : std::uint8_t { text, dtypes, attributes, place, stored_device, arch, parameter, columns, config };

struct Option {
  /// Without the dashes: "cache".
  std::string name;
  /// The name of its value: "FILE"; empty for a switch, "[BOOL]" if it may be left out.
  std::string value;
  /// One or more sentences.
  std::string help;
  /// May be given more than once.
  bool repeated = false;
  /// A short form: 'o' for -o; 0: none.
  char letter = 0;
  /// All allowed values; empty: the verb checks the value. Completion offers them; any other value is answered with the
  /// nearest.
  std::vector<std::string> words{};
  /// The value is a comma-separated list of `words`.
  bool list = false;
  Takes takes = Takes::text;
};

struct Example {
  std::string command;
  std::string says;
};

struct Verb {
  std::string name;
  /// One line, without a full stop.
  std::string summary;
  /// The words behind the verb: "OP [NAME=VALUE...] [OPTION...]". Completion reads OP, NAME=VALUE, FILE, VERB and
  /// this|that.
  std::string usage;
  /// Paragraphs.
  std::vector<std::string> description;
  std::vector<Option> options;
  std::vector<Example> examples;
  /// The meaning of exit codes for this verb.
  std::string exit_codes;
  ExitCode (*run)(const Arguments& arguments, Console& console) = nullptr;
};

/// All verbs, in the order of the documentation.
[[nodiscard]] const std::vector<Verb>& verbs();
/// Throws UsageError for an unknown name, with the nearest right one.
[[nodiscard]] const Verb& find_verb(const std::string& name);

// Each is defined in the file of its name.
[[nodiscard]] Verb sweep_verb();
[[nodiscard]] Verb query_verb();
[[nodiscard]] Verb table_verb();
[[nodiscard]] Verb fusion_verb();
[[nodiscard]] Verb gate_verb();
[[nodiscard]] Verb summary_verb();
[[nodiscard]] Verb regret_verb();
[[nodiscard]] Verb prepare_verb();
[[nodiscard]] Verb list_verb();
[[nodiscard]] Verb show_verb();
[[nodiscard]] Verb verify_verb();
[[nodiscard]] Verb check_verb();
[[nodiscard]] Verb new_verb();
[[nodiscard]] Verb bench_verb();
[[nodiscard]] Verb report_verb();
[[nodiscard]] Verb export_verb();
[[nodiscard]] Verb import_verb();
[[nodiscard]] Verb pin_verb();
[[nodiscard]] Verb cache_verb();
[[nodiscard]] Verb key_verb();
[[nodiscard]] Verb publish_verb();
[[nodiscard]] Verb promote_verb();
[[nodiscard]] Verb pull_verb();
[[nodiscard]] Verb serve_verb();
[[nodiscard]] Verb doctor_verb();
[[nodiscard]] Verb completion_verb();
[[nodiscard]] Verb help_verb();

}  // namespace tilewright::cli

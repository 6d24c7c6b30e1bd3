// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace tilewright::cli {
namespace {

constexpr std::size_t kWidth = 80;

constexpr const char* kExitCodes = "0 done, 1 failed, 2 the command line or a definition is wrong, 3 partly done.";

const std::vector<Variable> kVariables{
    {"TILEWRIGHT_CACHE", "The cache file, unless --cache is given."},
    {"TILEWRIGHT_ALLOW_SHARED_CACHE", "1: run binaries from a cache that other users can write."},
    {"TILEWRIGHT_MISSES", "The file of missed shapes, or off. Default: tilewright/misses in the XDG cache folder."},
    {"TILEWRIGHT_PULLED", "The folder of `tilewright pull`, unless --to is given."},
    {"TILEWRIGHT_TOKEN", "The token for a service, unless --token-file is given."},
    {"TILEWRIGHT_KERNELS_DIR", "The folder of the built-in ops, instead of the one beside the program."},
    {"TILEWRIGHT_NVRTC", "NVRTC's library, or the folder that holds it. If set, no other NVRTC is tried."},
    {"TILEWRIGHT_LIBCUDA", "The CUDA driver's library, instead of libcuda.so.1."},
    {"TILEWRIGHT_LIBNVML",
     "NVML's library, instead of libnvidia-ml.so.1. It reports clocks, temperature and other processes."},
    {"CUDA_HOME, CUDA_PATH", "The CUDA toolkit to search for NVRTC and the CUDA headers."},
    {"CXX", "The C++ compiler that the emulator uses (g++ or clang++)."},
    {"TILEWRIGHT_EMULATOR_FLAGS", "Extra options for that compiler, such as -g for a debugger."},
    {"TMPDIR", "The folder in which the emulator compiles. Default: /tmp."},
    {"COLUMNS", "Width of tables if stdout is not a terminal. Default: 120."},
};

/// Wraps `text` at kWidth, each line after `indent` blanks; the first line continues one of `used` columns.
std::string wrap(const std::string& text, std::size_t indent, std::size_t used) {
  std::string result;
  std::size_t column = used;
  if (column < indent) {
    result.append(indent - column, ' ');
    column = indent;
  } else if (column > indent) {
    result += "\n" + std::string(indent, ' ');
    column = indent;
  }
  std::istringstream words(text);
  bool first = true;
  for (std::string word; words >> word; first = false) {
    if (!first && column + 1 + word.size() > kWidth) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result + "\n";
}

/// Names on the left, their meanings on the right.
template <class Items, class NameOf, class TextOf>
std::string two_columns(const Items& items, const NameOf& name_of, const TextOf& text_of) {
  std::size_t widest = 0;
  for (const auto& item : items) widest = std::max(widest, std::string(name_of(item)).size());
  const std::size_t indent = std::min<std::size_t>(widest + 4, 28);
  std::string text;
  for (const auto& item : items) {
    const std::string left = fmt::format("  {}", name_of(item));
    // A name as wide as its column stands on its own line.
    text += left + wrap(text_of(item), indent, left.size() + 1 > indent ? indent + 1 : left.size());
  }
  return text;
}

std::string spelled(const Option& option) {
  const std::string letter = option.letter == 0 ? "" : fmt::format("-{}, ", option.letter);
  return fmt::format("{}--{}{}{}", letter, option.name, option.value.empty() ? "" : " ", option.value);
}

}  // namespace

const std::vector<Variable>& variables() { return kVariables; }

std::string exit_codes(const Verb* verb) {
  return verb == nullptr || verb->exit_codes.empty() ? kExitCodes : verb->exit_codes;
}

std::string help_text(const Verb& verb) {
  std::string text = fmt::format("tilewright {}", verb.name);
  // On the next lines if it does not fit.
  const bool fits = text.size() + 1 + verb.usage.size() <= kWidth;
  text += (fits ? " " + verb.usage + "\n" : wrap(verb.usage, 4, text.size())) + "\n";
  text += wrap(verb.summary + ".", 0, 0);
  for (const std::string& paragraph : verb.description) text += "\n" + wrap(paragraph, 0, 0);
  std::vector<Option> options = verb.options;
  options.push_back({"help", "", "Print this text."});
  text += "\nOptions:\n" + two_columns(options, spelled, [](const Option& option) {
            return option.help + (option.repeated ? " May be repeated." : "");
          });
  if (!verb.examples.empty()) {
    text += "\nExamples:\n";
    for (const Example& example : verb.examples) {
      text += fmt::format("  {}\n", example.command) + wrap(example.says, 6, 0);
    }
  }
  return text + "\n" + wrap("Exit code: " + exit_codes(&verb), 0, 0);
}

std::string overview_text() {
  std::string text = "Tilewright tunes CUDA kernels and serves the fastest config for each shape.\n\n";
  text += "Usage: tilewright VERB [WORD...] [OPTION...]\n\nVerbs:\n";
  text += two_columns(
      verbs(), [](const Verb& verb) { return verb.name; }, [](const Verb& verb) { return verb.summary + "."; });
  text += "\nEnvironment:\n";
  text += two_columns(
      kVariables, [](const Variable& variable) { return variable.name; },
      [](const Variable& variable) { return variable.says; });
  text += "\n" + wrap("Results go to standard output, progress and errors to standard error.", 0, 0);
  text += wrap(std::string("Exit code: ") + kExitCodes, 0, 0);
  text += "\nType `tilewright VERB --help` for a verb's options, `tilewright --version` for\nthe version.\n";
  return text;
}

std::string markdown_text() {
  std::string text =
      "# The command line\n\n"
      "This page is the output of `tilewright help --markdown`: the texts of `tilewright help` and `tilewright VERB\n"
      "--help` (`Help.is_the_very_text_of_the_document`).\n\n"
      "Exit codes are the same for all verbs: **0** done, **1** failed, **2** the command line or a definition is "
      "wrong\n"
      "(nothing was done), **3** partly done (a sweep that was interrupted, or that left problems without a winner).\n"
      "An error text ends with the next step.\n\n";
  text += "## tilewright\n\n```\n" + overview_text() + "```\n";
  for (const Verb& verb : verbs()) {
    text += fmt::format("\n## tilewright {}\n\n```\n{}```\n", verb.name, help_text(verb));
  }
  return text;
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/man_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "cache/base/version.hpp"
#include "tuner/cli/help.hpp"

namespace tilewright::cli {
namespace {

/// Escapes text for roff; dashes and quotes stay as typed.
std::string escaped(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = static_cast<unsigned>(next_character(text, at));
    switch (character) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result +=
            character < 0x80 ? std::string(1, static_cast<char>(character)) : fmt::format("\\[u{:04X}]", character);
    }
  }
  // A line that begins with a dot is a request.
  if (!result.empty() && result.front() == '.') result.insert(0, "\\&");
  return result;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char letter) { return std::toupper(letter); });
  return text;
}

std::string title(const std::string& page) {
  return fmt::format(".TH {} 1 \"\" \"Tilewright {}\" \"Tilewright\"\n", upper(escaped(page)), version());
}

std::string section(const char* name) { return fmt::format(".SH {}\n", name); }

/// A term and its meaning.
std::string item(const std::string& term, const std::string& says) {
  return fmt::format(".TP\n{}\n{}\n", term, escaped(says));
}

std::string option_item(const Option& option) {
  std::string term = option.letter == 0 ? "" : fmt::format("\\fB\\-{}\\fR, ", option.letter);
  term += fmt::format("\\fB{}\\fR", escaped("--" + option.name));
  if (!option.value.empty()) term += fmt::format(" \\fI{}\\fR", escaped(option.value));
  return item(term, option.help + (option.repeated ? " May be repeated." : ""));
}

std::string page_name(const Verb& verb) { return "tilewright-" + verb.name; }

std::string see_also(const std::vector<std::string>& pages) {
  std::string text = section("SEE ALSO");
  for (std::size_t i = 0; i < pages.size(); ++i) {
    text += fmt::format(".BR {} (1){}\n", escaped(pages[i]), i + 1 < pages.size() ? "," : "");
  }
  return text;
}

void write_page(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw Error(fmt::format("writing the man page {} failed: {}", path.string(), std::strerror(errno)));
}

}  // namespace

std::string man_page(const Verb& verb) {
  std::string text = title(page_name(verb)) + section("NAME");
  text += fmt::format("{} \\- {}\n", escaped(page_name(verb)), escaped(verb.summary));
  text += section("SYNOPSIS") + fmt::format(".B tilewright {}\n{}\n", verb.name, escaped(verb.usage));
  if (!verb.description.empty()) {
    text += section("DESCRIPTION");
    for (std::size_t i = 0; i < verb.description.size(); ++i) {
      text += fmt::format("{}{}\n", i == 0 ? "" : ".PP\n", escaped(verb.description[i]));
    }
  }
  text += section("OPTIONS");
  for (const Option& option : verb.options) text += option_item(option);
  text += option_item({"help", "", "Print this text."});
  if (!verb.examples.empty()) {
    text += section("EXAMPLES");
    for (const Example& example : verb.examples) text += item("\\fB" + escaped(example.command) + "\\fR", example.says);
  }
  text += section("EXIT STATUS") + escaped(exit_codes(&verb)) + "\n";
  return text + see_also({"tilewright"});
}

std::string man_page_of_program() {
  std::string text = title("tilewright") + section("NAME");
  text += "tilewright \\- tune CUDA kernels and serve the fastest config for each shape\n";
  text +=
      section("SYNOPSIS") + ".B tilewright\n\\fIVERB\\fR [\\fIWORD\\fR...] [\\fIOPTION\\fR...]\n" + section("VERBS");
  std::vector<std::string> pages;
  for (const Verb& verb : verbs()) {
    text += item(fmt::format("\\fB{}\\fR", verb.name), verb.summary + ".");
    pages.push_back(page_name(verb));
  }
  text += section("ENVIRONMENT");
  for (const Variable& variable : variables()) text += item("\\fB" + escaped(variable.name) + "\\fR", variable.says);
  text += section("EXIT STATUS") + escaped(exit_codes(nullptr)) + "\n";
  return text + see_also(pages);
}

std::vector<std::filesystem::path> write_man_pages(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(fmt::format("making the folder {} failed: {}", folder.string(), error.message()));
  std::vector<std::filesystem::path> paths{folder / "tilewright.1"};
  write_page(paths.back(), man_page_of_program());
  for (const Verb& verb : verbs()) {
    paths.push_back(folder / (page_name(verb) + ".1"));
    write_page(paths.back(), man_page(verb));
  }
  return paths;
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>

#include "cache/base/error.hpp"
#include "tuner/app/problem_words.hpp"

namespace tilewright::cli {
namespace {

namespace po = boost::program_options;

// The option that collects the words. It cannot be typed, since its name has a blank.
constexpr const char* kWords = "the words";

po::options_description describe(const Verb& verb) {
  po::options_description description;
  for (const Option& option : verb.options) {
    const std::string names = option.letter == 0 ? option.name : fmt::format("{},{}", option.name, option.letter);
    if (option.value.empty()) {
      description.add_options()(names.c_str(), "");
    } else {
      auto* const value = po::value<std::vector<std::string>>()->composing();
      // The value may be left out; otherwise it stands behind '='.
      if (option.value.front() == '[') value->implicit_value({}, "");
      description.add_options()(names.c_str(), value, "");
    }
  }
  description.add_options()("help,h", "")(kWords, po::value<std::vector<std::string>>());
  return description;
}

std::string without_dashes(std::string name) {
  name.erase(0, name.find_first_not_of('-'));
  return name.substr(0, name.find('='));
}

[[noreturn]] void fail(const Verb& verb, const std::string& what) {
  throw UsageError(fmt::format("{}\nType `tilewright {} --help` for its options", what, verb.name));
}

std::string unknown_option(const Verb& verb, const std::string& typed) {
  std::vector<std::string> names{"help"};
  for (const Option& option : verb.options) names.push_back(option.name);
  const std::string nearest = nearest_name(without_dashes(typed), names);
  return fmt::format("{} has no option {}{}", verb.name, typed,
                     nearest.empty() ? "" : fmt::format("; did you mean --{}?", nearest));
}

void require_known(const Verb& verb, const Option& option, const std::string& value) {
  if (option.words.empty()) return;
  for (const std::string& word : option.list ? app::split_list(value) : std::vector<std::string>{value}) {
    if (std::find(option.words.begin(), option.words.end(), word) != option.words.end()) continue;
    fail(verb, fmt::format("--{} {}: it takes no '{}'{}", option.name, value, word, suggestion(word, option.words)));
  }
}

}  // namespace

Arguments::Arguments(const Verb& verb, const std::vector<std::string>& words) : verb_(&verb) {
  command_ = fmt::format("tilewright {} {}", verb.name, fmt::join(words, " "));
  po::positional_options_description positional;
  positional.add(kWords, -1);
  const auto style = po::command_line_style::allow_long | po::command_line_style::long_allow_adjacent |
                     po::command_line_style::long_allow_next | po::command_line_style::allow_short |
                     po::command_line_style::short_allow_next | po::command_line_style::allow_dash_for_short;
  const po::options_description description = describe(verb);
  try {
    const auto parsed = po::command_line_parser(words).options(description).positional(positional).style(style).run();
    for (const auto& option : parsed.options) {
      if (option.position_key >= 0) {
        words_.insert(words_.end(), option.value.begin(), option.value.end());
        continue;
      }
      auto& values = values_[option.string_key];
      values.insert(values.end(), option.value.begin(), option.value.end());
    }
  } catch (const po::unknown_option& error) {
    fail(verb, unknown_option(verb, error.get_option_name()));
  } catch (const po::invalid_command_line_syntax& error) {
    fail(verb, fmt::format("{}: {}", verb.name, error.what()));
  } catch (const po::error& error) {
    fail(verb, fmt::format("{}: {}", verb.name, error.what()));
  }
  for (const Option& option : verb.options) {
    const auto found = values_.find(option.name);
    if (found == values_.end()) continue;
    if (!option.repeated && found->second.size() > 1) {
      fail(verb, fmt::format("--{} was given {} times: {}", option.name, found->second.size(),
                             fmt::join(found->second, ", ")));
    }
    for (const std::string& value : found->second) require_known(verb, option, value);
  }
}

const std::string& Arguments::word(std::size_t index, const std::string& what) const {
  if (index < words_.size()) return words_[index];
  throw UsageError(fmt::format("{} needs {}\nUsage: tilewright {} {}", verb_->name, what, verb_->name, verb_->usage));
}

void Arguments::require_at_most(std::size_t most) const {
  if (words_.size() <= most) return;
  throw UsageError(fmt::format("{} does not know what to do with '{}'\nUsage: tilewright {} {}", verb_->name,
                               words_[most], verb_->name, verb_->usage));
}

std::string Arguments::text(const std::string& option, const std::string& otherwise) const {
  const auto found = values_.find(option);
  return found == values_.end() || found->second.empty() ? otherwise : found->second.front();
}

std::vector<std::string> Arguments::texts(const std::string& option) const {
  const auto found = values_.find(option);
  return found == values_.end() ? std::vector<std::string>() : found->second;
}

std::int64_t Arguments::integer(const std::string& option, std::int64_t otherwise, std::int64_t least,
                                std::int64_t most) const {
  if (!has(option)) return otherwise;
  const std::string typed = text(option);
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(typed.data(), typed.data() + typed.size(), number);
  if (error != std::errc() || end != typed.data() + typed.size() || number < least) {
    throw UsageError(fmt::format("--{} must be a whole number of at least {}, and is '{}'", option, least, typed));
  }
  return std::min(number, most);
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/complete.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "cache/base/holds.hpp"
#include "tuner/app/known_words.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

bool begins_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

std::string first_sentence(const std::string& text) {
  const std::size_t end = std::min(text.find(". "), text.find(": "));
  std::string sentence = text.substr(0, end);
  if (!sentence.empty() && sentence.back() == '.') sentence.pop_back();
  return sentence;
}

/// A position in a verb's usage for words that are no options.
struct Place {
  /// "OP", "FILE", "NAME=VALUE", or the words themselves: "ops|devices".
  std::string what;
  bool repeated = false;
};

std::vector<Place> places_of(const std::string& usage) {
  std::vector<Place> places;
  std::istringstream parts(usage);
  for (std::string part; parts >> part;) {
    const std::size_t start = part.find_first_not_of("[{(");
    if (start != std::string::npos && part[start] == '-') {
      // An option; its value stands behind it.
      if (part.back() != ']') parts >> part;
      continue;
    }
    Place place{part, part.find("...") != std::string::npos};
    for (const char* mark : {"...", "[", "]", "{", "}"}) {
      for (std::size_t at = place.what.find(mark); at != std::string::npos; at = place.what.find(mark)) {
        place.what.erase(at, std::string_view(mark).size());
      }
    }
    if (place.what != "OPTION") places.push_back(std::move(place));
  }
  return places;
}

/// The words behind a verb, parsed as far as possible.
class Line {
 public:
  Line(const Verb& verb, const std::vector<std::string>& words) : verb_(verb), typed_(words.back()) {
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const Option* const option = option_of(words[i]);
      if (option == nullptr) {
        if (words[i].empty() || words[i].front() != '-') named_.push_back(words[i]);
        continue;
      }
      given_.push_back(option->name);
      const std::size_t equals = words[i].find('=');
      if (option->value.empty() || (option->value.front() == '[' && equals == std::string::npos)) continue;
      if (equals != std::string::npos) {
        keep(*option, words[i].substr(equals + 1));
      } else if (i + 2 == words.size()) {
        awaited_ = option;
      } else {
        keep(*option, words[++i]);
      }
    }
  }

  [[nodiscard]] Completion complete() {
    if (awaited_ != nullptr) {
      offer_value(*awaited_, "", typed_);
    } else if (const std::size_t equals = typed_.find('='); begins_with(typed_, "--") && equals != std::string::npos) {
      const Option* const option = option_of(typed_);
      if (option != nullptr) offer_value(*option, typed_.substr(0, equals + 1), typed_.substr(equals + 1));
    } else if (begins_with(typed_, "-")) {
      offer_options();
    } else {
      offer_word();
    }
    return std::move(completion_);
  }

 private:
  [[nodiscard]] const Option* option_of(const std::string& word) const {
    if (word.size() == 2 && word.front() == '-') {
      for (const Option& option : verb_.options) {
        if (option.letter == word.back()) return &option;
      }
    }
    if (!begins_with(word, "--")) return nullptr;
    const std::string name = word.substr(2);
    for (const Option& option : verb_.options) {
      if (option.name == name.substr(0, name.find('='))) return &option;
    }
    return nullptr;
  }

  /// Keeps the options that say where ops and devices are.
  void keep(const Option& option, const std::string& value) {
    if (option.name == "ops" || option.name == "cache") places_.push_back("--" + option.name + "=" + value);
  }

  void offer(const std::string& word, const std::string& says = "") {
    if (begins_with(word, typed_)) completion_.offers.push_back({word, says});
  }

  void offer_options() {
    for (const Option& option : verb_.options) {
      if (!holds(given_, option.name) || option.repeated) offer("--" + option.name, first_sentence(option.help));
    }
    offer("--help", "Print the verb's help");
  }

  void offer_word() {
    const std::vector<Place> places = places_of(verb_.usage);
    if (places.empty()) return;
    const std::size_t index = std::min(named_.size(), places.size() - 1);
    const Place& place = places[index];
    if (named_.size() > index && !place.repeated) return;
    if (place.what == "FILE") {
      completion_.files = Completion::Files::files;
    } else if (place.what == "OP") {
      offer_ops();
    } else if (begins_with(place.what, "NAME=")) {
      offer_names(true);
      if (verb_.usage.find("]]...") != std::string::npos) offer_ops();
    } else if (place.what == "VERB") {
      for (const Verb& verb : verbs()) offer(verb.name, verb.summary);
    } else if (place.what.find('|') != std::string::npos) {
      std::istringstream words(place.what);
      for (std::string word; std::getline(words, word, '|');) offer(word);
    }
  }

  void offer_value(const Option& option, const std::string& before, const std::string& value) {
    if (option.value == "FILE") completion_.files = Completion::Files::files;
    if (option.value == "DIR") completion_.files = Completion::Files::folders;
    if (option.takes == Takes::attributes) return offer_names(false);
    if (option.takes == Takes::config) return offer_configs(before, value);
    offer_list(before, value, words_of(option), option.list);
  }

  /// `before` stays as it is; in a list, so do the values typed already.
  void offer_list(std::string before, const std::string& value, const std::vector<std::string>& words, bool list) {
    std::vector<std::string> there;
    if (const std::size_t comma = value.rfind(','); list && comma != std::string::npos) {
      before += value.substr(0, comma + 1);
      there = app::split_list(value.substr(0, comma));
    }
    // In a list of columns to sort by, '-' puts the greatest first.
    const std::string sign = list && value.substr(value.rfind(',') + 1).rfind('-', 0) == 0 ? "-" : "";
    for (const std::string& word : words) {
      if (!holds(there, word) && !holds(there, "-" + word)) offer(before + sign + word);
    }
  }

  /// Offers the configs that have won; if there are none, configs of the op's space, piece by piece.
  void offer_configs(const std::string& before, const std::string& value) {
    const app::KnownWords known = known_words();
    for (const std::string& config : known.configs()) offer(before + config);
    if (!completion_.offers.empty()) return;
    for (const std::string& step : known.config_steps(value)) {
      completion_.unfinished = completion_.unfinished || step.back() != '}';
      offer(before + step);
    }
  }

  [[nodiscard]] app::View view() const {
    return holds(given_, "all")       ? app::View::configs
           : holds(given_, "by")      ? app::View::effects
           : holds(given_, "compare") ? app::View::comparison
           : holds(given_, "history") ? app::View::history
                                      : app::View::winners;
  }

  [[nodiscard]] std::vector<std::string> words_of(const Option& option) const {
    switch (option.takes) {
      case Takes::text:
      case Takes::attributes:
      case Takes::config:
        break;
      case Takes::parameter:
        return known_words().parameters();
      case Takes::columns:
        return known_words().columns(view());
      case Takes::dtypes:
        return known_words().dtypes();
      case Takes::place:
        return option.list ? with_gpus({"all"}) : with_gpus({"auto", "cpu"});
      case Takes::stored_device:
        return app::known_devices(place_of(arguments()));
      case Takes::arch:
        return {"sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "cpu"};
    }
    return option.words;
  }

  /// GPUs by their device files: opening the driver takes too long for a Tab.
  [[nodiscard]] static std::vector<std::string> with_gpus(std::vector<std::string> words) {
    for (int i = 0; std::filesystem::exists(fmt::format("/dev/nvidia{}", i)); ++i) {
      words.push_back(fmt::format("cuda:{}", i));
    }
    return words;
  }

  [[nodiscard]] Arguments arguments() const {
    static const Verb kPlaces = [] {
      Verb verb;
      verb.options = {{"ops", "DIR", "", true}, {"cache", "FILE", "", true}};
      return verb;
    }();
    return {kPlaces, places_};
  }

  void offer_ops() {
    for (const app::KnownOp& op : app::known_ops(place_of(arguments()))) offer(op.name, first_sentence(op.summary));
  }

  /// The words of the op named already; the last op, if there are several.
  [[nodiscard]] app::KnownWords known_words() const { return {place_of(arguments()), named_}; }

  /// Offers NAME= of attributes, and with `all` of dims and dtype, too; behind the = the values.
  void offer_names(bool all) {
    const app::KnownWords known = known_words();
    if (!known.is_known()) return;
    const bool list = verb_.usage.find("VALUES") != std::string::npos;
    const std::size_t equals = typed_.find('=');
    if (equals != std::string::npos) {
      const std::string name = typed_.substr(0, equals);
      const std::string before = typed_.substr(0, equals + 1);
      const std::string value = typed_.substr(equals + 1);
      if (all && name == "dtype") offer_list(before, value, known.dtypes(), list);
      for (const Attribute& attribute : known.attributes()) {
        if (attribute.name == name) offer_list(before, value, attribute.values, list);
      }
      return;
    }
    completion_.unfinished = true;
    if (all) {
      for (const std::string& dim : known.dims()) offer_name(dim, "a dim");
      offer_name("dtype", fmt::format("{}", fmt::join(known.dtypes(), ", ")));
    }
    for (const Attribute& attribute : known.attributes()) {
      offer_name(attribute.name, fmt::format("{}", fmt::join(attribute.values, ", ")));
    }
  }

  void offer_name(const std::string& name, const std::string& says) {
    // Given already for the op that it would belong to.
    const auto op = std::find_if(named_.rbegin(), named_.rend(), app::names_op);
    const bool given =
        std::any_of(named_.rbegin(), op, [&](const std::string& word) { return begins_with(word, name + "="); });
    if (!given) offer(name + "=", says);
  }

  const Verb& verb_;
  std::string typed_;
  std::vector<std::string> named_;
  std::vector<std::string> given_;
  /// --ops and --cache.
  std::vector<std::string> places_;
  const Option* awaited_ = nullptr;
  Completion completion_;
};

Completion complete_first(const std::string& typed) {
  Completion completion;
  for (const Verb& verb : verbs()) {
    if (begins_with(verb.name, typed)) completion.offers.push_back({verb.name, verb.summary});
  }
  for (const char* option : {"--help", "--version"}) {
    if (!typed.empty() && begins_with(option, typed)) completion.offers.push_back({option, ""});
  }
  return completion;
}

}  // namespace

Completion complete(const std::vector<std::string>& words) {
  if (words.empty()) return {};
  if (words.size() == 1) return complete_first(words.front());
  for (const Verb& verb : verbs()) {
    if (verb.name == words.front()) return Line(verb, {words.begin() + 1, words.end()}).complete();
  }
  return {};
}

std::string completion_text(const Completion& completion) {
  const char* const kinds[] = {"words", "files", "folders"};
  std::string text = kinds[static_cast<std::size_t>(completion.files)];
  text += completion.unfinished ? " unfinished\n" : "\n";
  for (const Offer& offer : completion.offers) text += fmt::format("{}\t{}\n", offer.word, offer.says);
  return text;
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include "cache/model/key_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/ascii.hpp"
#include "cache/base/error.hpp"

namespace tilewright {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";
constexpr std::string_view kEndsOfValue = " \t\r\n,=[]{}";

}  // namespace

std::string KeyReader::word(std::string_view expected) {
  skip_spaces();
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_word_part(text_[at_])) ++at_;
  if (at_ == begin) fail(begin, fmt::format("expected {}", expected));
  return std::string(text_.substr(begin, at_ - begin));
}

bool KeyReader::next_is(char c) {
  skip_spaces();
  return at_ < text_.size() && text_[at_] == c;
}

std::vector<KeyReader::Pair> KeyReader::pairs(char open, char close) {
  std::vector<Pair> pairs;
  if (!next_is(open)) return pairs;
  ++at_;
  while (!next_is(close)) {
    if (!pairs.empty()) expect(',', fmt::format("separate pairs with ',', and write '{}' after the last one", close));
    skip_spaces();
    Pair pair;
    pair.name_at = at_;
    pair.name = word("a name");
    if (std::any_of(pairs.begin(), pairs.end(), [&](const Pair& earlier) { return earlier.name == pair.name; })) {
      fail(pair.name_at, fmt::format("'{}' is given twice", pair.name));
    }
    expect('=', fmt::format("write {}=VALUE", pair.name));
    skip_spaces();
    pair.value_at = at_;
    const std::size_t end = std::min(text_.find_first_of(kEndsOfValue, at_), text_.size());
    if (end == at_) fail(at_, fmt::format("'{}' has no value", pair.name));
    pair.value = text_.substr(at_, end - at_);
    at_ = end;
    pairs.push_back(std::move(pair));
  }
  ++at_;
  return pairs;
}

void KeyReader::end() {
  skip_spaces();
  if (at_ != text_.size()) fail(at_, fmt::format("unexpected '{}'", text_.substr(at_)));
}

void KeyReader::fail(std::size_t offset, std::string_view message, std::string_view hint) const {
  throw UsageError(fmt::format("{} '{}', column {}: {}{}", what_, text_, offset + 1, message, hint));
}

void KeyReader::skip_spaces() { at_ = std::min(text_.find_first_not_of(kSpaces, at_), text_.size()); }

void KeyReader::expect(char c, std::string_view hint) {
  if (!next_is(c)) fail(at_, fmt::format("expected '{}'", c), fmt::format("; {}", hint));
  ++at_;
}

}  // namespace tilewright

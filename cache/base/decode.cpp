// SPDX-License-Identifier: Apache-2.0
#include "cache/base/decode.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cache/base/error.hpp"

namespace tilewright {
namespace {

using nlohmann::json;

/// Counts the values and levels of an input and refuses it beyond a limit.
class Bounds {
 public:
  Bounds(const char* form, std::size_t bytes) : form_(form) {
    if (bytes > kMostDecodedBytes)
      refuse(fmt::format("it has {} bytes; at most {} are accepted", bytes, kMostDecodedBytes));
  }
  void value() {
    if (++values_ > kMostDecodedValues) refuse(fmt::format("it has more than {} values", kMostDecodedValues));
  }
  void level(std::size_t levels) const {
    if (levels > kMostDecodedLevels) refuse(fmt::format("it nests deeper than {} levels", kMostDecodedLevels));
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(fmt::format("cannot decode {}: {}", form_, why));
  }

 private:
  const char* form_;
  std::size_t values_ = 0;
};

/// Counts brackets and commas outside of strings. The parser checks whether they balance.
void check_json(std::string_view text, Bounds& bounds) {
  std::size_t levels = 0;
  bool in_text = false;
  bounds.value();
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_text) {
      if (c == '\\') ++at;
      in_text = c != '"';
      continue;
    }
    in_text = c == '"';
    if (c == '[' || c == '{') bounds.level(++levels);
    if ((c == ']' || c == '}') && levels > 0) --levels;
    if (c == ',' || c == '[' || c == '{') bounds.value();
  }
}

/// Walks the items of a CBOR value (RFC 8949). `lacking` stands for a stack: the items each open container still needs.
class CborWalk {
 public:
  CborWalk(std::span<const std::byte> bytes, Bounds& bounds) : rest_(bytes), bounds_(bounds) {}

  void run() {
    std::vector<std::uint64_t> lacking{1};
    while (!lacking.empty()) {
      if (lacking.back() == 0) {
        lacking.pop_back();
        continue;
      }
      --lacking.back();
      const std::uint64_t inside = item();
      if (inside == 0) continue;
      lacking.push_back(inside);
      bounds_.level(lacking.size() - 1);
    }
    if (!rest_.empty()) bounds_.refuse(fmt::format("{} bytes follow it", rest_.size()));
  }

 private:
  /// Skips an item's head, and the bytes of a string. Returns the number of items inside.
  std::uint64_t item() {
    enum Major : unsigned { kBytes = 2, kText = 3, kList = 4, kObject = 5, kTag = 6 };
    bounds_.value();
    const auto head = static_cast<unsigned>(take(1));
    const unsigned major = head >> 5U;
    const std::uint64_t argument = argument_of(head & 31U);
    if (major == kTag) bounds_.refuse("it has a tag");
    if (major == kBytes || major == kText) skip(argument);
    if (major != kList && major != kObject) return 0;
    // Each item has at least one byte, so the double cannot overflow.
    if (argument > rest_.size()) refuse_cut();
    return major == kObject ? 2 * argument : argument;
  }

  std::uint64_t argument_of(unsigned info) {
    constexpr unsigned kOneByte = 24;
    constexpr unsigned kEightBytes = 27;
    if (info < kOneByte) return info;
    if (info > kEightBytes) bounds_.refuse("it has an item of indefinite length");
    return take(std::size_t{1} << (info - kOneByte));
  }

  std::uint64_t take(std::size_t count) {
    if (count > rest_.size()) refuse_cut();
    std::uint64_t value = 0;
    for (const std::byte each : rest_.first(count)) value = value << 8U | std::to_integer<std::uint64_t>(each);
    rest_ = rest_.subspan(count);
    return value;
  }

  void skip(std::uint64_t count) {
    if (count > rest_.size()) refuse_cut();
    rest_ = rest_.subspan(count);
  }

  [[noreturn]] void refuse_cut() const { bounds_.refuse("it is cut off"); }

  std::span<const std::byte> rest_;
  Bounds& bounds_;
};

/// Clears from the leaves up: nlohmann's destructor then finds empty containers and allocates no list of their content.
void take_apart(json& value) noexcept {
  if (auto* const list = value.get_ptr<json::array_t*>()) {
    for (json& each : *list) take_apart(each);
    list->clear();
  } else if (auto* const object = value.get_ptr<json::object_t*>()) {
    for (auto& [name, each] : *object) take_apart(each);
    object->clear();
  }
}

}  // namespace

Decoded::~Decoded() { take_apart(value_); }

/// Builds the value in its final place, so that a partly built one is also taken apart.
class Decoder {
 public:
  template <class Input>
  static Decoded decode(const Input& input, json::input_format_t form, const Bounds& bounds) {
    Decoded decoded;
    nlohmann::detail::json_sax_dom_parser<json> builder(decoded.value_);
    try {
      json::sax_parse(input, &builder, form);
    } catch (const json::exception& bad) {
      bounds.refuse(bad.what());
    }
    return decoded;
  }
};

Decoded decode_json(std::string_view text) {
  Bounds bounds("JSON", text.size());
  check_json(text, bounds);
  return Decoder::decode(text, json::input_format_t::json, bounds);
}

Decoded decode_cbor(std::span<const std::byte> bytes) {
  Bounds bounds("CBOR", bytes.size());
  CborWalk(bytes, bounds).run();
  return Decoder::decode(bytes, json::input_format_t::cbor, bounds);
}

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

/// The only decoders of JSON and CBOR. Their input may be untrusted, so its size, depth and number of values are
/// bounded before anything is built. Recursion over the result (to copy, write or free it) therefore fits any stack.
/// Pure functions, for any thread.
namespace tilewright {

/// Most levels of nested lists and objects. Tilewright writes fewer than ten.
inline constexpr std::size_t kMostDecodedLevels = 64;
/// Most values of any kind, nested ones included. The times of a shape with 100,000 configs are 500,000 values.
inline constexpr std::size_t kMostDecodedValues = std::size_t{1} << 22;
/// Most bytes of the encoded form. The largest input is a message with several binaries.
inline constexpr std::size_t kMostDecodedBytes = std::size_t{1} << 28;

/// A decoded value. Its destructor allocates nothing; nlohmann's own does, and ends a program that is out of memory.
class Decoded {
 public:
  Decoded() = default;
  Decoded(Decoded&&) = default;
  Decoded& operator=(Decoded&&) = delete;
  ~Decoded();
  // NOLINTNEXTLINE(google-explicit-constructor): as readable as what it holds
  operator const nlohmann::json&() const { return value_; }
  const nlohmann::json& operator*() const { return value_; }
  const nlohmann::json* operator->() const { return &value_; }
  [[nodiscard]] nlohmann::json take() && { return std::move(value_); }

 private:
  friend class Decoder;
  nlohmann::json value_;
};

/// Throws UsageError if the text is malformed or exceeds a limit.
[[nodiscard]] Decoded decode_json(std::string_view text);

/// Reads CBOR as `nlohmann::json::to_cbor` writes it: definite lengths, no tags. Throws UsageError likewise.
[[nodiscard]] Decoded decode_cbor(std::span<const std::byte> bytes);

}  // namespace tilewright

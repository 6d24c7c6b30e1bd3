// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <utility>

/// The only decoders of JSON and CBOR. Their input may come from a file or a process that nobody trusts, so its size,
/// its depth and its number of values are bounded before anything is built: recursion over the result (to copy, write
/// or free it) ends within any stack. Pure functions, for any thread.
namespace tilewright {

/// Lists and objects within each other. What Tilewright writes has fewer than ten.
inline constexpr std::size_t kMostLevels = 64;
/// Values of every kind, those within others included. The times of a shape with 100,000 configs are 500,000.
inline constexpr std::size_t kMostValues = std::size_t{1} << 22;
/// Bytes of the encoded form. The largest is a message with several binaries.
inline constexpr std::size_t kMostBytes = std::size_t{1} << 28;

/// A decoded value. Freeing it takes no memory: nlohmann's own does, which ends a program that has none.
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

/// Throws UsageError that says what is wrong.
[[nodiscard]] Decoded decode_json(std::string_view text);

/// CBOR as `nlohmann::json::to_cbor` writes it: lengths stand ahead, and there are no tags. Throws UsageError.
[[nodiscard]] Decoded decode_cbor(std::span<const std::byte> bytes);

}  // namespace tilewright

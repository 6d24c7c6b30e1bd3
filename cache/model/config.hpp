// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// An implementation and a value for each of its parameters. A value type; its canonical text identifies it:
/// `onchip{num_warps=4,vec=8,static_dims=1}`, parameters in the definition's order.
namespace tilewright {

struct Config {
  std::string implementation;
  std::vector<std::pair<std::string, std::int64_t>> values;

  /// Spaces between the parts are ignored; `{}` may be left out. Does not check that the implementation and the
  /// parameters exist. Throws UsageError with the text and the column of the mistake.
  [[nodiscard]] static Config parse(std::string_view text);
  /// The canonical text; parse() gives an equal config.
  [[nodiscard]] std::string text() const;
  /// The value of a parameter, or nullopt if the config has no such parameter.
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view parameter) const noexcept;
  /// The value of a parameter, or `otherwise`.
  [[nodiscard]] std::int64_t value_or(std::string_view parameter, std::int64_t otherwise) const noexcept;
  /// True if dims are compile-time constants of its binary.
  [[nodiscard]] bool specialised() const noexcept { return value_or("static_dims", 0) != 0; }

  friend bool operator==(const Config&, const Config&) = default;
  friend auto operator<=>(const Config&, const Config&) = default;
};

}  // namespace tilewright

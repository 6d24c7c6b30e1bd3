// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

/// How well the served config fits a problem.
namespace tilewright {

enum class Fit : std::uint8_t {
  exact,         ///< tuned for exactly this problem
  nearest,       ///< tuned for another shape, legal here
  base_default,  ///< the op's base: nothing nearer is known (printed as "default")
  none,          ///< nothing can be served
};
enum class Freshness : std::uint8_t { fresh, stale };
enum class DeviceFit : std::uint8_t { same_device, same_architecture };

/// "exact, fresh, same device" for people and tables.
struct Match {
  Fit fit = Fit::none;
  Freshness freshness = Freshness::fresh;
  DeviceFit device = DeviceFit::same_device;
  /// Nearest by the model of the op's trials, not by the nearest shapes.
  bool is_learned = false;
  [[nodiscard]] std::string text() const;
};
/// True if the answer `one` of a file goes before the answer `other` of another file. The device decides, then the fit,
/// then the model: its answer goes before one by shapes.
[[nodiscard]] bool fits_better(const Match& one, const Match& other) noexcept;
[[nodiscard]] std::string_view name(Fit fit) noexcept;
[[nodiscard]] std::string_view name(Freshness freshness) noexcept;
[[nodiscard]] std::string_view name(DeviceFit fit) noexcept;

}  // namespace tilewright

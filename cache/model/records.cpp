// SPDX-License-Identifier: Apache-2.0
#include "cache/model/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tilewright {
namespace {

template <class Enum, std::size_t Count>
using Names = std::array<std::pair<Enum, std::string_view>, Count>;

// The words of the schema's CHECK constraints: they must not change.
constexpr Names<TrialStatus, 7> kStatusNames{{{TrialStatus::ok, "ok"},
                                              {TrialStatus::compile_failed, "compile_failed"},
                                              {TrialStatus::exceeds_limits, "exceeds_limits"},
                                              {TrialStatus::wrong_result, "wrong_result"},
                                              {TrialStatus::timed_out, "timed_out"},
                                              {TrialStatus::crashed, "crashed"},
                                              {TrialStatus::pruned, "pruned"}}};
constexpr Names<MeasureMode, 3> kModeNames{
    {{MeasureMode::cold, "cold"}, {MeasureMode::hot, "hot"}, {MeasureMode::events, "events"}}};
constexpr Names<LookLength, 3> kLookNames{
    {{LookLength::brief, "brief"}, {LookLength::whole, "whole"}, {LookLength::final, "final"}}};
constexpr Names<Regime, 2> kRegimeNames{{{Regime::burst, "burst"}, {Regime::sustained, "sustained"}}};
constexpr Names<WinnerRole, 3> kRoleNames{
    {{WinnerRole::best, "best"}, {WinnerRole::dynamic, "dynamic"}, {WinnerRole::base, "base"}}};

template <class Enum, std::size_t Count>
std::string_view name_in(const Names<Enum, Count>& names, Enum value) noexcept {
  const auto found = std::ranges::find(names, value, &std::pair<Enum, std::string_view>::first);
  return found == names.end() ? std::string_view("?") : found->second;
}

template <class Enum, std::size_t Count>
std::optional<Enum> value_in(const Names<Enum, Count>& names, std::string_view name) noexcept {
  const auto found = std::ranges::find(names, name, &std::pair<Enum, std::string_view>::second);
  if (found == names.end()) return std::nullopt;
  return found->first;
}

}  // namespace

std::string driver_text(int driver) {
  return driver == 0 ? "" : fmt::format("{}.{}", driver / 1000, driver % 1000 / 10);
}

std::string_view name(TrialStatus status) noexcept { return name_in(kStatusNames, status); }
std::optional<TrialStatus> trial_status_from(std::string_view name) noexcept { return value_in(kStatusNames, name); }

std::string_view name(MeasureMode mode) noexcept { return name_in(kModeNames, mode); }
std::optional<MeasureMode> measure_mode_from(std::string_view name) noexcept { return value_in(kModeNames, name); }

std::string_view name(LookLength length) noexcept { return name_in(kLookNames, length); }
std::optional<LookLength> look_length_from(std::string_view name) noexcept { return value_in(kLookNames, name); }

std::string_view name(Regime regime) noexcept { return name_in(kRegimeNames, regime); }
std::optional<Regime> regime_from(std::string_view name) noexcept { return value_in(kRegimeNames, name); }

std::string_view name(WinnerRole role) noexcept { return name_in(kRoleNames, role); }
std::optional<WinnerRole> winner_role_from(std::string_view name) noexcept { return value_in(kRoleNames, name); }

double Ceiling::best_ns() const noexcept {
  if (memcpy_ns && copy_op_ns) return std::min(*memcpy_ns, *copy_op_ns);
  return memcpy_ns.value_or(copy_op_ns.value_or(0));
}

}  // namespace tilewright

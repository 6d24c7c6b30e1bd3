// SPDX-License-Identifier: Apache-2.0
#include "cache/model/device_facts.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

#include "cache/base/error.hpp"
#include "cache/base/json_fields.hpp"

namespace tilewright {
namespace {

/// A fact that formulas may name.
struct Fact {
  std::string_view name;
  std::int64_t (*of)(const DeviceFacts&) noexcept;
};

constexpr std::array<Fact, 10> kFacts{{
    {"compute_capability", [](const DeviceFacts& f) noexcept -> std::int64_t { return f.compute_capability; }},
    {"sm_count", [](const DeviceFacts& f) noexcept -> std::int64_t { return f.sm_count; }},
    {"memory_bytes", [](const DeviceFacts& f) noexcept { return f.memory_bytes; }},
    {"memory_bus_bits", [](const DeviceFacts& f) noexcept -> std::int64_t { return f.memory_bus_bits; }},
    {"l2_bytes", [](const DeviceFacts& f) noexcept { return f.l2_bytes; }},
    {"shared_per_block_optin", [](const DeviceFacts& f) noexcept { return f.shared_per_block_optin; }},
    {"shared_per_sm", [](const DeviceFacts& f) noexcept { return f.shared_per_sm; }},
    {"registers_per_sm", [](const DeviceFacts& f) noexcept -> std::int64_t { return f.registers_per_sm; }},
    {"max_threads_per_sm", [](const DeviceFacts& f) noexcept -> std::int64_t { return f.max_threads_per_sm; }},
    {"max_threads_per_block", [](const DeviceFacts& f) noexcept -> std::int64_t { return f.max_threads_per_block; }},
}};

}  // namespace

std::optional<Arch> arch_from(std::string_view text) noexcept {
  constexpr std::string_view kPrefix = "sm_";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  Arch arch;
  if (text.ends_with('a') || text.ends_with('f')) {
    arch.suffix = text.back();
    text.remove_suffix(1);
  }
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), arch.number);
  if (error != std::errc() || stop != text.data() + text.size() || arch.number < 10) return std::nullopt;
  return arch;
}

std::string DeviceFacts::fingerprint() const {
  if (is_cpu()) return "cpu";
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  return fmt::format("{} (sm_{}, {} SMs, {} GiB, {}-bit)", name, compute_capability, sm_count,
                     (memory_bytes + kGib / 2) / kGib, memory_bus_bits);
}

std::string DeviceFacts::arch() const {
  if (is_cpu()) return "cpu";
  return fmt::format("sm_{}{}", compute_capability, compute_capability >= 90 ? "a" : "");
}

bool DeviceFacts::supports(std::string_view requires_arch) const {
  if (requires_arch.empty()) return true;
  const std::optional<Arch> needed = arch_from(requires_arch);
  // Whether a chip is of a family is not known here.
  if (!needed || needed->suffix == 'f') {
    throw UsageError(fmt::format("'{}' is not an architecture; write sm_80, sm_90 or sm_90a", requires_arch));
  }
  if (needed->suffix == 'a') return compute_capability == needed->number;
  return is_cpu() || compute_capability >= needed->number;
}

std::optional<std::int64_t> DeviceFacts::find(std::string_view fact_name) const noexcept {
  for (const Fact& fact : kFacts) {
    if (fact.name == fact_name) return fact.of(*this);
  }
  return std::nullopt;
}

const std::vector<std::string>& DeviceFacts::names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> all;
    for (const Fact& fact : kFacts) all.emplace_back(fact.name);
    return all;
  }();
  return kNames;
}

DeviceFacts emulator_facts() {
  DeviceFacts facts;
  facts.name = "cpu";
  facts.sm_count = 4;
  facts.l2_bytes = std::int64_t{2} << 20;
  facts.shared_per_block_optin = std::int64_t{227} << 10;
  facts.shared_per_sm = std::int64_t{228} << 10;
  facts.registers_per_sm = 65536;
  facts.max_threads_per_sm = 2048;
  return facts;
}

nlohmann::json to_json(const DeviceFacts& facts) {
  return {{"name", facts.name},
          {"compute_capability", facts.compute_capability},
          {"sm_count", facts.sm_count},
          {"memory_bytes", facts.memory_bytes},
          {"memory_bus_bits", facts.memory_bus_bits},
          {"l2_bytes", facts.l2_bytes},
          {"shared_per_block_optin", facts.shared_per_block_optin},
          {"shared_per_sm", facts.shared_per_sm},
          {"registers_per_sm", facts.registers_per_sm},
          {"max_threads_per_sm", facts.max_threads_per_sm},
          {"max_threads_per_block", facts.max_threads_per_block}};
}

DeviceFacts device_facts_from_json(const nlohmann::json& json) {
  JsonObject object(json, "a device's facts");
  DeviceFacts facts;
  facts.name = object.text("name");
  facts.compute_capability = object.small("compute_capability");
  facts.sm_count = object.small("sm_count");
  facts.memory_bytes = object.integer("memory_bytes");
  facts.memory_bus_bits = object.small("memory_bus_bits");
  facts.l2_bytes = object.integer("l2_bytes");
  facts.shared_per_block_optin = object.integer("shared_per_block_optin");
  facts.shared_per_sm = object.integer("shared_per_sm");
  facts.registers_per_sm = object.small("registers_per_sm");
  facts.max_threads_per_sm = object.small("max_threads_per_sm");
  facts.max_threads_per_block = object.small("max_threads_per_block");
  object.finish();
  return facts;
}

}  // namespace tilewright

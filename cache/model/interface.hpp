// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/base/dtype.hpp"
#include "cache/model/formula/formula.hpp"

/// An op as its callers see it: names, types and order of what a launch passes. The interface hash covers all of it, so
/// that an application compiled against one argument order never launches a kernel with another.
/// Values; stored as JSON beside the trials, so the launch library needs neither the definition file nor TOML.
namespace tilewright {

enum class ArgRole : std::uint8_t { in, out, inout, scalar };

/// "in", "out", "inout", "scalar".
[[nodiscard]] std::string_view name(ArgRole role) noexcept;
[[nodiscard]] std::optional<ArgRole> arg_role_from(std::string_view name) noexcept;

struct Argument {
  std::string name;
  ArgRole role = ArgRole::in;
  /// Nothing: the op's dtype.
  std::optional<DType> type;
  /// Extents of a tensor, slowest first, row-major; empty for a scalar.
  std::vector<Formula> shape;
  /// The alignment of the address, in elements, that all callers must give. 1 unless the definition says more.
  std::int64_t align = 1;
  /// Inputs that this output may be (the same address and extents).
  std::vector<std::string> alias;
  /// The scalar argument, an i64, that is a tensor's row pitch: elements from the start of a row (the last extent) to
  /// the next row's. Where this is empty or that scalar absent, rows follow one another without gaps.
  std::string pitch;
  /// Of a tensor without a pitch: the scalar arguments, i64s, that are its strides in elements, one for each extent but
  /// the last, slowest first; elements of the last extent are neighbours. Empty, and where the scalars are absent: the
  /// tensor has no gaps.
  std::vector<std::string> strides{};
  /// The argument exists only where this is true (a formula over attributes and dtype); absent ones are left out of
  /// calls.
  std::optional<Formula> when;

  [[nodiscard]] DType type_for(DType op_dtype) const noexcept { return type.value_or(op_dtype); }
  friend bool operator==(const Argument&, const Argument&) = default;
};

struct Attribute {
  std::string name;
  /// The first is the default.
  std::vector<std::string> values;
  friend bool operator==(const Attribute&, const Attribute&) = default;
};

struct OpInterface {
  std::string op;
  std::vector<std::string> dims;
  std::vector<DType> dtypes;
  std::vector<Attribute> attributes;
  std::vector<Argument> args;
  /// Over dims, attributes and dtype: all are true of every call.
  std::vector<Formula> domain{};
  /// Dims whose extents change from call to call: problems, and so plans and shape keys, have their buckets.
  std::vector<std::string> bucketed{};

  [[nodiscard]] bool is_bucketed(std::string_view dim) const noexcept;
  /// The problem's extent of the dim `index`, where a call has `extent`: its bucket, or the same.
  [[nodiscard]] std::int64_t planned_extent(std::size_t index, std::int64_t extent) const noexcept;

  /// 32 hexadecimal digits over every field above, the order within each included; formatting and comments of the
  /// definition, spacing in formulas included, do not count.
  [[nodiscard]] std::string hash() const;
  friend bool operator==(const OpInterface&, const OpInterface&) = default;
};

/// Reading what was written gives an equal interface; the places of its formulas are lost.
[[nodiscard]] nlohmann::json to_json(const OpInterface& interface);
/// Throws CacheError when the text is not an interface: a field missing, unknown, or of another kind.
[[nodiscard]] OpInterface interface_from_json(const nlohmann::json& json);

}  // namespace tilewright

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

/// An op as its callers see it: names, types and order of a launch's arguments. The interface hash covers all of it, so
/// that an application built for one argument order launches no kernel with another. Values; stored as JSON beside the
/// trials, so the launch library needs neither the definition file nor TOML.
namespace tilewright {

enum class ArgRole : std::uint8_t { in, out, inout, scalar };

/// "in", "out", "inout", "scalar".
[[nodiscard]] std::string_view name(ArgRole role) noexcept;
[[nodiscard]] std::optional<ArgRole> arg_role_from(std::string_view name) noexcept;

struct Argument {
  std::string name;
  ArgRole role = ArgRole::in;
  /// nullopt: the op's dtype.
  std::optional<DType> type;
  /// Extents of a tensor, slowest first, row-major; empty for a scalar.
  std::vector<Formula> shape;
  /// The alignment that all callers must give the address, in elements.
  std::int64_t align = 1;
  /// Inputs that this output may alias (the same address and extents).
  std::vector<std::string> alias;
  /// The i64 scalar argument that holds a tensor's row pitch: elements from the start of a row (the last extent) to the
  /// next row's. If empty, or if that scalar is absent, rows have no gaps.
  std::string pitch;
  /// For a tensor without a pitch: the i64 scalar arguments that hold its strides in elements, one for each extent but
  /// the last, slowest first. Elements of the last extent are adjacent. If empty, or if the scalars are absent, the
  /// tensor has no gaps.
  std::vector<std::string> strides{};
  /// The argument exists only if this is true (a formula over attributes and dtype). Calls leave out absent arguments.
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
  /// Formulas over dims, attributes and dtype that are true of all calls.
  std::vector<Formula> domain{};
  /// Dims whose extents change from call to call. Problems, plans and shape keys have their buckets.
  std::vector<std::string> bucketed{};

  [[nodiscard]] bool is_bucketed(std::string_view dim) const noexcept;
  /// The problem's extent of the dim `index` if a call has `extent`: its bucket, or `extent` itself.
  [[nodiscard]] std::int64_t planned_extent(std::size_t index, std::int64_t extent) const noexcept;

  /// 32 hexadecimal digits over all fields above, their order included. Formatting and comments of the definition and
  /// spacing in formulas do not count.
  [[nodiscard]] std::string hash() const;
  friend bool operator==(const OpInterface&, const OpInterface&) = default;
};

/// Reads back as an equal interface, without the places of its formulas.
[[nodiscard]] nlohmann::json to_json(const OpInterface& interface);
/// Throws CacheError if the JSON is not an interface: a field is missing, unknown, or of another kind.
[[nodiscard]] OpInterface interface_from_json(const nlohmann::json& json);

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "tilewright/detail/flat_json.hpp"
#include "tilewright/launch_error.hpp"

/// Converts a call's C++ values to the values that a kernel reads: an address or a scalar of the declared type each.
/// Throws LaunchError if a value does not fit. Stateless functions, for any thread.
namespace tilewright::detail {

/// Small, since a launch reads one per argument. argument_types() or the caller owns the texts.
struct ArgumentType {
  const char* name = "";
  const char* type = "";
  std::size_t bytes = 0;
  /// The first letter of `type`: f, i, u or b(f16).
  char kind = 'u';
  bool is_scalar = false;
};

/// An argument's value, as tw_launch reads it.
struct alignas(8) Slot {
  unsigned char bytes[8];
};

/// The arguments of an op, from the JSON of tw_op_describe.
inline std::shared_ptr<const std::vector<ArgumentType>> argument_types(const std::string& description) {
  struct Owned {
    // A deque: texts keep their addresses when more are added.
    std::deque<std::string> texts;
    std::vector<ArgumentType> types;
  };
  const auto owned = std::make_shared<Owned>();
  for (const std::string& item : FlatJson::items(FlatJson(description).text("args"))) {
    const FlatJson fields(item);
    ArgumentType type{.name = owned->texts.emplace_back(fields.text("name")).c_str(),
                      .type = owned->texts.emplace_back(fields.text("type")).c_str()};
    type.bytes = static_cast<std::size_t>(fields.number("bytes"));
    type.kind = *type.type == '\0' ? 'u' : *type.type;
    type.is_scalar = fields.text("role") == "scalar";
    owned->types.push_back(type);
  }
  return {owned, &owned->types};
}

[[noreturn]] inline void refuse(const ArgumentType& type, const std::string& why) {
  throw LaunchError(TW_ERROR_USAGE, "the argument '" + std::string(type.name) + "' is " +
                                        (type.is_scalar ? "a scalar of type " : "a pointer to ") + type.type + "; " +
                                        why);
}

template <class Value>
void put(Slot& slot, Value value) noexcept {
  static_assert(sizeof value <= sizeof slot.bytes);
  std::memcpy(slot.bytes, &value, sizeof value);
}

inline void store_address(const ArgumentType& type, std::uint64_t address, Slot& slot) {
  if (type.is_scalar) refuse(type, "the call passes a pointer");
  put(slot, address);
}

template <class To, class From>
void store_integer(const ArgumentType& type, From value, Slot& slot) {
  const To converted = static_cast<To>(value);
  const bool same = static_cast<From>(converted) == value && (converted < To{}) == (value < From{});
  if (!same) refuse(type, "the call passes " + std::to_string(value) + ", which is outside its range");
  put(slot, converted);
}

template <class Value>
void store_number(const ArgumentType& type, Value value, Slot& slot) {
  if (type.kind == 'f' && type.bytes == 4) return put(slot, static_cast<float>(value));
  if (type.kind == 'f' && type.bytes == 8) return put(slot, static_cast<double>(value));
  if (type.bytes == 2) refuse(type, "pass a value of that type, such as __half or __nv_bfloat16");
  if constexpr (std::is_floating_point_v<Value>) {
    refuse(type, "the call passes a floating-point number");
  } else if (type.kind == 'i') {
    type.bytes == 4 ? store_integer<std::int32_t>(type, value, slot) : store_integer<std::int64_t>(type, value, slot);
  } else if (type.bytes == 1) {
    store_integer<std::uint8_t>(type, value, slot);
  } else {
    type.bytes == 4 ? store_integer<std::uint32_t>(type, value, slot) : store_integer<std::uint64_t>(type, value, slot);
  }
}

/// Puts a passed value into its argument's slot. Throws LaunchError if the value does not fit the argument.
template <class Passed>
void store(const ArgumentType& type, const Passed& passed, Slot& slot) {
  using Value = std::remove_cv_t<Passed>;
  if constexpr (std::is_null_pointer_v<Value>) {
    store_address(type, 0, slot);
  } else if constexpr (std::is_pointer_v<Value>) {
    using Element = std::remove_pointer_t<Value>;
    if constexpr (!std::is_void_v<Element> && !std::is_function_v<Element>) {
      if (!type.is_scalar && sizeof(Element) != type.bytes) {
        refuse(type, "the call passes a pointer to elements of " + std::to_string(sizeof(Element)) + " bytes");
      }
    }
    store_address(type, reinterpret_cast<std::uintptr_t>(passed), slot);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    if (type.is_scalar) return store_number(type, passed, slot);
    // CUdeviceptr is an integer.
    if constexpr (std::is_unsigned_v<Value> && sizeof(Value) == 8) {
      store_address(type, passed, slot);
    } else {
      refuse(type, "the call passes a number");
    }
  } else {
    static_assert(std::is_trivially_copyable_v<Value> && sizeof(Value) <= sizeof(Slot),
                  "an argument of a launch is a device pointer, a CUdeviceptr or a number");
    if (!type.is_scalar || sizeof(Value) != type.bytes || type.bytes != 2) {
      refuse(type, "the call passes an object of " + std::to_string(sizeof(Value)) + " bytes");
    }
    put(slot, passed);
  }
}

}  // namespace tilewright::detail

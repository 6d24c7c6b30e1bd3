// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <iterator>

/// Whether a list has a value. A pure function.
namespace tilewright {

template <class Values, class Value>
[[nodiscard]] bool holds(const Values& values, const Value& value) {
  return std::find(std::begin(values), std::end(values), value) != std::end(values);
}

}  // namespace tilewright

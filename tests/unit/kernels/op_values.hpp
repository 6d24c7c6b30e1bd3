// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/kernels/built_in_op.hpp"

/// What an op's reference gives for values of a test's own, on the emulator.
namespace tilewright::test {

/// Tensors by the names of arguments, dense and row-major.
using Values = std::map<std::string, std::vector<double>>;

/// Of one problem. Inputs and scalars that are not given are the definition's samples; every tensor is dense.
class OpValues {
 public:
  OpValues(BuiltInOp& op, const std::string& key);
  ~OpValues();
  OpValues(const OpValues&) = delete;
  OpValues& operator=(const OpValues&) = delete;

  /// The inputs that the samples give.
  [[nodiscard]] Values inputs() const;
  /// All outputs for these inputs, which are rounded to the types of their arguments, in fp64.
  [[nodiscard]] Values reference(const Values& inputs) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Random multiples of 1/64 between -2 and 2, which f32 and small differences to either side have exactly.
[[nodiscard]] std::vector<double> random_values(std::size_t count, std::uint32_t seed);

}  // namespace tilewright::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/unit/kernels/built_in_op.hpp"

/// The results of an op's reference for a test's own values, on the emulator.
namespace tilewright::test {

/// Tensors by the names of arguments, dense and row-major.
using Values = std::map<std::string, std::vector<double>>;

/// One problem. Inputs and scalars that a test does not give are the definition's samples. All tensors are dense.
class OpValues {
 public:
  OpValues(BuiltInOp& op, const std::string& key);
  ~OpValues();
  OpValues(const OpValues&) = delete;
  OpValues& operator=(const OpValues&) = delete;

  /// The samples' inputs.
  [[nodiscard]] Values inputs() const;
  /// All outputs in fp64, for inputs rounded to their arguments' types.
  [[nodiscard]] Values reference(const Values& inputs) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// Random multiples of 1/64 between -2 and 2: exact in f32, as are small differences from them.
[[nodiscard]] std::vector<double> random_values(std::size_t count, std::uint32_t seed);

}  // namespace tilewright::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tuner/verify/inputs.hpp"

/// Inputs made by references of other ops. An input or scalar of the other op that has the name, type and shape of one
/// of the verified op receives its value. The sample of the other op's own definition fills the rest.
namespace tilewright {

/// Used while one argument set is constructed. Keeps intermediate results until all inputs are made.
class InputMaker {
 public:
  /// All must outlive it. `reference` is the verified op's binary, which also holds the other ops' references.
  InputMaker(Device& device, const Problem& problem, const CompileResult& reference, std::uint64_t seed)
      : device_(device), problem_(problem), reference_(reference), seed_(seed) {}

  /// The verified op's present arguments. `is_ready` tells which tensors are filled.
  struct Given {
    const std::vector<PlannedArg>& args;
    const std::vector<std::uint64_t>& values;
    const std::vector<GuardedTensor>& tensors;
    const std::vector<bool>& is_ready;
  };
  /// Fills tensor `arg`. Throws Error if the reference leaves elements unwritten, UsageError if a shared input has gaps
  /// and the other op takes no strides for it.
  void make(const Given& given, std::size_t arg, const MadeInput& made);

 private:
  struct Made {
    std::unique_ptr<ArgumentSet> set;
    /// By argument, as doubles; null for inputs and scalars.
    std::vector<std::unique_ptr<DeviceBuffer>> outputs;
  };
  [[nodiscard]] const Made& run(const Given& given, const OpDefinition& op, const Problem& problem);

  Device& device_;
  const Problem& problem_;
  const CompileResult& reference_;
  std::uint64_t seed_;
  /// By problem key.
  std::map<std::string, Made> made_{};
};

}  // namespace tilewright

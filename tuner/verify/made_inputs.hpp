// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tuner/verify/inputs.hpp"

/// Inputs that references of other ops make. Where such an op has an input or a scalar of the same name, type and shape
/// as the one verified, it gets that one; its other inputs are drawn by its own definition's sample.
namespace tilewright {

/// Belongs to the construction of one argument set: keeps what was computed until all inputs are made.
class InputMaker {
 public:
  /// All must outlive it. `reference` is the binary of the op verified, which holds the references of the others, too.
  InputMaker(Device& device, const Problem& problem, const CompileResult& reference, std::uint64_t seed)
      : device_(device), problem_(problem), reference_(reference), seed_(seed) {}

  /// The arguments of the verified op that are there; `is_ready` tells which tensors are filled.
  struct Given {
    const std::vector<PlannedArg>& args;
    const std::vector<std::uint64_t>& values;
    const std::vector<GuardedTensor>& tensors;
    const std::vector<bool>& is_ready;
  };
  /// Fills tensor `arg`. Throws Error when the reference leaves elements unwritten, UsageError when an input that it
  /// shares has gaps and it takes it without.
  void make(const Given& given, std::size_t arg, const MadeInput& made);

 private:
  struct Made {
    std::unique_ptr<ArgumentSet> set;
    /// By argument; null for inputs and scalars. Doubles.
    std::vector<std::unique_ptr<DeviceBuffer>> outputs;
  };
  [[nodiscard]] const Made& run(const Given& given, const OpDefinition& op, const Problem& problem);

  Device& device_;
  const Problem& problem_;
  const CompileResult& reference_;
  std::uint64_t seed_;
  /// By problem.
  std::map<std::string, Made> made_{};
};

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/verify/inputs.hpp"

/// Verifies a config: each element is within atol + rtol·|ref| of a reference that accumulates in fp64, the norm-wise
/// error is within norm_limit(), inputs are unchanged, nothing is written outside (docs/measuring.md).
namespace tilewright {

/// An output's distance from the reference, and its limits.
struct OutputErrors {
  std::string output;
  DType type = DType::f32;
  /// The elements compared with the reference, and the wrong ones among them.
  std::int64_t elements = 0;
  std::int64_t wrong = 0;
  Accuracy accuracy{};
  /// The limits per element and of the norm-wise error.
  Tolerance tolerance{};
  double norm_limit = 0;
};

struct Verdict {
  bool right = false;
  /// The first fault: "y[3][17] is 0.25, expected 0.125 ± 0.002 (412 of 4096 elements are off)". On a named sample it
  /// begins with "on the sample 'planted': ".
  std::string reason;
  /// The largest errors over all outputs and all samples that ran.
  Accuracy accuracy;
  /// In the order of the arguments.
  std::vector<OutputErrors> outputs{};
  /// The config wrote outside its outputs.
  bool damaged = false;
};

/// The greatest norm-wise error of an output of this type: the tolerance's own, else twice the type's unit roundoff.
/// For types that kernels accumulate in (f32, f64), rounding of sums exceeds rounding of the output, so the relative
/// tolerance applies if it is larger. Infinite for integers, which only the element-wise check judges.
[[nodiscard]] double norm_limit(DType type, const Tolerance& tolerance) noexcept;

/// Holds a problem's inputs and reference outputs for each sample of the definition, and checks all of the problem's
/// configs against them; with Options::in_place, by each of placements() in turn. Tensors with strides are made once
/// per stride alignment that configs claim, on first use. Belongs to the device's thread.
class Verifier {
 public:
  /// Runs the op's reference kernel on each sample. `reference` is its binary, from generate_reference
  /// (compile/source.hpp). `definition` must outlive the verifier. `got_on` is called after each run of the reference,
  /// also within check(), because a run may take long. Throws Error if the reference is at fault: it leaves elements
  /// unwritten or writes elsewhere.
  Verifier(
      Device& device, const OpDefinition& definition, const Problem& problem, CompileResult reference,
      ArgumentSet::Options options = {}, std::function<void()> got_on = [] {});
  ~Verifier();

  /// Poisons the outputs, runs and compares, sample by sample, until one is wrong. Does not catch the run's
  /// DeviceError; the caller decides whether it is a crash. The next check repairs what a config destroyed. Throws
  /// UsageError if an argument lacks the alignment that the config needs (Options::misalign_elements).
  [[nodiscard]] Verdict check(DeviceExecutable& executable, std::span<const Address> workspaces = {});

  /// Whether the stored reference outputs are intact; a config may have written anywhere. If not, a verdict "wrong"
  /// does not count.
  [[nodiscard]] bool sound();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright

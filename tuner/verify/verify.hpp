// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cache/model/records.hpp"
#include "tuner/verify/inputs.hpp"

/// Is a config right? Every element within atol + rtol·|ref| of a reference that accumulates in fp64, the norm-wise
/// error within twice the rounding of the output type, inputs unchanged, nothing written outside (docs/measuring.md).
namespace tilewright {

/// The distance of an output from the reference, and its limits.
struct OutputErrors {
  std::string output;
  DType type = DType::f32;
  /// The elements compared with the reference, and the wrong ones among them.
  std::int64_t elements = 0;
  std::int64_t wrong = 0;
  Accuracy accuracy{};
  /// The limits of each element and of the norm-wise error.
  Tolerance tolerance{};
  double norm_limit = 0;
};

struct Verdict {
  bool right = false;
  /// The first fault, in words: "y[3][17] is 0.25, expected 0.125 ± 0.002 (412 of 4096 elements are off)". Where it
  /// is not on the definition's first sample, it begins with "on the sample 'planted': ".
  std::string reason;
  /// The largest of all outputs, on all samples that were tried.
  Accuracy accuracy;
  /// In the order of the arguments.
  std::vector<OutputErrors> outputs{};
  /// It wrote where it must not.
  bool damaged = false;
};

/// The greatest norm-wise error that an output of this type may have: the tolerance's own, else twice the type's unit
/// roundoff. Where the type is no narrower than what kernels accumulate in (f32, f64), the sums' own rounding is larger
/// than the output's, and the op's relative tolerance bounds it. Infinite for integers, which the element-wise check
/// judges alone.
[[nodiscard]] double norm_limit(DType type, const Tolerance& tolerance) noexcept;

/// Holds a problem's inputs and its reference output for each sample of the definition; made once a problem, used for
/// all its configs. Tensors with strides are made once for each alignment that configs claim of the strides, when the
/// first such config comes. Belongs to the device's thread.
class Verifier {
 public:
  /// Runs the op's reference kernel on each sample. `reference` is its binary, by generate_reference
  /// (compile/source.hpp); `definition` must outlive the verifier. `got_on` is called after each run of the reference,
  /// those within check() included: a run may take long. Throws Error when the reference itself is at fault: it leaves
  /// elements unwritten, or writes elsewhere.
  Verifier(
      Device& device, const OpDefinition& definition, const Problem& problem, CompileResult reference,
      ArgumentSet::Options options = {}, std::function<void()> got_on = [] {});
  ~Verifier();

  /// Poisons the outputs, runs and compares, sample by sample, until one is wrong. A DeviceError of the run propagates:
  /// the caller decides whether it is a crash. What a config destroyed is made anew before the next one runs. Throws
  /// UsageError when an argument is not aligned as the config needs (Options::misalign_elements).
  [[nodiscard]] Verdict check(DeviceExecutable& executable, std::span<const Address> workspaces = {});

  /// True while the stored reference outputs are intact: a config may write anywhere. A verdict "wrong" does not count
  /// when this is false.
  [[nodiscard]] bool sound();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright

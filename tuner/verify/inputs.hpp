// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/plan/plan.hpp"
#include "tuner/definition/definition.hpp"
#include "tuner/definition/samples.hpp"
#include "tuner/device/device.hpp"
#include "tuner/device/tensor_tools.hpp"
#include "tuner/verify/layout.hpp"

/// The arguments of a problem in device memory, for verify and bench: inputs by the definition's sample, poisoned
/// outputs, guard zones around both. The seed determines them. Random inputs are made again when needed; other inputs
/// are kept as copies.
namespace tilewright {

/// One tensor with its guard zones: `[guard | tensor | guard]`, each guard of one repeated byte. An output in place of
/// an input has no buffer of its own.
struct GuardedTensor {
  std::unique_ptr<DeviceBuffer> buffer;
  Address address = 0;
  std::size_t bytes = 0;
  TensorLayout layout;
};

/// By argument: for an output in place of an input, the index of that input.
using Placement = std::vector<std::optional<std::size_t>>;

/// Placements of outputs over inputs that have their shape and type and that the definition allows. Each such pair is
/// in at least one placement; the other outputs of a placement take inputs, too, as far as these are free. Empty if no
/// output may alias an input.
[[nodiscard]] std::vector<Placement> placements(const std::vector<PlannedArg>& args);

/// One argument set in the plan's order. Belongs to the device's thread.
class ArgumentSet {
 public:
  /// The fewest guard bytes on each side.
  static constexpr std::size_t kGuardBytes = 4096;

  /// `misalign_elements` fixes each tensor that many elements past a 256-byte boundary. `in_place` puts outputs at the
  /// addresses of inputs, with the same strides, if the op allows it: by the placement of that index, of placements().
  struct Options {
    std::uint64_t seed = 1;
    int misalign_elements = 0;
    bool in_place = false;
    std::size_t placement = 0;
    /// Whether to set all bits (NaN) between the rows of inputs, too, instead of random data.
    bool poison_gaps = false;
    /// Bytes by argument; its strides are odd multiples of them. If empty, strides follow the samples.
    std::vector<std::size_t> stride_alignments = {};
    /// The binary of the op's reference, if other ops make inputs.
    const CompileResult* reference = nullptr;
  };
  /// Allocates and fills. Throws DeviceError if memory runs out, DefinitionError if a sample's stride makes elements
  /// overlap or a formula has no value, UsageError if `reference` is needed and missing.
  ArgumentSet(Device& device, const OpDefinition& definition, const Problem& problem, Options options);

  [[nodiscard]] const std::vector<PlannedArg>& args() const noexcept { return args_; }
  /// The values of a launch. Workspaces are the caller's.
  [[nodiscard]] const std::vector<std::uint64_t>& values() const noexcept { return values_; }
  /// Bytes of all tensors, including gaps.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

  /// Moves each tensor to an address aligned as `args` require and no better (below 256 bytes), so that a config that
  /// needs more than it claims fails. Does nothing with Options::misalign_elements.
  void place(const std::vector<PlannedArg>& args);
  /// Throws UsageError if an address or a sample's stride lacks the alignment that `args` require.
  void require_alignment(const std::vector<PlannedArg>& args) const;
  /// Fills outputs with NaN patterns. Restores inout arguments and in-place inputs, with NaN patterns in their gaps.
  void poison_outputs();
  /// Describes damage to guards and pure inputs; empty if there is none. Inputs are compared with the first
  /// poison_outputs() call.
  [[nodiscard]] std::string damage() const;
  /// Restores guards and inputs.
  void repair();
  /// The current bytes of one tensor, including gaps.
  [[nodiscard]] std::vector<std::byte> read(std::size_t arg) const;
  [[nodiscard]] const GuardedTensor& tensor(std::size_t arg) const { return tensors_.at(arg); }
  [[nodiscard]] const TensorLayout& layout(std::size_t arg) const { return tensors_.at(arg).layout; }
  /// The outputs in place of inputs, as "y = x"; empty if there are none.
  [[nodiscard]] std::string in_place() const;
  /// The fill of a random input or inout tensor.
  [[nodiscard]] const RandomFill& fill_of(std::size_t arg) const { return fills_.at(arg); }

 private:
  void lay_out(const OpDefinition& definition, const Problem& problem);
  void allocate(std::size_t arg, std::size_t shift);
  /// Puts the tensor `shift` bytes past a 256-byte boundary, with its guards and first contents.
  void put(std::size_t arg, std::size_t shift);
  void fill_guards(std::size_t arg);
  /// Fills an input initially or again.
  void fill_input(std::size_t arg);
  void fill_random(std::size_t arg);
  void fill_gaps(std::size_t arg);
  /// Fills by a formula or with whole numbers, if the sample says so.
  void fill_by_sample(std::size_t arg, const Sample& sample, const OpDefinition& definition, const Problem& problem);
  void fill_by_formula(std::size_t arg, const Sample& sample, SampleScope& scope);
  void make_inputs(const OpDefinition& definition, const Problem& problem);
  void keep(std::size_t arg);
  [[nodiscard]] bool is_pure_input(std::size_t arg) const;
  [[nodiscard]] utility::WordTally tally(std::size_t arg) const;
  [[nodiscard]] std::string guard_damage(std::size_t arg) const;
  [[nodiscard]] std::string input_damage(std::size_t arg) const;

  Device& device_;
  Options options_;
  std::vector<PlannedArg> args_;
  std::vector<std::uint64_t> values_;
  std::vector<GuardedTensor> tensors_;
  std::vector<RandomFill> fills_;
  /// Copies of the inputs that are not random.
  std::vector<std::unique_ptr<DeviceBuffer>> kept_;
  Placement places_;
  /// Inputs whose place an output takes.
  std::vector<bool> overwritten_;
  /// Of pure inputs with their guards; empty until poison_outputs().
  std::vector<std::uint64_t> sums_;
  std::size_t bytes_ = 0;
};

/// The distance in elements between neighbours along each extent.
[[nodiscard]] std::vector<std::int64_t> element_strides(const PlannedArg& arg, const TensorLayout& layout);

/// Sets all bits of the gaps of a tensor at `address` with elements of `size` bytes.
void poison_gaps(TensorTools& tools, Address address, const TensorLayout& layout, std::int64_t size);

/// "y[3][17]": an element, by its row-major index.
[[nodiscard]] std::string element_name(const PlannedArg& arg, std::int64_t index);

}  // namespace tilewright

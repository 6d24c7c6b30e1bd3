// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cache/base/dtype.hpp"
#include "kernels/utility/elements.cuh"
#include "kernels/utility/program.cuh"
#include "tuner/device/device.hpp"
#include "tuner/device/gaps.hpp"

/// Work on whole tensors around a measurement, done where the tensors are: random inputs, sums that show whether
/// something was written, comparison with a reference. Asked of a device (Device::tools), for its thread. All of them
/// compute the same bits, whatever the device: kernels/utility/elements.cuh is the one source of what they do.
namespace tilewright {

/// A random filling of a tensor: element i depends on `key` and i alone.
struct RandomFill {
  utility::Fill fill = utility::kNormal;
  /// Deviation of a normal fill, bound of a uniform one.
  double scale = 1.0;
  std::uint64_t key = 0;

  /// The element's value before it is rounded to its type.
  [[nodiscard]] float value(std::int64_t index) const noexcept;
  [[nodiscard]] float factor() const noexcept;
};

/// A filling by programs of the elements' indices; in row-major order there are `elements` of them.
struct ProgramFill {
  /// As utility::fill_element takes them.
  std::vector<utility::i64> words;
  std::int64_t elements = 0;
  double scale = 1.0;
};

class TensorTools {
 public:
  virtual ~TensorTools() = default;
  virtual void fill_random(Address to, DType type, std::int64_t count, const RandomFill& fill) = 0;
  /// Writes the elements for which the program's condition is true. The index of the first one that has no value, or
  /// one that the type does not hold; nothing: all have.
  [[nodiscard]] virtual std::optional<std::int64_t> fill_by_program(Address to, DType type,
                                                                    const ProgramFill& fill) = 0;
  /// Rounds `elements` doubles at `from` to f32 and then to `type`; `words` as utility::round_element takes them.
  virtual void round_elements(Address to, DType type, Address from, const std::vector<utility::i64>& words,
                              std::int64_t elements) = 0;
  /// Writes `count` doubles with the values of the elements at `from`.
  virtual void widen(Address to, Address from, DType type, std::int64_t count) = 0;
  /// Fills the gaps between elements of `size` bytes with `word`, over and over, as if it began at `to`.
  virtual void fill_gaps(Address to, const Gaps& gaps, std::int64_t size, utility::u64 word) = 0;
  /// Sets all their bits.
  void poison_gaps(Address to, const Gaps& gaps, std::int64_t size) { fill_gaps(to, gaps, size, utility::kPoison); }
  /// Over `count` 8-byte words.
  [[nodiscard]] virtual utility::WordTally tally_words(Address words, std::int64_t count) = 0;
  /// Judges `count` elements against doubles at `reference`.
  [[nodiscard]] virtual utility::Difference compare(Address result, DType type, Address reference, std::int64_t count,
                                                    const utility::Bounds& bounds) = 0;
};

/// On the host, through the device's upload and download, a piece at a time. Right for every device; fast where the
/// device's memory is the host's. `device` must outlive it.
[[nodiscard]] std::unique_ptr<TensorTools> make_host_tools(Device& device);

/// The tools by the kernels of kernels/utility, compiled by the device's compiler when this is called. Throws what
/// compiling and loading throw. `device` must outlive them.
[[nodiscard]] std::unique_ptr<TensorTools> make_kernel_tools(Device& device);

/// As kernels/utility names it.
[[nodiscard]] constexpr utility::Type utility_type(DType type) noexcept { return static_cast<utility::Type>(type); }

}  // namespace tilewright

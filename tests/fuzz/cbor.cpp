// SPDX-License-Identifier: Apache-2.0
// CBOR, and learned models, which are stored as CBOR.
#include "cache/base/decode.hpp"
#include "cache/base/error.hpp"
#include "cache/predict/loss_model.hpp"
#include "tests/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  try {
    static_cast<void>(decode_cbor(bytes));
  } catch (const UsageError&) {  // An expected outcome.
  }
  try {
    const auto model = LossModel::decode(bytes);
    // A query of the model ends.
    if (model) static_cast<void>(model->loss(std::vector<float>(model->space().count(), 1)));
  } catch (const UsageError&) {  // An expected outcome.
  }
  return 0;
}

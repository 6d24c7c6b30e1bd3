// SPDX-License-Identifier: Apache-2.0
// A worker's message: it is understood, or garbled.
#include "cache/base/decode.hpp"
#include "cache/base/error.hpp"
#include "tests/fuzz/input.hpp"
#include "tuner/worker/messages.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  Message message;
  try {
    message = decode_cbor(std::as_bytes(std::span(data, size))).take();
  } catch (const UsageError&) {
    return 0;
  }
  const auto ignore = [](const auto& read) {
    try {
      understand([&] {
        read();
        return 0;
      });
    } catch (const Error&) {  // An expected outcome.
    }
  };
  static const OpDefinition kDefinition;
  ignore([&] { static_cast<void>(definition_from(message)); });
  ignore([&] { static_cast<void>(bytes_from(message)); });
  ignore([&] { static_cast<void>(kernels_from(message)); });
  ignore([&] { static_cast<void>(rule_from(message)); });
  ignore([&] { static_cast<void>(timing_from(message)); });
  ignore([&] { static_cast<void>(reference_from(message)); });
  ignore([&] { static_cast<void>(compiled_config_from(message, kDefinition)); });
  ignore([&] { static_cast<void>(verdict_from(message)); });
  ignore([&] {
    Trial trial;
    read_trial(message, trial);
  });
  ignore([&] { throw_if_error(message); });
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// A definition's TOML: mistakes are reported.
#include "tuner/definition/definition.hpp"

#include "cache/base/error.hpp"
#include "tests/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  static const fuzz::InputFile kFile("op.toml");
  kFile.write(fuzz::text_of(data, size));
  try {
    static_cast<void>(load_definition(kFile.path(), {}));
  } catch (const Error&) {  // An expected outcome.
  }
  return 0;
}

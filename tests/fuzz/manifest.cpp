// SPDX-License-Identifier: Apache-2.0
// A channel's manifest from a service or an attacker between: it is read whole, or refused.
#include "tuner/snapshot/manifest.hpp"

#include <cstdlib>

#include "cache/base/error.hpp"
#include "tests/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  const std::string_view text = fuzz::text_of(data, size);
  static_cast<void>(is_channel_name(text));
  try {
    static_cast<void>(hash_of_pin(text));
  } catch (const UsageError&) {  // An expected outcome.
  }
  try {
    const SignedManifest read = read_manifest(text);
    if (read_manifest(document_of(read)) != read) std::abort();
  } catch (const UsageError&) {
  }
  return 0;
}

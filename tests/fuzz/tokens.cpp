// SPDX-License-Identifier: Apache-2.0
// The file of tokens, and a client's token: it is known, or not.
#include "tuner/service/tokens.hpp"

#include <sys/stat.h>

#include "cache/base/error.hpp"
#include "tests/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  static const fuzz::InputFile kFile("tokens.json");
  const std::string text(fuzz::text_of(data, size));
  kFile.write(text);
  ::chmod(kFile.path().c_str(), 0600);
  try {
    service::Tokens tokens(kFile.path());
    static_cast<void>(tokens.find(text, 1));
  } catch (const UsageError&) {  // An expected outcome.
  }
  return 0;
}

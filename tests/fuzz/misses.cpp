// SPDX-License-Identifier: Apache-2.0
// The file of misses: a file that is not understood stays as it is; otherwise it takes one more line.
#include <cstdlib>

#include "cache/base/error.hpp"
#include "cache/store/miss_file.hpp"
#include "tests/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  static const fuzz::InputFile kFile("misses");
  const std::string before(fuzz::text_of(data, size));
  kFile.write(before);
  const MissFile misses(kFile.path(), 4096);
  try {
    static_cast<void>(misses.read());
    const Miss more[] = {{.shape_key = "softmax[dtype=f32]{rows=1,cols=1}", .device_fingerprint = "cpu"}};
    if (!misses.append(more) || misses.read().empty()) std::abort();
  } catch (const CacheError&) {
    if (fuzz::content_of(kFile.path()) != before) std::abort();
  }
  return 0;
}

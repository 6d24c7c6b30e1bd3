// SPDX-License-Identifier: Apache-2.0
// Specs and shape keys: one that is understood has a key with the same meaning.
#include <cstdlib>

#include "cache/base/error.hpp"
#include "cache/model/problem.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/unit/model/cache_helpers.hpp"

namespace tilewright {
namespace {

void read(std::string_view text, const OpInterface& interface) {
  try {
    const Problem problem = parse_problem(text, interface);
    if (parse_problem(problem.key(), interface) != problem) std::abort();
  } catch (const UsageError&) {  // An expected outcome.
  }
  try {
    const OpSpec spec = parse_spec(text, interface);
    if (parse_spec(spec.text(), interface) != spec) std::abort();
  } catch (const UsageError&) {  // An expected outcome.
  }
}

}  // namespace
}  // namespace tilewright

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const tilewright::OpInterface kSoftmax = tilewright::test::softmax();
  static const tilewright::OpInterface kGemm = tilewright::test::gemm();
  const std::string_view text = tilewright::fuzz::text_of(data, size);
  tilewright::read(text, kSoftmax);
  tilewright::read(text, kGemm);
  return 0;
}

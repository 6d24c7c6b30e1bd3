// SPDX-License-Identifier: Apache-2.0
// A damaged bundle with valid content hashes: its values are arbitrary.
#include "cache/store/bundle/bundle.hpp"

#include "cache/base/error.hpp"
#include "cache/store/import.hpp"
#include "tests/fuzz/asked.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/unit/store/learned_fixture.hpp"

namespace tilewright {
namespace {

std::string right_bundle() {
  using namespace store_tests;
  const TemporaryFolder folder;
  Store store = prepared_store(folder / "c.db");
  const ProblemKey key = softmax_key(8, 100);
  const std::int64_t best = store.put_trial(key, "impl-1", built_trial(store, onchip_config(4, 0)));
  const std::int64_t base = store.put_trial(key, "impl-1", built_trial(store, onchip_config(1, 0), 2000));
  store.put_winners(key, MeasureMode::cold, {winner_of(best), winner_of(base, WinnerRole::base)});
  store.put_loss_model(key, MeasureMode::cold, model_of_warps(8));
  write_bundle(store, selected_winners(store, {}), folder / "winners.bundle");
  return fuzz::content_of(folder / "winners.bundle");
}

}  // namespace
}  // namespace tilewright

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  static const std::string kRight = right_bundle();
  static const fuzz::InputFile kFile("winners.bundle");
  kFile.write(fuzz::damaged(kRight, data, size));
  try {
    fuzz::ask_all(Bundle(kFile.path()));
  } catch (const Error&) {  // An expected outcome.
  }
  return 0;
}

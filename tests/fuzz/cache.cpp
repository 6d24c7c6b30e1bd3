// SPDX-License-Identifier: Apache-2.0
// A damaged cache: readable parts are served and imported, or an error is reported.
#include "cache/base/error.hpp"
#include "cache/store/import.hpp"
#include "tests/fuzz/asked.hpp"
#include "tests/fuzz/input.hpp"

namespace tilewright {
namespace {

std::string right_cache() {
  const store_tests::TemporaryFolder folder;
  store_tests::make_export(folder / "c.db");
  return fuzz::content_of(folder / "c.db");
}

}  // namespace
}  // namespace tilewright

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  static const std::string kRight = right_cache();
  static const fuzz::InputFile kFile("c.db");
  static const test::TemporaryFolder kFolder;
  kFile.write(fuzz::damaged(kRight, data, size));
  try {
    const Store store(kFile.path(), {.access = StoreAccess::read});
    fuzz::ask_all(store);
    std::filesystem::remove(kFolder / "into.db");
    Store into(kFolder / "into.db");
    import_winners(store, into);
  } catch (const Error&) {  // An expected outcome.
  }
  return 0;
}

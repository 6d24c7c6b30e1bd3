// SPDX-License-Identifier: Apache-2.0
// A pack's damaged columns with a valid SHA-256 and frame: they are folded or refused.
#include "cache/base/error.hpp"
#include "cache/store/columns.hpp"
#include "cache/store/import.hpp"
#include "cache/store/whole_file.hpp"
#include "tests/fuzz/asked.hpp"
#include "tests/fuzz/input.hpp"

namespace tilewright {
namespace {

std::string right_columns() {
  const store_tests::TemporaryFolder folder;
  store_tests::make_export(folder / "c.db");
  write_columns(folder / "c.db", folder / "columns");
  return fuzz::content_of(folder / "columns");
}

}  // namespace
}  // namespace tilewright

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tilewright;
  static const std::string kRight = right_columns();
  static const test::TemporaryFolder kFolder;
  std::filesystem::remove(kFolder / "into.db");
  try {
    Store into(kFolder / "into.db");
    WholeFile::fold(into, fuzz::damaged(kRight, data, size), std::string(64, '0'), "fuzzed.pack", kFolder / "");
    fuzz::ask_all(into);
  } catch (const Error&) {  // An expected outcome.
  }
  return 0;
}

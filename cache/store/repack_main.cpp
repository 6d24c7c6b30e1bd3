// SPDX-License-Identifier: Apache-2.0
// tilewright_repack plain|tight FILE: writes the binaries of a cache anew, each in a frame that does not compress, so
// that a packer around the file sees what they share, or in a small one. For what is shipped: scripts/pack_winners
// makes it plain, the build tight. FILE is replaced when all is done, and stays as it is when anything fails.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/base/temporary_folder.hpp"
#include "cache/store/binaries.hpp"
#include "cache/store/store.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage = "Type: tilewright_repack plain|tight FILE";

std::optional<Packing> packing_of(std::string_view word) {
  if (word == "plain") return Packing::plain;
  if (word == "tight") return Packing::tight;
  return std::nullopt;
}

void copy_whole(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::copy_file(from, to, error);
  if (error) throw Error(fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), error.message()));
}

void repack(const fs::path& file, Packing packing) {
  const std::string name = file.string();
  if (!fs::is_regular_file(file)) {
    throw Error(fmt::format("cannot pack the binaries of {} anew: there is no file of that name. {}", name, kUsage));
  }
  for (const char* const log : {"-wal", "-journal"}) {
    if (!fs::exists(name + log)) continue;
    throw Error(
        fmt::format("cannot pack the binaries of {0} anew: it is in use, or what used it died ({0}{1}). Make one "
                    "file of it (sqlite3 {0} \"VACUUM INTO 'COPY'\") and name the copy.",
                    name, log));
  }
  // First of all, so that what is wrong with it is told of the file, and not of the copy.
  Store(file, {.access = StoreAccess::read_older}).check();
  // Not in its place: a cache is never written on a network file system, where a build tree may lie.
  const TemporaryFolder folder("pack binaries anew");
  const fs::path work = folder.path() / "cache.db";
  copy_whole(file, work);
  fs::permissions(work, fs::perms::owner_write, fs::perm_options::add);
  Store(work).repack(packing);
  Draft draft(file);
  copy_whole(work, draft.path());
  if (const std::error_code error = draft.put_in_place()) {
    throw Error(fmt::format("cannot write {}: {}", name, why_not_written(file, error)));
  }
}

}  // namespace
}  // namespace tilewright

int main(int argc, char** argv) try {
  const auto packing = argc == 3 ? tilewright::packing_of(argv[1]) : std::nullopt;
  if (!packing) {
    fmt::print(stderr, "tilewright_repack: it takes a packing (plain or tight) and a cache. {}\n", tilewright::kUsage);
    return 2;
  }
  tilewright::repack(argv[2], *packing);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "tilewright_repack: %s\n", error.what());
  return 1;
}

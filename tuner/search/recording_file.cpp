// SPDX-License-Identifier: Apache-2.0
#include "tuner/search/recording_file.hpp"

#include "cache/base/scratch_folder.hpp"
#include "cache/store/pack/frame_file.hpp"

namespace tilewright {

Store open_recording(const std::filesystem::path& file) {
  if (file.extension() != ".zst") return Store(file, {.access = StoreAccess::copy});
  const ScratchFolder folder("unpack a cache");
  const std::filesystem::path unpacked = folder.path() / "unpacked.db";
  unpack_file(file, unpacked);
  return Store(unpacked, {.access = StoreAccess::copy});
}

}  // namespace tilewright

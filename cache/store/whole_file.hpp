// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/store/import.hpp"
#include "cache/store/pack_part.hpp"
#include "cache/store/space.hpp"
#include "cache/store/store.hpp"

/// Work on a cache file as a whole: sealing, copying, folding, digesting, cleaning. Calls belong to the Store's thread
/// and throw CacheError as the Store's own do. None may be made within a Batch.
namespace tilewright {

struct WholeFile {
  /// Turns it into one file in journal mode DELETE, which can be copied and opens in a read-only folder. For a new
  /// file; nothing may be put afterwards.
  static void seal(Store& store);
  /// The same into a file that does not exist or is empty; the store's own stays as it is.
  static void write_compact(Store& store, const std::filesystem::path& file);
  /// A copy of this moment, of this schema.
  static void copy(const Store& store, const std::filesystem::path& file);
  /// Gives empty pages back to the disk, which must have room for the file once more. If it fails or is interrupted,
  /// the file is as before.
  static void compact(Store& store);

  /// The parts of an op's packs, by name: for each dtype of its newest interface and each implementation that is in use
  /// or serves, its problems in the order of specs and dims.
  [[nodiscard]] static std::vector<std::pair<std::string, PackPart>> parts_of(const Store& store,
                                                                              const std::string& op);
  /// Copies a part of a cache of this schema, which nobody may write meanwhile, into this new one. Sweeps, phases and
  /// binaries of configs that serve nothing are left out; binaries are stored as Packing::plain.
  static void take_part(Store& store, const std::filesystem::path& from, const PackPart& part);
  /// Takes all that the columns of a pack hold (cache/store/pack/pack.hpp). The winners of a problem, device and mode
  /// go together: the better evidence stays, then those chosen here, then those of the pack with the lower hash. The
  /// content does not depend on the order of packs. A pack of an older schema is migrated in `folder`. Throws
  /// CacheError if the pack is damaged.
  static std::vector<OpCounts> fold(Store& store, std::string_view columns, const std::string& hash,
                                    const std::string& name, const std::filesystem::path& folder);
  /// How fold() would change the cache, which stays as it is.
  [[nodiscard]] static FoldChanges changes_of_fold(Store& store, std::string_view columns, const std::string& hash,
                                                   const std::filesystem::path& folder);
  /// A hash of the content, rows in order and by their names: the same packs folded in another order have the same
  /// hash. Ids, sweeps, misses and the service's rows are ignored.
  [[nodiscard]] static std::string digest(const Store& store);

  /// The use of the file's space. Reads the whole file.
  [[nodiscard]] static CacheSpace space(const Store& store);
  /// Removes rows and binaries that nothing needs (docs/cache.md, "Space"). Serving configs stay, and the trials that
  /// justify them. Throws CacheError while a sweep runs.
  static std::vector<Garbage> collect_garbage(Store& store, const GarbagePolicy& policy);
};

}  // namespace tilewright

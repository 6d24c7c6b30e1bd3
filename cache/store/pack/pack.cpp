// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/pack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>
#include <memory>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/base/scratch_folder.hpp"
#include "cache/store/columns.hpp"
#include "cache/store/pack/folder_packs.hpp"
#include "cache/store/pack/frame_file.hpp"
#include "cache/store/pack/pack_name.hpp"
#include "cache/store/pack/sha256.hpp"
#include "cache/store/pack_part.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

/// Compressing a large part takes up to a GiB.
constexpr std::size_t kMostThreads = 8;

/// A part of a cache, and the begin of its packs' names.
struct NamedPart {
  std::string name;
  PackPart part;
};

/// Writes the packs of one part. Writers of different parts may work at once.
class PackWriter {
 public:
  PackWriter(const fs::path& source, const fs::path& folder, FolderPacks& known, std::uintmax_t most)
      : source_(source), folder_(folder), known_(known), most_(most), work_("write packs") {}

  /// Writes what the folder's packs lack of the part.
  void write(NamedPart whole) {
    if (known_.files().empty()) return write_all(whole);
    const Store::Counts counts = take(whole.part);
    FoldChanges changes = known_.changes_of_fold(content_of(columns()));
    auto& problems = whole.part.problems;
    const bool of_problems = !problems.empty();
    std::erase_if(problems, [&](const PackPart::Member& each) { return !changes.problems.contains(each.key); });
    const bool lacks = of_problems ? !problems.empty() : changes.has_rows;
    done_.kept = std::move(changes.kept);
    for (const std::string& spec : changes.kept_models) done_.kept_models.emplace(spec, older_pack(whole.name));
    if (!lacks) {
      done_.knew_some = !is_empty(counts);
      return;
    }
    for (const PackPart::Member& problem : problems) done_.kept.erase(problem.key);
    write_all(whole);
    // The hash of a pack decides a tie.
    for (const PackFile& pack : done_.packs)
      done_.kept.merge(known_.changes_of_fold(unpacked(pack.path), pack.hash).kept);
  }

  [[nodiscard]] WrittenPacks done() && { return std::move(done_); }

 private:
  /// Writes one pack, or several of about the same size if one would be too large.
  void write_all(const NamedPart& whole) {
    const std::string& name = whole.name;
    const PackPart& part = whole.part;
    const Store::Counts counts = take(part);
    const fs::path packed = work_.path() / "part.zst";
    pack_file(columns(), packed);
    const std::uintmax_t size = fs::file_size(packed);
    const std::size_t problems = part.problems.size();
    if (size <= most_ || problems < 2) return keep(name, packed, counts);
    const std::uintmax_t aimed = most_ * 9 / 10;
    const std::size_t parts = std::min<std::size_t>((size + aimed - 1) / aimed, problems);
    for (std::size_t i = 0; i < parts; ++i) {
      const auto at = [&](std::size_t n) { return part.problems.begin() + static_cast<std::ptrdiff_t>(n); };
      NamedPart some{fmt::format("{}-{}", name, i + 1), part};
      some.part.problems.assign(at(problems * i / parts), at(problems * (i + 1) / parts));
      write_all(some);
    }
  }

  [[nodiscard]] fs::path columns() const { return work_.path() / "columns"; }

  /// The file name of the folder's last pack of a part.
  [[nodiscard]] std::string older_pack(const std::string& part) const {
    std::string name;
    for (const fs::path& file : known_.files()) {
      if (part_in_name(file) == part) name = file.filename().string();
    }
    return name;
  }

  /// Writes a part as columns().
  Store::Counts take(const PackPart& part) {
    const fs::path cache = work_.path() / "part.db";
    fs::remove(cache);
    Store::Counts counts;
    {
      Store store(cache);
      WholeFile::take_part(store, source_, part);
      counts = store.counts();
    }
    write_columns(cache, columns());
    return counts;
  }

  static bool is_empty(const Store::Counts& counts) {
    return counts.trials == 0 && counts.models == 0 && counts.devices == 0;
  }

  void keep(const std::string& name, const fs::path& packed, const Store::Counts& counts) {
    if (is_empty(counts)) return;
    PackFile file{{}, sha256_of(packed), fs::file_size(packed), counts.trials, counts.winners};
    file.path = folder_ / fmt::format("{}-{}{}", name, file.hash, kPackSuffix);
    if (!fs::exists(file.path)) {
      if (const std::error_code error = copy_into_place(packed, file.path)) {
        throw CacheError(fmt::format("cannot write {}: {}", file.path.string(), why_not_written(file.path, error)));
      }
    }
    done_.packs.push_back(std::move(file));
  }

  const fs::path& source_;
  const fs::path& folder_;
  FolderPacks& known_;
  std::uintmax_t most_;
  ScratchFolder work_;
  WrittenPacks done_;
};

/// The parts of the ops that the filter takes: by implementation and dtype, the models of each op, and the devices.
std::vector<NamedPart> parts_of(const Store& source, const WinnerSelection& filter) {
  std::vector<NamedPart> parts;
  for (const std::string& op : source.ops()) {
    if (!filter.ops.empty() && std::ranges::find(filter.ops, op) == filter.ops.end()) continue;
    for (auto& [name, part] : WholeFile::parts_of(source, op)) parts.push_back({name, std::move(part)});
    parts.push_back({op + "-models", {.problems = {}, .models_of = op}});
  }
  parts.push_back({"devices", {.problems = {}, .devices = true}});
  return parts;
}

}  // namespace

WrittenPacks write_packs(const Store& from, const fs::path& folder, const WinnerSelection& filter,
                         const std::function<void(const PackFile&)>& written, std::uintmax_t most) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw CacheError(fmt::format("cannot write packs into {}: {}", folder.string(), error.message()));
  }
  const ScratchFolder work("write packs");
  const fs::path copy = work.path() / "source.db";
  WholeFile::copy(from, copy);
  const Store source(copy, {.access = StoreAccess::read});
  source.check();
  const std::vector<NamedPart> parts = parts_of(source, filter);
  std::set<std::string> first_words;
  for (const NamedPart& part : parts) first_words.insert(first_word(part.name));
  FolderPacks known(folder, first_words);
  std::vector<std::promise<WrittenPacks>> promises(parts.size());
  std::atomic<std::size_t> next = 0;
  const auto work_on = [&] {
    for (std::size_t i = next++; i < parts.size(); i = next++) {
      try {
        PackWriter writer(copy, folder, known, most);
        writer.write(parts[i]);
        promises[i].set_value(std::move(writer).done());
      } catch (...) {
        promises[i].set_exception(std::current_exception());
        next = parts.size();
      }
    }
  };
  std::vector<std::jthread> threads;
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  while (threads.size() < std::min({cores, kMostThreads, parts.size()})) threads.emplace_back(work_on);
  WrittenPacks done;
  for (auto& promise : promises) {
    WrittenPacks part = promise.get_future().get();
    for (PackFile& file : part.packs) {
      if (written) written(file);
      done.packs.push_back(std::move(file));
    }
    done.knew_some = done.knew_some || part.knew_some;
    done.kept.merge(part.kept);
    done.kept_models.merge(part.kept_models);
  }
  done.superseded = superseded_by(done.packs, known.files());
  return done;
}

}  // namespace tilewright

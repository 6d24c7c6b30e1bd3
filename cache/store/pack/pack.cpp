// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/pack.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <exception>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/base/temporary_folder.hpp"
#include "cache/store/columns.hpp"
#include "cache/store/pack/frame_file.hpp"
#include "cache/store/pack_part.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashDigits = 64;
/// Behind all hashes.
constexpr std::string_view kHighestHash = "~";
/// Compressing a large part takes up to a GiB.
constexpr std::size_t kMostThreads = 8;

/// The digits at the end of a pack's name; empty if there are none.
std::string hash_in_name(const fs::path& pack) {
  const std::string stem = pack.stem().string();
  if (stem.size() < kHashDigits) return {};
  const std::string digits = stem.substr(stem.size() - kHashDigits);
  const bool all = std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; });
  return all ? digits : std::string();
}

/// A part of a cache, and the begin of its packs' names.
struct NamedPart {
  std::string name;
  PackPart part;
};

/// `gemm` of `gemm-bf16-simt`, `devices` of `devices`.
std::string first_word(const std::string& name) { return name.substr(0, name.find('-')); }

/// The part that a pack is named after: `gemm-bf16-simt` of `gemm-bf16-simt-2-<64 digits>.pack`.
std::string part_in_name(const fs::path& pack) {
  std::string name = pack.stem().string();
  name.resize(name.size() - std::min(name.size(), kHashDigits + 1));
  while (true) {
    const std::size_t end = name.find_last_not_of("0123456789");
    if (end == std::string::npos || end + 1 == name.size() || name[end] != '-') return name;
    name.resize(end);
  }
}

/// The packs of a folder, folded into one cache. Any thread may ask.
class FolderPacks {
 public:
  /// Folds the packs whose names begin with these words, or have no hash. Throws CacheError that names a pack.
  FolderPacks(const fs::path& folder, const std::set<std::string>& first_words)
      : work_("fold packs"), store_(work_.path() / "known.db") {
    std::error_code error;
    for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
      const fs::path& file = at->path();
      if (!is_pack(file)) continue;
      const bool has_word = first_words.contains(first_word(file.filename().string()));
      if (has_word || hash_in_name(file).empty()) files_.push_back(file);
    }
    if (error) {
      throw CacheError(fmt::format("cannot read the packs of {0}: {1}. Let this user list it (chmod u+rx {0})",
                                   folder.string(), error.message()));
    }
    std::ranges::sort(files_);
    Folding folding(store_);
    for (const fs::path& file : files_) folding.fold(file);
  }

  [[nodiscard]] const std::vector<fs::path>& files() const noexcept { return files_; }
  /// WholeFile::changes_of_fold
  [[nodiscard]] FoldChanges changes_of_fold(std::string_view columns,
                                            const std::string& hash = std::string(kHighestHash)) {
    const std::scoped_lock lock(mutex_);
    return WholeFile::changes_of_fold(store_, columns, hash, work_.path());
  }

 private:
  TemporaryFolder work_;
  Store store_;
  std::vector<fs::path> files_;
  std::mutex mutex_;
};

/// Those of the older packs, of the same parts as the new ones, that bring no row beside these.
std::vector<fs::path> superseded_by(const std::vector<PackFile>& packs, const std::vector<fs::path>& older) {
  std::vector<fs::path> superseded;
  if (packs.empty() || older.empty()) return superseded;
  const TemporaryFolder work("compare packs");
  Store store(work.path() / "new.db");
  Folding folding(store);
  std::set<std::string> parts;
  for (const PackFile& pack : packs) {
    folding.fold(pack.path);
    parts.insert(part_in_name(pack.path));
  }
  std::ranges::copy_if(older, std::back_inserter(superseded), [&](const fs::path& pack) {
    return parts.contains(part_in_name(pack)) &&
           !WholeFile::changes_of_fold(store, unpacked(pack), std::string(kHighestHash), work.path()).has_rows;
  });
  return superseded;
}

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
      Draft draft(file.path);
      std::error_code error;
      fs::copy_file(packed, draft.path(), fs::copy_options::overwrite_existing, error);
      if (!error) error = draft.put_in_place();
      if (error) {
        throw CacheError(fmt::format("cannot write {}: {}", file.path.string(), why_not_written(file.path, error)));
      }
    }
    done_.packs.push_back(std::move(file));
  }

  const fs::path& source_;
  const fs::path& folder_;
  FolderPacks& known_;
  std::uintmax_t most_;
  TemporaryFolder work_;
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

std::string sha256_of(const fs::path& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::ifstream stream(file, std::ios::binary);
  if (!stream)
    throw Error(fmt::format("cannot read {0}. See whether it exists and may be read (ls -l {0})", file.string()));
  bool ok = context != nullptr && EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) == 1;
  std::array<char, std::size_t{1} << 16> block{};
  while (ok && (stream.read(block.data(), block.size()), stream.gcount() > 0)) {
    ok = EVP_DigestUpdate(context.get(), block.data(), static_cast<std::size_t>(stream.gcount())) == 1;
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (!ok || EVP_DigestFinal_ex(context.get(), digest.data(), &size) != 1) {
    throw Error(fmt::format("cannot work out the SHA-256 of {}", file.string()));
  }
  std::string digits;
  for (unsigned i = 0; i < size; ++i) digits += fmt::format("{:02x}", digest[i]);
  return digits;
}

bool is_pack(const fs::path& file) { return file.extension() == kPackSuffix; }

WrittenPacks write_packs(const Store& from, const fs::path& folder, const WinnerSelection& filter,
                         const std::function<void(const PackFile&)>& written, std::uintmax_t most) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    throw CacheError(fmt::format("cannot write packs into {}: {}", folder.string(), error.message()));
  }
  const TemporaryFolder work("write packs");
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
  }
  done.superseded = superseded_by(done.packs, known.files());
  return done;
}

std::vector<OpCounts> Folding::fold(const fs::path& pack) {
  const std::string hash = sha256_of(pack), named = hash_in_name(pack);
  if (hash != named) {
    throw CacheError(fmt::format("cannot fold the pack {}: {}. Get the file again, and keep its name.", pack.string(),
                                 named.empty()
                                     ? "its name does not end in the SHA-256 of its content"
                                     : fmt::format("it is damaged, since the SHA-256 of its content is {}", hash)));
  }
  try {
    return WholeFile::fold(to_, unpacked(pack), hash, pack.filename().string(), work_.path());
  } catch (const CacheError& error) {
    throw CacheError(fmt::format("cannot fold the pack {}: {}", pack.string(), error.what()), error.code(),
                     error.kind());
  }
}

}  // namespace tilewright

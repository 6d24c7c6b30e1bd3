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
#include <memory>
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

/// Writes the packs of one part. Writers of different parts may work at once.
class PackWriter {
 public:
  PackWriter(const fs::path& source, const fs::path& folder, std::uintmax_t most)
      : source_(source), folder_(folder), most_(most), work_("write packs") {}

  /// Writes one pack, or several of about the same size if one would be too large.
  void write(const NamedPart& whole) {
    const std::string& name = whole.name;
    const PackPart& part = whole.part;
    const auto [packed, counts] = pack(part);
    const std::uintmax_t size = fs::file_size(packed);
    const std::size_t problems = part.problems.size();
    if (size <= most_ || problems < 2) return keep(name, packed, counts);
    const std::uintmax_t aimed = most_ * 9 / 10;
    const std::size_t parts = std::min<std::size_t>((size + aimed - 1) / aimed, problems);
    for (std::size_t i = 0; i < parts; ++i) {
      const auto at = [&](std::size_t n) { return part.problems.begin() + static_cast<std::ptrdiff_t>(n); };
      NamedPart some{fmt::format("{}-{}", name, i + 1), part};
      some.part.problems.assign(at(problems * i / parts), at(problems * (i + 1) / parts));
      write(some);
    }
  }

  [[nodiscard]] std::vector<PackFile> done() && { return std::move(done_); }

 private:
  std::pair<fs::path, Store::Counts> pack(const PackPart& part) {
    const fs::path cache = work_.path() / "part.db", columns = work_.path() / "columns",
                   packed = work_.path() / "part.zst";
    fs::remove(cache);
    Store::Counts counts;
    {
      Store store(cache);
      WholeFile::take_part(store, source_, part);
      counts = store.counts();
    }
    write_columns(cache, columns);
    pack_file(columns, packed);
    return {packed, counts};
  }

  void keep(const std::string& name, const fs::path& packed, const Store::Counts& counts) {
    const bool is_empty = counts.trials == 0 && counts.models == 0 && counts.devices == 0;
    if (is_empty) return;
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
    done_.push_back(std::move(file));
  }

  const fs::path& source_;
  const fs::path& folder_;
  std::uintmax_t most_;
  TemporaryFolder work_;
  std::vector<PackFile> done_;
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

std::vector<PackFile> write_packs(const Store& from, const fs::path& folder, const WinnerSelection& filter,
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
  std::vector<std::promise<std::vector<PackFile>>> promises(parts.size());
  std::atomic<std::size_t> next = 0;
  const auto work_on = [&] {
    for (std::size_t i = next++; i < parts.size(); i = next++) {
      try {
        PackWriter writer(copy, folder, most);
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
  std::vector<PackFile> done;
  for (auto& promise : promises) {
    for (PackFile& file : promise.get_future().get()) {
      if (written) written(file);
      done.push_back(std::move(file));
    }
  }
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

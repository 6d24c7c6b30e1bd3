// SPDX-License-Identifier: Apache-2.0
#include "cache/store/pack/pack.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
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

/// The digits at the end of a pack's name; empty if there are none.
std::string hash_in_name(const fs::path& pack) {
  const std::string stem = pack.stem().string();
  if (stem.size() < kHashDigits) return {};
  const std::string digits = stem.substr(stem.size() - kHashDigits);
  const bool all = std::ranges::all_of(digits, [](unsigned char c) { return std::isxdigit(c) != 0; });
  return all ? digits : std::string();
}

class PackWriter {
 public:
  PackWriter(const fs::path& folder, const std::function<void(const PackFile&)>& written, std::uintmax_t most)
      : folder_(folder), written_(written), most_(most), work_("write packs") {}

  [[nodiscard]] fs::path source() const { return work_.path() / "source.db"; }
  [[nodiscard]] std::vector<PackFile> done() && { return std::move(done_); }

  /// Writes one pack, or several of about the same size if one would be too large.
  void write(const std::string& name, const PackPart& part) {
    const auto [packed, counts] = pack(part);
    const std::uintmax_t size = fs::file_size(packed);
    const std::size_t problems = part.problems.size();
    if (size <= most_ || problems < 2) return keep(name, packed, counts);
    const std::uintmax_t aimed = most_ * 9 / 10;
    const std::size_t parts = std::min<std::size_t>((size + aimed - 1) / aimed, problems);
    for (std::size_t i = 0; i < parts; ++i) {
      const auto at = [&](std::size_t n) { return part.problems.begin() + static_cast<std::ptrdiff_t>(n); };
      PackPart some = part;
      some.problems.assign(at(problems * i / parts), at(problems * (i + 1) / parts));
      write(fmt::format("{}-{}", name, i + 1), some);
    }
  }

 private:
  std::pair<fs::path, Store::Counts> pack(const PackPart& part) {
    const fs::path cache = work_.path() / "part.db", columns = work_.path() / "columns",
                   packed = work_.path() / "part.zst";
    fs::remove(cache);
    Store::Counts counts;
    {
      Store store(cache);
      WholeFile::take_part(store, source(), part);
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
    if (written_) written_(file);
    done_.push_back(std::move(file));
  }

  const fs::path& folder_;
  const std::function<void(const PackFile&)>& written_;
  std::uintmax_t most_;
  TemporaryFolder work_;
  std::vector<PackFile> done_;
};

}  // namespace

std::string sha256_of(const fs::path& file) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw Error(fmt::format("cannot read {}", file.string()));
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
  PackWriter writer(folder, written, most);
  WholeFile::copy(from, writer.source());
  const Store source(writer.source(), {.access = StoreAccess::read});
  source.check();
  for (const std::string& op : source.ops()) {
    if (!filter.ops.empty() && std::ranges::find(filter.ops, op) == filter.ops.end()) continue;
    for (auto& [name, part] : WholeFile::parts_of(source, op)) writer.write(name, part);
    writer.write(op + "-models", {.problems = {}, .models_of = op});
  }
  writer.write("devices", {.problems = {}, .devices = true});
  return std::move(writer).done();
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

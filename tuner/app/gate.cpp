// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/scratch_folder.hpp"
#include "cache/store/import.hpp"
#include "cache/store/pack/folding.hpp"
#include "cache/store/pack/pack_name.hpp"
#include "cache/store/store.hpp"
#include "tuner/app/compare.hpp"
#include "tuner/app/gate_again.hpp"
#include "tuner/app/import.hpp"

namespace tilewright::app {
namespace {

/// A folder without packs may share its name with a device.
bool has_packs(const std::filesystem::path& named) {
  std::error_code none;
  const std::filesystem::directory_iterator folder(named, none);
  return is_pack(named) || std::ranges::any_of(folder, [](const auto& entry) { return is_pack(entry.path()); });
}

/// One side of the comparison: the words as they are, or, if they name packs, a temporary cache that the packs are
/// folded into.
class Side {
 public:
  explicit Side(std::string words) : words_(std::move(words)) {
    const std::filesystem::path named(words_);
    if (!has_packs(named)) return;
    folder_.emplace("fold packs");
    const std::filesystem::path cache = folder_->path() / "cache.db";
    Store store(cache, {.access = StoreAccess::draft});
    Folding folding(store);
    for (const std::filesystem::path& pack : packs_of(named)) static_cast<void>(folding.fold(pack));
    words_ = cache.string();
  }
  [[nodiscard]] const std::string& words() const noexcept { return words_; }

 private:
  std::string words_;
  std::optional<ScratchFolder> folder_;
};

/// The ops that the request names, or all of A. Throws UsageError for an op of neither a side nor the place.
std::vector<std::string> named_ops(const GateRequest& request, const std::string& a, const std::string& b) {
  std::vector<std::string> of_a = compared_ops(request.place, a);
  if (request.ops.empty()) return of_a;
  std::set<std::string> known;
  for (const auto& ops : {of_a, compared_ops(request.place, b), open_catalogue(request.place).names()}) {
    known.insert(ops.begin(), ops.end());
  }
  for (const std::string& op : request.ops) {
    if (known.contains(op)) continue;
    throw UsageError(fmt::format("there is no op '{}'{}", op, suggestion(op, {known.begin(), known.end()})));
  }
  return request.ops;
}

void judge(GateReport& report) {
  std::vector<GatePair> pairs;
  for (const CompareLine& line : report.lines) {
    pairs.push_back({&line.a->trial, &line.b->trial, line.a->device == line.b->device});
  }
  report.judgements = judge_gate(pairs, report.rule);
}

}  // namespace

GateReport gate(const GateRequest& request, Listener* listener) {
  GateReport report{request.a, request.b, request.rule, {}, {}};
  const Side a(request.a), b(request.b);
  const std::vector<std::string> ops = named_ops(request, a.words(), b.words());
  for (const std::string& op : ops) {
    CompareRequest compare{request.place, op, a.words(), b.words(), request.device, request.mode, {}};
    compare.rounds = true;
    for (CompareLine& line : compared_lines(compare)) {
      if (line.a && line.b) {
        report.lines.push_back(std::move(line));
      } else if (line.a || line.b) {
        ++(line.a ? report.only_a : report.only_b);
      }
    }
  }
  judge(report);
  if (listener != nullptr) {
    for (const std::string& side : {request.a, request.b}) {
      require_own_cache(std::filesystem::exists(side) ? std::filesystem::path(side) : cache_path(request.place));
    }
    time_again(report, request.place, a.words(), b.words(), request.mode, *listener);
    judge(report);
  }
  return report;
}

}  // namespace tilewright::app

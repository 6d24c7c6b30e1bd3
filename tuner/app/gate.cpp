// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/gate.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

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
  const std::vector<std::string> ops = request.ops.empty() ? compared_ops(request.place, a.words()) : request.ops;
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

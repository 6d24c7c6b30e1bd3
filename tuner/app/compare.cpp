// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/compare.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "cache/base/error.hpp"
#include "tuner/app/stored_devices.hpp"
#include "tuner/search/recording_file.hpp"

namespace tilewright::app {
namespace {

struct VersionName {
  const char* name;
  std::string (*of)(const Versions&);
};
const std::vector<VersionName>& version_names() {
  static const std::vector<VersionName> kNames{
      // Trials on the emulator have a driver that a side can name, too.
      {"driver", [](const Versions& versions) { return versions.driver == 0 ? "0.0" : driver_text(versions.driver); }},
      {"compiler", [](const Versions& versions) { return versions.compiler; }},
      {"tilewright", [](const Versions& versions) { return versions.tilewright; }}};
  return kNames;
}

const VersionName* version_named(const std::string& side) {
  const std::string typed = side.substr(0, side.find('='));
  const auto& names = version_names();
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const VersionName& each) { return typed == each.name; });
  return side.find('=') == std::string::npos || found == names.end() ? nullptr : &*found;
}

bool is_file(const std::string& side) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(side, ignored);
}

/// A missing file is more likely than a device of such a name.
bool looks_like_file(const std::string& side) { return side.find('/') != std::string::npos || side.ends_with(".db"); }

TriedFilter filter_of(const CompareRequest& request, const Store& store, const std::string& device) {
  TriedFilter filter;
  filter.op = request.op;
  const auto interface = store.interface_of(request.op);
  if (interface) filter.interface_hash = interface->hash();
  for (const DeviceFacts& each : choose_devices(store, device)) filter.fingerprints.push_back(each.fingerprint());
  filter.mode = request.mode;
  filter.wanted = request.wanted;
  return filter;
}

struct SideProblem {
  ProblemKey key;
  std::optional<SideBest> best;
};

std::vector<TriedProblem> of_version(const Store& store, const TriedFilter& filter, const std::string& side) {
  const VersionName& name = *version_named(side);
  const std::string wanted = side.substr(side.find('=') + 1);
  std::vector<Versions> seen;
  std::vector<TriedProblem> problems = tried_by_versions(
      store, filter, [&](const Versions& versions) { return name.of(versions) == wanted; }, seen);
  std::set<std::string> known;
  for (const Versions& versions : seen) known.insert(name.of(versions));
  if (known.count(wanted) != 0) return problems;
  throw UsageError(fmt::format("--compare {}: no trial of {} is of that {}{}", side, filter.op, name.name,
                               suggestion(wanted, {known.begin(), known.end()})));
}

std::vector<SideProblem> placed(const Store& store, const CompareRequest& request,
                                const std::vector<TriedProblem>& problems) {
  std::vector<SideProblem> sides;
  Ceilings ceilings(store);
  for (const TriedProblem& problem : problems) {
    const ProblemKey& key = problem.key;
    std::optional<SideBest> best = best_of(problem);
    if (best) {
      best->roofline = roofline_of(ceilings, request.definition, key.interface_hash, key.problem,
                                   key.device_fingerprint, problem.mode);
      auto whole = request.rounds ? store.trial(best->trial.id) : std::nullopt;
      if (whole && timed(*whole)) best->trial = std::move(*whole);
    }
    sides.push_back({key, std::move(best)});
  }
  return sides;
}

std::vector<SideProblem> problems_of(const CompareRequest& request, const std::string& side) {
  const Store store = open_side(request.place, side);
  if (is_file(side) || looks_like_file(side)) {
    return placed(store, request, tried_problems(store, filter_of(request, store, request.device)));
  }
  if (version_named(side) != nullptr) {
    return placed(store, request, of_version(store, filter_of(request, store, request.device), side));
  }
  return placed(store, request, tried_problems(store, filter_of(request, store, side)));
}

std::set<std::string> devices_of(const std::vector<SideProblem>& problems) {
  std::set<std::string> devices;
  for (const SideProblem& each : problems) devices.insert(each.key.device_fingerprint);
  return devices;
}

void require_one(const std::set<std::string>& devices, const std::string& side) {
  if (devices.size() < 2) return;
  throw UsageError(
      fmt::format("--compare {}: it has several devices, and the other side has none of them; name one with "
                  "--device: {}",
                  side, fmt::join(devices, ", ")));
}

}  // namespace

bool is_file_or_version(const std::string& word) {
  return is_file(word) || looks_like_file(word) || version_named(word) != nullptr;
}

Store open_side(const Place& place, const std::string& side) {
  // A file may be of an older version, or packed.
  return is_file(side) || looks_like_file(side) ? open_recording(side) : open_to_read(place);
}

std::vector<std::string> compared_ops(const Place& place, const std::string& side) {
  return open_side(place, side).ops();
}

std::vector<CompareLine> compared_lines(const CompareRequest& request) {
  const std::vector<SideProblem> a = problems_of(request, request.a);
  const std::vector<SideProblem> b = problems_of(request, request.b);
  const std::set<std::string> of_a = devices_of(a);
  const std::set<std::string> of_b = devices_of(b);
  // A device on both sides is compared with itself; without a common device, the sides' devices with each other.
  const bool by_device = std::any_of(of_a.begin(), of_a.end(), [&](const auto& each) { return of_b.count(each) != 0; });
  if (!by_device) {
    require_one(of_a, request.a);
    require_one(of_b, request.b);
  }
  std::vector<CompareLine> lines;
  std::map<std::string, std::size_t> known;
  const auto add = [&](const std::vector<SideProblem>& problems, std::optional<SideBest> CompareLine::*side) {
    for (const auto& [key, best] : problems) {
      const auto [at, is_new] =
          known.emplace(key.problem.key() + (by_device ? key.device_fingerprint : ""), lines.size());
      if (is_new) lines.push_back({key.problem, {}, {}});
      lines[at->second].*side = best;
    }
  };
  add(a, &CompareLine::a);
  add(b, &CompareLine::b);
  std::stable_sort(lines.begin(), lines.end(), [](const CompareLine& left, const CompareLine& right) {
    return before_in_table(left.problem, right.problem);
  });
  return lines;
}

}  // namespace tilewright::app

// SPDX-License-Identifier: Apache-2.0
#include "cache/store/export.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <system_error>
#include <utility>

#include "cache/base/draft.hpp"
#include "cache/base/error.hpp"
#include "cache/store/referred.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {
namespace {

void put_recording(const Store& from, Store& to, const Store::Tried& tried) {
  for (const std::string& hash : tried.implementation_hashes) {
    to.put_implementation(tried.key.interface_hash,
                          referred(from.implementation_by_hash(hash), from, "an implementation"));
    for (const Trial& listed : from.trials(tried.key, {hash}, tried.mode)) {
      if (listed.status == TrialStatus::pruned) continue;
      Trial trial = referred(from.trial(listed.id), from, "a trial");
      trial.sweep = 0;
      trial.phases.reset();
      trial.build_key.clear();
      trial.accuracy.reset();
      trial.readings = {};
      to.put_trial(tried.key, hash, trial);
    }
  }
}

/// Writes what `fill` puts, and puts the file in place when it is complete.
template <class Fill>
std::vector<OpCounts> export_as(const std::filesystem::path& file, Fill fill) {
  Draft draft(file);
  std::vector<OpCounts> done;
  {
    Store to(draft.path());
    done = fill(to);
    if (done.empty()) return done;
    WholeFile::seal(to);
  }
  Store(draft.path(), {.access = StoreAccess::read}).check();
  if (const std::error_code error = draft.put_in_place()) {
    throw CacheError(
        fmt::format("cannot write {}: {} Nothing was written.", file.string(), why_not_written(file, error)));
  }
  return done;
}

}  // namespace

std::vector<OpCounts> export_winners(const Store& from, const std::filesystem::path& file,
                                     const WinnerSelection& filter) {
  return export_as(file, [&](Store& to) { return import_winners(from, to, filter); });
}

std::vector<OpCounts> export_trials(const Store& from, const std::filesystem::path& file,
                                    const WinnerSelection& filter) {
  return export_as(file, [&](Store& to) {
    std::map<std::string, DeviceFacts> devices;
    for (DeviceFacts& device : from.devices()) devices.emplace(device.fingerprint(), std::move(device));
    std::map<std::pair<std::string, std::string>, OpCounts> counts;
    Store::Batch batch(to);
    for (const Store::Tried& tried : from.tried()) {
      const std::string& op = tried.key.problem.spec.op;
      const std::string& device = tried.key.device_fingerprint;
      if (!filter.takes(tried.key.problem, device)) continue;
      to.add_older_interface(referred(from.interface_by_hash(tried.key.interface_hash), from, "an interface"));
      to.put_device(devices.at(device));
      put_recording(from, to, tried);
      OpCounts& count = counts[{op, device}];
      count.op = op;
      count.device = device;
      ++count.added;
    }
    batch.commit();
    std::vector<OpCounts> all;
    for (auto& [key, count] : counts) all.push_back(std::move(count));
    return all;
  });
}

}  // namespace tilewright

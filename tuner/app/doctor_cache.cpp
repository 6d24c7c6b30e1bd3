// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/doctor_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cache/base/error.hpp"
#include "cache/base/file_facts.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/sweep/revalidate.hpp"

namespace tilewright::app {
namespace {

namespace fs = std::filesystem;

/// A cache in the current folder, for a user without a usable one.
constexpr const char* kOwn = "tilewright.db";

/// The command that names another cache in the way that this one was named.
std::string name_another(const Place& place, const fs::path& file) {
  if (place.cache) return "tilewright doctor --cache " + shell_word(file.string());
  // An absolute path holds in any folder.
  return "export TILEWRIGHT_CACHE=" + shell_word(fs::absolute(file).string());
}

/// The command to type if a cache cannot be used. It loses nothing of the cache's contents.
std::string remedy(const Place& place, const fs::path& path, CacheFault fault) {
  const std::string file = shell_word(path.string());
  switch (fault) {
    case CacheFault::older:
      // Opening the cache for writing migrates it; importing its own winners changes nothing.
      return fmt::format("tilewright import {0} --cache {0}", file);
    case CacheFault::newer:
      return fmt::format("mv {0} {0}.newer", file);
    case CacheFault::damaged:
      return fmt::format("mv {0} {0}.damaged", file);
    case CacheFault::foreign:
      return fmt::format("mv {0} {0}.old", file);
    case CacheFault::missing:
    case CacheFault::empty:
      return "tilewright sweep softmax" + cache_option(place);
    case CacheFault::locked:
      return "fuser -v " + file;
    case CacheFault::full:
      return "df -h " + shell_word(folder_of(path).string());
    case CacheFault::denied:
      return fmt::format("sudo chmod a+r {} && sudo chmod a+rx {}", file, shell_word(folder_of(path).string()));
    case CacheFault::not_written:
      return fmt::format("tilewright import {} --cache {}", file, kOwn);
    case CacheFault::no_file:
      return name_another(place, fs::is_directory(path) ? path / "cache.db" : fs::path(kOwn));
    case CacheFault::unnamed:
      return name_another(place, kOwn);
    case CacheFault::other:
      break;
  }
  return "ls -la " + shell_word(folder_of(path).string());
}

std::optional<Finding> judge_safety(const fs::path& path) {
  if (!writable_by_others(path)) return std::nullopt;
  return Finding{"cache rights",
                 false,
                 "",
                 path.string(),
                 "Others can write it or its folder. It holds code, so applications refuse to launch from it.",
                 fmt::format("chmod go-w {} {}", shell_word(path.string()), shell_word(folder_of(path).string()))};
}

/// Whether there are winners of this device, and whether they are of the current versions.
void look_at_winners(const Store& store, const Place& place, Catalogue& catalogue, const Tunable& device,
                     std::vector<Finding>& findings) {
  const std::string part = "winners of " + device.fingerprint.substr(0, device.fingerprint.find('/'));
  const auto rows =
      store.list_winners({.op = {}, .fingerprint = device.fingerprint, .mode = {}, .role = WinnerRole::best});
  const bool emulator = device.fingerprint == emulator_facts().fingerprint();
  if (rows.empty()) {
    // Nobody ships winners of the emulator.
    if (emulator) return;
    findings.push_back({part, false, "", device.fingerprint,
                        "The cache has none of this GPU: applications are served by winners of other GPUs "
                        "of its architecture, or by none.",
                        "tilewright sweep softmax" + cache_option(place)});
    return;
  }
  std::size_t stale = 0;
  std::string why;
  const std::vector<std::string> known = catalogue.names();
  for (const std::string& op : store.ops()) {
    if (std::find(known.begin(), known.end(), op) == known.end()) continue;
    try {
      const OpDefinition& definition = catalogue.find(op);
      for (const MeasureMode mode : {MeasureMode::cold, MeasureMode::hot, MeasureMode::events}) {
        const auto found = stale_winners(store, definition, device.fingerprint, mode, device.now);
        stale += found.size();
        if (!found.empty()) why = found.front().why;
      }
    } catch (const DefinitionError&) {  // The finding of the ops reports it.
    }
  }
  Finding finding{part, true, fmt::format("problems served: {}, by stale winners: {}", rows.size(), stale),
                  device.fingerprint};
  if (stale > 0) {
    finding.wrong =
        fmt::format("Chosen under other versions ({}): {}, which {} served, and may no longer be the fastest.", why,
                    counted(stale, "winner"), stale == 1 ? "is" : "are");
    finding.type =
        fmt::format("tilewright sweep --revalidate{}{}", emulator ? " --device cpu" : "", cache_option(place));
  }
  findings.push_back(std::move(finding));
}

Finding look_at_store(const Store& store, const fs::path& path) {
  const Store::Counts counts = store.counts();
  return {"cache", true,
          fmt::format("schema {}; {}, {}, {}, {}, {} kept to serve them, {} ({})", counts.schema,
                      counted(store.ops().size(), "op"), counted(counts.devices, "device"),
                      counted(counts.problems, "problem"), counted(counts.trials, "trial"),
                      counted(counts.winners, "config"), counted(counts.binaries, "binary"),
                      show_bytes(static_cast<double>(counts.binary_bytes))),
          path.string()};
}

}  // namespace

CacheFindings look_at_cache(const Place& place, const std::vector<Tunable>& devices) {
  CacheFindings result;
  std::vector<Finding>& findings = result.findings;
  const auto unsound = [&](const fs::path& path, const CacheError& error) {
    result.sound = false;
    findings.push_back({"cache", false, "", path.string(), error.what(), remedy(place, path, error.kind())});
  };
  fs::path path;
  try {
    path = cache_path(place);
  } catch (const CacheError& error) {
    unsound(path, error);
    return result;
  }
  std::error_code ignored;
  // A missing cache is no fault; an unreadable one is.
  if (!fs::exists(path, ignored) && !ignored) {
    findings.push_back({"cache", false, "", path.string(), "There is none yet; the first sweep makes it.",
                        "tilewright sweep softmax" + cache_option(place)});
    return result;
  }
  try {
    const Store store(path, {.access = StoreAccess::read});
    store.check();
    findings.push_back(look_at_store(store, path));
    if (!can_write(path)) {
      findings.back().wrong =
          "This user can read it but not write it: applications launch from it, but sweeps need another cache, such as "
          "one that begins with its winners.";
      findings.back().type = remedy(place, path, CacheFault::not_written);
    }
    Catalogue catalogue = open_catalogue(place);
    for (const Tunable& device : devices) look_at_winners(store, place, catalogue, device, findings);
  } catch (const CacheError& error) {
    unsound(path, error);
  } catch (const Error&) {  // Without ops winners cannot be judged; the finding of the ops reports why.
  }
  if (auto unsafe = judge_safety(path)) {
    result.sound = false;
    findings.push_back(std::move(*unsafe));
  }
  return result;
}

}  // namespace tilewright::app

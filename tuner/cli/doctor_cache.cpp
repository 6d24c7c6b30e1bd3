// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "cache/error.hpp"
#include "cache/store/file_facts.hpp"
#include "tuner/cli/finding.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/report/units.hpp"
#include "tuner/sweep/revalidate.hpp"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

/// For a shell: as it is where nothing in it means anything there.
std::string shell_word(const fs::path& path) {
  std::string text = path.string();
  const auto plain = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter >= 0x80 ||
           std::string_view("/._-+:@%,=").find(static_cast<char>(letter)) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? "'\\''" : std::string(1, letter);
  return result + "'";
}

/// " --cache FILE" where the default is not meant.
std::string cache_option(const Arguments& arguments) {
  return arguments.has("cache") ? " --cache " + shell_word(arguments.text("cache")) : "";
}

/// What to type when a cache cannot be used, by SQLite's result code (its lowest byte; 0 when it was not SQLite who refused).
std::string remedy(const fs::path& path, const CacheError& error) {
  constexpr int kBusy = 5;
  constexpr int kDamaged = 11;
  constexpr int kNoCache = 26;
  const std::string file = shell_word(path);
  switch (error.code() & 0xFF) {
    case kBusy:
      return "fuser -v " + file;
    case kDamaged:
      return fmt::format("mv {0} {0}.damaged", file);
    case kNoCache:
      return fmt::format("mv {0} {0}.old", file);
    default:
      break;
  }
  if (fs::is_directory(path)) return "export TILEWRIGHT_CACHE=" + shell_word(path / "cache.db");
  if (fs::is_regular_file(path) && !can_read(path)) return "chmod u+r " + file;
  return "ls -la " + shell_word(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

std::optional<Finding> judge_safety(const fs::path& path) {
  if (!writable_by_others(path)) return std::nullopt;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return Finding{"cache rights",
                 false,
                 "",
                 path.string(),
                 "Others can write it or its folder. It holds code, so applications refuse to launch from it.",
                 fmt::format("chmod go-w {} {}", shell_word(path), shell_word(folder))};
}

/// Winners of this device: whether there are any, and whether they are of the versions at hand.
void look_at_winners(const Store& store, const Arguments& arguments, Catalogue& catalogue, const Tunable& device,
                     std::vector<Finding>& findings) {
  const std::string part = "winners of " + device.fingerprint.substr(0, device.fingerprint.find('/'));
  const auto rows =
      store.list_winners({.op = {}, .fingerprint = device.fingerprint, .mode = {}, .role = WinnerRole::best});
  const bool emulator = device.fingerprint == emulator_facts().fingerprint();
  if (rows.empty()) {
    // Nobody ships what the emulator has tuned.
    if (emulator) return;
    findings.push_back(
        {part, false, "", device.fingerprint,
         "The cache has none of this GPU: applications are served by those of others of its architecture, or by "
         "none.",
         "tilewright sweep softmax" + cache_option(arguments)});
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
    } catch (const DefinitionError&) {  // The finding of the ops tells.
    }
  }
  Finding finding{part, true, fmt::format("problems served: {}, by stale winners: {}", rows.size(), stale), device.fingerprint};
  if (stale > 0) {
    finding.wrong = fmt::format(
        "{} winners were chosen under other versions ({}): they are served, and may no longer be the fastest.", stale,
        why);
    finding.type =
        fmt::format("tilewright sweep --revalidate{}{}", emulator ? " --device cpu" : "", cache_option(arguments));
  }
  findings.push_back(std::move(finding));
}

Finding look_at_store(const Store& store, const fs::path& path) {
  const Store::Counts counts = store.counts();
  return {"cache", true,
          fmt::format("schema {}; {} ops, {} devices, {} problems, {} trials, {} configs kept to serve them, {} binaries ({})",
                      counts.schema, store.ops().size(), counts.devices, counts.problems, counts.trials, counts.winners,
                      counts.binaries, show_bytes(static_cast<double>(counts.binary_bytes))),
          path.string()};
}

}  // namespace

CacheFindings look_at_cache(const Arguments& arguments, const std::vector<Tunable>& devices) {
  const fs::path path = cache_path(arguments);
  std::error_code ignored;
  CacheFindings result;
  std::vector<Finding>& findings = result.findings;
  // Not there yet is no fault; one that cannot be read is.
  if (!fs::exists(path, ignored) && !ignored) {
    findings.push_back({"cache", false, "", path.string(), "There is none yet; the first sweep makes it.",
                        "tilewright sweep softmax" + cache_option(arguments)});
    return result;
  }
  try {
    const Store store(path, {.access = StoreAccess::read});
    store.check();
    findings.push_back(look_at_store(store, path));
    if (!can_write(path)) {
      findings.back().wrong =
          "This user may read it and not write it: applications launch from it, sweeps need another.";
      findings.back().type = "tilewright sweep softmax --cache FILE";
    }
    Catalogue catalogue = open_catalogue(arguments);
    for (const Tunable& device : devices) look_at_winners(store, arguments, catalogue, device, findings);
  } catch (const CacheError& error) {
    result.sound = false;
    findings.push_back({"cache", false, "", path.string(), error.what(), remedy(path, error)});
  } catch (const Error&) {  // Without ops nothing can be told of winners; the finding of the ops tells why.
  }
  if (auto unsafe = judge_safety(path)) {
    result.sound = false;
    findings.push_back(std::move(*unsafe));
  }
  return result;
}

}  // namespace tilewright::cli

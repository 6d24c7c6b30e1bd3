// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/doctor_pulled.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <optional>

#include "cache/base/error.hpp"
#include "cache/base/file_facts.hpp"
#include "cache/store/pack/sha256.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/app/pull.hpp"

namespace tilewright::app {
namespace {

namespace fs = std::filesystem;

/// The command that pulls a channel; the user knows the URL.
std::string pull_command(const PulledFolder& folder, const std::string& channel) {
  return fmt::format("tilewright pull URL --channel {} --publishers FILE.pub --to {}", channel,
                     shell_word(folder.path().string()));
}

Finding look_at_channel(const PulledFolder& folder, const std::string& channel) {
  const fs::path link = folder.link(channel);
  Finding finding{"pulled " + channel, false, "", link.string()};
  const auto wrong = [&](std::string why, std::string type) {
    finding.wrong = std::move(why);
    finding.type = std::move(type);
    return finding;
  };
  std::optional<SignedManifest> manifest;
  try {
    manifest = folder.manifest(channel);
  } catch (const Error& error) {
    const std::string file = shell_word((folder.path() / (channel + ".json")).string());
    return wrong(error.what(), fmt::format("mv {0} {0}.damaged", file));
  }
  const std::optional<PulledFolder::Failure> failure = folder.failure(channel);
  const std::string failed =
      failure ? fmt::format("Pulls have failed for {}, the last since {}", age_text(failure->since), failure->why) : "";
  const std::optional<std::string> hash = folder.linked(channel);
  if (!hash) {
    return wrong(failure ? failed : "There is no snapshot, so no application can open it.",
                 pull_command(folder, channel));
  }
  finding.found = true;
  finding.what = "sha256:" + hash->substr(0, 12) + "…";
  if (manifest && manifest->manifest.snapshot == *hash) {
    finding.what +=
        fmt::format(", number {}, signed {} ago", manifest->manifest.sequence, age_text(manifest->manifest.signed_at));
  }
  const fs::path snapshot = folder.snapshot(*hash);
  if (sha256_of(snapshot) != *hash) {
    return wrong("Its bytes do not match its hash. The next pull fetches it anew.",
                 "rm " + shell_word(snapshot.string()));
  }
  return failure ? wrong(failed, pull_command(folder, channel)) : finding;
}

std::optional<Finding> look_at_pin(const Place& place, const PulledFolder& pulled) {
  const char* const pin = std::getenv("TILEWRIGHT_SNAPSHOT");
  if (pin == nullptr || *pin == '\0') return std::nullopt;
  Finding finding{"pinned snapshot", false, pin, ""};
  try {
    const std::string hash = hash_of_pin(pin);
    std::vector<fs::path> places{pulled.snapshot(hash)};
    try {
      places.push_back(PulledFolder(folder_of(cache_path(place))).snapshot(hash));
    } catch (const CacheError&) {  // look_at_cache() reports it.
    }
    for (const fs::path& file : places) {
      if (!fs::is_regular_file(file) || sha256_of(file) != hash) continue;
      finding.found = true;
      finding.where = file.string();
      return finding;
    }
    finding.wrong = "It is not here, and launchers open nothing else while TILEWRIGHT_SNAPSHOT names it.";
    finding.type = fmt::format("tilewright pull URL --pin {} --to {}", pin, shell_word(pulled.path().string()));
  } catch (const UsageError& error) {
    finding.wrong = fmt::format("TILEWRIGHT_SNAPSHOT: {}", error.what());
    finding.type = "unset TILEWRIGHT_SNAPSHOT";
  }
  return finding;
}

}  // namespace

std::vector<Finding> look_at_pulled(const Place& place) try {
  const PulledFolder folder(default_pulled_folder());
  std::vector<Finding> findings;
  for (const std::string& channel : folder.channels()) findings.push_back(look_at_channel(folder, channel));
  if (auto pin = look_at_pin(place, folder)) findings.push_back(std::move(*pin));
  return findings;
} catch (const Error&) {  // Without a home there is no folder.
  return {};
}

}  // namespace tilewright::app

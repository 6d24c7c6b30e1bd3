// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/pull.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <system_error>
#include <utility>

#include "cache/base/content_hash.hpp"
#include "cache/base/decode.hpp"
#include "cache/base/environment.hpp"
#include "cache/base/error.hpp"
#include "cache/base/file_facts.hpp"
#include "cache/store/miss_file.hpp"
#include "cache/store/pack/sha256.hpp"
#include "cache/store/sqlite/schema.hpp"
#include "cache/store/store.hpp"
#include "tuner/remote/unreachable.hpp"
#include "tuner/snapshot/files.hpp"

namespace tilewright::app {
namespace {

namespace fs = std::filesystem;

/// Limits of a request that a service accepts.
constexpr std::size_t kMostMissBytes = std::size_t{900} << 10;
constexpr std::size_t kMostMissesOfRequest = 10'000;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

nlohmann::ordered_json json_of(const Miss& miss) {
  constexpr std::int64_t kMostCount = 1'000'000'000;
  return {
      {"problem", miss.shape_key}, {"device", miss.device_fingerprint}, {"count", std::min(miss.count, kMostCount)}};
}

void require_schema(std::int64_t schema, const std::string& what) {
  if (schema == schema_version()) return;
  throw Error(fmt::format(
      "{} has schema {}, and this program and its launch library read schema {}. {}", what, schema, schema_version(),
      schema > schema_version() ? "Use a newer Tilewright" : "Have it published by a newer Tilewright"));
}

}  // namespace

Puller::Puller(PullRequest request) : request_(std::move(request)), folder_(request_.folder) {
  require_channel(request_.channel);
  if (!request_.pin) {
    if (!request_.publishers) {
      throw UsageError(
          "a channel needs trusted keys: name the public keys with --publishers FILE, or "
          "one snapshot with --pin sha256:…");
    }
    keys_.emplace(*request_.publishers);
  }
  from_ = open(request_.from);
}

Pulled Puller::pull() {
  const FolderLock lock(folder_.path(), request_.from.cancelled);
  if (request_.pin) {
    Pulled done = pull_pin();
    send_misses(done);
    return done;
  }
  try {
    Pulled done = pull_channel();
    folder_.note_failure(request_.channel, done.why);
    if (done.outcome != PullOutcome::away) send_misses(done);
    return done;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    folder_.note_failure(request_.channel, error.what());
    throw;
  }
}

Pulled Puller::pull_channel() {
  const std::optional<SignedManifest> before = folder_.manifest(request_.channel);
  const std::optional<std::string> linked = folder_.linked(request_.channel);
  Pulled done{PullOutcome::away, folder_.link(request_.channel), linked.value_or("")};
  if (before) done.manifest = before->manifest;
  try {
    const std::optional<SignedManifest> now = from_.place->manifest(request_.channel);
    if (!now) {
      throw Error(fmt::format("{} has no channel {}. `tilewright promote` makes stable, `publish` others",
                              from_.place->title(), request_.channel));
    }
    const Manifest& manifest = now->manifest;
    if (manifest.channel != request_.channel || !is_signed(*now, *keys_)) {
      throw Error(fmt::format("the channel {} of {} is signed by none of the keys in {}. Ask its publisher for the key",
                              request_.channel, from_.place->title(), request_.publishers->string()));
    }
    if (before && !(*before == *now) && manifest.sequence <= before->manifest.sequence) {
      throw Error(
          fmt::format("{} offers number {} of its channel {}, which is not newer than number {} here, so the snapshot "
                      "here stays. If its publisher began anew, move {} away",
                      from_.place->title(), manifest.sequence, request_.channel, before->manifest.sequence,
                      (folder_.path() / (request_.channel + ".json")).string()));
    }
    require_schema(manifest.schema, fmt::format("the snapshot of {}", request_.channel));
    done.manifest = manifest;
    done.outcome = linked == manifest.snapshot ? PullOutcome::current : PullOutcome::pulled;
    done.hash = manifest.snapshot;
    if (done.outcome == PullOutcome::pulled)
      fetch(manifest.snapshot, static_cast<std::uintmax_t>(manifest.bytes), true);
    if (!before || !(*before == *now)) folder_.put_manifest(*now);
    if (done.outcome == PullOutcome::pulled) folder_.point(request_.channel, manifest.snapshot);
  } catch (const Interrupted&) {
    throw;
  } catch (const Unreachable& error) {
    if (!linked) throw;
    done.why = error.what();
    return done;
  }
  if (done.outcome == PullOutcome::pulled) folder_.forget_old(request_.kept);
  return done;
}

Pulled Puller::pull_pin() {
  const std::string& hash = *request_.pin;
  Pulled done{PullOutcome::current, folder_.snapshot(hash), hash};
  if (fs::exists(done.file) && sha256_of(done.file) == hash) return done;
  fetch(hash, kMostSnapshotBytes, false);
  done.outcome = PullOutcome::pulled;
  return done;
}

void Puller::fetch(const std::string& hash, std::uintmax_t bytes, bool room_is_known) {
  const fs::path file = folder_.snapshot(hash);
  if (fs::exists(file)) {
    if (sha256_of(file) == hash) return;
    fs::remove(file);
  }
  const fs::path part = folder_.part(hash);
  fs::create_directories(part.parent_path());
  std::error_code ignored;
  const std::uintmax_t there = fs::exists(part, ignored) ? fs::file_size(part) : 0;
  if (room_is_known && there < bytes) folder_.require_room(bytes - there);
  fetch_verified(*from_.place, hash, bytes, part);
  try {
    const Store snapshot(part, {.access = StoreAccess::read});
    require_schema(snapshot.counts().schema, "the snapshot");
  } catch (const Error&) {
    fs::remove(part);
    throw;
  }
  folder_.keep_part(hash);
}

void Puller::send_misses(Pulled& done) {
  if (!request_.misses || from_.client == nullptr) return;
  try {
    // The file is moved away whole, so that misses that applications add meanwhile wait for the next time. After a
    // failure it is sent again, under the same keys.
    fs::path sending = *request_.misses;
    sending += ".sending";
    if (!fs::exists(sending) && !MissFile(*request_.misses).move_to(sending)) return;
    const std::vector<Miss> misses = MissFile(sending).read();
    const auto taken_at = fs::last_write_time(sending).time_since_epoch().count();
    for (std::size_t next = 0; next < misses.size();) {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      for (std::size_t size = 0; next < misses.size() && size < kMostMissBytes && list.size() < kMostMissesOfRequest;
           ++next) {
        list.push_back(json_of(misses[next]));
        size += list.back().dump().size() + 1;
      }
      const std::string body = nlohmann::ordered_json{{"misses", std::move(list)}}.dump();
      const std::string key = content_hash(fmt::format("{} {} {}", host_name(), taken_at, body));
      const HttpAnswer answer = from_.client->ask(
          "POST", "/v1/misses", {{"Content-Type", "application/json"}, {"Idempotency-Key", key}}, body);
      if (answer.status != 200) throw Error(refusal_text(answer));
      const Decoded taken = decode_json(answer.body);
      done.misses += taken->value("accepted", std::size_t{0});
      for (const auto& each : taken->value("refused", nlohmann::json::array())) {
        if (done.misses_refused++ == 0) done.misses_refused_why = each.value("why", "");
      }
    }
    fs::remove(sending);
  } catch (const std::exception& error) {
    done.misses_error = error.what();
  }
}

std::string snapshot_hash(const std::string& pin) { return hash_of_pin(pin); }

std::optional<fs::path> misses_file(const std::string& named) {
  if (named.empty()) return default_misses_path();
  return named == "off" ? std::nullopt : std::optional<fs::path>(named);
}

fs::path default_pulled_folder() {
  if (fs::path named = environment("TILEWRIGHT_PULLED"); !named.empty()) return named;
  if (const fs::path folder = user_cache_folder(); !folder.empty()) return folder / "pulled";
  throw UsageError("the folder of snapshots is not known: name one with --to, or set HOME");
}

Table table_of(const Pulled& done) {
  constexpr std::array<const char*, 3> kOutcomes{"pulled", "current", "away"};
  Table table;
  table.title = "Pulled";
  table.columns = {{"outcome", "outcome"},   {"channel", "channel"},   {"sequence", "number"},
                   {"snapshot", "snapshot"}, {"content", "content"},   {"signed_at", "signed at"},
                   {"file", "file"},         {"misses", "misses sent"}};
  const auto of = [&](auto member) { return done.manifest ? Cell((*done.manifest).*member) : Cell(); };
  table.rows.push_back({std::string(kOutcomes[static_cast<std::size_t>(done.outcome)]), of(&Manifest::channel),
                        of(&Manifest::sequence), "sha256:" + done.hash, of(&Manifest::content),
                        of(&Manifest::signed_at), done.file.string(), static_cast<std::int64_t>(done.misses)});
  if (done.outcome == PullOutcome::away) {
    table.notes.push_back(
        fmt::format("{}. The present snapshot stays{}.", done.why,
                    done.manifest ? "; it was signed " + age_text(done.manifest->signed_at) + " ago" : ""));
  }
  if (!done.misses_error.empty()) {
    table.notes.push_back(fmt::format("Misses could not be sent, and wait: {}", done.misses_error));
  }
  if (done.misses_refused > 0) {
    table.notes.push_back(fmt::format("The service does not take {} missed shape{}: {}", done.misses_refused,
                                      done.misses_refused == 1 ? "" : "s", done.misses_refused_why));
  }
  return table;
}

std::chrono::milliseconds next_pull(std::chrono::milliseconds every, unsigned failures, double chance) {
  const auto share = [chance](std::chrono::milliseconds time, double from, double to) {
    return std::chrono::milliseconds(std::llround(static_cast<double>(time.count()) * (from + (to - from) * chance)));
  };
  if (failures == 0) return share(every, 0.9, 1.1);
  const std::chrono::milliseconds most = std::max<std::chrono::milliseconds>(every, std::chrono::hours(1));
  return share(std::min(most, every * (std::int64_t{1} << std::min(failures, 20U))), 0.5, 1);
}

}  // namespace tilewright::app

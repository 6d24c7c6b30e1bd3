// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/promote.hpp"

#include <fmt/format.h>

#include "cache/base/clock.hpp"
#include "cache/base/error.hpp"
#include "cache/base/scratch_folder.hpp"
#include "tuner/app/gate.hpp"
#include "tuner/app/publish.hpp"

namespace tilewright::app {
namespace {

std::string name_of(const Manifest& manifest) { return fmt::format("{} {}", manifest.channel, manifest.sequence); }

void require_signed(const SignedManifest& given, const PublicKeys& keys, const SnapshotPlace& at) {
  if (is_signed(given, keys)) return;
  throw Error(
      fmt::format("the channel {} of {} is signed with another key. Name the public keys that may sign it with "
                  "--publishers FILE",
                  given.manifest.channel, at.title()));
}

GateReport compare(SnapshotPlace& at, const Manifest& was, const Manifest& next, const GateRule& rule) {
  const ScratchFolder work("compare snapshots");
  const auto fetch = [&](const Manifest& manifest, const char* name) {
    const std::filesystem::path file = work.path() / name;
    fetch_verified(at, manifest.snapshot, static_cast<std::uintmax_t>(manifest.bytes), file);
    return file.string();
  };
  GateRequest request;
  request.a = fetch(was, "was.db");
  request.b = fetch(next, "next.db");
  request.rule = rule;
  GateReport report = gate(request);
  report.a = name_of(was);
  report.b = name_of(next);
  return report;
}

}  // namespace

Promoted promote(const PromoteRequest& request) {
  require_channel(request.from);
  require_channel(request.to);
  const PrivateKey key(request.key);
  const PublicKeys keys = request.publishers ? PublicKeys(*request.publishers) : key.public_keys();
  const NamedPlace at = open(request.at);
  const std::optional<SignedManifest> next = at.place->manifest(request.from);
  if (!next) {
    throw Error(fmt::format("{} has no channel {}. `tilewright publish` makes it", at.place->title(), request.from));
  }
  require_signed(*next, keys, *at.place);
  const std::optional<SignedManifest> was = at.place->manifest(request.to);
  if (was) require_signed(*was, keys, *at.place);
  if (was && was->manifest.snapshot == next->manifest.snapshot) return {std::nullopt, was};
  Promoted done;
  if (was) {
    done.report = compare(*at.place, was->manifest, next->manifest, request.rule);
    if (done.report->count(GateVerdict::failed) > 0) return done;
    const bool undecided = done.report->lines.empty() || done.report->count(GateVerdict::undecided) > 0;
    if (undecided && !request.accept_undecided) return done;
  }
  Manifest manifest = next->manifest;
  manifest.channel = request.to;
  manifest.sequence = next_sequence(was);
  manifest.signed_at = now_seconds();
  done.now = sign(manifest, key);
  at.place->put_manifest(*done.now);
  return done;
}

}  // namespace tilewright::app

// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/publish.hpp"

#include <fmt/format.h>

#include "cache/base/clock.hpp"
#include "cache/base/error.hpp"
#include "cache/base/scratch_folder.hpp"
#include "cache/base/version.hpp"
#include "cache/store/export.hpp"
#include "cache/store/pack/sha256.hpp"
#include "cache/store/store.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright::app {

void make_keys(const std::filesystem::path& file) { make_key_pair(file); }

std::int64_t next_sequence(const std::optional<SignedManifest>& now) { return now ? now->manifest.sequence + 1 : 1; }

Published publish(const PublishRequest& request) {
  require_channel(request.channel);
  const PrivateKey key(request.key);
  const NamedPlace to = open(request.to);
  const ScratchFolder work("make a snapshot");
  const std::filesystem::path file = work.path() / "snapshot.db";
  Manifest manifest;
  {
    const Store store = open_to_read(request.place);
    if (export_winners(store, file, {.thin = true}).empty()) {
      throw Error(fmt::format("the cache {} has no winner to publish; make some with `tilewright sweep OP`",
                              store.path().string()));
    }
    const Store made(file, {.access = StoreAccess::read});
    manifest.content = WholeFile::digest(made);
    manifest.schema = made.counts().schema;
  }
  manifest.channel = request.channel;
  manifest.snapshot = sha256_of(file);
  manifest.bytes = static_cast<std::int64_t>(std::filesystem::file_size(file));
  manifest.tilewright = version();
  manifest.signed_at = now_seconds();
  const std::optional<SignedManifest> now = to.place->manifest(request.channel);
  if (now && now->manifest.content == manifest.content && now->manifest.schema == manifest.schema &&
      is_signed(*now, key.public_keys())) {
    return {*now, false};
  }
  manifest.sequence = next_sequence(now);
  Published done{sign(manifest, key)};
  to.place->put_snapshot(file, manifest.snapshot);
  to.place->put_manifest(done.now);
  return done;
}

Table table_of(const SignedManifest& now, const std::string& title) {
  const Manifest& manifest = now.manifest;
  Table table;
  table.title = title;
  table.columns = {{"channel", "channel"}, {"sequence", "number"}, {"snapshot", "snapshot"},  {"bytes", "bytes"},
                   {"content", "content"}, {"schema", "schema"},   {"signed_at", "signed at"}};
  table.rows.push_back({manifest.channel, manifest.sequence, "sha256:" + manifest.snapshot, manifest.bytes,
                        manifest.content, manifest.schema, manifest.signed_at});
  return table;
}

}  // namespace tilewright::app

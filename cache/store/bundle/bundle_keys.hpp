// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cache/model/records.hpp"
#include "cache/serve/winner_source.hpp"

/// The keys and values of a bundle, shared by writing and reading; private to cache/store/bundle. A key is a text with
/// one part per line. Values are JSON as in the cache's tables; binaries are zstd frames.
namespace tilewright::bundle {

/// All ops, all devices.
inline const std::string kOps = "ops";
inline const std::string kDevices = "devices";
[[nodiscard]] std::string op_key(const std::string& op);
[[nodiscard]] std::string device_key(const std::string& fingerprint);
[[nodiscard]] std::string interface_key(const std::string& hash);
[[nodiscard]] std::string implementation_key(const std::string& hash);
[[nodiscard]] std::string build_key(const std::string& key);
[[nodiscard]] std::string binary_key(const std::string& hash);
/// The first winner of a role for the problem; the spec's winner with the newest trial; the dims of all tuned shapes.
[[nodiscard]] std::string winner_key(const ProblemKey& key, MeasureMode mode, WinnerRole role);
[[nodiscard]] std::string newest_key(const ProblemKey& key, MeasureMode mode, WinnerRole role);
[[nodiscard]] std::string shapes_key(const ProblemKey& key, MeasureMode mode);
/// Winners and spares of the shape with these dims, and its times of others; the dims of `key` are ignored.
[[nodiscard]] std::string known_key(const ProblemKey& key, MeasureMode mode, const ShapeDims& dims);

/// The key of decisions for a problem; without dims, for its spec.
[[nodiscard]] std::string pins_key(const ProblemKey& key);
[[nodiscard]] std::string loss_model_key(const ProblemKey& key, MeasureMode mode);
[[nodiscard]] std::string servers_key(const ProblemKey& key, MeasureMode mode);

// JSON. Decoders check what they read, and throw BadRow or an exception of the JSON library.
[[nodiscard]] std::string encode_row(const WinnerRow& row);
/// Returns the row's device only as `fingerprint`.
[[nodiscard]] WinnerRow decode_row(const std::string& text, const OpSpec& spec, std::string& fingerprint);
/// A bundle's record of a config at a shape. A config that is no winner has its build, if there is one.
struct KnownRow {
  ConfigSummary known;
  std::string build_key{};
};
[[nodiscard]] std::string encode_known(const std::vector<KnownRow>& rows);
[[nodiscard]] std::vector<KnownRow> decode_known(const std::string& text);
/// Encodes the servers and the time when their model was learned.
[[nodiscard]] std::string encode_servers(std::int64_t learned_at, const std::vector<StoredConfig>& servers);
[[nodiscard]] std::vector<StoredConfig> decode_servers(const std::string& text, std::int64_t& learned_at);
[[nodiscard]] std::string encode_pins(const std::vector<Pin>& pins);
[[nodiscard]] std::vector<Pin> decode_pins(const std::string& text);
[[nodiscard]] std::string encode_build(const Build& build);
[[nodiscard]] Build decode_build(const std::string& key, const std::string& text);

}  // namespace tilewright::bundle

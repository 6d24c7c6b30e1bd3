// SPDX-License-Identifier: Apache-2.0
#include "cache/store/bundle/bundle_keys.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cache/base/decode.hpp"
#include "cache/base/visible.hpp"
#include "cache/store/codecs.hpp"

namespace tilewright::bundle {
namespace {

using nlohmann::json;

/// Names, hashes and fingerprints have no line breaks.
std::string of_winners(const char* kind, const ProblemKey& key, MeasureMode mode, std::string_view rest) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", kind, key.interface_hash, key.device_fingerprint, name(mode), rest);
}

json number_or_null(const std::optional<double>& number) { return number ? json(*number) : json(nullptr); }

std::optional<double> optional_number(const json& item) {
  return item.is_null() ? std::nullopt : std::optional(item.get<double>());
}

Config config_from(const json& text) { return Config::parse(text.get<std::string>()); }

}  // namespace

std::string op_key(const std::string& op) { return "op\n" + op; }
std::string device_key(const std::string& fingerprint) { return "device\n" + fingerprint; }
std::string interface_key(const std::string& hash) { return "interface\n" + hash; }
std::string implementation_key(const std::string& hash) { return "implementation\n" + hash; }
std::string build_key(const std::string& key) { return "build\n" + key; }
std::string binary_key(const std::string& hash) { return "binary\n" + hash; }

std::string winner_key(const ProblemKey& key, MeasureMode mode, WinnerRole role) {
  return of_winners("winner", key, mode, fmt::format("{}\n{}", name(role), key.problem.key()));
}

std::string newest_key(const ProblemKey& key, MeasureMode mode, WinnerRole role) {
  return of_winners("newest", key, mode, fmt::format("{}\n{}", name(role), key.problem.spec.text()));
}

std::string shapes_key(const ProblemKey& key, MeasureMode mode) {
  return of_winners("shapes", key, mode, key.problem.spec.text());
}

std::string known_key(const ProblemKey& key, MeasureMode mode, const std::vector<std::int64_t>& dims) {
  return of_winners("known", key, mode, fmt::format("{}\n{}", key.problem.spec.text(), fmt::join(dims, ",")));
}

std::string pins_key(const ProblemKey& key) {
  const std::string of = key.problem.dims.empty() ? key.problem.spec.text() : key.problem.key();
  return fmt::format("pins\n{}\n{}\n{}", key.interface_hash, key.device_fingerprint, of);
}

std::string loss_model_key(const ProblemKey& key, MeasureMode mode) {
  return of_winners("model", key, mode, key.problem.spec.text());
}

std::string servers_key(const ProblemKey& key, MeasureMode mode) {
  return of_winners("servers", key, mode, key.problem.spec.text());
}

std::string encode_row(const WinnerRow& row) {
  const Winner& winner = row.winner;
  const Trial& trial = winner.trial;
  const Timing timing = trial.timing.value_or(Timing{});
  json item{{"dims", encode_dims(row.problem)},
            {"interface", row.interface_hash},
            {"implementation", row.implementation_hash},
            {"device", row.device.fingerprint()},
            {"mode", name(row.mode)},
            {"role", name(winner.role)},
            {"config", trial.config.text()},
            {"build", trial.build_key},
            {"time", {timing.median_ns, timing.low_ns, timing.high_ns, timing.min_ns, timing.floor_ns}},
            {"versions", {trial.versions.driver, trial.versions.compiler, trial.versions.tilewright}},
            {"measured_at", trial.measured_at},
            {"gpu_uuid", trial.gpu_uuid},
            {"base_ns", number_or_null(winner.base_ns)},
            {"runner_up", winner.runner_up ? json(winner.runner_up->text()) : json(nullptr)},
            {"runner_up_ratio", number_or_null(winner.runner_up_ratio)},
            {"configs", {winner.configs_considered, winner.configs_failed}},
            {"strategy", winner.strategy}};
  return item.dump();
}

WinnerRow decode_row(const std::string& text, const OpSpec& spec, std::string& fingerprint) {
  const Decoded decoded = decode_json(text);
  const json& item = *decoded;
  WinnerRow row;
  row.problem = {spec, decode_dims(item.at("dims").get<std::string>())};
  row.interface_hash = item.at("interface");
  row.implementation_hash = item.at("implementation");
  fingerprint = item.at("device");
  row.mode = decode_mode(item.at("mode").get<std::string>());
  Winner& winner = row.winner;
  winner.role = decode_role(item.at("role").get<std::string>());
  winner.base_ns = optional_number(item.at("base_ns"));
  if (!item.at("runner_up").is_null()) winner.runner_up = config_from(item.at("runner_up"));
  winner.runner_up_ratio = optional_number(item.at("runner_up_ratio"));
  winner.configs_considered = item.at("configs").at(0);
  winner.configs_failed = item.at("configs").at(1);
  winner.strategy = item.at("strategy");
  Trial& trial = winner.trial;
  trial.config = config_from(item.at("config"));
  trial.mode = row.mode;
  trial.build_key = item.at("build");
  Timing& timing = trial.timing.emplace();
  const json& time = item.at("time");
  timing.median_ns = time.at(0);
  timing.low_ns = time.at(1);
  timing.high_ns = time.at(2);
  timing.min_ns = time.at(3);
  timing.floor_ns = time.at(4);
  trial.versions = {item.at("versions").at(0), item.at("versions").at(1), item.at("versions").at(2)};
  trial.measured_at = item.at("measured_at");
  trial.gpu_uuid = item.at("gpu_uuid");
  return row;
}

std::string encode_known(const std::vector<KnownRow>& rows) {
  json items = json::array();
  for (const KnownRow& row : rows) {
    const ConfigSummary& known = row.known;
    json item{known.role ? json(name(*known.role)) : json(nullptr), known.id.implementation_hash,
              known.id.config.text(), known.median_ns};
    if (!row.build_key.empty()) item.push_back(row.build_key);
    // A config kept for a pin is no spare.
    if (!row.build_key.empty() && !known.is_spare) item.push_back(false);
    items.push_back(std::move(item));
  }
  return items.dump();
}

std::vector<KnownRow> decode_known(const std::string& text) {
  std::vector<KnownRow> rows;
  const Decoded items = decode_json(text);
  for (const json& item : *items) {
    KnownRow& row = rows.emplace_back();
    ConfigSummary& known = row.known;
    if (!item.at(0).is_null()) known.role = decode_role(item.at(0).get<std::string>());
    known.id.implementation_hash = item.at(1);
    known.id.config = config_from(item.at(2));
    known.median_ns = item.at(3);
    if (item.size() > 4) row.build_key = item.at(4);
    known.has_binary = !row.build_key.empty();
    known.is_spare = item.size() == 5;
    known.has_failed = !known.role && !known.is_spare && !known.was_timed();
  }
  return rows;
}

std::string encode_servers(std::int64_t learned_at, const std::vector<StoredConfig>& servers) {
  json items = json::array();
  for (const StoredConfig& each : servers) {
    items.push_back({each.tuned_for, each.role ? json(name(*each.role)) : json(nullptr), each.id.implementation_hash,
                     each.id.config.text()});
  }
  return json{{"learned_at", learned_at}, {"servers", items}}.dump();
}

std::vector<StoredConfig> decode_servers(const std::string& text, std::int64_t& learned_at) {
  const Decoded decoded = decode_json(text);
  const json& all = *decoded;
  all.at("learned_at").get_to(learned_at);
  std::vector<StoredConfig> servers;
  for (const json& item : all.at("servers")) {
    StoredConfig& server = servers.emplace_back();
    item.at(0).get_to(server.tuned_for);
    if (!item.at(1).is_null()) server.role = decode_role(item.at(1).get<std::string>());
    item.at(2).get_to(server.id.implementation_hash);
    server.id.config = config_from(item.at(3));
  }
  return servers;
}

std::string encode_pins(const std::vector<Pin>& pins) {
  json items = json::array();
  for (const Pin& pin : pins) {
    items.push_back({{"serves", pin.kind == PinKind::pin},
                     {"implementation", pin.config.implementation_hash},
                     {"config", pin.config.config.text()},
                     {"of_problem", pin.is_of_problem},
                     {"reason", pin.reason},
                     {"since", pin.since}});
  }
  return items.dump();
}

std::vector<Pin> decode_pins(const std::string& text) {
  std::vector<Pin> pins;
  const Decoded items = decode_json(text);
  for (const json& item : *items) {
    pins.push_back({item.at("serves").get<bool>() ? PinKind::pin : PinKind::ban,
                    {item.at("implementation"), config_from(item.at("config"))},
                    item.at("of_problem"),
                    visible(item.at("reason").get<std::string>()),
                    item.at("since")});
  }
  return pins;
}

std::string encode_build(const Build& build) {
  return json{{"binary", build.binary_hash},
              {"kernels", *decode_json(encode_kernels(build.kernels))},
              {"compiler", build.compiler},
              {"arch", build.arch}}
      .dump();
}

Build decode_build(const std::string& key, const std::string& text) {
  const Decoded decoded = decode_json(text);
  const json& item = *decoded;
  Build build;
  build.key = key;
  build.ok = true;
  build.binary_hash = item.at("binary");
  build.kernels = decode_kernels(item.at("kernels").dump());
  build.compiler = item.at("compiler");
  build.arch = item.at("arch");
  return build;
}

}  // namespace tilewright::bundle

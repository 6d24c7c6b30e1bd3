// SPDX-License-Identifier: Apache-2.0
#include "cache/store/codecs.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "cache/base/decode.hpp"
#include "cache/base/error.hpp"

namespace tilewright {
namespace {

using nlohmann::json;

/// Any exception from reading a stored text is one fault here: the row is damaged.
template <class Read>
auto read_json(std::string_view what, std::string_view text, Read read) {
  try {
    return read(decode_json(text));
  } catch (const json::exception& mistake) {
    throw BadRow(fmt::format("{}: {}", what, mistake.what()));
  } catch (const Error& mistake) {
    throw BadRow(fmt::format("{}: {}", what, mistake.what()));
  }
}

template <class Enum>
Enum known(std::optional<Enum> value, std::string_view what, std::string_view text) {
  if (!value) throw BadRow(fmt::format("'{}' is not a known {}", text, what));
  return *value;
}

double real_or_nan(const Query& row, int column) {
  return row.null(column) ? std::numeric_limits<double>::quiet_NaN() : row.real(column);
}

}  // namespace

Config decode_config(const std::string& text) {
  try {
    return Config::parse(text);
  } catch (const Error& mistake) {
    throw BadRow(mistake.what());
  }
}

std::string encode_attributes(const OpSpec& spec) {
  json list = json::array();
  for (const auto& [attribute, value] : spec.attributes) list.push_back({attribute, value});
  return list.dump();
}

OpSpec decode_spec(std::string op, std::string_view dtype, std::string_view attributes) {
  return read_json("attributes", attributes, [&](const json& list) {
    OpSpec spec{std::move(op), known(dtype_from(dtype), "dtype", dtype), {}};
    for (const json& pair : list) {
      spec.attributes.emplace_back(pair.at(0).get<std::string>(), pair.at(1).get<std::string>());
    }
    return spec;
  });
}

std::string encode_dims(const Problem& problem) {
  std::string text;
  for (const auto& [dim, value] : problem.dims) {
    fmt::format_to(std::back_inserter(text), "{}{}={}", text.empty() ? "" : ",", dim, value);
  }
  return text;
}

std::vector<std::pair<std::string, std::int64_t>> decode_dims(std::string_view text) {
  std::vector<std::pair<std::string, std::int64_t>> dims;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    const char* const equals = std::find(at, end, '=');
    std::int64_t value = 0;
    const auto [after, error] = std::from_chars(equals == end ? end : equals + 1, end, value);
    if (error != std::errc() || value < 1 || (after != end && *after != ',')) {
      throw BadRow(fmt::format("'{}' is not a list of dims", text));
    }
    dims.emplace_back(std::string(at, equals), value);
    at = after == end ? end : after + 1;
  }
  return dims;
}

ShapeDims decode_shape(std::string_view dims) {
  ShapeDims shape;
  for (const auto& dim : decode_dims(dims)) shape.push_back(dim.second);
  return shape;
}

std::string encode_kernels(const std::vector<KernelFacts>& kernels) {
  json list = json::array();
  for (const KernelFacts& kernel : kernels) {
    list.push_back({{"entry", kernel.entry},
                    {"symbol", kernel.symbol},
                    {"registers", kernel.registers},
                    {"spill_store_bytes", kernel.spill_store_bytes},
                    {"spill_load_bytes", kernel.spill_load_bytes},
                    {"local_bytes", kernel.local_bytes},
                    {"static_shared_bytes", kernel.static_shared_bytes}});
  }
  return list.dump();
}

std::vector<KernelFacts> decode_kernels(std::string_view text) {
  return read_json("kernels of a build", text, [](const json& list) {
    std::vector<KernelFacts> kernels;
    for (const json& item : list) {
      kernels.push_back({item.at("entry"), item.at("symbol"), item.at("registers"), item.at("spill_store_bytes"),
                         item.at("spill_load_bytes"), item.at("local_bytes"), item.at("static_shared_bytes")});
    }
    return kernels;
  });
}

std::string encode_choice(const Selection& choice) {
  json tied = json::array();
  for (const Config& config : choice.tied) tied.push_back(config.text());
  json sustained = json::array();
  for (const Sustained& each : choice.sustained) {
    sustained.push_back({each.config.text(), each.median_ns, each.low_ns, each.high_ns, each.sm_clock_mhz,
                         each.power_mw, each.throttle_reasons});
  }
  json item{{"regime", name(choice.regime)},
            {"sustained", std::move(sustained)},
            {"finalists", choice.finalists},
            {"margin", {choice.margin_low, choice.margin_high}},
            {"tied", tied},
            {"tie_broken_by", choice.tie_broken_by},
            {"pruned", choice.pruned},
            {"at", choice.at}};
  for (const auto& [rule, count] : choice.forbidden) item["forbidden"].push_back(count);
  if (choice.without_rounds > 0) item["without_rounds"] = choice.without_rounds;
  if (choice.recheck) item["recheck"] = {choice.recheck->at, choice.recheck->leaders, choice.recheck->why};
  return item.dump();
}

// Winners from before schema 3 have an empty object.
Selection decode_choice(std::string_view text, std::string_view rules) {
  return read_json("choice of a winner", text, [&](const json& item) {
    Selection choice;
    if (item.empty()) return choice;
    // Absent in rows from before there were regimes.
    choice.regime = known(regime_from(item.value("regime", "burst")), "regime of a winner", item.value("regime", ""));
    for (const json& each : item.value("sustained", json::array())) {
      choice.sustained.push_back({decode_config(each.at(0).get<std::string>()), each.at(1), each.at(2), each.at(3),
                                  each.at(4), each.at(5), each.at(6)});
    }
    choice.finalists = item.at("finalists");
    choice.without_rounds = item.value("without_rounds", 0);
    choice.margin_low = item.at("margin").at(0);
    choice.margin_high = item.at("margin").at(1);
    for (const std::string config : item.at("tied")) choice.tied.push_back(decode_config(config));
    choice.tie_broken_by = item.at("tie_broken_by");
    choice.pruned = item.at("pruned").get<std::map<std::string, int>>();
    choice.at = item.at("at");
    if (!rules.empty()) {
      const json names = decode_json(rules);
      for (std::size_t i = 0; i < names.size(); ++i) {
        choice.forbidden.emplace(names.at(i).get<std::string>(), item.at("forbidden").at(i).get<std::int64_t>());
      }
    }
    if (const auto found = item.find("recheck"); found != item.end()) {
      choice.recheck = Selection::Recheck{found->at(0), found->at(1), found->at(2)};
    }
    return choice;
  });
}

std::string encode_rules(const Selection& choice) {
  json rules = json::array();
  for (const auto& [rule, count] : choice.forbidden) rules.push_back(rule);
  return rules.dump();
}

std::string encode_facts(const DeviceFacts& facts) { return to_json(facts).dump(); }
DeviceFacts decode_facts(std::string_view text) {
  return read_json("facts of a device", text, [](const json& item) { return device_facts_from_json(item); });
}

std::string encode_interface(const OpInterface& interface) { return to_json(interface).dump(); }
OpInterface decode_interface(std::string_view text) {
  return read_json("interface of an op", text, [](const json& item) { return interface_from_json(item); });
}

std::string encode_recipe(const ImplementationRecipe& recipe) { return to_json(recipe).dump(); }
ImplementationRecipe decode_recipe(std::string_view text) {
  return read_json("recipe of an implementation", text, [](const json& item) { return recipe_from_json(item); });
}

static_assert(std::endian::native == std::endian::little && sizeof(double) == 8);

std::vector<std::byte> encode_rounds(std::span<const double> rounds) {
  const auto bytes = std::as_bytes(rounds);
  return {bytes.begin(), bytes.end()};
}

std::vector<double> decode_rounds(std::span<const std::byte> blob) {
  if (blob.size() % sizeof(double) != 0) throw BadRow(fmt::format("rounds of a trial: {} bytes", blob.size()));
  std::vector<double> rounds(blob.size() / sizeof(double));
  if (!rounds.empty()) std::memcpy(rounds.data(), blob.data(), blob.size());
  return rounds;
}

TrialStatus decode_status(std::string_view text) { return known(trial_status_from(text), "status of a trial", text); }
MeasureMode decode_mode(std::string_view text) { return known(measure_mode_from(text), "mode", text); }
WinnerRole decode_role(std::string_view text) { return known(winner_role_from(text), "role of a winner", text); }

LookLength decode_look(std::string_view text) { return known(look_length_from(text), "look of a trial", text); }

Trial decode_trial(const Query& row, int first) {
  Trial trial;
  int column = first;
  trial.id = row.integer(column++);
  trial.status = decode_status(row.text(column++));
  trial.reason = row.text(column++);
  trial.config = decode_config(row.text(column++));
  trial.mode = decode_mode(row.text(column++));
  trial.gpu_uuid = row.text(column++);
  trial.versions.driver = row.small(column++);
  trial.versions.compiler = row.text(column++);
  trial.versions.tilewright = row.text(column++);
  trial.build_key = row.text(column++);
  trial.sweep = row.integer(column++);
  trial.measured_at = row.integer(column++);
  if (!row.null(column)) {
    Timing& timing = trial.timing.emplace();
    timing.median_ns = row.real(column);
    timing.low_ns = row.real(column + 1);
    timing.high_ns = row.real(column + 2);
    timing.min_ns = row.real(column + 3);
    timing.launches_per_round = row.small(column + 4);
    timing.input_sets = row.small(column + 5);
    timing.floor_ns = row.real(column + 6);
  }
  column += 7;
  if (row.integer(column++) != 0) {
    trial.accuracy = {real_or_nan(row, column), real_or_nan(row, column + 1), real_or_nan(row, column + 2)};
  }
  column += 3;
  trial.readings.sm_clock_mhz = row.maybe_small(column++);
  trial.readings.memory_clock_mhz = row.maybe_small(column++);
  trial.readings.temperature_c = row.maybe_small(column++);
  trial.readings.power_mw = row.maybe_small(column++);
  // SQLite's integers are signed; the bits are kept.
  if (const auto bits = row.maybe_integer(column)) trial.readings.throttle_reasons = static_cast<std::uint64_t>(*bits);
  trial.look = decode_look(row.text(++column));
  if (!row.null(++column)) {
    trial.phases = {row.integer(column), row.integer(column + 1), row.integer(column + 2), row.integer(column + 3)};
  }
  return trial;
}

Winner decode_winner(const Query& row, int first) {
  Winner winner;
  winner.role = decode_role(row.text(first));
  if (!row.null(first + 1)) winner.runner_up = decode_config(row.text(first + 1));
  winner.runner_up_ratio = row.maybe_real(first + 2);
  winner.base_ns = row.maybe_real(first + 3);
  winner.configs_considered = row.small(first + 4);
  winner.configs_failed = row.small(first + 5);
  winner.strategy = row.text(first + 6);
  winner.choice = decode_choice(row.text(first + 7), row.text(first + 8));
  winner.trial = decode_trial(row, first + kWinnerColumnCount);
  return winner;
}

}  // namespace tilewright

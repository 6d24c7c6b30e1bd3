// SPDX-License-Identifier: Apache-2.0
// What an op says of itself and of what it is served, as JSON, and of the tensors that it is called with.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cache/launch/launcher.hpp"
#include "cache/launch/op.hpp"
#include "cache/launch/tensor_dims.hpp"

namespace tilewright::launch {

namespace {

/// Fields in the order in which tilewright.h names them.
using Json = nlohmann::ordered_json;

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

void add_choice(Json& json, const PlannedWinner& choice) {
  const Winner& winner = choice.row.winner;
  const Trial& trial = winner.trial;
  const Timing timing = trial.timing.value_or(Timing{});
  json["config"] = trial.config.text();
  json["implementation"] = choice.row.implementation_hash;
  json["role"] = name(winner.role);
  json["tuned_for"] = choice.row.problem.key();
  json["median_ns"] = timing.median_ns;
  json["low_ns"] = timing.low_ns;
  json["high_ns"] = timing.high_ns;
  json["base_ns"] = optional_number(winner.base_ns);
  json["mode"] = name(choice.row.mode);
  json["measured_at"] = trial.measured_at;
  json["driver"] = trial.versions.driver;
  json["compiler"] = trial.versions.compiler;
  json["tilewright"] = trial.versions.tilewright;
}

/// A file's name need not be UTF-8, as JSON must be.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// As the definition writes them.
std::vector<std::string> extents_of(const OpInterface& interface, const std::string& argument) {
  const auto declared = std::find_if(interface.args.begin(), interface.args.end(),
                                     [&](const Argument& other) { return other.name == argument; });
  std::vector<std::string> texts;
  for (const Formula& formula : declared->shape) texts.push_back(formula.text());
  return texts;
}

}  // namespace

std::string Op::query(std::span<const std::int64_t> dims) {
  const Problem problem = problem_of(dims);
  const Launcher::Answer answer = launcher_->answer(*this, problem);
  const Chosen& chosen = answer.served.chosen;
  const std::optional<PlannedWinner>& choice = chosen.choice;
  const Match match = choice ? choice->match : Match{};
  Json json;
  json["problem"] = problem.key();
  json["device"] = answer.device.fingerprint();
  json["cache"] = answer.served.file.string();
  if (!answer.served.cache_error.empty()) json["cache_error"] = answer.served.cache_error;
  if (!answer.served.fallback_error.empty()) json["fallback_error"] = answer.served.fallback_error;
  json["fit"] = name(match.fit);
  json["freshness"] = choice ? Json(name(match.freshness)) : Json(nullptr);
  json["device_fit"] = choice ? Json(name(match.device)) : Json(nullptr);
  json["learned"] = match.is_learned;
  json["match"] = match.text();
  if (choice) {
    add_choice(json, *choice);
  } else {
    json["why"] = chosen.why;
  }
  if (!chosen.unread.empty()) json["unread"] = chosen.unread;
  if (!answer.misses_error.empty()) json["misses_error"] = answer.misses_error;
  if (launcher_->options().jit) {
    json["compiled"] = choice && Resolver::is_compiled_here(*choice);
    if (chosen.wanted) json["wanted"] = chosen.wanted->row.winner.trial.config.text();
    if (!answer.compile_error.empty()) json["compile_error"] = answer.compile_error;
  }
  return text_of(json);
}

std::string Op::describe() const {
  process_.require_own_process();
  Json json;
  json["op"] = identity_.spec.op;
  json["spec"] = identity_.spec.text();
  json["interface"] = identity_.interface_hash;
  json["dims"] = identity_.interface.dims;
  json["args"] = Json::array();
  for (const PlannedArg& arg : args_) {
    Json described = {
        {"name", arg.name}, {"role", name(arg.role)}, {"type", name(arg.type)}, {"bytes", size_of(arg.type)}};
    if (arg.role != ArgRole::scalar) {
      described["shape"] = extents_of(identity_.interface, arg.name);
      described["align"] = arg.alignment;
      described["alias"] = arg.alias;
    }
    for (const PlannedStride& stride : arg.strides) {
      const std::string& scalar = args_[stride.scalar].name;
      if (arg.is_pitched) {
        described["pitch"] = scalar;
      } else {
        described["strides"].push_back(scalar);
      }
    }
    json["args"].push_back(std::move(described));
  }
  return text_of(json);
}

std::vector<std::int64_t> Op::dims_of(std::span<const std::int64_t* const> shapes,
                                      std::span<const std::size_t> ranks) const {
  process_.require_own_process();
  if (shapes.size() != args_.size()) {
    throw UsageError(
        fmt::format("{} takes {} arguments; {} shapes are given", identity_.spec.text(), args_.size(), shapes.size()));
  }
  std::vector<TensorShape> tensors;
  for (std::size_t i = 0; i < args_.size(); ++i) {
    if (args_[i].role == ArgRole::scalar) continue;
    if (shapes[i] == nullptr && ranks[i] > 0) {
      throw UsageError(fmt::format("{}: the shape of '{}' is null", identity_.spec.text(), args_[i].name));
    }
    tensors.push_back({args_[i].name, {shapes[i], ranks[i]}});
  }
  return dims_of_tensors(identity_.spec, identity_.interface, tensors);
}

}  // namespace tilewright::launch

// SPDX-License-Identifier: Apache-2.0
// What an op says of itself and of what it is served, as JSON.
#include <nlohmann/json.hpp>

#include "cache/launch/launcher.hpp"
#include "cache/launch/op.hpp"

namespace tilewright::launch {

namespace {

/// Fields in the order in which tilewright.h names them.
using Json = nlohmann::ordered_json;

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

void add_choice(Json& json, const Choice& choice) {
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

}  // namespace

std::string Op::query(std::span<const std::int64_t> dims) {
  const Problem problem = problem_of(dims);
  const Launcher::Answer answer = launcher_->answer(*this, problem);
  const std::optional<Choice>& choice = answer.chosen.choice;
  const Match match = choice ? choice->match : Match{};
  Json json;
  json["problem"] = problem.key();
  json["device"] = answer.device.fingerprint();
  json["fit"] = name(match.fit);
  json["freshness"] = choice ? Json(name(match.freshness)) : Json(nullptr);
  json["device_fit"] = choice ? Json(name(match.device)) : Json(nullptr);
  json["match"] = match.text();
  if (choice) {
    add_choice(json, *choice);
  } else {
    json["why"] = answer.chosen.why;
  }
  return json.dump();
}

std::string Op::describe() const {
  Json json;
  json["op"] = identity_.spec.op;
  json["spec"] = identity_.spec.text();
  json["interface"] = identity_.interface_hash;
  json["dims"] = identity_.interface.dims;
  json["args"] = Json::array();
  for (const PlannedArg& arg : args_) {
    json["args"].push_back(
        {{"name", arg.name}, {"role", name(arg.role)}, {"type", name(arg.type)}, {"bytes", size_of(arg.type)}});
    if (arg.pitch) json["args"].back()["pitch"] = args_[*arg.pitch].name;
  }
  return json.dump();
}

}  // namespace tilewright::launch

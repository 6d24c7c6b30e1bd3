// SPDX-License-Identifier: Apache-2.0
// The JSON of an op and of the config that serves it, and the dims of a call from its tensors.
#include <fmt/format.h>

#include <algorithm>

#include "cache/base/json_text.hpp"
#include "cache/launch/launcher.hpp"
#include "cache/launch/op.hpp"
#include "cache/launch/tensor_dims.hpp"
#include "cache/serve/expectation.hpp"

namespace tilewright::launch {

namespace {

// Fields stand in the order of tilewright.h.

void add_choice(JsonText& json, const PlannedWinner& choice) {
  const Winner& winner = choice.row.winner;
  const Trial& trial = winner.trial;
  json.add("config", trial.config.text());
  json.add("implementation", choice.row.implementation_hash);
  json.add("role", name(winner.role));
  json.add("tuned_for", choice.row.problem.key());
  const auto time = [&](double Timing::*member) {
    return trial.timing ? std::optional((*trial.timing).*member) : std::nullopt;
  };
  json.add("median_ns", time(&Timing::median_ns));
  json.add("low_ns", time(&Timing::low_ns));
  json.add("high_ns", time(&Timing::high_ns));
  json.add("base_ns", winner.base_ns);
  json.add("mode", name(choice.row.mode));
  json.add("measured_at", trial.timing ? std::optional(trial.measured_at) : std::nullopt);
  json.add("driver", trial.versions.driver);
  json.add("compiler", trial.versions.compiler);
  json.add("tilewright", trial.versions.tilewright);
}

/// An argument's extents as the definition writes them.
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
  JsonText json;
  json.add("problem", problem.key());
  json.add("device", answer.device.fingerprint());
  json.add("cache", answer.served.file.string());
  if (!answer.served.cache_error.empty()) json.add("cache_error", answer.served.cache_error);
  if (!answer.served.fallback_error.empty()) json.add("fallback_error", answer.served.fallback_error);
  json.add("fit", name(match.fit));
  json.add("freshness", choice ? std::optional(name(match.freshness)) : std::nullopt);
  json.add("device_fit", choice ? std::optional(name(match.device)) : std::nullopt);
  json.add("learned", match.is_learned);
  json.add("match", match.text());
  json.add("bytes", bytes_of(identity_.interface, problem));
  if (choice) {
    add_choice(json, *choice);
    if (const std::optional<Expectation>& expected = answer.served.expected) {
      json.add("expected_ns", expected->time_ns);
      json.add("expected_loss", expected->loss);
      json.add("expected_by", expected->basis);
    }
  } else {
    json.add("why", chosen.why);
  }
  if (!chosen.unread.empty()) json.add("unread", chosen.unread);
  if (chosen.pin) json.add("pinned", chosen.pin->reason);
  if (choice && !chosen.bans.empty()) {
    json.add("banned", fmt::format("{}: {}", chosen.bans.front().config.config.text(), chosen.bans.front().reason));
  }
  if (!answer.misses_error.empty()) json.add("misses_error", answer.misses_error);
  if (launcher_->options().jit) {
    json.add("compiled", choice && Resolver::is_compiled_here(*choice));
    if (chosen.wanted) json.add("wanted", chosen.wanted->row.winner.trial.config.text());
    if (!answer.compile_error.empty()) json.add("compile_error", answer.compile_error);
  }
  return json.text();
}

std::string Op::describe() const {
  process_.require_own_process();
  std::vector<JsonText> args;
  for (const PlannedArg& arg : args_) {
    JsonText& described = args.emplace_back();
    described.add("name", arg.name);
    described.add("role", name(arg.role));
    described.add("type", name(arg.type));
    described.add("bytes", size_of(arg.type));
    if (arg.role != ArgRole::scalar) {
      described.add("shape", extents_of(identity_.interface, arg.name));
      described.add("align", arg.alignment);
      described.add("alias", arg.alias);
    }
    std::vector<std::string> strides;
    for (const PlannedStride& stride : arg.strides) strides.push_back(args_[stride.scalar].name);
    if (!strides.empty() && arg.is_pitched) described.add("pitch", strides.front());
    if (!strides.empty() && !arg.is_pitched) described.add("strides", strides);
  }
  JsonText json;
  json.add("op", identity_.spec.op);
  json.add("spec", identity_.spec.text());
  json.add("interface", identity_.interface_hash);
  json.add("dims", identity_.interface.dims);
  if (!identity_.interface.bucketed.empty()) json.add("bucketed", identity_.interface.bucketed);
  json.add_list("args", args);
  return json.text();
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

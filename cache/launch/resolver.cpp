// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/resolver.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "cache/launch/errors.hpp"
#include "cache/launch/open_source.hpp"

namespace tilewright::launch {

namespace {

constexpr std::size_t kHashDigits = 32;

/// "softmax@0f3a…[dtype=bf16]" apart: the spec without the interface, and the interface.
std::pair<std::string, std::string> split_interface(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::size_t bracket = text.find('[');
  if (at == std::string::npos || (bracket != std::string::npos && at > bracket)) return {text, {}};
  const std::size_t end = bracket == std::string::npos ? text.size() : bracket;
  const std::string hash = text.substr(at + 1, end - at - 1);
  if (hash.size() != kHashDigits || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw UsageError(
        fmt::format("'{}' in '{}' is not an interface: these are {} hexadecimal digits", hash, text, kHashDigits));
  }
  return {text.substr(0, at) + text.substr(end), hash};
}

std::string sweep_command(const Problem& problem) {
  std::string text = fmt::format("tilewright sweep {} --shapes \"", problem.spec.op);
  for (std::size_t i = 0; i < problem.dims.size(); ++i) {
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", problem.dims[i].first, problem.dims[i].second);
  }
  return text + fmt::format("\" --dtype {}", name(problem.spec.dtype));
}

/// Why the plan cannot take addresses of these alignments; empty when it can.
std::string misaligned(const std::vector<PlannedArg>& args, const Alignments& alignments) {
  for (std::size_t i = 0; i < args.size() && i < alignments.size(); ++i) {
    if (args[i].role == ArgRole::scalar || args[i].alignment <= std::size_t{1} << alignments[i]) continue;
    return fmt::format("{}{} must be aligned to {} bytes and is to {}", args[i].name,
                       args[i].pitch ? " with its pitch" : "", args[i].alignment, std::size_t{1} << alignments[i]);
  }
  return {};
}

/// What may serve a problem, best first: each row with the match that it stands for.
std::vector<std::pair<Match, WinnerRow>> candidates(const WinnerSource& source, const OpIdentity& op,
                                                    const Problem& problem, const DeviceFacts& device,
                                                    const Versions& versions) {
  std::vector<std::pair<Match, WinnerRow>> found;
  Served served = match(source, problem, op.interface_hash, device, versions);
  if (!served.row) return found;
  const Match first = served.match;
  const MeasureMode mode = served.row->mode;
  const Versions measured_with = served.row->winner.trial.versions;
  const ProblemKey key{problem, op.interface_hash, served.row->device.fingerprint()};
  found.emplace_back(first, std::move(*served.row));
  if (first.fit != Fit::exact) return found;
  const auto add = [&](Fit fit, std::optional<WinnerRow> row) {
    if (!row) return;
    // match() has judged the first; one measured with other versions is not fresh when the first is not, nor surely when it is.
    const bool alike = row->winner.trial.versions == measured_with;
    found.emplace_back(Match{fit, alike ? first.freshness : Freshness::stale, first.device}, std::move(*row));
  };
  add(Fit::exact, source.winner_of(key, mode, WinnerRole::dynamic));
  add(Fit::base_default, source.newest_of_spec(key, mode, WinnerRole::base));
  return found;
}

}  // namespace

Resolver::Resolver(std::filesystem::path path, bool allow_shared)
    : path_(std::move(path)), allow_shared_(allow_shared), source_(open_source(path_, allow_shared)) {}

bool Resolver::refresh() {
  if (!source_->changed()) return false;
  source_ = open_source(path_, allow_shared_);
  return true;
}

OpIdentity Resolver::identify(const std::string& text) const {
  const auto [spec, hash] = split_interface(text);
  const std::string op = op_name_of(spec);
  std::optional<OpInterface> newest = source_->interface_of(op);
  if (!newest) {
    throw UsageError(fmt::format("{} has no op '{}'{}", source_->title(), op, suggestion(op, source_->ops())));
  }
  OpIdentity found{*newest, newest->hash(), {}};
  if (!hash.empty() && hash != found.interface_hash) {
    std::optional<OpInterface> asked = source_->interface_by_hash(hash);
    if (!asked || asked->op != op) {
      throw InterfaceError(
          fmt::format("the application was written for {} with the interface {}, and {} has it with {}: dims or "
                      "arguments have changed; adapt the application, or use a cache made for it",
                      op, hash, source_->title(), found.interface_hash));
    }
    found = {std::move(*asked), hash, {}};
  }
  found.spec = parse_spec(spec, found.interface);
  return found;
}

Chosen Resolver::choose(const OpIdentity& op, const Problem& problem, const DeviceFacts& device,
                        const Versions& versions, const Alignments& alignments) const {
  if (const std::string why = misaligned(plan_args(op.interface, problem), alignments); !why.empty()) {
    throw UsageError(fmt::format("the argument {}, by the definition of {}", why, problem.spec.op));
  }
  std::string reasons;
  for (auto& [match, row] : candidates(*source_, op, problem, device, versions)) {
    const std::string config = row.winner.trial.config.text();
    auto stored = source_->implementation_by_hash(row.implementation_hash);
    if (!stored)
      throw CacheError(
          fmt::format("{} has no implementation {} for {}", source_->title(), row.implementation_hash, config));
    auto planned = make_plan(op.interface, stored->recipe, row.winner.trial.config, problem, device);
    std::string why;
    if (const auto* illegal = std::get_if<Illegal>(&planned)) {
      why = illegal->reason;
    } else {
      why = misaligned(std::get<LaunchPlan>(planned).args, alignments);
    }
    if (why.empty()) {
      return {Choice{match, std::move(row), std::move(stored->recipe), std::get<LaunchPlan>(std::move(planned))}, {}};
    }
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", config, why);
  }
  if (reasons.empty()) {
    return {std::nullopt, fmt::format("{} has no winner and no base for {} on {}; make them with: {}", source_->title(),
                                      problem.key(), device.fingerprint(), sweep_command(problem))};
  }
  return {std::nullopt, fmt::format("nothing that {} has can serve {} on {}: {}", source_->title(), problem.key(),
                                    device.fingerprint(), reasons)};
}

std::shared_ptr<const ReadyPlan> Resolver::load(const cuda::Driver& driver, const OpIdentity& op,
                                                const Problem& problem, const DeviceFacts& device,
                                                const Choice& choice) {
  const Trial& trial = choice.row.winner.trial;
  const std::string what = fmt::format("{} of {}", trial.config.text(), problem.spec.text());
  const std::optional<Build> build = source_->build(trial.build_key);
  if (!build || !build->ok) {
    throw CacheError(fmt::format("{} has no binary for {}: tune it again, or export the cache with its binaries",
                                 source_->title(), what));
  }
  std::shared_ptr<const cuda::Module>& module = modules_[build->binary_hash];
  if (!module) module = std::make_shared<const cuda::Module>(driver, source_->binary(build->binary_hash), what);
  return std::make_shared<const ReadyPlan>(
      cuda::Executable(driver, module, build->kernels, op.interface, choice.recipe, trial.config, problem, device));
}

}  // namespace tilewright::launch

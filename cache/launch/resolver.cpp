// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/resolver.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "cache/base/sha256.hpp"
#include "cache/launch/errors.hpp"

namespace tilewright::launch {

namespace {

constexpr std::size_t kHashDigits = 32;
/// The prefix of build keys that are not the cache's.
constexpr std::string_view kCompiledHere = "compiled here: ";

/// Splits "softmax@0f3a…[dtype=bf16]" into the spec without its interface, and the interface.
std::pair<std::string, std::string> split_interface(const std::string& text) {
  const std::size_t at = text.find('@');
  const std::size_t bracket = text.find('[');
  if (at == std::string::npos || (bracket != std::string::npos && at > bracket)) return {text, {}};
  const std::size_t end = bracket == std::string::npos ? text.size() : bracket;
  const std::string hash = text.substr(at + 1, end - at - 1);
  if (!is_hexadecimal(hash, kHashDigits)) {
    throw UsageError(fmt::format("'{}' in '{}' is not the hash of an interface: write {} lower-case hexadecimal digits",
                                 hash, text, kHashDigits));
  }
  return {text.substr(0, at) + text.substr(end), hash};
}

/// CUresults that condemn this binary, but not the driver or the context; 0: an error of our own.
bool is_of_the_binary(int status) {
  constexpr std::array kStatuses{0,     // empty, or more workspaces than can be launched
                                 200,   // invalid image
                                 209,   // no binary for this GPU
                                 218,   // invalid PTX
                                 222,   // PTX of a newer version
                                 223,   // no PTX compiler
                                 300,   // invalid source
                                 302,   // shared object symbol not found
                                 500};  // no such kernel
  return std::ranges::find(kStatuses, status) != kStatuses.end();
}

/// True for an error of the driver, which no other binary avoids.
bool is_of_the_driver(const Error& error) {
  const auto* const device = dynamic_cast<const DeviceError*>(&error);
  return device != nullptr && !is_of_the_binary(device->status());
}

/// Throws as Resolver::identify.
OpIdentity identify_in(const WinnerSource& source, const std::string& text) {
  const auto [spec, hash] = split_interface(text);
  const std::string op = op_name_of(spec);
  std::optional<OpInterface> newest = source.interface_of(op);
  if (!newest) {
    throw UsageError(fmt::format("{} has no op '{}'{}", source.title(), op, suggestion(op, source.ops())));
  }
  OpIdentity found{*newest, newest->hash(), {}};
  if (!hash.empty() && hash != found.interface_hash) {
    std::optional<OpInterface> asked = source.interface_by_hash(hash);
    if (!asked || asked->op != op) {
      throw InterfaceError(
          fmt::format("the application was written for {} with the interface {}, and {} has it with {}: dims or "
                      "arguments have changed; adapt the application, or use a cache made for it",
                      op, hash, source.title(), found.interface_hash));
    }
    found = {std::move(*asked), hash, {}};
  }
  found.spec = parse_spec(spec, found.interface);
  return found;
}

Chosen explained(Chosen chosen, const WinnerSource& source, const Problem& problem, const DeviceFacts& device) {
  if (chosen.choice) return chosen;
  if (chosen.why.empty()) {
    chosen.why = fmt::format("{} has no winner and no base for {} on {}; make them with: tilewright sweep \"{}\"",
                             source.title(), problem.key(), device.fingerprint(), problem.key());
  } else {
    chosen.why = fmt::format("no config of {} can serve {} on {}: {}", source.title(), problem.key(),
                             device.fingerprint(), chosen.why);
  }
  return chosen;
}

/// Null: the answer holds no choice.
const Chosen* chosen_of(const OpIdentity& /*known*/) { return nullptr; }
const Chosen* chosen_of(const Resolver::Answer& answer) { return &answer.chosen; }
const Chosen* chosen_of(const Resolver::Resolved& resolved) { return &resolved.chosen; }

/// Why another source may serve better than this; nullopt if none can.
std::optional<std::string> shortcoming(const WinnerSource& source, const Chosen* given) {
  if (given == nullptr) return std::nullopt;
  const Chosen& chosen = *given;
  if (!chosen.choice) return chosen.why;
  const Match& match = chosen.choice->match;
  if (match.fit == Fit::exact && match.device == DeviceFit::same_device) return std::nullopt;
  const std::string other = match.fit == Fit::base_default
                                ? "the op's base"
                                : fmt::format("the config tuned for {}{}", chosen.choice->row.problem.key(),
                                              match.is_learned ? ", by its loss model" : "");
  const std::string why = chosen.unread.empty()
                              ? fmt::format("{} was not tuned for the shape on this GPU", source.title())
                              : fmt::format("part of {} could not be read: {}", source.title(), chosen.unread);
  return fmt::format("{}; it would serve {} ({})", why, other, match.text());
}

/// The cache's answer, or the fallback's if that fits better. The fallback is told why it is asked. If neither serves,
/// returns or throws the cache's result.
template <class Ask>
auto best_of(Sources& sources, const Ask& ask) {
  const WinnerSource* cache = sources.cache();
  if (cache == nullptr) return ask(*sources.fallback(), sources.cache_error(), nullptr);
  std::optional<decltype(ask(*cache, {}, nullptr))> given;
  std::exception_ptr error;
  std::string cache_error;
  const Match* served = nullptr;
  try {
    given = ask(*cache, {}, nullptr);
    const Chosen* const chosen = chosen_of(*given);
    const std::optional<std::string> why = shortcoming(*cache, chosen);
    if (!why) return *std::move(given);
    cache_error = *why;
    if (chosen->choice) served = &chosen->choice->match;
  } catch (const Error& failure) {
    if (is_of_the_driver(failure)) throw;
    error = std::current_exception();
    cache_error = failure.what();
  }
  try {
    if (const WinnerSource* fallback = sources.fallback()) {
      auto other = ask(*fallback, cache_error, served);
      if (const Chosen* const chosen = chosen_of(other); chosen == nullptr || chosen->choice) return other;
    }
  } catch (const Error& failure) {
    if (is_of_the_driver(failure)) throw;
    // The user asked for the cache, so its error is the one reported.
  }
  if (error) std::rethrow_exception(error);
  return *std::move(given);
}

/// If nothing serves, adds why the fallback was not asked.
void add_fallback_error(Chosen& chosen, const Sources& sources) {
  if (!chosen.choice && !sources.fallback_error().empty()) chosen.why += ". " + sources.fallback_error();
}

}  // namespace

OpIdentity Resolver::identify(const std::string& text) {
  return best_of(sources_, [&](const WinnerSource& source, const std::string&, const Match*) {
    return identify_in(source, text);
  });
}

Resolver::Answer Resolver::choose(const Asked& asked) {
  Answer answer = best_of(sources_, [&](const WinnerSource& source, const std::string& cache_error, const Match* than) {
    Answer given{choose_from(source, asked, {}, than), sources_.path_of(source), cache_error};
    if (given.chosen.choice) given.expected = expectation_of(source, *given.chosen.choice, asked.problem);
    return given;
  });
  add_fallback_error(answer.chosen, sources_);
  const bool is_asked = !answer.chosen.choice || answer.chosen.choice->match.fit != Fit::exact;
  if (is_asked) answer.fallback_error = sources_.fallback_error();
  return answer;
}

Chosen Resolver::choose_from(const WinnerSource& source, const Asked& asked, const Obstacle& obstacle,
                             const Match* better_than) const {
  return explained(tilewright::choose(source, asked.op.interface,
                                      {.problem = asked.problem,
                                       .interface_hash = asked.op.interface_hash,
                                       .device = asked.device,
                                       .versions = asked.versions,
                                       .with_compiles = compiles_,
                                       .better_than = better_than},
                                      {asked.alignments, obstacle, compiled_here(asked.problem, asked.device)}),
                   source, asked.problem, asked.device);
}

Resolver::Resolved Resolver::resolve(const cuda::Driver& driver, const Asked& asked,
                                     const std::shared_ptr<const ReadyPlan>& last) {
  // A module that the cache loaded stays loaded, even if the fallback serves: it may serve shapes nearby.
  Resolved resolved = best_of(sources_, [&](const WinnerSource& source, const std::string&, const Match* than) {
    return resolve_from(source, driver, asked, last, than);
  });
  add_fallback_error(resolved.chosen, sources_);
  return resolved;
}

Resolver::Resolved Resolver::resolve_from(const WinnerSource& source, const cuda::Driver& driver, const Asked& asked,
                                          const std::shared_ptr<const ReadyPlan>& last, const Match* better_than) {
  std::shared_ptr<const ReadyPlan> plan;
  std::exception_ptr first_error;
  const auto obstacle = [&](const PlannedWinner& serving) -> std::string {
    try {
      plan = load(source, driver, asked, serving, last);
      return {};
    } catch (const UsageError&) {
      throw;
    } catch (const DeviceError& error) {
      if (!is_of_the_binary(error.status())) throw;
      if (!first_error) first_error = std::current_exception();
      return error.what();
    } catch (const Error& error) {
      if (!first_error) first_error = std::current_exception();
      return error.what();
    }
  };
  Chosen chosen = choose_from(source, asked, obstacle, better_than);
  if (!chosen.choice && first_error) std::rethrow_exception(first_error);
  return {std::move(chosen), std::move(plan)};
}

std::string Resolver::compile_key(const PlannedWinner& wanted, const Problem& problem, const DeviceFacts& device) {
  std::string key = fmt::format("{}{} {} {} {}", kCompiledHere, device.arch(), wanted.row.implementation_hash,
                                wanted.row.winner.trial.config.text(), problem.spec.text());
  for (const auto& [name, length] : problem.dims) {
    if (std::ranges::find(wanted.recipe.specialize, name) != wanted.recipe.specialize.end()) {
      key += fmt::format(" {}={}", name, length);
    }
  }
  return key;
}

bool Resolver::is_compiled_here(const PlannedWinner& choice) {
  return choice.row.winner.trial.build_key.starts_with(kCompiledHere);
}

void Resolver::keep(const std::string& compile_key, std::vector<std::byte> binary, std::vector<KernelFacts> kernels) {
  compiled_.insert_or_assign(compile_key, Compiled{std::move(binary), std::move(kernels)});
}

CompiledHere Resolver::compiled_here(const Problem& problem, const DeviceFacts& device) const {
  if (!compiles_) return {};
  return [this, &problem, &device](const PlannedWinner& serving) -> std::optional<std::string> {
    const auto found = compiled_.find(compile_key(serving, problem, device));
    if (found == compiled_.end()) return std::nullopt;
    return found->second.binary.empty() ? std::string() : found->first;
  };
}

std::shared_ptr<const ReadyPlan> Resolver::load(const WinnerSource& source, const cuda::Driver& driver,
                                                const Asked& asked, const PlannedWinner& choice,
                                                const std::shared_ptr<const ReadyPlan>& last) {
  const Trial& trial = choice.row.winner.trial;
  const std::string what = fmt::format("{} of {}", trial.config.text(), asked.problem.spec.text());
  const auto ready = [&](const std::string& content, const std::vector<KernelFacts>& kernels, const auto& bytes) {
    std::string origin = fmt::format("{} {} {}", content, choice.row.implementation_hash, trial.config.text());
    if (last && last->origin == origin) return last;
    std::shared_ptr<const cuda::Module>& module = modules_[content];
    if (!module) module = std::make_shared<const cuda::Module>(driver, bytes(), what);
    return std::make_shared<const ReadyPlan>(cuda::Executable(driver, module, kernels, asked.op.interface,
                                                              choice.recipe, trial.config, asked.problem, asked.device),
                                             std::move(origin));
  };
  if (const auto here = compiled_.find(trial.build_key); here != compiled_.end()) {
    return ready(
        here->first, here->second.kernels, [&]() -> const auto& { return here->second.binary; });
  }
  const std::optional<Build> build = source.build(trial.build_key);
  if (!build || !build->ok) {
    throw CacheError(fmt::format("{} has no binary for {}: tune it again, or export the cache with its binaries",
                                 source.title(), what));
  }
  return ready(build->binary_hash, build->kernels, [&] { return source.binary(build->binary_hash); });
}

}  // namespace tilewright::launch

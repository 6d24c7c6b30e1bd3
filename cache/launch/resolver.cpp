// SPDX-License-Identifier: Apache-2.0
#include "cache/launch/resolver.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "cache/launch/errors.hpp"
#include "cache/launch/open_source.hpp"

namespace tilewright::launch {

namespace {

constexpr std::size_t kHashDigits = 32;
/// What keys of builds that the cache does not have begin with.
constexpr std::string_view kCompiledHere = "compiled here: ";

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

/// CUresults that say that this binary is no good here, and nothing about the driver or the context; 0: we ourselves said so.
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

}  // namespace

Resolver::Resolver(std::filesystem::path path, bool allow_shared)
    : path_(std::move(path)), allow_shared_(allow_shared), source_(open_source(path_, allow_shared)) {}

bool Resolver::refresh() {
  if (!source_->changed()) return false;
  std::unique_ptr<WinnerSource> newer = open_source(path_, allow_shared_);
  const std::uint64_t state = newer->winners_state();
  const bool differs = state == 0 || state != winners_state_;
  source_ = std::move(newer);
  winners_state_ = state;
  return differs;
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

Chosen Resolver::explained(Chosen chosen, const WinnerSource& source, const Problem& problem,
                           const DeviceFacts& device) {
  if (chosen.choice) return chosen;
  if (chosen.why.empty()) {
    chosen.why = fmt::format("{} has no winner and no base for {} on {}; make them with: {}", source.title(),
                             problem.key(), device.fingerprint(), sweep_command(problem));
  } else {
    chosen.why = fmt::format("nothing that {} has can serve {} on {}: {}", source.title(), problem.key(),
                             device.fingerprint(), chosen.why);
  }
  return chosen;
}

Chosen Resolver::choose(const OpIdentity& op, const Problem& problem, const DeviceFacts& device,
                        const Versions& versions, const Alignments& alignments) const {
  return explained(tilewright::choose(*source_, op.interface, problem, device, versions, alignments, {},
                                      compiled_here(problem, device)),
                   *source_, problem, device);
}

Resolver::Resolved Resolver::resolve(const cuda::Driver& driver, const OpIdentity& op, const Problem& problem,
                                     const DeviceFacts& device, const Versions& versions, const Alignments& alignments,
                                     const std::shared_ptr<const ReadyPlan>& last) {
  std::shared_ptr<const ReadyPlan> plan;
  std::exception_ptr first_error;
  const auto obstacle = [&](const Serving& serving) -> std::string {
    try {
      plan = load(driver, op, problem, device, serving, last);
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
  Chosen chosen = tilewright::choose(*source_, op.interface, problem, device, versions, alignments, obstacle,
                                     compiled_here(problem, device));
  if (!chosen.choice && first_error) std::rethrow_exception(first_error);
  return {explained(std::move(chosen), *source_, problem, device), std::move(plan)};
}

std::string Resolver::compile_key(const Serving& wanted, const Problem& problem, const DeviceFacts& device) {
  std::string key = fmt::format("{}{} {} {} {}", kCompiledHere, device.arch(), wanted.row.implementation_hash,
                                wanted.row.winner.trial.config.text(), problem.spec.text());
  for (const auto& [name, length] : problem.dims) {
    if (std::ranges::find(wanted.recipe.specialize, name) != wanted.recipe.specialize.end()) {
      key += fmt::format(" {}={}", name, length);
    }
  }
  return key;
}

bool Resolver::is_compiled_here(const Choice& choice) {
  return choice.row.winner.trial.build_key.starts_with(kCompiledHere);
}

void Resolver::keep(const std::string& compile_key, std::vector<std::byte> binary, std::vector<KernelFacts> kernels) {
  compiled_.insert_or_assign(compile_key, Compiled{std::move(binary), std::move(kernels)});
}

CompiledHere Resolver::compiled_here(const Problem& problem, const DeviceFacts& device) const {
  if (!compiles_) return {};
  return [this, &problem, &device](const Serving& serving) -> std::optional<std::string> {
    const auto found = compiled_.find(compile_key(serving, problem, device));
    if (found == compiled_.end()) return std::nullopt;
    return found->second.binary.empty() ? std::string() : found->first;
  };
}

std::shared_ptr<const ReadyPlan> Resolver::load(const cuda::Driver& driver, const OpIdentity& op,
                                                const Problem& problem, const DeviceFacts& device, const Choice& choice,
                                                const std::shared_ptr<const ReadyPlan>& last) {
  const Trial& trial = choice.row.winner.trial;
  const std::string what = fmt::format("{} of {}", trial.config.text(), problem.spec.text());
  const auto ready = [&](const std::string& content, const std::vector<KernelFacts>& kernels, const auto& bytes) {
    std::string origin = fmt::format("{} {} {}", content, choice.row.implementation_hash, trial.config.text());
    if (last && last->origin == origin) return last;
    std::shared_ptr<const cuda::Module>& module = modules_[content];
    if (!module) module = std::make_shared<const cuda::Module>(driver, bytes(), what);
    return std::make_shared<const ReadyPlan>(
        cuda::Executable(driver, module, kernels, op.interface, choice.recipe, trial.config, problem, device),
        std::move(origin));
  };
  if (const auto here = compiled_.find(trial.build_key); here != compiled_.end()) {
    return ready(
        here->first, here->second.kernels, [&]() -> const auto& { return here->second.binary; });
  }
  const std::optional<Build> build = source_->build(trial.build_key);
  if (!build || !build->ok) {
    throw CacheError(fmt::format("{} has no binary for {}: tune it again, or export the cache with its binaries",
                                 source_->title(), what));
  }
  return ready(build->binary_hash, build->kernels, [&] { return source_->binary(build->binary_hash); });
}

}  // namespace tilewright::launch

// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/kernels/built_in_op.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <variant>

#include "tuner/compile/source.hpp"
#include "tuner/verify/reference_run.hpp"

namespace tilewright {

std::filesystem::path test_kernels_dir() { return TILEWRIGHT_TEST_KERNELS; }

DeviceFacts facts_of_an_h200() {
  DeviceFacts facts = emulator_facts();
  facts.name = "NVIDIA H200";
  facts.compute_capability = 90;
  facts.sm_count = 132;
  facts.memory_bytes = std::int64_t{141} << 30;
  return facts;
}

DeviceFacts facts_of_an_a100() {
  DeviceFacts facts = facts_of_an_h200();
  facts.name = "NVIDIA A100";
  facts.compute_capability = 80;
  facts.sm_count = 108;
  facts.shared_per_block_optin = std::int64_t{163} << 10;
  facts.shared_per_sm = std::int64_t{164} << 10;
  return facts;
}

BuiltInOp::BuiltInOp(const std::string& op, const std::vector<std::filesystem::path>& more)
    : catalogue_(more, test_kernels_dir()), definition_(&catalogue_.find(op)), device_(open_device("cpu")) {}

Problem BuiltInOp::problem(const std::string& key) const { return parse_problem(key, definition_->interface); }

std::vector<Config> BuiltInOp::sample(const Problem& problem, const std::string& implementation,
                                      std::size_t most) const {
  std::vector<Config> legal;
  for (const Candidate& candidate : expand(*definition_, problem, device_->facts()).legal) {
    if (candidate.config.implementation == implementation) legal.push_back(candidate.config);
  }
  if (legal.size() <= most) return legal;
  std::vector<Config> chosen;
  for (std::size_t i = 0; i < most; ++i) chosen.push_back(legal[i * legal.size() / most]);
  return chosen;
}

const CompileResult& BuiltInOp::compile(const std::string& text, const std::vector<std::string>& entries) {
  const auto [place, is_new] = binaries_.try_emplace(text);
  if (is_new) {
    CompileRequest request;
    request.source = text;
    request.name = definition_->interface.op + ".cu";
    request.entries = entries;
    request.arch = "cpu";
    request.include_dirs = {test_kernels_dir() / "emulator", test_kernels_dir()};
    place->second = device_->compiler().compile(request);
  }
  if (!place->second.ok) throw Error(place->second.log);
  return place->second;
}

bool BuiltInOp::is_legal(const Problem& problem, const Config& config) const {
  const Candidate candidate = resolve_config(*definition_, config);
  return std::holds_alternative<LaunchPlan>(
      make_plan(definition_->interface, candidate.implementation->recipe, candidate.config, problem, device_->facts()));
}

BuiltInOp::Loaded BuiltInOp::load(const Problem& problem, const Candidate& candidate, const LaunchPlan& plan) {
  const GeneratedSource source =
      generate_source(*definition_, *candidate.implementation, candidate.config, problem, plan);
  const CompileResult& binary = compile(source.text, source.entries);
  Loaded loaded{device_->load(binary.binary, kernel_facts(binary), definition_->interface,
                              candidate.implementation->recipe, candidate.config, problem),
                {},
                {}};
  for (const PlannedWorkspace& workspace : loaded.executable->plan().workspaces) {
    const bool cleared = workspace.zero != WorkspaceRecipe::Zero::never;
    const std::vector<std::byte> content(std::max<std::size_t>(workspace.bytes, 1), std::byte(cleared ? 0 : 0xff));
    loaded.buffers.push_back(device_->allocate(content.size(), "workspace " + workspace.name));
    device_->upload(loaded.buffers.back()->address(), content);
    loaded.workspaces.push_back(loaded.buffers.back()->address());
  }
  return loaded;
}

Verifier& BuiltInOp::verifier(const Problem& problem, const ArgumentSet::Options& options) {
  constexpr std::size_t kKept = 3;
  const std::string key =
      fmt::format("{} {} {} {} {} {} {}", problem.key(), options.seed, options.misalign_elements, options.in_place,
                  options.placement, options.poison_gaps, fmt::join(options.stride_alignments, ","));
  const auto known = std::ranges::find(verifiers_, key, &std::pair<std::string, Verifier>::first);
  if (known != verifiers_.end()) {
    verifiers_.splice(verifiers_.begin(), verifiers_, known);
  } else {
    const GeneratedSource reference = generate_reference(*definition_, problem);
    verifiers_.emplace_front(
        std::piecewise_construct, std::forward_as_tuple(key),
        std::forward_as_tuple(*device_, *definition_, problem, compile(reference.text, reference.entries), options));
    if (verifiers_.size() > kKept) verifiers_.pop_back();
  }
  return verifiers_.front().second;
}

std::string BuiltInOp::fault(const Problem& problem, const Config& config, const ArgumentSet::Options& options) {
  const Candidate candidate = resolve_config(*definition_, config);
  const auto plan =
      make_plan(definition_->interface, candidate.implementation->recipe, candidate.config, problem, device_->facts());
  if (const auto* illegal = std::get_if<Illegal>(&plan)) return illegal->reason;
  Verifier& expected = verifier(problem, options);
  const Loaded loaded = load(problem, candidate, std::get<LaunchPlan>(plan));
  try {
    const Verdict verdict = expected.check(*loaded.executable, loaded.workspaces);
    return verdict.right ? "" : fmt::format("{} on {}: {}", config.text(), problem.key(), verdict.reason);
  } catch (const DeviceError& error) {
    verifiers_.clear();
    return fmt::format("{} on {}: {}", config.text(), problem.key(), error.what());
  }
}

std::vector<std::vector<std::byte>> BuiltInOp::outputs(const Problem& problem, const Config& config, int launches) {
  const Candidate candidate = resolve_config(*definition_, config);
  const auto plan =
      make_plan(definition_->interface, candidate.implementation->recipe, candidate.config, problem, device_->facts());
  if (const auto* illegal = std::get_if<Illegal>(&plan)) throw Error(illegal->reason);
  const Loaded loaded = load(problem, candidate, std::get<LaunchPlan>(plan));
  ArgumentSet set(*device_, *definition_, problem, {});
  set.place(loaded.executable->plan().args);
  std::vector<std::vector<std::byte>> all;
  for (int launch = 0; launch < launches; ++launch) {
    set.poison_outputs();
    loaded.executable->run({set.values(), loaded.workspaces});
    std::vector<std::byte>& bytes = all.emplace_back();
    for (std::size_t i = 0; i < set.args().size(); ++i) {
      if (!is_output(set.args()[i])) continue;
      const std::vector<std::byte> more = set.read(i);
      bytes.insert(bytes.end(), more.begin(), more.end());
    }
  }
  return all;
}

}  // namespace tilewright

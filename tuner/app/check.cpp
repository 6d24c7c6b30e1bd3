// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "cache/plan/plan.hpp"
#include "tuner/app/check_config.hpp"
#include "tuner/app/commands.hpp"
#include "tuner/app/device_session.hpp"
#include "tuner/app/stored_devices.hpp"
#include "tuner/app/tuning.hpp"
#include "tuner/compile/request.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/definition/space.hpp"
#include "tuner/sweep/selection.hpp"

namespace tilewright::app {
namespace {

/// The message of the headers in kernels/emulator for features that they do not model.
constexpr std::string_view kNeedsGpu = "this kernel needs a GPU";

/// A config to check, and a problem that takes it.
struct Tried {
  Candidate candidate;
  Problem problem;
};

/// The named problem; else the smallest, which ends within a block, and the largest, which has whole blocks.
std::vector<Problem> problems_of(const OpDefinition& definition, const ProblemWords& words) {
  if (!dims_text(words, definition.interface).empty()) return {to_problem(words, definition.interface)};
  const std::vector<Problem> all = default_shapes(definition, to_spec(words, definition.interface), true);
  const auto [smallest, largest] =
      std::ranges::minmax_element(all, {}, [&](const Problem& problem) { return definition.bytes_of(problem); });
  return smallest == largest ? std::vector{*smallest} : std::vector{*smallest, *largest};
}

/// The first config of each implementation that has any for one of `problems`, in the definition's order.
std::vector<Tried> one_of_each(const OpDefinition& definition, const std::vector<Problem>& problems,
                               const DeviceFacts& device) {
  std::vector<std::optional<Tried>> found(definition.implementations.size());
  for (const Problem& problem : problems) {
    if (std::ranges::all_of(found, [](const auto& one) { return one.has_value(); })) break;
    for (Candidate& candidate : expand(definition, problem, device).legal) {
      auto& of_it = found[static_cast<std::size_t>(candidate.implementation - definition.implementations.data())];
      if (!of_it) of_it.emplace(Tried{std::move(candidate), problem});
    }
  }
  std::vector<Tried> tried;
  for (auto& one : found) {
    if (one) tried.push_back(std::move(*one));
  }
  return tried;
}

class Checking {
 public:
  Checking(const CheckRequest& request, const Catalogue& catalogue, const OpDefinition& definition, Listener& listener)
      : request_(request), catalogue_(catalogue), definition_(definition), listener_(listener) {
    table_.title = fmt::format("{}, as {} defines it", definition.interface.op, definition.file.string());
    table_.columns = {{"checked", "checked"},
                      {"config", "config"},
                      {"shape_key", "problem"},
                      {"status", "status"},
                      {"reason", "reason"}};
    table_.columns[1].breakable = table_.columns[2].breakable = table_.columns[4].breakable = true;
  }

  /// Runs the base and a few configs of each implementation.
  void run_on_emulator(const std::vector<Problem>& problems) {
    Work work = request_.work;
    work.devices = {"cpu"};
    const auto session = DeviceSession::open(work, listener_, catalogue_);
    if (!session) return;
    constexpr std::size_t kOfEach = 3;
    std::vector<Tried> tried;
    for (const Problem& problem : problems) {
      for (Candidate& candidate :
           select_candidates(expand(definition_, problem, session->device().facts()).legal,
                             1 + kOfEach * definition_.implementations.size(), definition_.base)) {
        tried.push_back({std::move(candidate), problem});
      }
    }
    for (const Tried& one : tried) session->request(definition_, one.problem, one.candidate);
    for (const Tried& one : tried) {
      const auto outputs = check_config(*session, definition_, one.problem, one.candidate, listener_);
      if (outputs.empty()) return;
      const auto wrong =
          std::ranges::find_if(outputs, [](const CheckedOutput& each) { return each.status != TrialStatus::ok; });
      add("emulator", one, (wrong == outputs.end() ? outputs.begin() : wrong)->status,
          wrong == outputs.end() ? "" : wrong->reason);
    }
  }

  /// Compiles one config of each implementation, for the first of `problems` and of the GPU's grid that takes one.
  void compile_for_gpu(std::vector<Problem> problems) {
    const DeviceFacts device = facts_of_arch(request_.arch);
    const std::vector<Problem> grid = default_shapes(definition_, problems.front().spec, false);
    problems.insert(problems.end(), grid.begin(), grid.end());
    std::unique_ptr<Compiler> compiler;
    try {
      compiler = open_compiler(request_.work, false, listener_);
    } catch (const Error& error) {
      table_.notes.push_back(fmt::format("Nothing was compiled for a GPU: {}", error.what()));
      return;
    }
    for (const Tried& one : one_of_each(definition_, problems, device)) {
      if (listener_.cancelled()) return;
      const Implementation& implementation = *one.candidate.implementation;
      const auto plan =
          make_plan(definition_.interface, implementation.recipe, one.candidate.config, one.problem, device);
      const GeneratedSource source =
          generate_source(definition_, implementation, one.candidate.config, one.problem, std::get<LaunchPlan>(plan));
      const CompileResult result = compiler->compile(compile_request(source, request_.arch, catalogue_.builtin_dir()));
      add(request_.arch, one, result.ok ? TrialStatus::ok : TrialStatus::compile_failed,
          result.ok ? "" : first_error(result.log));
    }
  }

  CheckResult result() {
    // Neither run nor compiled: the constraints fit no problem, or only another GPU.
    for (const Implementation& each : definition_.implementations) {
      if (std::ranges::find(seen_, &each) == seen_.end() && !listener_.cancelled()) {
        table_.notes.push_back(fmt::format("{} was not checked: it has no config for these problems{}.",
                                           each.recipe.name,
                                           request_.arch.empty() ? "" : ", nor for the grid on " + request_.arch));
      }
    }
    if (needs_gpu_ > 0) {
      table_.notes.push_back(fmt::format(
          "{} of these {} a GPU: the emulator lacks the features that they use. On a machine "
          "with one: tilewright verify {}{}",
          needs_gpu_, needs_gpu_ == 1 ? "needs" : "need", definition_.interface.op, ops_options(request_.place)));
    }
    if (wrong_ == 0 && !listener_.cancelled()) {
      table_.notes.push_back(fmt::format("The definition and the tried configs are right. Next: tilewright sweep {}{}",
                                         definition_.interface.op, ops_options(request_.place)));
    }
    if (wrong_ > 0) {
      table_.notes.push_back(fmt::format("{1} of {0} went wrong: mend it, and check again.",
                                         counted(table_.rows.size(), "config"), wrong_));
    }
    if (wrong_ == 0 && needs_gpu_ == 0) table_.columns.back().shown = Shown::programs;
    if (listener_.cancelled()) table_.notes.emplace_back("Interrupted: the missing configs were not checked.");
    return {std::move(table_), wrong_, listener_.cancelled()};
  }

 private:
  void add(const std::string& where, const Tried& one, TrialStatus status, const std::string& reason) {
    seen_.push_back(one.candidate.implementation);
    const bool needs_gpu = status == TrialStatus::compile_failed && reason.find(kNeedsGpu) != std::string::npos;
    if (needs_gpu) {
      ++needs_gpu_;
    } else if (status != TrialStatus::ok) {
      ++wrong_;
    }
    table_.rows.push_back({where, one.candidate.config.text(), one.problem.key(), std::string(name(status)),
                           reason.empty() ? Cell() : Cell(reason)});
  }

  const CheckRequest& request_;
  const Catalogue& catalogue_;
  const OpDefinition& definition_;
  Listener& listener_;
  Table table_;
  std::vector<const Implementation*> seen_;
  std::size_t wrong_ = 0;
  std::size_t needs_gpu_ = 0;
};

}  // namespace

CheckResult check(const CheckRequest& request, Listener& listener) {
  Catalogue catalogue = open_catalogue(request.place);
  const OpDefinition& definition = catalogue.find(request.problem.op);
  const std::vector<Problem> problems = problems_of(definition, request.problem);
  check_sizes(definition, problems);
  Checking checking(request, catalogue, definition, listener);
  checking.run_on_emulator(problems);
  if (!request.arch.empty() && !listener.cancelled()) checking.compile_for_gpu(problems);
  return checking.result();
}

}  // namespace tilewright::app

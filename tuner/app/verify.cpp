// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/check_config.hpp"
#include "tuner/app/chosen_problems.hpp"
#include "tuner/app/device_session.hpp"
#include "tuner/app/tuning.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/sweep/selection.hpp"

namespace tilewright::app {
namespace {

template <class Get>
void add(std::vector<Source<CheckedOutput>>& sources, const Column& column, Get get) {
  sources.push_back(
      {column, [get](const CheckedOutput& line) { return line.errors ? Cell(get(*line.errors)) : Cell(); }});
}

Table table_of(const std::vector<CheckedOutput>& lines) {
  Column config = column("config", "config");
  config.breakable = true;
  Column reason = column("reason", "reason");
  reason.breakable = true;
  std::vector<Source<CheckedOutput>> sources{
      {common_column("shape_key", "problem"), [](const CheckedOutput& line) { return Cell(line.problem); }},
      {config, [](const CheckedOutput& line) { return Cell(line.config); }},
      {column("status", "status"), [](const CheckedOutput& line) { return Cell(std::string(name(line.status))); }}};
  add(sources, column("output", "output"), [](const OutputErrors& errors) { return errors.output; });
  add(sources, data_column("dtype"), [](const OutputErrors& errors) { return std::string(name(errors.type)); });
  add(sources, column("elements", "elements", Unit::count), [](const OutputErrors& errors) { return errors.elements; });
  add(sources, column("wrong_elements", "off", Unit::count), [](const OutputErrors& errors) { return errors.wrong; });
  add(sources, column("max_absolute_error", "max abs"),
      [](const OutputErrors& errors) { return errors.accuracy.max_absolute; });
  add(sources, column("max_relative_error", "max rel"),
      [](const OutputErrors& errors) { return errors.accuracy.max_relative; });
  add(sources, column("norm_relative_error", "norm"),
      [](const OutputErrors& errors) { return errors.accuracy.norm_relative; });
  add(sources, column("norm_limit", "limit"), [](const OutputErrors& errors) { return errors.norm_limit; });
  add(sources, column("absolute_tolerance", "atol"),
      [](const OutputErrors& errors) { return errors.tolerance.absolute; });
  add(sources, column("relative_tolerance", "rtol"),
      [](const OutputErrors& errors) { return errors.tolerance.relative; });
  const bool all_right =
      std::all_of(lines.begin(), lines.end(), [](const CheckedOutput& line) { return line.status == TrialStatus::ok; });
  if (all_right) reason.shown = Shown::programs;
  sources.push_back(
      {reason, [](const CheckedOutput& line) { return line.reason.empty() ? Cell() : Cell(line.reason); }});
  Table table;
  fill(table, sources, lines);
  return table;
}

/// The configs to check for one problem.
std::vector<Candidate> configs_of(const VerifyRequest& request, const ChosenProblem& chosen,
                                  const DeviceFacts& device) {
  const OpDefinition& definition = *chosen.definition;
  std::vector<Candidate> candidates;
  for (const std::string& typed : request.configs) {
    if (typed == "all") {
      const std::size_t most = request.max_configs.value_or(usual_max_configs(device.is_cpu()));
      for (Candidate& candidate :
           select_candidates(expand(definition, chosen.problem, device).legal, most, definition.base)) {
        candidates.push_back(std::move(candidate));
      }
    } else {
      candidates.push_back(resolve_config(definition, typed == "base" ? definition.base : Config::parse(typed)));
    }
  }
  if (candidates.empty() && request.configs.empty()) {
    candidates.push_back(
        resolve_config(definition, chosen.winner ? chosen.winner->winner.trial.config : definition.base));
  }
  return candidates;
}

}  // namespace

std::optional<VerifyResult> verify(const VerifyRequest& request, Listener& listener) {
  Catalogue catalogue = open_catalogue(request.place);
  const std::optional<Store> cache = open_if_there(request.place);
  const auto session = DeviceSession::open(request.work, listener, catalogue);
  if (!session) return std::nullopt;
  if (cache) session->look_in(*cache);
  const DeviceFacts& device = session->device().facts();
  std::vector<std::string> notes;
  const std::vector<ChosenProblem> problems = choose_problems(request.problems, request.place, catalogue,
                                                              cache ? &*cache : nullptr, device, request.mode, notes);
  for (const ChosenProblem& chosen : problems) check_sizes(*chosen.definition, {chosen.problem});

  std::vector<CheckedOutput> lines;
  std::size_t configs = 0;
  std::optional<UsageError> refused;
  for (const ChosenProblem& chosen : problems) {
    std::vector<Candidate> candidates = configs_of(request, chosen, device);
    std::erase_if(candidates, [&](const Candidate& candidate) {
      try {
        session->request(*chosen.definition, chosen.problem, candidate);
        return false;
      } catch (const UsageError& error) {
        lines.push_back({chosen.problem.key(), candidate.config.text(), {}, TrialStatus::exceeds_limits, error.what()});
        refused = error;
        return true;
      }
    });
    for (const Candidate& candidate : candidates) {
      std::vector<CheckedOutput> more = check_config(*session, *chosen.definition, chosen.problem, candidate, listener);
      if (more.empty()) break;
      ++configs;
      lines.insert(lines.end(), more.begin(), more.end());
    }
    if (listener.cancelled()) break;
  }
  // What can serve none of the problems is a mistake of the command line.
  if (configs == 0 && refused && !listener.cancelled()) throw UsageError(*refused);
  VerifyResult result{table_of(lines), 0, listener.cancelled()};
  Table& table = result.table;
  table.title =
      fmt::format("{} against the reference, on {}", problems.front().definition->interface.op, device.fingerprint());
  result.wrong = static_cast<std::size_t>(
      std::ranges::count_if(lines, [](const CheckedOutput& line) { return line.status != TrialStatus::ok; }));
  table.notes.push_back(result.wrong == 0
                            ? fmt::format("{}: right on two sets of inputs.", counted(configs, "config"))
                            : fmt::format("{1} of {0} are wrong.", counted(lines.size(), "line"), result.wrong));
  table.notes.insert(table.notes.end(), notes.begin(), notes.end());
  if (result.cancelled) table.notes.emplace_back("Interrupted: the missing configs were not checked.");
  return result;
}

}  // namespace tilewright::app

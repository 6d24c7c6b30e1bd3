// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/trial_records.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace tilewright {
namespace {

template <class Value>
bool allows(const std::vector<Value>& wanted, const Value& value) {
  return wanted.empty() || std::find(wanted.begin(), wanted.end(), value) != wanted.end();
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

/// A problem that is too large to be counted has no roofline.
Roofline roofline_or_none(Ceilings& ceilings, const OpDefinition* definition, const TrialRecord& record) {
  try {
    return roofline_of(ceilings, definition, record.interface_hash, record.problem, record.device->fingerprint(),
                       record.trial.mode);
  } catch (const DefinitionError&) {
    return {};
  }
}

}  // namespace

TrialRecords::TrialRecords(const Store& store, TrialSelection selection, FindDefinition find_definition)
    : store_(store),
      selection_(std::move(selection)),
      find_definition_(std::move(find_definition)),
      history_(store.history(selection_.ops.size() == 1 ? selection_.ops.front() : "")) {
  for (const History::TrialOf& trial : history_.trials) {
    if (takes(trial)) chosen_.push_back(&trial);
  }
}

const History::Spec& TrialRecords::spec_of(const History::TrialOf& trial) const {
  return history_.specs.at(history_.problems.at(trial.problem).spec);
}

bool TrialRecords::takes(const History::TrialOf& trial) const {
  const OpSpec& spec = spec_of(trial).spec;
  return allows(selection_.ops, spec.op) && allows(selection_.dtypes, spec.dtype) &&
         allows(selection_.devices, history_.devices.at(trial.device).fingerprint()) &&
         (!selection_.mode || *selection_.mode == trial.mode) &&
         (!selection_.wanted || selection_.wanted({spec, history_.problems.at(trial.problem).dims}));
}

void TrialRecords::visit(const std::function<void(const TrialRecord&)>& visit) const {
  std::map<std::tuple<std::int64_t, std::int64_t, MeasureMode>, Roofline> rooflines;
  Ceilings ceilings(store_);
  for (const History::TrialOf* line : chosen_) {
    std::optional<Trial> trial = store_.trial(line->id);
    if (!trial) continue;
    const History::Spec& spec = spec_of(*line);
    TrialRecord record;
    record.problem = {spec.spec, history_.problems.at(line->problem).dims};
    record.interface_hash = spec.interface_hash;
    record.implementation_hash = history_.configs.at(line->config).implementation_hash;
    record.device = &history_.devices.at(line->device);
    record.trial = std::move(*trial);
    const auto build = history_.builds.find(line->build);
    record.build = build != history_.builds.end() ? &build->second : nullptr;
    record.newest = line->newest;
    const auto [roofline, is_new] = rooflines.try_emplace({line->problem, line->device, line->mode});
    if (is_new) roofline->second = roofline_or_none(ceilings, find_definition_(spec.spec.op), record);
    record.roofline = roofline->second;
    visit(record);
  }
}

std::vector<TrialRecords::Counted> TrialRecords::count() const {
  std::map<std::pair<std::string, std::string>, std::set<std::int64_t>> problems;
  for (const History::TrialOf* trial : chosen_) {
    problems[{spec_of(*trial).spec.op, history_.devices.at(trial->device).fingerprint()}].insert(trial->problem);
  }
  std::vector<Counted> lines;
  for (const auto& [key, ids] : problems) lines.push_back({key.first, key.second, ids.size()});
  return lines;
}

std::vector<std::string> TrialRecords::attributes() const {
  std::vector<std::string> names;
  for (const History::TrialOf* trial : chosen_) {
    for (const auto& pair : spec_of(*trial).spec.attributes) add_once(names, pair.first);
  }
  return names;
}

std::vector<std::string> TrialRecords::dims() const {
  std::vector<std::string> names;
  for (const History::TrialOf* trial : chosen_) {
    for (const auto& pair : history_.problems.at(trial->problem).dims) add_once(names, pair.first);
  }
  return names;
}

std::vector<std::string> TrialRecords::parameters() const {
  std::vector<std::string> names;
  std::set<std::int64_t> seen;
  for (const History::TrialOf* trial : chosen_) {
    if (!seen.insert(trial->config).second) continue;
    for (const auto& pair : Config::parse(history_.configs.at(trial->config).text).values) add_once(names, pair.first);
  }
  return names;
}

}  // namespace tilewright

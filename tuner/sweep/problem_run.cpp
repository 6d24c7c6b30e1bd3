// SPDX-License-Identifier: Apache-2.0
#include "tuner/sweep/problem_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "tuner/compile/request.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/process/moment.hpp"
#include "tuner/prune/verdict.hpp"
#include "tuner/search/leaders.hpp"
#include "tuner/sweep/failure.hpp"
#include "tuner/sweep/selection.hpp"

namespace tilewright {
namespace {

std::vector<std::string> implementation_hashes(const OpDefinition& definition) {
  std::vector<std::string> hashes;
  for (const Implementation& implementation : definition.implementations) hashes.push_back(implementation.hash);
  return hashes;
}

// The builds requested between two looks; each costs generating a source.
constexpr std::size_t kRequestsAtOnce = 32;
// The number of looks searched for one with a ready binary.
constexpr std::size_t kWindow = 256;
// A config that was this much slower than the fastest on one GPU is not the fastest on another of the model: their
// times differ by a few per cent.
constexpr double kClearlySlower = 1.1;
// Configs besides the base that are tried after the deadline until one has a time; if all fail, the problem ends.
constexpr int kOthersBeyondTheBudget = 4;

/// Whether winners and trials (by row) are equal.
bool same(const Neighbours& a, const Neighbours& b) {
  return std::ranges::equal(a, b, [](const Neighbour& one, const Neighbour& other) {
    return one.problem == other.problem && one.winner == other.winner &&
           std::ranges::equal(one.trials, other.trials, {}, &Trial::id, &Trial::id);
  });
}

}  // namespace

ProblemRun::ProblemRun(const SweepSetting& setting, const OpDefinition& definition, Problem problem)
    : setting_(setting),
      definition_(definition),
      problem_(std::move(problem)),
      key_{problem_, definition.interface.hash(), setting.facts.fingerprint()} {
  Expansion expansion = expand(definition_, problem_, setting_.facts);
  for (const auto& [rule, count] : expansion.forbidden) forbidden_.emplace(rule, static_cast<std::int64_t>(count));
  std::vector<Candidate>& legal = expansion.legal;
  const std::set<std::string>* const named = named_configs(setting_, problem_);
  if (named != nullptr) {
    std::erase_if(legal, [&](const Candidate& each) { return named->count(each.config.text()) == 0; });
  }
  std::map<std::string, Trial> known;
  version_ = setting_.store->data_version();
  if (!setting_.again) known = known_trials();
  // Whatever limits a sweep, it must not undo a longer one.
  std::set<std::string> kept;
  for (const auto& [text, trial] : known) kept.insert(text);
  if (named == nullptr) {
    for (const Winner& winner : setting_.store->winners(key_, setting_.trial.mode)) {
      kept.insert(winner.trial.config.text());
    }
    follow(legal, kept);
  }
  std::set<std::string> considered = kept;
  for (const Candidate& candidate : select_candidates(legal, setting_.max_configs, definition_.base)) {
    considered.insert(candidate.config.text());
  }
  for (Candidate& candidate : legal) {
    const std::string text = candidate.config.text();
    if (considered.count(text) == 0) {
      ++unconsidered_;
      continue;
    }
    const auto trial = known.find(text);
    index_.emplace(text, candidates_.size());
    candidates_.push_back(std::move(candidate));
    known_.push_back(trial == known.end() ? std::nullopt : std::optional(trial->second));
  }
  builds_.resize(candidates_.size());
  requested_.resize(candidates_.size());
  prune();
  make_search(neighbours());
  count_known();
}

void ProblemRun::follow(std::vector<Candidate>& legal, const std::set<std::string>& kept) const {
  const ProblemKey key{definition_.followed(problem_), key_.interface_hash, key_.device_fingerprint};
  if (key.problem == problem_) return;
  std::vector<std::optional<Trial>> trials;
  for (Trial& trial : setting_.store->trials(key, implementation_hashes(definition_), setting_.trial.mode)) {
    trials.emplace_back(std::move(trial));
  }
  std::set<std::string> leading;
  const Leaders found = leaders(trials);
  for (const std::vector<std::size_t>& group : {found.best, found.dynamic}) {
    for (std::size_t place = 0; place < std::min(group.size(), kMostFinalists); ++place) {
      leading.insert(trials[group[place]]->config.text());
    }
  }
  const auto led = [&](const Candidate& each) { return leading.count(each.config.text()) != 0; };
  if (std::ranges::none_of(legal, led)) return;
  std::erase_if(legal, [&](const Candidate& each) {
    return !led(each) && each.config != definition_.base && kept.count(each.config.text()) == 0;
  });
}

std::size_t ProblemRun::forbidden() const noexcept {
  std::size_t sum = 0;
  for (const auto& [rule, count] : forbidden_) sum += static_cast<std::size_t>(count);
  return sum;
}

void ProblemRun::count_known() {
  std::set<std::size_t> asked;
  for (const Look& look : search_->ask(candidates_.size())) asked.insert(look.candidate);
  known_before_ = 0;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i] && known_[i]->status != TrialStatus::pruned && asked.count(i) == 0) ++known_before_;
  }
}

Neighbours ProblemRun::shapes_nearby() const {
  Neighbours known;
  for (Problem& tried :
       setting_.store->problems_tried(key_.interface_hash, key_.device_fingerprint, setting_.trial.mode)) {
    if (tried != problem_) known.push_back({std::move(tried), {}, std::nullopt});
  }
  known = nearest(std::move(known), problem_, kKnownNeighbours);
  for (Neighbour& neighbour : known) {
    const ProblemKey key{neighbour.problem, key_.interface_hash, key_.device_fingerprint};
    const std::vector<Winner> winners = setting_.store->winners(key, setting_.trial.mode);
    if (!winners.empty() && winners.front().role == WinnerRole::best) neighbour.winner = winners.front().trial.config;
  }
  return known;
}

Neighbours ProblemRun::neighbours() const {
  Neighbours known = shapes_nearby();
  for (Neighbour& neighbour : known) {
    const ProblemKey key{neighbour.problem, key_.interface_hash, key_.device_fingerprint};
    neighbour.trials = setting_.store->trials(key, implementation_hashes(definition_), setting_.trial.mode);
    std::erase_if(neighbour.trials, [](const Trial& trial) { return !timed(trial); });
  }
  known.insert(known.begin(), measured_anew());
  std::erase_if(known, [](const Neighbour& neighbour) { return neighbour.trials.empty(); });
  return known;
}

Neighbour ProblemRun::measured_anew() const {
  Neighbour self{problem_, {}, std::nullopt};
  for (Trial& trial : setting_.store->trials(key_, implementation_hashes(definition_), setting_.trial.mode)) {
    const auto at = index_.find(trial.config.text());
    if (timed(trial) && at != index_.end() && !known_[at->second]) self.trials.push_back(std::move(trial));
  }
  if (self.trials.empty()) return self;
  const std::vector<Winner> winners = setting_.store->winners(key_, setting_.trial.mode);
  if (!winners.empty() && winners.front().role == WinnerRole::best) self.winner = winners.front().trial.config;
  return self;
}

void ProblemRun::make_search(Neighbours known) {
  SearchSpace space;
  for (const Candidate& candidate : candidates_) space.candidates.push_back(candidate.config);
  space.base = definition_.base;
  space.problem = problem_;
  space.rule = setting_.stop;
  space.seed = setting_.seed;
  space.known = std::move(known);
  std::vector<ImplementationRecipe> recipes;
  for (const Implementation& each : definition_.implementations) recipes.push_back(each.recipe);
  space.idle = idle_of(definition_.interface, std::move(recipes), setting_.facts);
  search_ = std::make_unique<Search>(std::move(space), setting_.strategy, setting_.max_trials);
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (known_[i]) search_->recall(i, *known_[i]);
  }
}

void ProblemRun::begin(TrialDevice& trial_device, std::chrono::steady_clock::time_point deadline) {
  trial_device_ = &trial_device;
  deadline_ = deadline;
  const bool changed = (has_work() || !search_->finalists().empty()) && forget_foreign();
  store_pruned();
  // Keep the search if nothing is new, because learning takes longer the more is known.
  Neighbours now = neighbours();
  if (!changed && same(now, search_->space().known)) return;
  make_search(std::move(now));
  count_known();
}

bool ProblemRun::forget_foreign() {
  double fastest = std::numeric_limits<double>::infinity();
  for (const auto& known : known_) {
    if (known && is_foreign(*known)) fastest = std::min(fastest, known->timing->median_ns);
  }
  bool forgot = false;
  for (auto& known : known_) {
    if (!known || !is_foreign(*known)) continue;
    if (known->timing->median_ns > kClearlySlower * fastest && known->config != definition_.base) continue;
    known.reset();
    forgot = true;
  }
  return forgot;
}

bool ProblemRun::is_foreign(const Trial& trial) const {
  return timed(trial) && trial.gpu_uuid != trial_device_->gpu_uuid();
}

std::string ProblemRun::home() const {
  for (const auto& known : known_) {
    if (known && timed(*known)) return known->gpu_uuid;
  }
  return "";
}

std::map<std::string, Trial> ProblemRun::known_trials() const {
  std::map<std::string, Trial> known;
  for (Trial& trial : setting_.store->trials(key_, implementation_hashes(definition_), setting_.trial.mode)) {
    if (!same_tools(trial.versions, setting_.trial.versions) || setting_.retry.count(trial.status) != 0 ||
        may_pass(trial)) {
      continue;
    }
    // Still pruned only if pruning applies now and a pruner gave the verdict.
    const bool stays_pruned = prunes(setting_, problem_) && !pruned_by(trial.reason).empty();
    if (trial.status == TrialStatus::pruned && !stays_pruned) continue;
    const std::string text = trial.config.text();
    // Finals are compared round by round.
    if (trial.look == LookLength::final) trial = setting_.store->trial(trial.id).value();
    known.emplace(text, std::move(trial));
  }
  return known;
}

void ProblemRun::request_reference() {
  if (!reference_key_.empty()) return;
  reference_key_ = setting_.builder->request(generate_reference(definition_, problem_), setting_.facts.arch(),
                                             reference_hash(definition_), setting_.trial.sweep);
}

GeneratedSource ProblemRun::source_of(std::size_t index) const {
  const Candidate& candidate = candidates_[index];
  const auto plan =
      make_plan(definition_.interface, candidate.implementation->recipe, candidate.config, problem_, setting_.facts);
  return generate_source(definition_, *candidate.implementation, candidate.config, problem_,
                         std::get<LaunchPlan>(plan));
}

const std::string& ProblemRun::key_of(std::size_t index) {
  std::string& key = builds_[index];
  if (key.empty()) {
    key = setting_.builder->key_of(source_of(index), setting_.facts.arch(), candidates_[index].implementation->hash);
  }
  return key;
}

const std::string& ProblemRun::build_of(std::size_t index) {
  std::string& key = builds_[index];
  if (requested_[index]) return key;
  // The reference comes first, because verification needs it.
  request_reference();
  key = setting_.builder->request(source_of(index), setting_.facts.arch(), candidates_[index].implementation->hash,
                                  setting_.trial.sweep);
  requested_[index] = true;
  return key;
}

bool ProblemRun::compile_ahead(std::size_t most) {
  std::size_t requests = 0;
  for (const Look& look : search_->ask(candidates_.size())) {
    if (requested_[look.candidate]) continue;
    if (requests++ == kRequestsAtOnce || setting_.builder->unfinished() >= most) return false;
    build_of(look.candidate);
  }
  return true;
}

std::optional<Look> ProblemRun::next() {
  const std::vector<Look> looks = search_->ask(kWindow);
  if (looks.empty()) return std::nullopt;
  if (std::chrono::steady_clock::now() > deadline_) {
    // The base comes first and may be by far the slowest. As a winner it would hide better neighbours, so some other
    // configs are always tried.
    int others = 0;
    bool other_found = false;
    for (const auto& trial : search_->trials()) {
      if (!trial || trial->status == TrialStatus::pruned) continue;
      const bool other = trial->config != definition_.base;
      others += other ? 1 : 0;
      other_found = other_found || (other && timed(*trial));
    }
    const bool base_is_next = candidates_[looks.front().candidate].config == definition_.base;
    if (other_found || (!base_is_next && others >= kOthersBeyondTheBudget)) return std::nullopt;
  }
  // Also finds builds of other problems and sweeps, some at a time.
  std::size_t keys = 0;
  const auto ready = std::find_if(looks.begin(), looks.end(), [&](const Look& look) {
    if (builds_[look.candidate].empty() && keys++ >= kRequestsAtOnce) return false;
    return setting_.builder->ready(key_of(look.candidate));
  });
  return ready != looks.end() ? *ready : looks.front();
}

bool ProblemRun::ready(const Look& look) {
  if (!setting_.builder->ready(key_of(look.candidate))) return false;
  if (runner_) return true;
  request_reference();
  return setting_.builder->ready(reference_key_);
}

void ProblemRun::wait_for(const Look& look) {
  const std::string& key = build_of(look.candidate);
  setting_.builder->wait_a_moment(runner_ || setting_.builder->ready(reference_key_) ? key : reference_key_);
}

bool ProblemRun::set_up() {
  if (runner_) return true;
  request_reference();
  const auto build = setting_.builder->wait(reference_key_);
  if (!build) return false;
  if (!build->ok) {
    throw Error(fmt::format(
        "cannot compile {}, which has the reference of {}, so no config can be verified: {}\nMend it and run the "
        "sweep again\n{}",
        definition_.reference.source.string(), definition_.interface.op, first_error(build->log), build->log));
  }
  const CompileResult reference = to_compile_result(*build, setting_.store->binary(build->binary_hash));
  const std::int64_t began = moment_us();
  runner_ = trial_device_->set_up(definition_, problem_, reference, setting_.trial);
  set_up_us_ = moment_us() - began;
  return runner_ != nullptr;
}

Phases ProblemRun::after_set_up(Phases phases) {
  phases.set_up_us = std::exchange(set_up_us_, 0);
  phases.began_us -= phases.set_up_us;
  return phases;
}

void ProblemRun::require_alive(const Trial& failed) const {
  if (trial_device_->answers()) return;
  throw DeviceLost(
      fmt::format("{} on {} crashed and took the context of {} with it: {}\nThe trial is stored and will "
                  "not be tried again: run the same command once more, and it goes on after it",
                  failed.config.text(), problem_.key(), trial_device_->name(), failed.reason));
}

void ProblemRun::store_trial(Trial& trial, const std::string& implementation_hash) {
  trial.id = setting_.store->put_trial(key_, implementation_hash, trial);
  told_ = true;
}

std::optional<Trial> ProblemRun::from_elsewhere(const Look& look, std::chrono::milliseconds between_looks) {
  if (setting_.again) return std::nullopt;
  if (const auto now = std::chrono::steady_clock::now(); now - looked_ > between_looks) {
    looked_ = now;
    const std::int64_t version = setting_.store->data_version();
    if (std::exchange(version_, version) != version) elsewhere_ = known_trials();
  }
  const auto found = elsewhere_.find(candidates_[look.candidate].config.text());
  if (found == elsewhere_.end() || found->second.sweep == setting_.trial.sweep) return std::nullopt;
  if (is_foreign(found->second) || (timed(found->second) && found->second.look < look.length)) return std::nullopt;
  return found->second;
}

std::optional<Trial> ProblemRun::measure(const Look& look) {
  // Not at each trial: concurrent sweeps change the file constantly.
  constexpr std::chrono::milliseconds kBetweenLooks{100};
  if (auto trial = from_elsewhere(look, kBetweenLooks)) {
    search_->tell(look.candidate, *trial);
    return trial;
  }
  const Candidate& candidate = candidates_[look.candidate];
  const auto build = setting_.builder->wait(build_of(look.candidate));
  if (!build) return std::nullopt;
  if (auto trial = prune_compiled(look.candidate, *build)) return trial;
  if (!set_up() || setting_.trial.interrupted()) return std::nullopt;
  const auto binary = build->ok ? setting_.store->binary(build->binary_hash) : std::vector<std::byte>();
  Trial trial = runner_->run(*candidate.implementation, candidate.config, *build, binary, look.rule);
  // Cut short, or ended by the same key press that interrupted this program.
  if (setting_.trial.interrupted()) return std::nullopt;
  trial.look = look.length;
  if (trial.phases) trial.phases = after_set_up(*trial.phases);
  // If another sweep tried the same config meanwhile, its trial counts and this one is not stored.
  Store::Batch batch(*setting_.store);
  std::optional<Trial> counts = from_elsewhere(look, {});
  if (!counts) {
    store_trial(trial, candidate.implementation->hash);
    counts = trial;
  }
  batch.commit();
  search_->tell(look.candidate, *counts);
  if (trial.status != TrialStatus::ok) require_alive(trial);
  return counts;
}

bool ProblemRun::is_best_so_far(const Trial& trial) const {
  if (!timed(trial)) return false;
  return std::none_of(search_->trials().begin(), search_->trials().end(), [&](const std::optional<Trial>& other) {
    return other && timed(*other) && other->timing->median_ns < trial.timing->median_ns;
  });
}

}  // namespace tilewright

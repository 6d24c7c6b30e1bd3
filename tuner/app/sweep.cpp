// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/sweep.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/app/drawn_problems.hpp"
#include "tuner/app/stored_winners.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/report/winner_lines.hpp"

namespace tilewright::app {
namespace {

/// dtype and attributes with their values, in the order typed.
using Choices = std::vector<std::pair<std::string, std::vector<std::string>>>;

void add_choices(Choices& choices, const std::string& name, const std::string& values) {
  auto found = std::find_if(choices.begin(), choices.end(), [&](const auto& choice) { return choice.first == name; });
  if (found == choices.end()) found = choices.insert(choices.end(), {name, {}});
  for (std::string& value : split_list(values)) found->second.push_back(std::move(value));
}

/// All combinations of the choices.
std::vector<OpSpec> specs_of(const OpInterface& interface, const Choices& choices) {
  std::vector<std::string> texts{""};
  for (const auto& [name, values] : choices) {
    std::vector<std::string> longer;
    for (const std::string& text : texts) {
      for (const std::string& value : values) {
        longer.push_back(fmt::format("{}{}{}={}", text, text.empty() ? "" : ",", name, value));
      }
    }
    texts = std::move(longer);
  }
  std::vector<OpSpec> specs;
  for (const std::string& text : texts) {
    specs.push_back(parse_spec(text.empty() ? interface.op : fmt::format("{}[{}]", interface.op, text), interface));
  }
  return specs;
}

/// The first few refusals: one constraint forbids many shapes.
std::string refusals_text(const std::vector<std::string>& refusals) {
  constexpr std::size_t kTold = 5;
  const std::size_t told = std::min(kTold, refusals.size());
  std::string text =
      fmt::format("{}", fmt::join(refusals.begin(), refusals.begin() + static_cast<std::ptrdiff_t>(told), "\n"));
  if (refusals.size() > told) text += "\nand " + counted(refusals.size() - told, "more problem");
  return text;
}

/// The winners of the swept problems, in their order.
Table table_of(const Store& store, const SweepRequest& request, const std::vector<std::string>& fingerprints) {
  const std::string hash = request.definition->interface.hash();
  std::vector<WinnerLine> lines;
  Ceilings ceilings(store);
  std::vector<std::string> shown;
  for (const Problem& problem : request.problems) {
    if (std::find(shown.begin(), shown.end(), problem.key()) != shown.end()) continue;
    shown.push_back(problem.key());
    for (const std::string& fingerprint : fingerprints) {
      auto row = store.winner_of({problem, hash, fingerprint}, request.mode, WinnerRole::best);
      if (!row) continue;
      const Match match{Fit::exact, Freshness::fresh, DeviceFit::same_device};
      lines.push_back(winner_line(ceilings, request.definition, std::move(*row), match));
    }
  }
  return winners_table(fmt::format("Winners of {}", request.definition->interface.op), lines);
}

/// Tells what the sweep left out, and what was lost.
void add_notes(const SweepRequest& request, const SweepSummary& summary, Table& table) {
  if (summary.unconsidered > 0) {
    table.notes.push_back(fmt::format(
        "At most {} of each problem's configs {} considered, and {} left out; --max-configs 0 considers all.",
        request.max_configs, request.max_configs == 1 ? "was" : "were", summary.unconsidered));
  }
  if (summary.interrupted)
    table.notes.push_back("Interrupted: all measured trials are stored; run it again to continue.");
  if (summary.without_winner > 0) {
    table.notes.push_back(counted(summary.without_winner, "problem") + " without a winner.");
  }
  if (summary.cut_short > 0 && !summary.interrupted) {
    table.notes.push_back(fmt::format(
        "A limit of time or trials left configs of {} untried, which may be faster: run it again to continue.",
        counted(summary.cut_short, "problem")));
  }
  for (const std::string& lost : summary.lost) table.notes.push_back(lost + ".");
  if (summary.left > 0) {
    table.notes.push_back(counted(summary.left, "problem") + " left: run it again to tune them.");
  }
}

void add_up(SweepSummary& sum, const SweepSummary& more) {
  for (const auto count :
       {&SweepSummary::problems, &SweepSummary::measured, &SweepSummary::failed, &SweepSummary::forbidden,
        &SweepSummary::pruned, &SweepSummary::unconsidered, &SweepSummary::reused, &SweepSummary::compiled,
        &SweepSummary::ceilings, &SweepSummary::cut_short, &SweepSummary::without_winner, &SweepSummary::left}) {
    sum.*count += more.*count;
  }
  sum.refusals.insert(sum.refusals.end(), more.refusals.begin(), more.refusals.end());
  sum.base_failures.insert(sum.base_failures.end(), more.base_failures.begin(), more.base_failures.end());
  for (const auto& [status, count] : more.failures) sum.failures[status] += count;
  sum.lost.insert(sum.lost.end(), more.lost.begin(), more.lost.end());
  sum.interrupted = sum.interrupted || more.interrupted;
  sum.compile_seconds += more.compile_seconds;
  sum.measure_seconds += more.measure_seconds;
  sum.wall_seconds += more.wall_seconds;
  sum.waited_seconds += more.waited_seconds;
}

/// Adds the named dtype and attributes to `choices`, and the named dims to `dims`, as the text of shapes.
void read_words(const ProblemGrid& grid, const OpInterface& interface, Choices& choices, std::string& dims) {
  for (const auto& [name, values] : grid.words.named) {
    if (kind_of_name(name, interface) == NameKind::dim) {
      dims += fmt::format("{}{}={}", dims.empty() ? "" : " ", name, values);
    } else {
      add_choices(choices, name, values);
    }
  }
  for (const auto& [name, values] : grid.attributes) {
    if (kind_of_name(name, interface) != NameKind::attribute) {
      throw UsageError(
          fmt::format("{} is no attribute of {}: write {} after the op", name, interface.op, name + "=" + values));
    }
    add_choices(choices, name, values);
  }
}

/// Random problems between the tuned ones; none before the device is known.
std::vector<Problem> seeded_problems(const ProblemGrid& grid, const OpDefinition& definition, std::uint64_t seed,
                                     const TunedOn* tuned) {
  const OpInterface& interface = definition.interface;
  Choices choices;
  std::string dims;
  read_words(grid, interface, choices, dims);
  if (!dims.empty() || !grid.shapes.empty() || !grid.shapes_file.empty()) {
    throw UsageError("--seeded draws the shapes: leave out dims, --shapes and --shapes-file");
  }
  const Bounds bounds = read_bounds(grid.within, interface);
  const std::vector<OpSpec> specs = specs_of(interface, choices);
  std::vector<Problem> problems;
  if (tuned == nullptr) return problems;
  for (const OpSpec& spec : specs) {
    const ProblemKey key{problem_of(interface, spec, ShapeDims(interface.dims.size(), 1)), interface.hash(),
                         tuned->fingerprint};
    const std::vector<ShapeDims> shapes = tuned->store.tuned_shapes(key, tuned->mode);
    const std::vector<Problem> drawn = draw_problems(definition, spec, shapes, shapes, grid.seeded, seed, bounds);
    if (drawn.empty()) {
      throw Error(fmt::format(
          "no shape of {}{} can be drawn between the {} that are tuned on {}; tune a small and a large one first: "
          "tilewright sweep '{}' --shapes ...",
          spec.text(), grid.within.empty() ? "" : " with " + grid.within, shapes.size(), tuned->fingerprint,
          spec.text()));
    }
    problems.insert(problems.end(), drawn.begin(), drawn.end());
  }
  return problems;
}

/// All problems of the ops of the cache that are defined here.
std::vector<ProblemGrid> grids_of_all(const Catalogue& catalogue, const TunedOn& tuned) {
  std::vector<ProblemGrid> grids;
  for (std::string& op : defined_ops(tuned.store, catalogue, tuned.listener)) {
    grids.emplace_back().words.op = std::move(op);
  }
  return grids;
}

Error no_winner(const std::string& cache, const TunedOn& tuned, const std::string& op) {
  return Error(fmt::format("the cache {} has no such winner on {}; make some: tilewright sweep {}", cache,
                           tuned.fingerprint, op));
}

/// The problems with a winner; none before the device is known.
std::vector<Problem> tuned_problems(const ProblemWords& words, const OpInterface& interface, const TunedOn* tuned) {
  const WantedProblems wanted = wanted_problems(words, interface);
  std::vector<Problem> problems;
  if (tuned == nullptr) return problems;
  for (WinnerRow& row : tuned->store.list_winners(
           {.op = interface.op, .fingerprint = tuned->fingerprint, .mode = tuned->mode, .role = WinnerRole::best})) {
    if (row.interface_hash == interface.hash() && wanted(row.problem)) problems.push_back(std::move(row.problem));
  }
  return problems;
}

}  // namespace

std::vector<Problem> problems_of(const ProblemGrid& grid, const OpDefinition& definition, bool emulator) {
  const OpInterface& interface = definition.interface;
  Choices choices;
  std::string dims;
  read_words(grid, interface, choices, dims);
  std::vector<std::string> texts = grid.shapes;
  if (!dims.empty()) texts.push_back(dims);
  std::vector<Problem> problems;
  for (const OpSpec& spec : specs_of(interface, choices)) {
    const auto add = [&](const std::vector<Problem>& more) {
      problems.insert(problems.end(), more.begin(), more.end());
    };
    for (const std::string& text : texts) add(parse_shapes(text, spec, interface));
    if (!grid.shapes_file.empty()) add(read_shapes_csv(grid.shapes_file, spec, interface));
    if (texts.empty() && grid.shapes_file.empty()) add(default_shapes(definition, spec, emulator));
  }
  return problems;
}

std::vector<OpProblems> problems_by_op(const SweepProblems& request, Catalogue& catalogue, bool emulator,
                                       const TunedOn* tuned) {
  std::vector<OpProblems> ops;
  const std::string cache = cache_path(request.place).string();
  const bool all = request.tuned && request.grids.empty() && tuned != nullptr;
  for (const ProblemGrid& grid : all ? grids_of_all(catalogue, *tuned) : request.grids) {
    const OpDefinition& definition = catalogue.find(grid.words.op);
    const std::vector<Problem> more = request.tuned ? tuned_problems(grid.words, definition.interface, tuned)
                                      : grid.seeded > 0
                                          ? seeded_problems(grid, definition, request.tuning.search.seed, tuned)
                                          : problems_of(grid, definition, emulator);
    check_sizes(definition, more);
    if (request.tuned && tuned != nullptr && more.empty()) {
      if (all) continue;
      throw no_winner(cache, *tuned, grid.words.op);
    }
    auto op = std::ranges::find(ops, &definition, &OpProblems::definition);
    if (op == ops.end()) op = ops.insert(ops.end(), {&definition, {}});
    op->problems.insert(op->problems.end(), more.begin(), more.end());
  }
  if (request.tuned && !std::filesystem::exists(cache)) {
    throw UsageError(fmt::format(
        "there is no cache {}: no problem is tuned; --cache or TILEWRIGHT_CACHE names one, or make it: tilewright "
        "sweep OP",
        cache));
  }
  if (all && ops.empty()) throw no_winner(cache, *tuned, "OP");
  return ops;
}

bool takes_tuned(const SweepProblems& request) {
  return request.tuned || std::ranges::any_of(request.grids, [](const ProblemGrid& grid) { return grid.seeded > 0; });
}

void require_one_model(const std::vector<std::string>& fingerprints) {
  if (fingerprints.size() < 2) return;
  throw UsageError(
      fmt::format("--tuned and --seeded take problems from the winners of one model, and these devices are of {}: {}; "
                  "name devices of one",
                  fingerprints.size(), fmt::join(fingerprints, ", ")));
}

std::optional<SweepResult> sweep(const SweepProblems& asked, Listener& listener) {
  Catalogue catalogue = open_catalogue(asked.place);
  // Read before anything is opened, so that a mistyped word costs no time; the grid depends on the device.
  static_cast<void>(problems_by_op(asked, catalogue, false));
  SweepRequest request;
  const std::optional<SweepPlace> place = open_sweep(asked.place, asked.tuning, request, listener);
  if (!place) return std::nullopt;
  if (takes_tuned(asked)) require_one_model(place->devices->fingerprints());
  Store store(cache_path(asked.place));
  const TunedOn tuned{store, place->devices->first().facts().fingerprint(), request.mode, listener};
  const std::vector<OpProblems> ops = problems_by_op(asked, catalogue, place->emulator, &tuned);
  std::size_t problems = 0;
  for (const OpProblems& op : ops) problems += op.problems.size();

  SweepResult result;
  SharedBudget budget(request.budget, problems);
  for (const OpProblems& op : ops) {
    request.definition = op.definition;
    request.problems = op.problems;
    request.budget = budget.start(op.problems.size());
    if (!asked.config.empty()) consider_one(asked.config, request);
    SweepSummary summary =
        run_sweep(request, catalogue, *place->devices, store, listener, [&] { return listener.cancelled(); });
    budget.end();
    if (&op == &ops.front()) {
      // Devices that could not be opened are lost to the whole request, and reported once.
      const std::vector<std::string> unopened = place->devices->lost();
      summary.lost.insert(summary.lost.begin(), unopened.begin(), unopened.end());
    }
    listener.sweep_done(summary, store.path());
    Table& table = result.tables.emplace_back(table_of(store, request, place->devices->fingerprints()));
    table.summary = summary_figures(summary);
    add_notes(request, summary, table);
    add_up(result.summary, summary);
    if (summary.interrupted) break;
  }
  const SweepSummary& all = result.summary;
  if (!all.refusals.empty()) result.refusals = refusals_text(all.refusals);
  if (!all.refusals.empty() && all.refusals.size() == all.problems && !all.interrupted) {
    throw Error(fmt::format("{}\nName other shapes, or {}", result.refusals,
                            asked.config.empty() ? "widen the constraints of the definition" : "another config"));
  }
  return result;
}

}  // namespace tilewright::app

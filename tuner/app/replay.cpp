// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/replay.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include "cache/store/referred.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "cache/base/error.hpp"
#include "cache/base/units.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/report/sources.hpp"
#include "tuner/search/recording_file.hpp"
#include "tuner/search/replay.hpp"
#include "tuner/search/strategy.hpp"

namespace tilewright::app {
namespace {

/// One strategy on one problem, and the time that measuring all its configs takes.
struct ReplayedLine {
  Replayed replayed;
  double all_ns = 0;
};

Table lines_table(const std::vector<ReplayedLine>& lines) {
  Table table;
  table.title = "Replayed";
  fill(table,
       std::vector<Source<ReplayedLine>>{
           {column("strategy", "strategy"), [](const ReplayedLine& line) { return Cell(line.replayed.strategy); }},
           {column("shape_key", "problem"), [](const ReplayedLine& line) { return Cell(line.replayed.problem.key()); }},
           {column("candidates", "configs"),
            [](const ReplayedLine& line) { return Cell(static_cast<std::int64_t>(line.replayed.candidates)); }},
           {column("trials", "trials"),
            [](const ReplayedLine& line) { return Cell(static_cast<std::int64_t>(line.replayed.trials)); }},
           {column("measuring_ns", "measuring", Unit::nanoseconds),
            [](const ReplayedLine& line) { return Cell(line.replayed.measuring_ns); }},
           {column("measuring_share", "of exhaustive", Unit::share),
            [](const ReplayedLine& line) { return Cell(line.replayed.measuring_ns / line.all_ns); }},
           {column("loss", "loss", Unit::share), [](const ReplayedLine& line) { return Cell(line.replayed.loss); }},
           {column("winner", "winner"), [](const ReplayedLine& line) { return Cell(line.replayed.winner.text()); }},
       },
       lines);
  return table;
}

/// Sums one strategy up over all problems.
std::string summary_of(const std::string& strategy, const std::vector<ReplayedLine>& lines) {
  std::size_t problems = 0;
  std::size_t within_one = 0;
  std::size_t within_three = 0;
  std::size_t trials = 0;
  std::size_t candidates = 0;
  double spent = 0;
  double all = 0;
  double worst = 0;
  for (const ReplayedLine& line : lines) {
    if (line.replayed.strategy != strategy) continue;
    ++problems;
    within_one += line.replayed.loss <= 0.01 ? 1U : 0U;
    within_three += line.replayed.loss <= 0.03 ? 1U : 0U;
    trials += line.replayed.trials;
    candidates += line.replayed.candidates;
    spent += line.replayed.measuring_ns;
    all += line.all_ns;
    worst = std::max(worst, line.replayed.loss);
  }
  const auto share = [](auto part, auto whole) {
    return show_share(static_cast<double>(part) / static_cast<double>(whole));
  };
  return fmt::format(
      "{}: within 1 % of exhaustive on {} of {} problems ({}), within 3 % on {} ({}), at worst {} slower; {} of the "
      "trials, {} of the measuring time.",
      strategy, within_one, problems, share(within_one, problems), within_three, share(within_three, problems),
      show_share(worst), share(trials, candidates), share(spent, all));
}

/// Whether a recording matches the request: its op, dims, dtype, attributes and device.
class Wanted {
 public:
  Wanted(const ReplayRequest& request, const Store& store) : store_(store), request_(request) {
    choices_ = request.attributes;
    if (!request.problems) return;
    op_ = request.problems->op;
    named_ = request.problems->named;
  }

  [[nodiscard]] const std::string& op() const noexcept { return op_; }

  [[nodiscard]] bool operator()(const Recording& recording) {
    const OpInterface& interface = interface_of(recording.problem.spec.op);
    if (!request_.device.empty() && recording.device.find(request_.device) == std::string::npos) return false;
    std::vector<std::pair<std::string, std::string>> choices = choices_;
    std::string dims;
    for (const auto& [name, values] : named_) {
      if (kind_of_name(name, interface) != NameKind::dim) {
        choices.emplace_back(name, values);
      } else {
        dims += fmt::format("{}{}={}", dims.empty() ? "" : " ", name, values);
      }
    }
    return std::all_of(choices.begin(), choices.end(),
                       [&](const auto& choice) { return is_chosen(recording.problem.spec, choice, interface); }) &&
           has_shape(recording.problem, dims, interface);
  }

 private:
  const OpInterface& interface_of(const std::string& op) {
    const auto [found, is_new] = interfaces_.try_emplace(op);
    if (is_new) {
      const std::string hash = store_.tried(op).front().key.interface_hash;
      found->second = referred(store_.interface_by_hash(hash), store_, "an interface");
    }
    return found->second;
  }

  static bool is_chosen(const OpSpec& spec, const std::pair<std::string, std::string>& choice,
                        const OpInterface& interface) {
    const std::vector<std::string> values = split_list(choice.second);
    return std::any_of(values.begin(), values.end(), [&](const std::string& value) {
      // Parsed with the op's interface, which reports unknown names and values.
      const OpSpec asked = parse_spec(fmt::format("{}[{}={}]", interface.op, choice.first, value), interface);
      if (choice.first == "dtype") return asked.dtype == spec.dtype;
      return std::any_of(asked.attributes.begin(), asked.attributes.end(), [&](const auto& attribute) {
        return attribute.first == choice.first &&
               std::find(spec.attributes.begin(), spec.attributes.end(), attribute) != spec.attributes.end();
      });
    });
  }

  bool has_shape(const Problem& problem, const std::string& dims, const OpInterface& interface) const {
    std::vector<std::string> texts = request_.shapes;
    if (!dims.empty()) texts.push_back(dims);
    if (texts.empty() && request_.shapes_file.empty()) return true;
    const auto among = [&](const std::vector<Problem>& shapes) {
      return std::find(shapes.begin(), shapes.end(), problem) != shapes.end();
    };
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return among(parse_shapes(text, problem.spec, interface)); }) ||
           (!request_.shapes_file.empty() && among(read_shapes_csv(request_.shapes_file, problem.spec, interface)));
  }

  const Store& store_;
  const ReplayRequest& request_;
  std::string op_;
  std::vector<std::pair<std::string, std::string>> named_;
  std::vector<std::pair<std::string, std::string>> choices_;
  std::map<std::string, OpInterface> interfaces_;
};

std::string devices_text(const std::vector<Recording>& recordings) {
  std::set<std::string> devices;
  for (const Recording& recording : recordings) devices.insert(recording.device);
  return fmt::format("{}", fmt::join(devices, "; "));
}

}  // namespace

Table replay(const ReplayRequest& request) {
  const std::vector<std::string> strategies = request.strategies.empty() ? strategy_names() : request.strategies;
  const Store store = open_recording(request.recording);
  Wanted wanted(request, store);
  const std::string& op = wanted.op();
  const std::vector<Recording> recordings = read_recordings(store, op);
  if (recordings.empty()) {
    throw Error(
        fmt::format("{} has no trials{} that were measured wholly, with their rounds: record some with "
                    "`tilewright sweep --strategy exhaustive`",
                    store.path().string(), op.empty() ? "" : " of " + op));
  }
  if (std::none_of(recordings.begin(), recordings.end(), std::ref(wanted))) {
    throw UsageError(fmt::format("{} has no recording that matches; the devices of its recordings: {}",
                                 request.recording.string(), devices_text(recordings)));
  }
  ReplaySetting setting;
  setting.wanted = std::ref(wanted);
  setting.seed = request.seed;
  setting.max_trials = request.max_trials;
  Catalogue catalogue = open_catalogue(request.place);
  const std::vector<std::string> known = catalogue.names();
  std::set<std::string> ops;
  for (const Recording& recording : recordings) ops.insert(recording.problem.spec.op);
  for (const std::string& name : ops) {
    if (std::find(known.begin(), known.end(), name) != known.end()) setting.bases[name] = catalogue.find(name).base;
  }

  const std::vector<Replayed> all =
      tilewright::replay(recordings, "exhaustive",
                         {.seed = setting.seed, .max_trials = 0, .bases = setting.bases, .wanted = setting.wanted});
  std::vector<ReplayedLine> lines;
  for (const std::string& strategy : strategies) {
    const std::vector<Replayed> results = tilewright::replay(recordings, strategy, setting);
    for (std::size_t i = 0; i < results.size(); ++i) lines.push_back({results[i], all[i].measuring_ns});
  }
  Table table = lines_table(lines);
  for (const std::string& strategy : strategies) table.notes.push_back(summary_of(strategy, lines));
  return table;
}

}  // namespace tilewright::app

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/plan/plan.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/problem_words.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/stored_devices.hpp"
#include "tuner/cli/sweep_setup.hpp"
#include "tuner/cli/verb.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/learn/learn.hpp"
#include "tuner/learn/spares.hpp"
#include "tuner/learn/spec_summaries.hpp"
#include "tuner/sweep/builder.hpp"

namespace tilewright::cli {
namespace {

constexpr std::int64_t kUsualConfigs = 32;
constexpr std::int64_t kMostConfigs = 4096;

/// What became of one op, dtype and attributes on one device.
struct Prepared {
  std::size_t there = 0, added = 0, failed = 0;
  /// Shapes that its trials taught of; 0: they are too few.
  std::size_t learned_from = 0;
  /// A newer program has learned what is there: that stays.
  bool is_newer_there = false;
};

/// Learns of one op on one device, and makes spares for its specs; all must outlive it.
class Preparing {
 public:
  Preparing(Store& store, Builder& builder, const OpDefinition& definition, const DeviceFacts& device, MeasureMode mode,
            std::size_t most)
      : store_(store), builder_(builder), definition_(definition), device_(device), mode_(mode), most_(most) {
    // As they are described now: what a block covers says nothing of its code.
    for (const Implementation& each : definition.implementations) {
      if (store_.implementation_by_hash(each.hash))
        store_.put_implementation(definition.interface.hash(), {each.hash, each.recipe});
    }
    model_ = learn(store_, definition.interface, device_, mode_);
  }

  /// Without binaries, what was learned is put alone.
  Prepared run(const OpSpec& spec, bool with_binaries) {
    const OpInterface& interface = definition_.interface;
    ProblemKey key{Problem{spec, {}}, interface.hash(), device_.fingerprint()};
    for (const std::string& dim : interface.dims) key.problem.dims.emplace_back(dim, 1);
    Prepared prepared{.there = count_spares(store_, key, mode_)};
    const auto there = store_.learned(key, mode_);
    // One that came from elsewhere may know more than is here.
    const bool is_more = model_ && (!there || model_->shapes() >= there->model->shapes());
    const bool is_put = is_more && store_.put_loss_model(key, mode_, *model_);
    prepared.is_newer_there = is_more && !is_put;
    if (is_put || there) prepared.learned_from = is_put ? model_->shapes() : there->model->shapes();
    if (!with_binaries || prepared.there >= most_) return prepared;
    const std::vector<Spare> chosen = choose_spares(store_, interface, spec, device_, mode_, space_of(definition_),
                                                    store_.failed_configs(key, mode_), most_ - prepared.there);
    std::vector<std::string> builds;
    for (const Spare& spare : chosen) builds.push_back(request(spare));
    for (std::size_t i = 0; i < chosen.size() && !interrupted(); ++i) {
      const std::optional<Build> build = builder_.wait(builds[i]);
      if (!build) break;
      ++(build->ok ? prepared.added : prepared.failed);
      if (build->ok) keep(key, chosen[i], *build);
    }
    return prepared;
  }

 private:
  /// Of the implementations as they are now: of others there is no source.
  static SpaceValues space_of(const OpDefinition& definition) {
    SpaceValues space;
    for (const Implementation& implementation : definition.implementations) {
      SeenValues& values = space[implementation.hash];
      for (const std::string& name : implementation.recipe.parameters) {
        values.push_back(std::ranges::find(implementation.space, name, &Parameter::name)->values);
      }
    }
    return space;
  }

  std::string request(const Spare& spare) {
    const Implementation& implementation = definition_.implementation(spare.config.implementation);
    const auto plan = make_plan(definition_.interface, implementation.recipe, spare.config, spare.serves, device_);
    return builder_.request(
        generate_source(definition_, implementation, spare.config, spare.serves, std::get<LaunchPlan>(plan)),
        device_.arch(), implementation.hash);
  }

  void keep(ProblemKey key, const Spare& spare, const Build& build) {
    for (std::size_t d = 0; d < spare.home.size(); ++d) key.problem.dims[d].second = spare.home[d];
    Trial trial;
    if (const auto timed = store_.timed(key, mode_, spare.implementation_hash, spare.config)) {
      trial = timed->winner.trial;
    }
    trial.config = spare.config;
    trial.mode = mode_;
    trial.build_key = build.key;
    store_.put_trial(key, spare.implementation_hash, spare_mark(trial));
  }

  Store& store_;
  Builder& builder_;
  const OpDefinition& definition_;
  const DeviceFacts& device_;
  MeasureMode mode_;
  std::size_t most_;
  std::optional<LossModel> model_;
};

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const ProblemWords words = read_problem_words(arguments);
  const MeasureMode mode = mode_of(arguments).value_or(MeasureMode::cold);
  const auto most = static_cast<std::size_t>(std::min(kMostConfigs, arguments.integer("configs", kUsualConfigs, 1)));
  Catalogue catalogue = open_catalogue(arguments);
  const OpDefinition& definition = catalogue.find(words.op);
  if (const std::string dims = dims_text(words, definition.interface); !dims.empty()) {
    throw UsageError(fmt::format("prepare is of all shapes of a dtype and attributes: leave out {}", dims));
  }
  const WantedSpecs wanted = wanted_specs(words, definition.interface);
  static_cast<void>(open_to_read(arguments));  // says how to make one
  Store store(cache_path(arguments));
  watch_interrupts();

  Table table;
  table.title = fmt::format("Binaries of {} for shapes never tuned", words.op);
  table.columns = {{"spec", "spec"},     {"learned_from", "shapes learned from"},
                   {"added", "added"},   {"there", "there before"},
                   {"failed", "failed"}, {"device", "device"}};
  for (const DeviceFacts& device : choose_devices(store, arguments.text("device"))) {
    const std::vector<OpSpec> specs = tuned_specs(store, definition.interface, device, mode);
    if (std::ranges::none_of(specs, wanted)) continue;
    const std::unique_ptr<Compiler> compiler = open_compiler(arguments, device.is_cpu());
    Builder builder(store, *compiler, catalogue.builtin_dir(),
                    static_cast<int>(std::min<std::int64_t>(arguments.integer("jobs", 0, 1), 1024)), interrupted);
    Preparing preparing(store, builder, definition, device, mode, most);
    for (const OpSpec& spec : specs) {
      if (interrupted()) break;
      const Prepared done = preparing.run(spec, wanted(spec));
      if (done.is_newer_there) {
        console.say(fmt::format("tilewright: note that what a newer Tilewright has learned of {} stays", spec.text()));
      }
      table.rows.push_back({spec.text(), static_cast<std::int64_t>(done.learned_from),
                            static_cast<std::int64_t>(done.added), static_cast<std::int64_t>(done.there),
                            static_cast<std::int64_t>(done.failed), device.fingerprint()});
    }
  }
  if (table.rows.empty()) {
    throw Error(
        fmt::format("the cache {} has no winner of {}{} as it is defined now; make some with: tilewright sweep {}",
                    store.path().string(), words.op, words.named.empty() ? "" : " with what is named", words.op));
  }
  console.print(table, format);
  return interrupted() ? ExitCode::partly : ExitCode::done;
}

}  // namespace

Verb prepare_verb() {
  Verb verb;
  verb.name = "prepare";
  verb.summary = "Learn and compile what will serve shapes that were never tuned";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "From all trials of the op, where there are 16 shapes and 256 trials at least, it is learned by how much a "
      "config is slower than the fastest at a shape. What was tuned in one dtype or with one attribute tells of the"
      " others. The model lies in the cache; `match` and the launch library ask it for shapes that were never "
      "tuned, `export` and its bundles have it.",
      fmt::format(
          "A winner may have dims as constants, or fit its shape so closely that no other shape can be served by it. So"
          " shapes are drawn between and around the tuned ones, and configs without specialised dims are compiled that "
          "serve most of them well, as far as the trials of the cache tell; then those that were within {:.0f} % of "
          "the best such config of a tuned shape. They are kept in the cache as spares, which go where the model goes.",
          100 * kNearlyBest),
      "Where dtype and attributes are named, binaries are compiled for these alone; what is learned is put into all.",
      "Nothing is measured, so no device is needed. Run it when the sweeps are done, and before an export: it "
      "learns anew each time, and adds spares only up to the number asked for. `tilewright regret OP --spares N` "
      "tells what they are good for.",
  };
  verb.options = {
      {"configs", "N", "So many for each dtype and attributes (32), those that help most first."},
      {"jobs", "N", "Compilers at once; default: one a core."},
      {"compile-timeout", "SECONDS", "Of one compile (120)."},
      kDevice,
      kMode,
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {{"tilewright prepare softmax", "Before `tilewright export softmax --bundle softmax.bundle`."},
                   {"tilewright prepare gemm layout=nn,tn --configs 400", "More binaries of two layouts."}};
  verb.exit_codes =
      "0 done, 1 there is no winner or the cache cannot be written, 2 the command line is wrong, 3 interrupted.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli

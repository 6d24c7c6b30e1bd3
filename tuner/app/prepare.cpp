// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/prepare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/plan/plan.hpp"
#include "tuner/app/lessons.hpp"
#include "tuner/app/pin.hpp"
#include "tuner/app/stored_devices.hpp"
#include "tuner/compile/source.hpp"
#include "tuner/learn/learn.hpp"
#include "tuner/learn/spares.hpp"
#include "tuner/learn/spec_summaries.hpp"
#include "tuner/sweep/builder.hpp"

namespace tilewright::app {
namespace {

/// The outcome for one op, dtype and attributes on one device.
struct Prepared {
  std::size_t there = 0, added = 0, failed = 0;
  /// The number of shapes whose trials taught; 0 if they are too few.
  std::size_t learned_from = 0;
  /// The model in the cache is a newer program's, and stays.
  bool is_newer_there = false;
};

/// Learns of one op on one device, and makes spares for its specs. The arguments must outlive it.
class Preparing {
 public:
  Preparing(Store& store, Builder& builder, const Listener& listener, const OpDefinition& definition,
            const DeviceFacts& device, MeasureMode mode, std::size_t most)
      : store_(store),
        builder_(builder),
        listener_(listener),
        definition_(definition),
        device_(device),
        mode_(mode),
        most_(most) {
    // Stores the recipes as described now: the extent that a block covers is not in an implementation's hash.
    for (const Implementation& each : definition.implementations) {
      if (store_.implementation_by_hash(each.hash))
        store_.put_implementation(definition.interface.hash(), {each.hash, each.recipe});
    }
    of_op_ = tuned_shapes_of(store_, definition.interface, device_, mode_,
                             tuned_specs(store_, definition.interface, device_, mode_));
    model_ = learn(store_, definition.interface, device_, mode_, lessons_for(definition));
  }

  /// Without binaries, only the model is stored.
  Prepared run(const OpSpec& spec, bool with_binaries) {
    const OpInterface& interface = definition_.interface;
    ProblemKey key{Problem{spec, {}}, interface.hash(), device_.fingerprint()};
    for (const std::string& dim : interface.dims) key.problem.dims.emplace_back(dim, 1);
    Prepared prepared{.there = count_spares(store_, key, mode_)};
    const auto there = store_.learned(key, mode_);
    // A model from elsewhere may know more than this cache.
    const bool is_more = model_ && (!there || model_->shapes() >= there->model->shapes());
    const bool is_put = is_more && store_.put_loss_model(key, mode_, *model_);
    prepared.is_newer_there = is_more && !is_put;
    if (is_put || there) prepared.learned_from = is_put ? model_->shapes() : there->model->shapes();
    if (!with_binaries) return prepared;
    const std::vector<Spare> chosen =
        choose_spares(store_, interface, spec, device_, mode_, space_of(definition_), store_.failed_configs(key, mode_),
                      range_of(key),
                      {.helpful = most_,
                       .filled = std::min(most_, kFewSpares) - std::min({most_, kFewSpares, prepared.there}),
                       .covering = std::min(most_, kMostCovering)});
    std::vector<std::string> builds;
    for (const Spare& spare : chosen) builds.push_back(request(spare));
    for (std::size_t i = 0; i < chosen.size() && !listener_.cancelled(); ++i) {
      const std::optional<Build> build = builder_.wait(builds[i]);
      if (!build) break;
      ++(build->ok ? prepared.added : prepared.failed);
      if (build->ok) keep(key, chosen[i], *build);
    }
    return prepared;
  }

 private:
  /// The current implementations: others have no source.
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

  /// The shapes between which spares serve: the tuned ones of the spec, or of all specs of the op where these are few.
  [[nodiscard]] std::vector<ShapeDims> range_of(const ProblemKey& key) const {
    std::vector<ShapeDims> shapes = store_.tuned_shapes(key, mode_);
    return shapes.size() < kShapesOfItsOwn ? of_op_ : shapes;
  }

  std::string request(const Spare& spare) {
    const Implementation& implementation = definition_.implementation(spare.id.config.implementation);
    const auto plan = make_plan(definition_.interface, implementation.recipe, spare.id.config, spare.serves, device_);
    return builder_.request(
        generate_source(definition_, implementation, spare.id.config, spare.serves, std::get<LaunchPlan>(plan)),
        device_.arch(), implementation.hash);
  }

  void keep(ProblemKey key, const Spare& spare, const Build& build) {
    for (std::size_t d = 0; d < spare.home.size(); ++d) key.problem.dims[d].second = spare.home[d];
    store_.put_spare(key, mode_, spare.id, build.key);
  }

  Store& store_;
  Builder& builder_;
  const Listener& listener_;
  const OpDefinition& definition_;
  const DeviceFacts& device_;
  MeasureMode mode_;
  std::size_t most_;
  std::optional<LossModel> model_;
  /// The tuned shapes of all specs.
  std::vector<ShapeDims> of_op_;
};

}  // namespace

PrepareResult prepare(const PrepareRequest& request, Listener& listener) {
  Catalogue catalogue = open_catalogue(request.place);
  const OpDefinition& definition = catalogue.find(request.specs.op);
  if (const std::string dims = dims_text(request.specs, definition.interface); !dims.empty()) {
    throw UsageError(fmt::format("prepare serves all shapes of a dtype and attributes: leave out {}", dims));
  }
  const WantedSpecs wanted = wanted_specs(request.specs, definition.interface);
  static_cast<void>(open_to_read(request.place));  // throws, with how to make one
  Store store(cache_path(request.place));

  Table table;
  table.title = fmt::format("Spare binaries of {} for untuned shapes", request.specs.op);
  table.columns = {{"spec", "spec"},     {"learned_from", "shapes learned from"},
                   {"added", "added"},   {"there", "there before"},
                   {"failed", "failed"}, {"device", "device"}};
  for (const DeviceFacts& device : choose_devices(store, request.device)) {
    const std::vector<OpSpec> specs = tuned_specs(store, definition.interface, device, request.mode);
    if (std::ranges::none_of(specs, wanted)) continue;
    const std::unique_ptr<Compiler> compiler = open_compiler(request.work, device.is_cpu(), listener);
    Builder builder(store, *compiler, catalogue.builtin_dir(), request.work.jobs,
                    [&listener] { return listener.cancelled(); });
    Preparing preparing(store, builder, listener, definition, device, request.mode, request.configs);
    for (const OpSpec& spec : specs) {
      if (listener.cancelled()) break;
      const Prepared done = preparing.run(spec, wanted(spec));
      if (done.is_newer_there) {
        listener.warn(fmt::format("tilewright: note that the model of {} from a newer Tilewright stays", spec.text()));
      }
      table.rows.push_back({spec.text(), static_cast<std::int64_t>(done.learned_from),
                            static_cast<std::int64_t>(done.added), static_cast<std::int64_t>(done.there),
                            static_cast<std::int64_t>(done.failed), device.fingerprint()});
    }
  }
  if (table.rows.empty()) {
    throw Error(
        fmt::format("the cache {} has no winner of {}{} as it is defined now; make some with: tilewright sweep {}",
                    store.path().string(), request.specs.op,
                    request.specs.named.empty() ? "" : " with these dtypes and attributes", request.specs.op));
  }
  note_decisions(store, request.specs.op, table);
  return {std::move(table), listener.cancelled()};
}

}  // namespace tilewright::app

// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cache/base/decode.hpp"
#include "cache/store/binaries.hpp"
#include "cache/store/bundle/bundle.hpp"
#include "cache/store/bundle/bundle_keys.hpp"
#include "cache/store/codecs.hpp"
#include "cache/store/referred.hpp"

namespace tilewright {
namespace {

using nlohmann::json;

class Writing {
 public:
  explicit Writing(const Store& from) : from_(from) {}

  void add(const WinnerRow& row) {
    ++counts_.winners;
    add_what_it_is_of(row);
    const bool has_binary = add_binary(row.winner.trial.build_key);
    if (!has_binary) ++counts_.without_binary;
    const ProblemKey key{row.problem, row.interface_hash, row.device.fingerprint()};
    const WinnerRole role = row.winner.role;
    const std::string text = bundle::encode_row(row);
    const std::string own_key = bundle::winner_key(key, row.mode, role);
    if (own_keys_.insert(own_key).second) out_.put(own_key, text);  // the first of a role
    // The newest trial has the greatest id.
    const std::string newest = bundle::newest_key(key, row.mode, role);
    const auto [place, is_new] = newest_.try_emplace(newest, row.winner.trial.id);
    if (is_new || row.winner.trial.id > place->second) {
      place->second = row.winner.trial.id;
      out_.put(newest, text);
    }
    Spec& spec = specs_[bundle::shapes_key(key, row.mode)];
    Shape& shape = spec.shapes[shape_of(row.problem)];
    shape.key = key;
    shape.mode = row.mode;
    shape.has_best = shape.has_best || role == WinnerRole::best;
    spec.configs.insert({row.implementation_hash, row.winner.trial.config});
    shape.rows.push_back({.known = {.id = {row.implementation_hash, row.winner.trial.config},
                                    .median_ns = row.winner.trial.timing.value_or(Timing{}).median_ns,
                                    .role = role,
                                    .has_binary = has_binary}});
  }

  BundleCounts write(const std::filesystem::path& file) {
    add_pins();
    for (auto& [key, spec] : specs_) add_shapes(key, spec);
    out_.put(bundle::kOps, json(ops_).dump());
    json devices = json::array();
    for (const auto& [fingerprint, facts] : devices_) devices.push_back(*decode_json(facts));
    out_.put(bundle::kDevices, devices.dump());
    out_.write(file);
    return counts_;
  }

 private:
  struct Shape {
    ProblemKey key;
    MeasureMode mode = MeasureMode::cold;
    bool has_best = false;
    std::vector<bundle::KnownRow> rows;
  };
  struct Spec {
    std::map<ShapeDims, Shape> shapes;
    /// The expectation of a spare rests on similar configs, so all times go with spares.
    bool has_spares = false;
    /// The configs that are winners somewhere.
    ConfigIds configs;
    /// The configs that are pinned.
    ConfigIds pinned;
  };

  /// The decisions about the specs of the bundle, each problem's in the order in which they serve.
  void add_pins() {
    const std::vector<Store::PinRow> decided = from_.list_pins();
    for (auto& [name, spec] : specs_) {
      ProblemKey of_spec = spec.shapes.begin()->second.key;
      of_spec.problem.dims.clear();
      put_pins(of_spec);
      for (const auto& [pin, key] : decided) {
        if (key.problem.spec != of_spec.problem.spec || key.interface_hash != of_spec.interface_hash ||
            key.device_fingerprint != of_spec.device_fingerprint)
          continue;
        if (pin.is_of_problem) put_pins(key);
        add_implementation(pin.config.implementation_hash);
        if (pin.kind == PinKind::pin) spec.pinned.insert(pin.config);
      }
    }
  }

  /// Written once for all modes.
  void put_pins(const ProblemKey& key) {
    const std::string name = bundle::pins_key(key);
    if (pins_.insert(name).second) out_.put(name, bundle::encode_pins(from_.pins(key).pins));
  }

  /// The shapes of a spec, each with its winners, its spares and the times of other configs: of those that win
  /// somewhere, or, beside spares, of all.
  void add_shapes(const std::string& key, Spec& spec) {
    json tuned = json::array();
    std::map<ShapeDims, std::vector<ConfigSummary>> known;
    for (auto& [dims, shape] : spec.shapes) {
      if (shape.has_best) tuned.push_back(dims);
      for (ShapeSummary& at : from_.known_shapes(shape.key, shape.mode, {dims})) known[dims] = std::move(at.configs);
      for (const ConfigSummary& each : known[dims]) {
        spec.has_spares = spec.has_spares || each.is_spare;
      }
    }
    for (auto& [dims, shape] : spec.shapes) {
      ConfigIds own;
      for (const bundle::KnownRow& row : shape.rows) own.insert(row.known.id);
      for (const ConfigSummary& each : known[dims]) {
        if (each.role || own.contains(each.id)) continue;
        const bool is_pinned = spec.pinned.contains(each.id);
        if (!spec.has_spares && !each.has_failed && !is_pinned && !spec.configs.contains(each.id)) continue;
        add_implementation(each.id.implementation_hash);
        shape.rows.push_back({each, each.is_spare || is_pinned ? binary_at(shape, each) : std::string()});
      }
      out_.put(bundle::known_key(shape.key, shape.mode, dims), bundle::encode_known(shape.rows));
    }
    out_.put(key, tuned.dump());
    add_learned(spec);
  }

  /// The servers are those of this bundle, which may have only a part of the cache's winners.
  void add_learned(const Spec& spec) {
    if (spec.shapes.empty()) return;
    const Shape& any = spec.shapes.begin()->second;
    const auto learned = from_.learned(any.key, any.mode);
    if (!learned) return;
    std::vector<ShapeSummary> here;
    for (const auto& [dims, shape] : spec.shapes) {
      ShapeSummary& at = here.emplace_back();
      at.dims = dims;
      for (const bundle::KnownRow& row : shape.rows) {
        const bool has_binary = row.known.role ? row.known.has_binary : !row.build_key.empty();
        if (has_binary || row.known.has_failed) at.configs.push_back(row.known);
      }
    }
    // Also implementations that never won: a launcher that compiles may want one.
    for (const std::string& hash : learned->model->space().implementations) {
      if (from_.implementation_by_hash(hash)) add_implementation(hash);
    }
    out_.put(bundle::loss_model_key(any.key, any.mode), learned->model->encode());
    out_.put(bundle::servers_key(any.key, any.mode), bundle::encode_servers(learned->learned_at, servers_of(here)));
  }

  /// Adds the binary of a config that is no winner. Returns the key of its build; empty if the cache has none.
  std::string binary_at(const Shape& shape, const ConfigSummary& known) {
    const auto row = from_.timed(shape.key, shape.mode, known.id);
    if (!row) return {};
    const std::string& key = row->winner.trial.build_key;
    return add_binary(key) ? key : std::string();
  }

  void add_what_it_is_of(const WinnerRow& row) {
    if (interfaces_.insert(row.interface_hash).second) {
      out_.put(bundle::interface_key(row.interface_hash),
               encode_interface(referred(from_.interface_by_hash(row.interface_hash), from_, "an interface")));
    }
    if (ops_.insert(row.problem.spec.op).second) {
      out_.put(bundle::op_key(row.problem.spec.op),
               referred(from_.interface_of(row.problem.spec.op), from_, "an interface").hash());
    }
    add_implementation(row.implementation_hash);
    const std::string fingerprint = row.device.fingerprint();
    const auto [place, is_new] = devices_.try_emplace(fingerprint);
    if (is_new) {
      place->second = encode_facts(row.device);
      out_.put(bundle::device_key(fingerprint), place->second);
    }
  }

  void add_implementation(const std::string& hash) {
    if (!implementations_.insert(hash).second) return;
    out_.put(bundle::implementation_key(hash),
             encode_recipe(referred(from_.implementation_by_hash(hash), from_, "an implementation").recipe));
  }

  /// False if the cache has no such binary.
  bool add_binary(const std::string& key) {
    const auto build = key.empty() ? std::nullopt : from_.build(key);
    if (!build || !build->ok) return false;
    if (!builds_.insert(key).second) return true;
    out_.put(bundle::build_key(key), bundle::encode_build(*build));
    if (!binaries_.insert(build->binary_hash).second) return true;
    ++counts_.binaries;
    out_.put(bundle::binary_key(build->binary_hash), compress_binary(from_.binary(build->binary_hash)));
    return true;
  }

  const Store& from_;
  ContainerWriter out_;
  BundleCounts counts_;
  std::set<std::string> interfaces_, implementations_, builds_, binaries_, ops_, own_keys_, pins_;
  std::map<std::string, std::string> devices_;
  std::map<std::string, std::int64_t> newest_;
  std::map<std::string, Spec> specs_;
};

}  // namespace

BundleCounts write_bundle(const Store& from, const std::vector<WinnerRow>& winners, const std::filesystem::path& file) {
  Writing writing(from);
  for (const WinnerRow& row : winners) writing.add(row);
  return writing.write(file);
}

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#include "cache/store/bundle/bundle.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "cache/base/decode.hpp"
#include "cache/base/error.hpp"
#include "cache/store/binaries.hpp"
#include "cache/store/bundle/bundle_keys.hpp"
#include "cache/store/codecs.hpp"

namespace tilewright {
namespace {

using nlohmann::json;

/// Runs `work`. Unreadable values are damage, even if the hashes are right: another program wrote the file.
template <class Work>
auto reading(const ContainerReader& container, const std::string& what, Work work) {
  const auto fail = [&](const char* why) {
    return CacheError(
        fmt::format("cannot read {} in the bundle {}: {}. Make it again with `tilewright export --bundle`.", what,
                    container.path().string(), why));
  };
  try {
    return work();
  } catch (const BadRow& bad) {
    throw fail(bad.what());
  } catch (const json::exception& bad) {
    throw fail(bad.what());
  } catch (const UsageError& bad) {
    throw fail(bad.what());
  }
}

}  // namespace

Bundle::Bundle(const std::filesystem::path& file) : container_(file) {}

std::string Bundle::title() const { return fmt::format("the bundle {}", container_.path().string()); }

std::vector<std::string> Bundle::ops() const {
  return reading(container_, "the ops", [&] {
    return decode_json(container_.find_text(bundle::kOps).value_or("[]"))->get<std::vector<std::string>>();
  });
}

std::vector<DeviceFacts> Bundle::devices() const {
  return reading(container_, "the devices", [&] {
    std::vector<DeviceFacts> devices;
    const Decoded all = decode_json(container_.find_text(bundle::kDevices).value_or("[]"));
    for (const json& facts : *all) {
      devices.push_back(device_facts_from_json(facts));
    }
    return devices;
  });
}

std::optional<OpInterface> Bundle::interface_of(const std::string& op) const {
  const auto hash = container_.find_text(bundle::op_key(op));
  return hash ? interface_by_hash(*hash) : std::nullopt;
}

std::optional<OpInterface> Bundle::interface_by_hash(const std::string& hash) const {
  const auto text = container_.find_text(bundle::interface_key(hash));
  if (!text) return std::nullopt;
  return reading(container_, "an interface", [&] { return decode_interface(*text); });
}

std::optional<StoredImplementation> Bundle::implementation_by_hash(const std::string& hash) const {
  const auto text = container_.find_text(bundle::implementation_key(hash));
  if (!text) return std::nullopt;
  return reading(container_, "an implementation", [&] { return StoredImplementation{hash, decode_recipe(*text)}; });
}

namespace {

std::optional<WinnerRow> read_row(const ContainerReader& container, const std::string& key, const OpSpec& spec) {
  const auto text = container.find_text(key);
  if (!text) return std::nullopt;
  return reading(container, "a winner", [&] {
    std::string fingerprint;
    WinnerRow row = bundle::decode_row(*text, spec, fingerprint);
    const auto facts = container.find_text(bundle::device_key(fingerprint));
    if (!facts) throw BadRow(fmt::format("there is no device '{}'", fingerprint));
    row.device = decode_facts(*facts);
    return row;
  });
}

}  // namespace

std::optional<WinnerRow> Bundle::winner_of(const ProblemKey& key, MeasureMode mode, WinnerRole role) const {
  return read_row(container_, bundle::winner_key(key, mode, role), key.problem.spec);
}

std::optional<WinnerRow> Bundle::newest_of_spec(const ProblemKey& key, MeasureMode mode, WinnerRole role) const {
  return read_row(container_, bundle::newest_key(key, mode, role), key.problem.spec);
}

std::vector<std::vector<std::int64_t>> Bundle::tuned_shapes(const ProblemKey& key, MeasureMode mode) const {
  const auto text = container_.find_text(bundle::shapes_key(key, mode));
  if (!text) return {};
  return reading(container_, "the shapes of an op",
                 [&] { return decode_json(*text)->get<std::vector<std::vector<std::int64_t>>>(); });
}

std::vector<std::vector<std::int64_t>> Bundle::tuned_near(const ProblemKey& key, MeasureMode mode,
                                                          std::size_t most) const {
  const ShapeDims shape = shape_of(key.problem);
  const std::string which = bundle::shapes_key(key, mode);
  auto known = tuned_.find(which);
  if (known == tuned_.end()) {
    FlatShapes flat{shape.size()};
    for (const ShapeDims& each : tuned_shapes(key, mode)) {
      if (each.size() == shape.size()) flat.lengths.insert(flat.lengths.end(), each.begin(), each.end());
    }
    known = tuned_.emplace(which, std::move(flat)).first;
  }
  return nearest_of(known->second, shape, most);
}

std::vector<ShapeSummary> Bundle::known_shapes(const ProblemKey& key, MeasureMode mode,
                                               const std::vector<std::vector<std::int64_t>>& shapes) const {
  std::vector<ShapeSummary> found;
  for (const std::vector<std::int64_t>& dims : shapes) {
    const auto text = container_.find_text(bundle::known_key(key, mode, dims));
    if (!text) continue;
    ShapeSummary& shape = found.emplace_back();
    shape.dims = dims;
    for (bundle::KnownRow& row : reading(container_, "a shape", [&] { return bundle::decode_known(*text); })) {
      shape.configs.push_back(std::move(row.known));
    }
  }
  return found;
}

std::shared_ptr<const Learned> Bundle::learned(const ProblemKey& key, MeasureMode mode) const {
  const std::string which = bundle::loss_model_key(key, mode);
  if (const auto known = learned_.find(which); known != learned_.end()) return known->second;
  const auto bytes = container_.find(which);
  const auto servers = container_.find_text(bundle::servers_key(key, mode));
  std::shared_ptr<const Learned> read;
  if (bytes && servers) {
    read = reading(container_, "the loss model", [&]() -> std::shared_ptr<const Learned> {
      std::optional<LossModel> model = LossModel::decode(*bytes);
      if (!model) return nullptr;
      Learned all;
      all.model = std::make_shared<const LossModel>(*std::move(model));
      if (all.model->space().dims != key.problem.dims.size())
        throw BadRow("a loss model has another number of dims than the op");
      all.servers = bundle::decode_servers(*servers, all.learned_at);
      return std::make_shared<const Learned>(std::move(all));
    });
  }
  // Kept only after a successful read: the next call reports damage again.
  learned_.emplace(which, read);
  return read;
}

std::optional<WinnerRow> Bundle::timed(const ProblemKey& key, MeasureMode mode, const ConfigId& config) const {
  const std::vector<std::int64_t> dims = shape_of(key.problem);
  const auto text = container_.find_text(bundle::known_key(key, mode, dims));
  if (!text) return std::nullopt;
  for (const bundle::KnownRow& stored : reading(container_, "a shape", [&] { return bundle::decode_known(*text); })) {
    const ConfigSummary& known = stored.known;
    if (known.id != config) continue;
    // For a config that is no winner, a bundle has only the time and the binary.
    WinnerRow row{key.problem, key.interface_hash, config.implementation_hash, {}, mode, {}};
    row.winner.role = WinnerRole::dynamic;
    row.winner.trial.config = config.config;
    row.winner.trial.mode = mode;
    row.winner.trial.build_key = stored.build_key;
    if (known.was_timed()) row.winner.trial.timing.emplace().median_ns = known.median_ns;
    const auto facts = container_.find_text(bundle::device_key(key.device_fingerprint));
    if (facts) row.device = reading(container_, "a device", [&] { return decode_facts(*facts); });
    return row;
  }
  return std::nullopt;
}

Pins Bundle::pins(const ProblemKey& key) const {
  auto text = container_.find_text(bundle::pins_key(key));
  if (!text)
    text = container_.find_text(bundle::pins_key({{key.problem.spec, {}}, key.interface_hash, key.device_fingerprint}));
  if (!text) return {};
  return reading(container_, "the pins", [&] { return Pins{bundle::decode_pins(*text), {}}; });
}

std::optional<Build> Bundle::build(const std::string& key) const {
  const auto text = container_.find_text(bundle::build_key(key));
  if (!text) return std::nullopt;
  return reading(container_, "a build", [&] { return bundle::decode_build(key, *text); });
}

std::vector<std::byte> Bundle::binary(const std::string& content_hash) const {
  const auto frame = container_.find(bundle::binary_key(content_hash));
  if (!frame) throw CacheError(fmt::format("{} holds no binary {}", title(), content_hash));
  return reading(container_, "a binary", [&] { return decompress_binary(*frame, content_hash); });
}

void Bundle::check() const { container_.check(); }

}  // namespace tilewright

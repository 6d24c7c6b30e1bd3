// SPDX-License-Identifier: Apache-2.0
#include "tuner/export/trial_lines.hpp"

#include <nlohmann/json.hpp>

#include "tuner/analysis/roofline.hpp"
#include "tuner/report/render.hpp"
#include "tuner/report/roofline_columns.hpp"
#include "tuner/report/sources.hpp"

namespace tilewright {
namespace {

using Sources = std::vector<Source<TrialRecord>>;
using Json = nlohmann::ordered_json;

template <class Get>
void add(Sources& sources, const char* name, Get get) {
  sources.push_back({data_column(name), [get](const TrialRecord& record) { return Cell(get(record)); }});
}

/// A member of a part that a trial may lack; empty without the part.
template <class Whole, class Value>
auto part(std::optional<Whole> Trial::*whole, Value Whole::*member) {
  return [whole, member](const TrialRecord& record) -> Cell {
    const std::optional<Whole>& found = record.trial.*whole;
    if (!found) return {};
    if constexpr (std::is_same_v<Value, int>) {
      return std::int64_t{(*found).*member};
    } else {
      return (*found).*member;
    }
  };
}

template <class Value>
auto reading(std::optional<Value> DeviceReadings::*member) {
  return [member](const TrialRecord& record) -> Cell {
    const std::optional<Value>& found = record.trial.readings.*member;
    return found ? Cell(static_cast<std::int64_t>(*found)) : Cell();
  };
}

template <class Get>
auto of_build(Get get) {
  return [get](const TrialRecord& record) { return record.build != nullptr ? Cell(get(*record.build)) : Cell(); };
}

/// The columns for programs that tables have.
void add_roofline(Sources& sources) {
  const auto place = [](const TrialRecord& record) {
    return Placed{&record.roofline, record.trial.timing ? &*record.trial.timing : nullptr};
  };
  for (std::vector<Source<Placed>> part : {rate_sources(), bound_sources()}) {
    std::erase_if(part, [](const Source<Placed>& source) { return source.column.shown == Shown::people; });
    add_placed<TrialRecord>(sources, part, place);
  }
}

void add_what(Sources& sources) {
  add(sources, "trial", [](const TrialRecord& record) { return record.trial.id; });
  add(sources, "shape_key", [](const TrialRecord& record) { return record.problem.key(); });
  add(sources, "op", [](const TrialRecord& record) { return record.problem.spec.op; });
  add(sources, "dtype", [](const TrialRecord& record) { return std::string(name(record.problem.spec.dtype)); });
  add(sources, "config", [](const TrialRecord& record) { return record.trial.config.text(); });
  add(sources, "implementation", [](const TrialRecord& record) { return record.trial.config.implementation; });
  add(sources, "status", [](const TrialRecord& record) { return std::string(name(record.trial.status)); });
  add(sources, "reason", [](const TrialRecord& record) { return record.trial.reason; });
  add(sources, "newest", [](const TrialRecord& record) { return record.newest; });
  add(sources, "mode", [](const TrialRecord& record) { return std::string(name(record.trial.mode)); });
  add(sources, "look", [](const TrialRecord& record) { return std::string(name(record.trial.look)); });
}

void add_times(Sources& sources) {
  add(sources, "time_ns", part(&Trial::timing, &Timing::median_ns));
  add(sources, "time_low_ns", part(&Trial::timing, &Timing::low_ns));
  add(sources, "time_high_ns", part(&Trial::timing, &Timing::high_ns));
  add(sources, "time_min_ns", part(&Trial::timing, &Timing::min_ns));
  add(sources, "floor_ns", part(&Trial::timing, &Timing::floor_ns));
  add(sources, "rounds", [](const TrialRecord& record) -> Cell {
    if (!record.trial.timing) return {};
    return static_cast<std::int64_t>(record.trial.timing->rounds_ns.size());
  });
  add(sources, "launches_per_round", part(&Trial::timing, &Timing::launches_per_round));
  add(sources, "input_sets", part(&Trial::timing, &Timing::input_sets));
  add_roofline(sources);
  add(sources, "max_absolute_error", part(&Trial::accuracy, &Accuracy::max_absolute));
  add(sources, "max_relative_error", part(&Trial::accuracy, &Accuracy::max_relative));
  add(sources, "norm_relative_error", part(&Trial::accuracy, &Accuracy::norm_relative));
}

void add_circumstances(Sources& sources) {
  add(sources, "registers", of_build([](const History::BuildOf& build) { return std::int64_t{build.registers}; }));
  add(sources, "spill_bytes", of_build([](const History::BuildOf& build) { return std::int64_t{build.spill_bytes}; }));
  add(sources, "compile_ns", of_build([](const History::BuildOf& build) { return build.milliseconds * 1e6; }));
  add(sources, "sm_clock_mhz", reading(&DeviceReadings::sm_clock_mhz));
  add(sources, "memory_clock_mhz", reading(&DeviceReadings::memory_clock_mhz));
  add(sources, "temperature_c", reading(&DeviceReadings::temperature_c));
  add(sources, "power_mw", reading(&DeviceReadings::power_mw));
  add(sources, "throttle_reasons", reading(&DeviceReadings::throttle_reasons));
  add(sources, "device", [](const TrialRecord& record) { return record.device->fingerprint(); });
  add(sources, "timed_by",
      [](const TrialRecord& record) { return std::string(record.device->is_cpu() ? "emulator" : "gpu"); });
  add(sources, "gpu_uuid", [](const TrialRecord& record) { return record.trial.gpu_uuid; });
  add(sources, "driver", [](const TrialRecord& record) { return std::int64_t{record.trial.versions.driver}; });
  add(sources, "compiler", [](const TrialRecord& record) { return record.trial.versions.compiler; });
  add(sources, "tilewright", [](const TrialRecord& record) { return record.trial.versions.tilewright; });
  add(sources, "build", [](const TrialRecord& record) { return record.trial.build_key; });
  add(sources, "interface_hash", [](const TrialRecord& record) { return record.interface_hash; });
  add(sources, "implementation_hash", [](const TrialRecord& record) { return record.implementation_hash; });
  add(sources, "sweep", [](const TrialRecord& record) { return record.trial.sweep; });
  add(sources, "measured_at", [](const TrialRecord& record) { return record.trial.measured_at; });
  add(sources, "began_us", part(&Trial::phases, &Phases::began_us));
  add(sources, "set_up_us", part(&Trial::phases, &Phases::set_up_us));
  add(sources, "verify_us", part(&Trial::phases, &Phases::verify_us));
  add(sources, "measure_us", part(&Trial::phases, &Phases::measure_us));
}

Sources sources_of_all() {
  Sources sources;
  add_what(sources);
  add_times(sources);
  add_circumstances(sources);
  return sources;
}

/// The value of `key` in a list of pairs; empty if it is absent.
template <class Pairs>
Cell find(const Pairs& pairs, const std::string& key) {
  for (const auto& pair : pairs) {
    if (pair.first == key) return Cell(pair.second);
  }
  return {};
}

void add_named(Sources& sources, const TrialRecords& records) {
  for (const std::string& attribute : records.attributes()) {
    sources.push_back({data_column("attribute_" + attribute), [attribute](const TrialRecord& record) {
                         return find(record.problem.spec.attributes, attribute);
                       }});
  }
  for (const std::string& dim : records.dims()) {
    sources.push_back(
        {data_column("dim_" + dim), [dim](const TrialRecord& record) { return find(record.problem.dims, dim); }});
  }
  for (const std::string& parameter : records.parameters()) {
    sources.push_back({data_column("parameter_" + parameter),
                       [parameter](const TrialRecord& record) { return find(record.trial.config.values, parameter); }});
  }
}

template <class Pairs>
Json object_of(const Pairs& pairs) {
  Json object = Json::object();
  for (const auto& pair : pairs) object[pair.first] = pair.second;
  return object;
}

}  // namespace

void write_csv(const TrialRecords& records, const Write& write) {
  // The rows that are in memory at a time.
  constexpr std::size_t kRows = 1000;
  Sources sources = sources_of_all();
  add_named(sources, records);
  Table table;
  for (const auto& source : sources) table.columns.push_back(source.column);
  bool has_header = false;
  const auto flush = [&] {
    const std::string text = render_csv(table);
    write(has_header ? std::string_view(text).substr(text.find('\n') + 1) : std::string_view(text));
    has_header = true;
    table.rows.clear();
  };
  records.visit([&](const TrialRecord& record) {
    std::vector<Cell>& row = table.rows.emplace_back();
    for (const auto& source : sources) row.push_back(source.cell(record));
    if (table.rows.size() == kRows) flush();
  });
  flush();
}

void write_json_lines(const TrialRecords& records, const Write& write) {
  const Sources sources = sources_of_all();
  records.visit([&](const TrialRecord& record) {
    Json line = Json::object();
    for (const auto& source : sources) line[source.column.name] = json_of(source.cell(record));
    line["attributes"] = object_of(record.problem.spec.attributes);
    line["dims"] = object_of(record.problem.dims);
    line["parameters"] = object_of(record.trial.config.values);
    line["rounds_ns"] = record.trial.timing ? Json(record.trial.timing->rounds_ns) : Json();
    write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  });
}

}  // namespace tilewright

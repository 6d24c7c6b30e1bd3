// SPDX-License-Identifier: Apache-2.0
// Copies a part of another cache into a new one, by tables. Row ids do not depend on that cache.
#include <SQLiteCpp/Backup.h>
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/store/pack_part.hpp"
#include "cache/store/renumber.hpp"
#include "cache/store/sqlite/tables.hpp"
#include "cache/store/sqlite/transaction.hpp"
#include "cache/store/store_impl.hpp"
#include "cache/store/stored_binaries.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {
namespace {

/// From `part_problem` and `part_implementation`, which hold the selection, to the ids of the rows.
constexpr const char* kChoose = R"sql(
CREATE TEMP TABLE part_group AS
SELECT w.problem, w.device, w.mode FROM
  (SELECT w.problem, w.device, w.mode, w.trial,
          row_number() OVER (PARTITION BY w.problem, w.device, w.mode
                             ORDER BY CASE w.role WHEN 'best' THEN 0 WHEN 'dynamic' THEN 1 ELSE 2 END, w.position)
            AS place
   FROM source.winners w WHERE w.problem IN (SELECT id FROM part_problem)) w
JOIN source.trials t ON t.id = w.trial JOIN source.configs c ON c.id = t.config
WHERE w.place = 1 AND c.implementation = (SELECT id FROM part_implementation);
CREATE UNIQUE INDEX temp.part_group_by ON part_group (problem, device, mode);
CREATE TEMP TABLE served (trial INTEGER PRIMARY KEY);
INSERT INTO served SELECT DISTINCT w.trial FROM part_group g
JOIN source.winners w ON w.problem = g.problem AND w.device = g.device AND w.mode = g.mode;
CREATE TEMP TABLE part_trial (id INTEGER PRIMARY KEY);
INSERT INTO part_trial
SELECT trial FROM served
UNION SELECT h.trial FROM part_group g JOIN source.past_winners h
  ON h.problem = g.problem AND h.device = g.device AND h.mode = g.mode
UNION SELECT t.id FROM part_problem p JOIN source.trials t ON t.problem = p.id JOIN source.configs c ON c.id = t.config
  WHERE c.implementation = (SELECT id FROM part_implementation);
CREATE TEMP TABLE part_spare (id INTEGER PRIMARY KEY);
INSERT INTO part_spare
SELECT s.id FROM part_problem p JOIN source.spares s ON s.problem = p.id JOIN source.configs c ON c.id = s.config
WHERE c.implementation = (SELECT id FROM part_implementation);
CREATE TEMP TABLE part_pin (id INTEGER PRIMARY KEY);
INSERT INTO part_pin
SELECT k.id FROM source.pins k JOIN source.configs c ON c.id = k.config
WHERE c.implementation = (SELECT id FROM part_implementation)
  AND (k.problem IN (SELECT id FROM part_problem)
       OR (k.problem IS NULL AND k.spec IN (SELECT spec FROM source.problems WHERE id IN (SELECT id FROM part_problem))));
-- Of what serves: the binaries of other trials can be made again.
CREATE TEMP TABLE part_build (id INTEGER PRIMARY KEY);
INSERT INTO part_build
SELECT build FROM source.trials WHERE id IN (SELECT trial FROM served) AND build IS NOT NULL
UNION SELECT build FROM source.spares WHERE id IN (SELECT id FROM part_spare)
UNION SELECT t.build FROM source.trials t JOIN source.pins k ON k.config = t.config AND k.device = t.device
  WHERE k.id IN (SELECT id FROM part_pin) AND k.kind = 'pin' AND t.id IN (SELECT id FROM part_trial)
    AND t.build IS NOT NULL;
-- A trial that has its build in one pack has it in all: the same binary may serve another problem.
INSERT INTO part_build
SELECT DISTINCT t.build FROM source.trials t WHERE t.id IN (SELECT id FROM part_trial)
  AND t.build IN (SELECT build FROM source.spares) ON CONFLICT DO NOTHING;
CREATE TEMP TABLE part_model (id INTEGER PRIMARY KEY);
INSERT INTO part_model SELECT l.id FROM source.loss_models l JOIN source.specs s ON s.id = l.spec
WHERE s.op = (SELECT op FROM part_models);
)sql";

constexpr const char* kCopy = R"sql(
INSERT INTO main.devices (id, fingerprint, compute_capability, facts)
SELECT id, fingerprint, compute_capability, facts FROM source.devices WHERE intact
  AND (id IN (SELECT device FROM source.trials WHERE id IN (SELECT id FROM part_trial))
       OR id IN (SELECT device FROM source.spares WHERE id IN (SELECT id FROM part_spare))
       OR id IN (SELECT device FROM source.pins WHERE id IN (SELECT id FROM part_pin))
       OR id IN (SELECT device FROM source.loss_models WHERE id IN (SELECT id FROM part_model))
       OR (SELECT devices FROM part_models));
INSERT INTO main.problems (id, spec, dims)
SELECT id, spec, dims FROM source.problems WHERE intact
  AND (id IN (SELECT problem FROM source.trials WHERE id IN (SELECT id FROM part_trial))
       OR id IN (SELECT problem FROM source.spares WHERE id IN (SELECT id FROM part_spare))
       OR id IN (SELECT problem FROM source.pins WHERE id IN (SELECT id FROM part_pin)));
INSERT INTO main.specs (id, interface, op, dtype, attributes, text)
SELECT id, interface, op, dtype, attributes, text FROM source.specs WHERE intact
  AND (id IN (SELECT spec FROM main.problems)
       OR id IN (SELECT spec FROM source.pins WHERE id IN (SELECT id FROM part_pin))
       OR id IN (SELECT spec FROM source.loss_models WHERE id IN (SELECT id FROM part_model)));
INSERT INTO main.interfaces (id, hash, op, definition, sequence)
SELECT id, hash, op, definition, 1 FROM source.interfaces WHERE intact
  AND id IN (SELECT interface FROM main.specs);
INSERT INTO main.configs (id, implementation, text)
SELECT id, implementation, text FROM source.configs WHERE intact
  AND (id IN (SELECT config FROM source.trials WHERE id IN (SELECT id FROM part_trial))
       OR id IN (SELECT config FROM source.spares WHERE id IN (SELECT id FROM part_spare))
       OR id IN (SELECT config FROM source.pins WHERE id IN (SELECT id FROM part_pin)));
INSERT INTO main.implementations (id, interface, hash, name, recipe)
SELECT id, interface, hash, name, recipe FROM source.implementations WHERE intact
  AND (id IN (SELECT implementation FROM main.configs)
       OR (id IN (SELECT c.implementation FROM source.configs c JOIN source.trials t ON t.config = c.id
                  JOIN source.problems p ON p.id = t.problem WHERE p.spec IN
                    (SELECT spec FROM source.loss_models WHERE id IN (SELECT id FROM part_model)))));
INSERT INTO main.versions (id, driver, compiler, tilewright)
SELECT id, driver, compiler, tilewright FROM source.versions WHERE intact
  AND id IN (SELECT versions FROM source.trials WHERE id IN (SELECT id FROM part_trial));
)sql";

constexpr const char* kCopyTrials = R"sql(
INSERT INTO main.builds (id, key, ok, binary, kernels, log, compiler, arch, milliseconds)
SELECT id, key, ok, binary, kernels, iif(ok, '', log), compiler, arch, milliseconds FROM source.builds
WHERE intact AND id IN (SELECT id FROM part_build);
INSERT INTO main.gpus (id, uuid)
SELECT id, uuid FROM source.gpus WHERE intact
  AND id IN (SELECT gpu FROM source.trials WHERE id IN (SELECT id FROM part_trial));
INSERT INTO main.trials (id, problem, device, config, mode, status, reason, versions, build, measured_at, gpu,
  median_ns, low_ns, high_ns, min_ns, launches_per_round, input_sets, floor_ns, compared, max_absolute, max_relative,
  norm_relative, sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw, throttle_reasons, look)
SELECT id, problem, device, config, mode, status, reason, versions,
  iif(build IN (SELECT id FROM part_build), build, NULL), measured_at, gpu, median_ns, low_ns, high_ns, min_ns,
  launches_per_round, input_sets, floor_ns, compared,
  max_absolute, max_relative, norm_relative, sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw,
  throttle_reasons, look
FROM source.trials WHERE intact AND id IN (SELECT id FROM part_trial);
INSERT INTO main.rounds (trial, nanoseconds)
SELECT trial, nanoseconds FROM source.rounds WHERE intact AND trial IN (SELECT id FROM part_trial);
INSERT INTO main.rules (id, hash, text)
SELECT id, hash, text FROM source.rules WHERE intact AND id IN
  (SELECT w.rules FROM source.winners w JOIN part_group g
   ON w.problem = g.problem AND w.device = g.device AND w.mode = g.mode);
INSERT INTO main.winners (problem, device, mode, role, position, spec, trial, measured_at, runner_up, runner_up_ratio,
  base_ns, configs_considered, configs_failed, strategy, choice, rules)
SELECT w.problem, w.device, w.mode, w.role, w.position, w.spec, w.trial, w.measured_at, w.runner_up,
  w.runner_up_ratio, w.base_ns, w.configs_considered, w.configs_failed, w.strategy, w.choice, w.rules
FROM part_group g JOIN source.winners w ON w.problem = g.problem AND w.device = g.device AND w.mode = g.mode
WHERE w.intact ORDER BY w.problem, w.device, w.mode, w.role, w.position;
INSERT INTO main.past_winners (problem, device, mode, role, trial)
SELECT h.problem, h.device, h.mode, h.role, h.trial FROM part_group g JOIN source.past_winners h
  ON h.problem = g.problem AND h.device = g.device AND h.mode = g.mode WHERE h.intact
  -- A fold takes out what is served again, too.
  AND NOT EXISTS (SELECT 1 FROM source.winners w WHERE w.problem = h.problem AND w.device = h.device
                  AND w.mode = h.mode AND w.role = h.role AND w.position = 0 AND w.trial = h.trial);
INSERT INTO main.spares (problem, device, mode, spec, config, build)
SELECT problem, device, mode, spec, config, build FROM source.spares
WHERE intact AND id IN (SELECT id FROM part_spare) ORDER BY id;
INSERT INTO main.pins (kind, spec, problem, device, config, reason, since)
SELECT kind, spec, problem, device, config, reason, since FROM source.pins
WHERE intact AND id IN (SELECT id FROM part_pin) ORDER BY id;
INSERT INTO main.loss_models (spec, device, mode, shapes, learned_at, binary)
SELECT spec, device, mode, shapes, learned_at, binary FROM source.loss_models
WHERE intact AND id IN (SELECT id FROM part_model);
INSERT INTO main.ceilings (device, mode, bytes, reads, memcpy_ns, copy_op_ns, gpu_uuid, measured_at)
SELECT device, mode, bytes, reads, memcpy_ns, copy_op_ns, gpu_uuid, measured_at FROM source.ceilings
WHERE intact AND (SELECT devices FROM part_models);
INSERT INTO main.compute_rates (device, unit, flops_per_second, config, gpu_uuid, measured_at)
SELECT device, unit, flops_per_second, config, gpu_uuid, measured_at FROM source.compute_rates
WHERE intact AND (SELECT devices FROM part_models);
)sql";

/// Stored plain, so that the packer around them finds their common content.
void copy_binaries(Database& database) {
  Query row = database.query(
      "SELECT b.id, b.hash, b.size, b.data, d.data FROM source.binaries b "
      "LEFT JOIN source.dictionaries d ON d.id = b.dictionary WHERE b.intact AND (b.id IN "
      "(SELECT binary FROM source.builds WHERE id IN (SELECT id FROM part_build)) "
      "OR b.id IN (SELECT binary FROM source.loss_models WHERE id IN (SELECT id FROM part_model))) ORDER BY b.id");
  while (row.next()) {
    const std::vector<std::byte> bytes = decompress_binary(row.blob(3), row.integer(2), row.text(1), row.blob(4));
    const std::vector<std::byte> frame = compress_binary(bytes, Packing::plain);
    database.run("INSERT INTO main.binaries (id, hash, size, data) VALUES (?, ?, ?, ?)", row.integer(0), row.text(1),
                 row.integer(2), std::span<const std::byte>(frame));
  }
}

}  // namespace

void WholeFile::copy(const Store& store, const std::filesystem::path& file) {
  store.impl_->reading("copy the cache", [&, &database = store.impl_->database] {
    SQLite::Database copy(file.string(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX);
    SQLite::Backup(copy, database.handle()).executeStep(-1);
  });
}

std::vector<std::pair<std::string, PackPart>> WholeFile::parts_of(const Store& store, const std::string& op) {
  const std::optional<OpInterface> interface = store.interface_of(op);
  if (!interface) return {};
  const std::set<std::string> in_use = store.implementations_in_use(interface->hash());
  return store.impl_->reading("list the tried implementations", [&, &database = store.impl_->database] {
    std::vector<std::pair<std::string, PackPart>> parts;
    Query row = database.query(
        "SELECT s.dtype, m.name, m.id, m.hash, p.id, m.id IN (SELECT c.implementation FROM winners w "
        "JOIN trials t ON t.id = w.trial JOIN configs c ON c.id = t.config), s.attributes, p.dims "
        "FROM interfaces i JOIN implementations m ON m.interface = i.id "
        "JOIN specs s ON s.interface = i.id JOIN problems p ON p.spec = s.id WHERE i.hash = ? "
        "AND (EXISTS (SELECT 1 FROM trials t JOIN configs c ON c.id = t.config "
        "WHERE t.problem = p.id AND c.implementation = m.id) OR EXISTS (SELECT 1 FROM spares t "
        "JOIN configs c ON c.id = t.config WHERE t.problem = p.id AND c.implementation = m.id)) "
        "ORDER BY s.dtype, m.name, m.hash, s.text, p.dims",
        interface->hash());
    while (row.next()) {
      const bool serves = row.integer(5) != 0;
      if (!serves && !in_use.contains(row.text(3))) continue;
      const std::string name = fmt::format("{}-{}-{}", op, row.text(0), row.text(1));
      const std::int64_t implementation = row.integer(2);
      if (parts.empty() || parts.back().first != name || parts.back().second.implementation != implementation) {
        parts.emplace_back(name, PackPart{.implementation = implementation, .problems = {}});
      }
      const Problem problem{decode_spec(op, row.text(0), row.text(6)), decode_dims(row.text(7))};
      parts.back().second.problems.push_back({row.integer(4), problem.key()});
    }
    return parts;
  });
}

void WholeFile::take_part(Store& store, const std::filesystem::path& from, const PackPart& part) {
  constexpr const char* kDoing = "write a pack";
  Store::Impl& impl = *store.impl_;
  Database& database = impl.database;
  std::optional<ForeignKeysOff> unchecked;
  impl.reading(kDoing, [&] {
    database.work_as_of(std::filesystem::file_size(from));
    database.run("ATTACH ? AS source", from.string());
    // Rows that are copied first refer to later ones. The reader of the pack checks all references.
    unchecked.emplace(database.handle());
  });
  impl.reading(kDoing, [&] {
    // Without BEGIN IMMEDIATE, which would lock the source for all who take other parts.
    Transaction transaction(database.handle(), Transaction::Kind::deferred);
    database.handle().exec(
        "CREATE TEMP TABLE part_problem (id INTEGER PRIMARY KEY); "
        "CREATE TEMP TABLE part_implementation (id INTEGER PRIMARY KEY); "
        "CREATE TEMP TABLE part_models (op TEXT, devices INTEGER)");
    for (const PackPart::Member& problem : part.problems) {
      database.run("INSERT INTO part_problem VALUES (?)", problem.id);
    }
    database.run("INSERT INTO part_implementation VALUES (?)", part.implementation);
    database.run("INSERT INTO part_models VALUES (?, ?)", part.models_of, part.devices ? 1 : 0);
    database.handle().exec(kChoose);
    database.handle().exec(kCopy);
    copy_binaries(database);
    database.handle().exec(kCopyTrials);
    renumber(database);
    transaction.commit();
  });
  database.handle().exec("DETACH source");
}

}  // namespace tilewright

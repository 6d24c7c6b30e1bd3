// SPDX-License-Identifier: Apache-2.0
// Folds another cache into this one, by tables and not by rows: hundreds of thousands of trials take seconds. The
// result does not depend on the order of folding (docs/cache.md, "Packs").
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/in_parallel.hpp"
#include "cache/model/not_reached.hpp"
#include "cache/predict/loss_model.hpp"
#include "cache/store/columns.hpp"
#include "cache/store/dictionary.hpp"
#include "cache/store/evidence.hpp"
#include "cache/store/import.hpp"
#include "cache/store/page_order.hpp"
#include "cache/store/sqlite/function.hpp"
#include "cache/store/sqlite/tables.hpp"
#include "cache/store/store_impl.hpp"
#include "cache/store/stored_binaries.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {
namespace {

/// Rows that others refer to: missing ones are added, and `*_map` leads from their ids to ours.
constexpr const char* kFoldNames = R"sql(
INSERT INTO main.devices (fingerprint, compute_capability, facts)
SELECT fingerprint, compute_capability, facts FROM pack.devices WHERE true
ON CONFLICT (fingerprint) DO UPDATE SET facts = excluded.facts WHERE excluded.facts > facts AND intact;
CREATE TEMP TABLE device_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO device_map
SELECT p.id, m.id FROM pack.devices p JOIN main.devices m ON m.fingerprint = p.fingerprint;

-- Older than every interface that was put here.
INSERT INTO main.interfaces (hash, op, definition, sequence)
SELECT hash, op, definition,
       (SELECT min(0, coalesce(min(sequence), 0)) FROM main.interfaces m WHERE m.op = p.op)
       - row_number() OVER (PARTITION BY op ORDER BY hash)
FROM pack.interfaces p WHERE hash NOT IN (SELECT hash FROM main.interfaces);
CREATE TEMP TABLE interface_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO interface_map SELECT p.id, m.id FROM pack.interfaces p JOIN main.interfaces m ON m.hash = p.hash;

-- Of what a hash leaves out the greater text stays.
INSERT INTO main.implementations (interface, hash, name, recipe)
SELECT i.ours, p.hash, p.name, p.recipe FROM pack.implementations p JOIN interface_map i ON i.theirs = p.interface
WHERE true ON CONFLICT (hash, interface) DO UPDATE SET recipe = excluded.recipe
WHERE excluded.recipe > recipe AND intact;
CREATE TEMP TABLE implementation_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO implementation_map
SELECT p.id, m.id FROM pack.implementations p JOIN interface_map i ON i.theirs = p.interface
JOIN main.implementations m ON m.hash = p.hash AND m.interface = i.ours;

INSERT INTO main.specs (interface, op, dtype, attributes, text)
SELECT i.ours, p.op, p.dtype, p.attributes, p.text FROM pack.specs p JOIN interface_map i ON i.theirs = p.interface
WHERE true ON CONFLICT DO NOTHING;
CREATE TEMP TABLE spec_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO spec_map
SELECT p.id, m.id FROM pack.specs p JOIN interface_map i ON i.theirs = p.interface
JOIN main.specs m ON m.interface = i.ours AND m.text = p.text;

INSERT INTO main.problems (spec, dims)
SELECT s.ours, p.dims FROM pack.problems p JOIN spec_map s ON s.theirs = p.spec WHERE true ON CONFLICT DO NOTHING;
CREATE TEMP TABLE problem_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO problem_map
SELECT p.id, m.id FROM pack.problems p JOIN spec_map s ON s.theirs = p.spec
JOIN main.problems m ON m.spec = s.ours AND m.dims = p.dims;

INSERT INTO main.configs (implementation, text)
SELECT i.ours, p.text FROM pack.configs p JOIN implementation_map i ON i.theirs = p.implementation
WHERE true ON CONFLICT DO NOTHING;
CREATE TEMP TABLE config_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO config_map
SELECT p.id, m.id FROM pack.configs p JOIN implementation_map i ON i.theirs = p.implementation
JOIN main.configs m ON m.implementation = i.ours AND m.text = p.text;

INSERT INTO main.versions (driver, compiler, tilewright)
SELECT driver, compiler, tilewright FROM pack.versions WHERE true ON CONFLICT DO NOTHING;
CREATE TEMP TABLE version_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO version_map
SELECT p.id, m.id FROM pack.versions p
JOIN main.versions m ON m.driver = p.driver AND m.compiler = p.compiler AND m.tilewright = p.tilewright;

INSERT INTO main.gpus (uuid) SELECT uuid FROM pack.gpus WHERE true ON CONFLICT DO NOTHING;
CREATE TEMP TABLE gpu_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO gpu_map SELECT p.id, m.id FROM pack.gpus p JOIN main.gpus m ON m.uuid = p.uuid;

INSERT INTO main.rules (hash, text) SELECT hash, text FROM pack.rules WHERE true ON CONFLICT DO NOTHING;
CREATE TEMP TABLE rule_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO rule_map SELECT p.id, m.id FROM pack.rules p JOIN main.rules m ON m.hash = p.hash;

CREATE TEMP TABLE implementation_of (binary INTEGER PRIMARY KEY, implementation INTEGER NOT NULL);
INSERT INTO implementation_of
SELECT d.binary, min(i.ours) FROM (SELECT build, config FROM pack.trials WHERE build IS NOT NULL UNION SELECT build, config FROM pack.spares) t
JOIN pack.builds d ON d.id = t.build JOIN pack.configs c ON c.id = t.config
JOIN implementation_map i ON i.theirs = c.implementation WHERE d.binary IS NOT NULL GROUP BY d.binary;
)sql";

constexpr const char* kMapBinaries = R"sql(
CREATE TEMP TABLE binary_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO binary_map SELECT p.id, m.id FROM pack.binaries p JOIN main.binaries m ON m.hash = p.hash;
)sql";

/// Builds, trials, and rows that rest on them. A compiler need not make the same binary twice, so content decides
/// between builds of one key, not the order. A build whose binary is damaged or missing here takes the pack's: no hash
/// is greater than 'none'. A trial that is here already is equal in all measured values.
constexpr const char* kFoldTrials = R"sql(
INSERT INTO main.builds (key, ok, binary, kernels, log, compiler, arch, milliseconds)
SELECT p.key, p.ok, b.ours, p.kernels, p.log, p.compiler, p.arch, p.milliseconds
FROM pack.builds p LEFT JOIN binary_map b ON b.theirs = p.binary
WHERE true ON CONFLICT (key) DO UPDATE SET ok = excluded.ok, binary = excluded.binary, kernels = excluded.kernels,
  log = excluded.log, compiler = excluded.compiler, arch = excluded.arch, milliseconds = excluded.milliseconds
WHERE began_us IS NULL AND intact
  AND (1 - excluded.ok, coalesce((SELECT hash FROM main.binaries WHERE id = excluded.binary), ''), excluded.kernels,
       excluded.log, excluded.milliseconds)
    < (1 - ok, iif(binary IS NULL, '', coalesce((SELECT hash FROM main.binaries m WHERE m.id = builds.binary
         AND m.checksum = row_hash('binaries', m.id, m.hash, m.size, m.dictionary)), 'none')), kernels, log,
       milliseconds);
CREATE TEMP TABLE build_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO build_map SELECT p.id, m.id FROM pack.builds p JOIN main.builds m ON m.key = p.key;

CREATE TEMP TABLE trial_map (theirs INTEGER PRIMARY KEY, ours INTEGER NOT NULL);
INSERT INTO trial_map
SELECT t.id, min(o.id) FROM pack.trials t CROSS JOIN problem_map p ON p.theirs = t.problem
JOIN device_map d ON d.theirs = t.device JOIN config_map c ON c.theirs = t.config JOIN gpu_map g ON g.theirs = t.gpu
CROSS JOIN main.trials o ON o.problem = p.ours AND o.device = d.ours AND o.mode = t.mode AND o.config = c.ours
  AND o.measured_at = t.measured_at AND o.status = t.status AND o.look = t.look AND o.gpu = g.ours
  AND o.median_ns IS t.median_ns AND o.low_ns IS t.low_ns AND o.high_ns IS t.high_ns AND o.reason = t.reason
  AND EXISTS (SELECT 1 FROM main.rounds r WHERE r.trial = o.id)
    = EXISTS (SELECT 1 FROM pack.rounds r WHERE r.trial = t.id) AND o.intact
GROUP BY t.id;
-- A trial may come once with its build and once without: the fuller one stays.
UPDATE main.trials SET build = b.ours FROM trial_map x CROSS JOIN pack.trials t ON t.id = x.theirs
JOIN build_map b ON b.theirs = t.build WHERE trials.id = x.ours AND trials.build IS NULL AND trials.intact;
CREATE TEMP TABLE new_trial (ours INTEGER PRIMARY KEY, theirs INTEGER NOT NULL);
INSERT INTO new_trial
SELECT (SELECT coalesce(max(id), 0) FROM main.trials) + row_number() OVER (ORDER BY measured_at, id), id
FROM pack.trials WHERE id NOT IN (SELECT theirs FROM trial_map);
INSERT INTO trial_map SELECT theirs, ours FROM new_trial ORDER BY theirs;
INSERT INTO main.trials (id, problem, device, config, mode, status, reason, versions, build, measured_at, gpu,
  median_ns, low_ns, high_ns, min_ns, launches_per_round, input_sets, floor_ns, compared, max_absolute, max_relative,
  norm_relative, sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw, throttle_reasons, look)
SELECT x.ours, p.ours, d.ours, c.ours, t.mode, t.status, t.reason, v.ours, b.ours, t.measured_at, g.ours,
  t.median_ns, t.low_ns, t.high_ns, t.min_ns, t.launches_per_round, t.input_sets, t.floor_ns, t.compared,
  t.max_absolute, t.max_relative, t.norm_relative, t.sm_clock_mhz, t.memory_clock_mhz, t.temperature_c, t.power_mw,
  t.throttle_reasons, t.look
FROM new_trial x CROSS JOIN pack.trials t ON t.id = x.theirs JOIN problem_map p ON p.theirs = t.problem
JOIN device_map d ON d.theirs = t.device JOIN config_map c ON c.theirs = t.config
JOIN version_map v ON v.theirs = t.versions JOIN gpu_map g ON g.theirs = t.gpu
LEFT JOIN build_map b ON b.theirs = t.build;
INSERT INTO main.rounds (trial, nanoseconds)
SELECT x.ours, r.nanoseconds FROM pack.rounds r JOIN trial_map x ON x.theirs = r.trial WHERE true ORDER BY x.ours
ON CONFLICT DO NOTHING;

INSERT INTO main.spares (problem, device, mode, spec, config, build)
SELECT p.ours, d.ours, t.mode, s.ours, c.ours, b.ours FROM pack.spares t JOIN problem_map p ON p.theirs = t.problem
JOIN device_map d ON d.theirs = t.device JOIN spec_map s ON s.theirs = t.spec JOIN config_map c ON c.theirs = t.config
JOIN build_map b ON b.theirs = t.build
WHERE true ON CONFLICT (problem, device, mode, config) DO UPDATE SET build = excluded.build
WHERE intact
  AND (SELECT key FROM main.builds WHERE id = excluded.build) < (SELECT key FROM main.builds WHERE id = spares.build);

CREATE TEMP TABLE model_contest AS
SELECT s.ours AS spec, d.ours AS device, t.mode, t.shapes, t.learned_at, b.ours AS binary,
  CASE WHEN o.id IS NULL THEN 'taken' WHEN o.binary IN (SELECT binary FROM newer_model) THEN 'newer'
       WHEN o.binary NOT IN (SELECT binary FROM known_model)
         OR o.checksum <> row_hash('loss_models', o.id, o.spec, o.device, o.mode, o.shapes, o.learned_at, o.binary)
         OR (t.shapes, t.learned_at, (SELECT hash FROM main.binaries WHERE id = b.ours))
          > (o.shapes, o.learned_at, (SELECT hash FROM main.binaries WHERE id = o.binary)) THEN 'taken'
       ELSE 'kept' END AS state
FROM pack.loss_models t JOIN spec_map s ON s.theirs = t.spec JOIN device_map d ON d.theirs = t.device
JOIN binary_map b ON b.theirs = t.binary
LEFT JOIN main.loss_models o ON o.spec = s.ours AND o.device = d.ours AND o.mode = t.mode
WHERE b.ours IN (SELECT binary FROM known_model);
CREATE TEMP TABLE model_binary AS SELECT binary FROM main.loss_models WHERE EXISTS (SELECT 1 FROM model_contest)
UNION SELECT b.ours FROM pack.loss_models t JOIN binary_map b ON b.theirs = t.binary;
DELETE FROM main.loss_models
WHERE (spec, device, mode) IN (SELECT spec, device, mode FROM model_contest WHERE state = 'taken');

-- As Store::put_pin has it: the newer stands, of one second the ban.
INSERT INTO main.pins (kind, spec, problem, device, config, reason, since)
SELECT t.kind, s.ours, p.ours, d.ours, c.ours, t.reason, t.since FROM pack.pins t JOIN spec_map s ON s.theirs = t.spec
JOIN device_map d ON d.theirs = t.device JOIN config_map c ON c.theirs = t.config
LEFT JOIN problem_map p ON p.theirs = t.problem
WHERE true ON CONFLICT (spec, ifnull(problem, 0), device, config) DO UPDATE SET kind = excluded.kind,
  reason = excluded.reason, since = excluded.since
WHERE intact AND (excluded.since > since
                  OR (excluded.since = since AND (excluded.kind, excluded.reason) < (kind, reason)));

INSERT INTO main.loss_models (spec, device, mode, shapes, learned_at, binary)
SELECT spec, device, mode, shapes, learned_at, binary FROM model_contest WHERE state = 'taken';
DELETE FROM main.binaries
WHERE id IN (SELECT binary FROM model_binary) AND id NOT IN (SELECT binary FROM main.loss_models);

INSERT INTO main.ceilings (device, mode, bytes, reads, memcpy_ns, copy_op_ns, gpu_uuid, measured_at)
SELECT d.ours, t.mode, t.bytes, t.reads, t.memcpy_ns, t.copy_op_ns, t.gpu_uuid, t.measured_at
FROM pack.ceilings t JOIN device_map d ON d.theirs = t.device
WHERE NOT EXISTS (SELECT 1 FROM main.ceilings o WHERE o.device = d.ours AND o.mode = t.mode AND o.bytes = t.bytes
                  AND o.reads = t.reads AND o.measured_at = t.measured_at AND o.gpu_uuid = t.gpu_uuid
                  AND o.memcpy_ns IS t.memcpy_ns AND o.copy_op_ns IS t.copy_op_ns);
INSERT INTO main.compute_rates (device, unit, flops_per_second, config, gpu_uuid, measured_at)
SELECT d.ours, t.unit, t.flops_per_second, t.config, t.gpu_uuid, t.measured_at
FROM pack.compute_rates t JOIN device_map d ON d.theirs = t.device
WHERE NOT EXISTS (SELECT 1 FROM main.compute_rates o WHERE o.device = d.ours AND o.unit = t.unit
                  AND o.measured_at = t.measured_at AND o.flops_per_second = t.flops_per_second);
)sql";

/// The winners of a problem on a device in a mode go together. Theirs win if their first has the better evidence
/// (better_evidence); of equals the pack with the lower hash wins, and a choice made here has the lowest. `reached`
/// counts a winner's configs that were tried and did not fail, or were left out for a reason.
constexpr const char* kFoldWinners = R"sql(
CREATE TEMP VIEW evidence AS
SELECT t.id AS trial, t.median_ns IS NOT NULL AS timed, t.median_ns,
       coalesce((SELECT length(r.nanoseconds) >= 64 FROM main.rounds r WHERE r.trial = t.id), 0) AS enough,
       -iif(t.median_ns > 0, (t.high_ns - t.low_ns) / t.median_ns, 1.0) AS narrow, t.measured_at
FROM main.trials t;
CREATE TEMP TABLE contest (problem INTEGER, device INTEGER, mode TEXT, theirs INTEGER, their_base REAL,
  their_configs INTEGER, ours INTEGER, our_base REAL, our_configs INTEGER, state TEXT,
  PRIMARY KEY (problem, device, mode)) WITHOUT ROWID;
INSERT INTO contest (problem, device, mode, theirs, their_base, their_configs)
SELECT p.ours, d.ours, w.mode, x.ours, w.base_ns, w.configs FROM
  (SELECT problem, device, mode, trial, base_ns, {reached} AS configs,
          row_number() OVER (PARTITION BY problem, device, mode
                             ORDER BY CASE role WHEN 'best' THEN 0 WHEN 'dynamic' THEN 1 ELSE 2 END, position) AS place
   FROM pack.winners) w
JOIN problem_map p ON p.theirs = w.problem JOIN device_map d ON d.theirs = w.device
JOIN trial_map x ON x.theirs = w.trial WHERE w.place = 1;
UPDATE contest SET (ours, our_base, our_configs) = (SELECT w.trial, w.base_ns, {reached} FROM main.winners w
  WHERE w.problem = contest.problem AND w.device = contest.device AND w.mode = contest.mode
  ORDER BY CASE role WHEN 'best' THEN 0 WHEN 'dynamic' THEN 1 ELSE 2 END, position LIMIT 1);
UPDATE contest SET state = CASE
  WHEN ours IS NULL THEN 'added'
  WHEN (SELECT (a.timed, speed_steps(their_base, a.median_ns), their_configs, a.enough, a.narrow, a.measured_at)
                    > (b.timed, speed_steps(our_base, b.median_ns), our_configs, b.enough, b.narrow, b.measured_at)
        FROM evidence a, evidence b WHERE a.trial = contest.theirs AND b.trial = contest.ours) THEN 'replaced'
  WHEN (SELECT (a.timed, speed_steps(their_base, a.median_ns), their_configs, a.enough, a.narrow, a.measured_at)
                    < (b.timed, speed_steps(our_base, b.median_ns), our_configs, b.enough, b.narrow, b.measured_at)
        FROM evidence a, evidence b WHERE a.trial = contest.theirs AND b.trial = contest.ours) THEN 'kept'
  WHEN (SELECT hash FROM this_pack)
     < (SELECT coalesce(max(k.hash), '') FROM main.winners w LEFT JOIN main.packs k ON k.id = w.pack
        WHERE w.problem = contest.problem AND w.device = contest.device AND w.mode = contest.mode) THEN 'replaced'
  ELSE 'kept' END;
CREATE TEMP TABLE taken AS SELECT problem, device, mode FROM contest WHERE state IN ('added', 'replaced');
UPDATE contest SET state = 'same' WHERE ours = theirs;
CREATE UNIQUE INDEX temp.taken_by ON taken (problem, device, mode);

-- All that was ever served first, whoever wins; what is served now is taken out at the end.
INSERT INTO main.past_winners (problem, device, mode, role, trial)
SELECT w.problem, w.device, w.mode, w.role, w.trial FROM taken t CROSS JOIN main.winners w
ON w.problem = t.problem AND w.device = t.device AND w.mode = t.mode WHERE w.position = 0
ON CONFLICT DO NOTHING;
INSERT INTO main.past_winners (problem, device, mode, role, trial)
SELECT p.ours, d.ours, w.mode, w.role, x.ours FROM
  (SELECT problem, device, mode, role, trial FROM pack.winners WHERE position = 0
   UNION SELECT problem, device, mode, role, trial FROM pack.past_winners) w
JOIN problem_map p ON p.theirs = w.problem JOIN device_map d ON d.theirs = w.device
JOIN trial_map x ON x.theirs = w.trial WHERE true
ON CONFLICT DO NOTHING;

-- No id is used again: winners_state() tells by the last one that winners have changed.
CREATE TEMP TABLE last_winner AS SELECT coalesce(max(id), 0) AS id FROM main.winners;
DELETE FROM main.winners WHERE (problem, device, mode) IN (SELECT problem, device, mode FROM taken);
INSERT INTO main.winners (id, problem, device, mode, role, position, spec, trial, measured_at, pack, runner_up,
  runner_up_ratio, base_ns, configs_considered, configs_failed, strategy, choice, rules)
SELECT (SELECT id FROM last_winner) + row_number() OVER (ORDER BY p.ours, d.ours, w.mode, w.role, w.position),
  p.ours, d.ours, w.mode, w.role, w.position, s.ours, x.ours, w.measured_at,
  (SELECT id FROM this_pack), w.runner_up, w.runner_up_ratio, w.base_ns, w.configs_considered, w.configs_failed,
  w.strategy, w.choice, r.ours
FROM pack.winners w JOIN problem_map p ON p.theirs = w.problem JOIN device_map d ON d.theirs = w.device
JOIN spec_map s ON s.theirs = w.spec JOIN trial_map x ON x.theirs = w.trial LEFT JOIN rule_map r ON r.theirs = w.rules
JOIN taken t ON t.problem = p.ours AND t.device = d.ours AND t.mode = w.mode
ORDER BY 1;
DELETE FROM main.past_winners WHERE id IN (
  SELECT h.id FROM problem_map p CROSS JOIN main.winners w ON w.problem = p.ours
  JOIN main.past_winners h ON h.problem = w.problem AND h.device = w.device AND h.mode = w.mode AND h.role = w.role
  AND h.trial = w.trial WHERE w.position = 0);
)sql";

/// Among interfaces of an op that only came with packs, the one with the newest winner is in use.
constexpr const char* kOrderInterfaces = R"sql(
CREATE TEMP TABLE interface_order AS
SELECT i.id, row_number() OVER (PARTITION BY i.op ORDER BY
         (SELECT coalesce(max(w.measured_at), 0) FROM main.winners w JOIN main.specs s ON s.id = w.spec
          WHERE s.interface = i.id) DESC, i.hash) AS place
FROM main.interfaces i WHERE i.sequence < 0 AND i.op IN
  (SELECT op FROM main.interfaces WHERE sequence < 0 GROUP BY op HAVING count(*) > 1);
UPDATE main.interfaces SET sequence = sequence - 1000000 WHERE intact AND id IN (SELECT id FROM interface_order);
UPDATE main.interfaces SET sequence = -(SELECT place FROM interface_order o WHERE o.id = interfaces.id)
WHERE intact AND id IN (SELECT id FROM interface_order);
)sql";

/// Lists the problems that a fold changes. `is_binary_only` is 1 if a trial that serves nothing got a binary, `problem`
/// is NULL for a model, ceiling or rate. A pin of a spec changes one of its problems.
constexpr const char* kWatch = R"sql(
CREATE TEMP TABLE changed (problem INTEGER, is_binary_only INTEGER);
CREATE TEMP TRIGGER changed_trial AFTER INSERT ON main.trials BEGIN INSERT INTO changed VALUES (new.problem, 0); END;
CREATE TEMP TRIGGER changed_trial_build AFTER UPDATE OF build ON main.trials
  BEGIN INSERT INTO changed VALUES (new.problem, new.id NOT IN (SELECT trial FROM main.winners)); END;
CREATE TEMP TRIGGER changed_build AFTER UPDATE OF binary ON main.builds WHEN new.binary IS NOT old.binary
  BEGIN INSERT INTO changed SELECT problem, id NOT IN (SELECT trial FROM main.winners) FROM main.trials
    WHERE build = new.id UNION ALL SELECT problem, 0 FROM main.spares WHERE build = new.id; END;
CREATE TEMP TRIGGER changed_winner AFTER INSERT ON main.winners BEGIN INSERT INTO changed VALUES (new.problem, 0); END;
CREATE TEMP TRIGGER changed_past AFTER INSERT ON main.past_winners WHEN NOT EXISTS (SELECT 1 FROM main.winners w
    WHERE w.problem = new.problem AND w.device = new.device AND w.mode = new.mode AND w.role = new.role
      AND w.position = 0 AND w.trial = new.trial)
  BEGIN INSERT INTO changed VALUES (new.problem, 0); END;
CREATE TEMP TRIGGER changed_spare AFTER INSERT ON main.spares BEGIN INSERT INTO changed VALUES (new.problem, 0); END;
CREATE TEMP TRIGGER changed_spare_build AFTER UPDATE ON main.spares BEGIN INSERT INTO changed VALUES (new.problem, 0); END;
CREATE TEMP TRIGGER changed_pin AFTER INSERT ON main.pins BEGIN INSERT INTO changed SELECT coalesce(new.problem,
  (SELECT min(id) FROM main.problems WHERE spec = new.spec AND id IN (SELECT ours FROM problem_map))), 0; END;
CREATE TEMP TRIGGER changed_pin_change AFTER UPDATE ON main.pins BEGIN INSERT INTO changed SELECT coalesce(new.problem,
  (SELECT min(id) FROM main.problems WHERE spec = new.spec AND id IN (SELECT ours FROM problem_map))), 0; END;
CREATE TEMP TRIGGER changed_model AFTER INSERT ON main.loss_models BEGIN INSERT INTO changed VALUES (NULL, 0); END;
CREATE TEMP TRIGGER changed_ceiling AFTER INSERT ON main.ceilings BEGIN INSERT INTO changed VALUES (NULL, 0); END;
CREATE TEMP TRIGGER changed_rate AFTER INSERT ON main.compute_rates BEGIN INSERT INTO changed VALUES (NULL, 0); END;
)sql";

/// After a fold: the winners of the pack that are others here, with the pack of ours.
constexpr const char* kKeptWinners = R"sql(
SELECT s.op, s.dtype, s.attributes, p.dims, coalesce(k.name, '') FROM
  (SELECT DISTINCT problem, device, mode FROM
    (SELECT p.ours AS problem, d.ours AS device, w.mode, w.role, w.position, x.ours, w.runner_up, w.runner_up_ratio,
       w.base_ns, w.configs_considered, w.configs_failed, w.strategy, w.choice, r.ours,
       count(*) OVER (PARTITION BY w.problem, w.device, w.mode)
     FROM pack.winners w JOIN problem_map p ON p.theirs = w.problem JOIN device_map d ON d.theirs = w.device
     JOIN trial_map x ON x.theirs = w.trial LEFT JOIN rule_map r ON r.theirs = w.rules
     EXCEPT SELECT problem, device, mode, role, position, trial, runner_up, runner_up_ratio, base_ns,
       configs_considered, configs_failed, strategy, choice, rules, count(*) OVER (PARTITION BY problem, device, mode)
     FROM main.winners WHERE problem IN (SELECT ours FROM problem_map))) o
JOIN main.problems p ON p.id = o.problem JOIN main.specs s ON s.id = p.spec
LEFT JOIN main.packs k ON k.id =
  (SELECT w.pack FROM main.winners w WHERE w.problem = o.problem AND w.device = o.device AND w.mode = o.mode LIMIT 1)
)sql";

/// Drops the tables above; a failed fold's go with its rollback.
void drop_temporary(Database& database) {
  std::vector<std::string> drops;
  Query row =
      database.query("SELECT 'DROP ' || type || ' temp.' || name FROM temp.sqlite_schema WHERE type <> 'index'");
  while (row.next()) drops.push_back(row.text(0));
  for (const std::string& drop : drops) database.handle().exec(drop);
}

/// The dictionary of an implementation is made of binaries of the first pack that brings more than one, evenly spread.
void add_dictionaries(Database& database) {
  constexpr std::int64_t kMostBytes = std::int64_t{256} << 10;
  constexpr std::int64_t kLeastShare = 8;
  constexpr std::int64_t kSamplesForAByte = 8;
  Query group = database.query(
      "SELECT i.implementation, count(*), sum(b.size) FROM temp.implementation_of i JOIN pack.binaries b "
      "ON b.id = i.binary WHERE i.implementation NOT IN (SELECT implementation FROM main.dictionaries) GROUP BY 1");
  while (group.next()) {
    const std::int64_t wanted = std::min(kMostBytes, group.integer(2) / kLeastShare);
    if (group.integer(1) < 2 || wanted == 0) continue;
    std::vector<std::byte> samples;
    std::vector<std::size_t> sizes;
    Query row = database.query(
        "SELECT b.data, b.size, b.hash FROM (SELECT binary, row_number() OVER (ORDER BY binary) AS place "
        "FROM temp.implementation_of WHERE implementation = ?) i JOIN pack.binaries b ON b.id = i.binary "
        "WHERE i.place % ? = 0",
        group.integer(0), std::max<std::int64_t>(group.integer(2) / (wanted * kSamplesForAByte), 1));
    while (row.next()) {
      const std::vector<std::byte> bytes = decompress_binary(row.blob(0), row.integer(1), row.text(2));
      samples.insert(samples.end(), bytes.begin(), bytes.end());
      sizes.push_back(bytes.size());
    }
    database.run("INSERT INTO dictionaries (implementation, data) VALUES (?, ?)", group.integer(0),
                 std::span<const std::byte>(dictionary_of(samples, sizes, static_cast<std::size_t>(wanted))));
  }
}

struct Packed {
  std::string hash;
  std::int64_t size = 0;
  std::vector<std::byte> frame;
};

void put_binaries(Database& database, std::optional<std::int64_t> dictionary, std::vector<Packed>& binaries) {
  // The bytes of the other columns.
  constexpr std::size_t kRow = 48;
  std::vector<std::size_t> sizes;
  for (const Packed& binary : binaries) sizes.push_back(binary.frame.size() + kRow);
  for (const std::size_t i : page_order(sizes)) {
    put_binary(database, binaries[i].hash, binaries[i].size, binaries[i].frame, dictionary);
  }
  binaries.clear();
}

/// Compresses plain frames, each in the place of what it was.
void compress_all(const Compressor& compress, std::span<Packed> binaries) {
  in_parallel(binaries.size(), [&](std::size_t i) {
    Packed& each = binaries[i];
    each.frame = compress(decompress_binary(each.frame, each.size, each.hash));
  });
}

/// Compresses the plain binaries of a pack with the dictionary of their implementation. A binary that is damaged here
/// is mended.
void fold_binaries(Database& database) {
  constexpr std::size_t kMostPlainBytes = std::size_t{64} << 20;
  add_dictionaries(database);
  // Only ids are sorted: with the bytes beside them, a sorter writes each dictionary to the disk once per binary.
  Query place = database.query(
      "SELECT b.id, d.id FROM pack.binaries b LEFT JOIN temp.implementation_of i ON i.binary = b.id "
      "LEFT JOIN main.dictionaries d ON d.implementation = i.implementation ORDER BY d.id, b.id");
  std::optional<std::int64_t> last, dictionary;
  std::optional<Compressor> compress;
  std::vector<Packed> binaries;
  std::size_t compressed = 0, plain_bytes = 0;
  const auto compress_rest = [&] {
    if (compress) compress_all(*compress, std::span(binaries).subspan(compressed));
    compressed = binaries.size();
    plain_bytes = 0;
  };
  const auto put_group = [&] {
    compress_rest();
    put_binaries(database, dictionary, binaries);
    compressed = 0;
  };
  while (place.next()) {
    Query row = database.query("SELECT hash, size, data FROM pack.binaries WHERE id = ?", place.integer(0));
    if (!row.next() || whole_binary(database, row.text(0))) continue;
    if (!compress || last != place.maybe_integer(1)) {
      put_group();
      last = place.maybe_integer(1);
      Query words = database.query(
          "SELECT data FROM main.dictionaries d WHERE id = ? "
          "AND d.checksum = row_hash('dictionaries', d.id, d.implementation, d.data)",
          last);
      const bool whole = words.next();
      dictionary = whole ? last : std::nullopt;
      compress.emplace(Packing::shared, whole ? words.blob(0) : std::span<const std::byte>());
    }
    const std::span<const std::byte> frame = row.blob(2);
    binaries.push_back({row.text(0), row.integer(1), {frame.begin(), frame.end()}});
    plain_bytes += frame.size();
    if (plain_bytes >= kMostPlainBytes) compress_rest();
  }
  put_group();
}

/// Lists, by their binaries, the models that this program understands, and those that a newer one has learned. A
/// damaged model is neither.
void list_models(Database& database) {
  database.handle().exec(
      "CREATE TEMP TABLE known_model (binary INTEGER PRIMARY KEY); "
      "CREATE TEMP TABLE newer_model (binary INTEGER PRIMARY KEY)");
  Query row = database.query(
      "SELECT hash, size, data, dictionary, id FROM main.binaries "
      "WHERE id IN (SELECT b.ours FROM pack.loss_models l JOIN temp.binary_map b ON b.theirs = l.binary "
      "UNION SELECT o.binary FROM pack.loss_models l JOIN temp.spec_map s ON s.theirs = l.spec "
      "JOIN temp.device_map d ON d.theirs = l.device JOIN main.loss_models o "
      "ON o.spec = s.ours AND o.device = d.ours AND o.mode = l.mode)");
  while (row.next()) {
    try {
      const std::vector<std::byte> model = read_binary(database, row);
      if (LossModel::is_newer(model)) database.run("INSERT INTO newer_model VALUES (?)", row.integer(4));
      if (LossModel::decode(model)) database.run("INSERT INTO known_model VALUES (?)", row.integer(4));
    } catch (const BadRow&) {
    } catch (const UsageError&) {
    }
  }
}

std::vector<OpCounts> read_counts(Database& database) {
  std::map<std::pair<std::string, std::string>, OpCounts> counts;
  Query row = database.query(
      "SELECT s.op, d.fingerprint, c.state, count(*) FROM temp.contest c JOIN main.problems p ON p.id = c.problem "
      "JOIN main.specs s ON s.id = p.spec JOIN main.devices d ON d.id = c.device GROUP BY 1, 2, 3");
  while (row.next()) {
    OpCounts& line = counts[{row.text(0), row.text(1)}];
    const std::string state = row.text(2);
    auto& count = state == "added"      ? line.added
                  : state == "replaced" ? line.replaced
                  : state == "kept"     ? line.kept
                                        : line.same;
    count = static_cast<std::size_t>(row.integer(3));
  }
  Query models = database.query(
      "SELECT s.op, d.fingerprint, sum(l.state = 'taken'), sum(l.state = 'newer') FROM temp.model_contest l "
      "JOIN main.specs s ON s.id = l.spec JOIN main.devices d ON d.id = l.device GROUP BY 1, 2");
  while (models.next()) {
    OpCounts& line = counts[{models.text(0), models.text(1)}];
    line.models = static_cast<std::size_t>(models.integer(2));
    line.newer_models = static_cast<std::size_t>(models.integer(3));
  }
  std::vector<OpCounts> lines;
  for (auto& [key, line] : counts) {
    std::tie(line.op, line.device) = key;
    lines.push_back(std::move(line));
  }
  return lines;
}

/// A fault in the pack's rows is no fault of the cache.
template <class Work>
auto judging_pack(Work work) {
  const auto damaged = [](const char* why) {
    return CacheError(fmt::format("its rows are damaged ({}). Get the pack again", why), SQLITE_CORRUPT,
                      CacheFault::damaged);
  };
  try {
    return work();
  } catch (const BadRow& bad) {
    throw damaged(bad.what());
  } catch (const SQLite::Exception& refusal) {
    const int code = refusal.getErrorCode();
    if (code == SQLITE_CONSTRAINT || code == SQLITE_MISMATCH) throw damaged(refusal.what());
    throw;
  }
}

void fold_attached(Database& database, const std::string& hash, const std::string& name) {
  database.run("INSERT INTO packs (hash, name, folded_at) VALUES (?, ?, ?) ON CONFLICT (hash) DO NOTHING", hash, name,
               now_seconds());
  database.handle().exec("CREATE TEMP TABLE this_pack (id INTEGER, hash TEXT)");
  database.run("INSERT INTO this_pack SELECT id, hash FROM main.packs WHERE hash = ?", hash);
  database.handle().exec(kFoldNames);
  fold_binaries(database);
  database.handle().exec(kMapBinaries);
  list_models(database);
  database.handle().exec(kFoldTrials);
  add_function(database.handle(), "speed_steps", speed_steps);
  // Configs that failed, or that a bound left untried, were no choice.
  const std::string reached = fmt::format(
      "configs_considered - configs_failed - "
      "iif(json_valid(choice), coalesce(json_extract(choice, '$.pruned.\"{}\"'), 0), 0)",
      kNotReached);
  database.handle().exec(fmt::format(kFoldWinners, fmt::arg("reached", reached)));
  database.handle().exec(kOrderInterfaces);
}

std::string key_of(const Query& row) {
  return Problem{decode_spec(row.text(0), row.text(1), row.text(2)), decode_dims(row.text(3))}.key();
}

FoldChanges read_changes(Database& database) {
  FoldChanges changes;
  Query row = database.query(
      "SELECT s.op, s.dtype, s.attributes, p.dims, n.is_binary_only FROM (SELECT problem, min(is_binary_only) AS "
      "is_binary_only "
      "FROM temp.changed GROUP BY problem) n LEFT JOIN main.problems p ON p.id = n.problem LEFT JOIN main.specs s ON "
      "s.id = p.spec");
  while (row.next()) {
    changes.has_rows = changes.has_rows || row.integer(4) == 0;
    if (!row.null(0)) changes.problems.insert(key_of(row));
  }
  Query kept = database.query(kKeptWinners);
  while (kept.next()) changes.kept.emplace(key_of(kept), kept.text(4));
  Query models = database.query(
      "SELECT s.text FROM temp.model_contest c JOIN main.loss_models o ON o.spec = c.spec AND o.device = c.device "
      "AND o.mode = c.mode AND o.binary <> c.binary JOIN main.specs s ON s.id = c.spec WHERE c.state = 'kept'");
  while (models.next()) changes.kept_models.insert(models.text(0));
  return changes;
}

/// The database attached as `pack`. References are not checked row by row meanwhile: all ids come from a fold's maps.
class Attached {
 public:
  Attached(Database& database, std::string_view columns, const std::filesystem::path& folder)
      : database_(database), unchecked_(database.handle()) {
    try {
      attach_columns(database_, columns, folder);
    } catch (...) {
      detach();
      throw;
    }
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() { detach(); }

 private:
  void detach() noexcept { database_.handle().tryExec("DETACH pack"); }

  Database& database_;
  ForeignKeysOff unchecked_;
};

/// Runs `work` while the columns are attached to the cache.
template <class Work>
auto attached(Database& database, std::string_view columns, const std::filesystem::path& folder, Work work) {
  const auto pack = judging_pack([&] { return std::make_unique<const Attached>(database, columns, folder); });
  // 64 MiB: each page is read once.
  database.handle().exec("PRAGMA main.cache_size = -65536; PRAGMA pack.mmap_size = 1073741824");
  return work();
}

void require_no_batch(const Store& store, bool in_batch, const char* doing) {
  if (in_batch) throw fault(doing, store.path(), "has a batch of writes that has not ended", "Commit it before");
}

}  // namespace

std::vector<OpCounts> WholeFile::fold(Store& store, std::string_view columns, const std::string& hash,
                                      const std::string& name, const std::filesystem::path& folder) {
  constexpr const char* kDoing = "fold a pack into the cache";
  Store::Impl& impl = *store.impl_;
  Database& database = impl.database;
  require_no_batch(store, impl.in_batch, kDoing);
  const auto work = [&] {
    fold_attached(database, hash, name);
    std::vector<OpCounts> lines = read_counts(database);
    drop_temporary(database);
    return lines;
  };
  return impl.reading(kDoing, [&] {
    return attached(database, columns, folder,
                    [&] { return impl.writing(kDoing, [&] { return judging_pack(work); }); });
  });
}

FoldChanges WholeFile::changes_of_fold(Store& store, std::string_view columns, const std::string& hash,
                                       const std::filesystem::path& folder) {
  constexpr const char* kDoing = "compare a pack with the cache";
  Store::Impl& impl = *store.impl_;
  Database& database = impl.database;
  require_no_batch(store, impl.in_batch, kDoing);
  return impl.reading(kDoing, [&] {
    return attached(database, columns, folder, [&] {
      // Rolled back at its end.
      const Transaction transaction = database.begin_write();
      return judging_pack([&] {
        database.handle().exec(kWatch);
        fold_attached(database, hash, "");
        return read_changes(database);
      });
    });
  });
}

}  // namespace tilewright

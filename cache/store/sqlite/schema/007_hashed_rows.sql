-- SPDX-License-Identifier: Apache-2.0
-- Schema 7. Every row carries a checksum of its table's name, its id and its values: `intact` is 1, or an error that
-- names the row. Its functions are Tilewright's own: another program names the columns that it wants, not `*`.
-- Spares are rows of their own, winners have a past, and what people decide and what the service does is kept.

DROP VIEW winner_table;

-- To rename seventeen tables takes longer than to open a cache does otherwise.
CREATE TEMP TABLE old_devices AS SELECT * FROM devices;
CREATE TEMP TABLE old_interfaces AS SELECT * FROM interfaces;
CREATE TEMP TABLE old_implementations AS SELECT * FROM implementations;
CREATE TEMP TABLE old_specs AS SELECT * FROM specs;
CREATE TEMP TABLE old_problems AS SELECT * FROM problems;
CREATE TEMP TABLE old_configs AS SELECT * FROM configs;
CREATE TEMP TABLE old_versions AS SELECT * FROM versions;
CREATE TEMP TABLE old_binaries AS SELECT * FROM binaries;
CREATE TEMP TABLE old_builds AS SELECT * FROM builds;
CREATE TEMP TABLE old_sweeps AS SELECT * FROM sweeps;
CREATE TEMP TABLE old_trials AS SELECT * FROM trials;
CREATE TEMP TABLE old_rounds AS SELECT * FROM rounds;
CREATE TEMP TABLE old_winners AS SELECT * FROM winners;
CREATE TEMP TABLE old_ceilings AS SELECT * FROM ceilings;
CREATE TEMP TABLE old_compute_rates AS SELECT * FROM compute_rates;
CREATE TEMP TABLE old_requests AS SELECT * FROM requests;
CREATE TEMP TABLE old_loss_models AS SELECT * FROM loss_models;
DROP TABLE rounds;
DROP TABLE winners;
DROP TABLE loss_models;
DROP TABLE trials;
DROP TABLE builds;
DROP TABLE binaries;
DROP TABLE sweeps;
DROP TABLE ceilings;
DROP TABLE compute_rates;
DROP TABLE configs;
DROP TABLE problems;
DROP TABLE specs;
DROP TABLE implementations;
DROP TABLE interfaces;
DROP TABLE versions;
DROP TABLE devices;
DROP TABLE requests;

CREATE TABLE devices (
  id INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  compute_capability INTEGER NOT NULL,
  facts TEXT NOT NULL,                             -- JSON: cache/model/device_facts.hpp
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('devices', id, fingerprint, compute_capability, facts))
    STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('devices', checksum, id, fingerprint, compute_capability, facts))
    VIRTUAL
);

-- An op as its callers see it. `sequence` orders the interfaces of one op: the greatest is the one in use.
CREATE TABLE interfaces (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,
  op TEXT NOT NULL,
  definition TEXT NOT NULL,                        -- JSON: cache/model/interface.hpp
  sequence INTEGER NOT NULL,
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('interfaces', id, hash, op, definition, sequence)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('interfaces', checksum, id, hash, op, definition, sequence)) VIRTUAL
);

-- The text of an implementation can stay what it is while its op's interface changes: hence the pair.
CREATE TABLE implementations (
  id INTEGER PRIMARY KEY,
  interface INTEGER NOT NULL REFERENCES interfaces (id),
  hash TEXT NOT NULL,
  name TEXT NOT NULL,
  recipe TEXT NOT NULL,                            -- JSON: cache/model/recipe.hpp
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('implementations', id, interface, hash, name, recipe))
    STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('implementations', checksum, id, interface, hash, name, recipe))
    VIRTUAL,
  UNIQUE (hash, interface)
);

-- op[dtype=…,attribute=…] under one interface.
CREATE TABLE specs (
  id INTEGER PRIMARY KEY,
  interface INTEGER NOT NULL REFERENCES interfaces (id),
  op TEXT NOT NULL,
  dtype TEXT NOT NULL,
  attributes TEXT NOT NULL,                        -- JSON: [["act", "gelu"], …] in the op's order
  text TEXT NOT NULL,
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('specs', id, interface, op, dtype, attributes, text)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('specs', checksum, id, interface, op, dtype, attributes, text))
    VIRTUAL,
  UNIQUE (interface, text)
);

-- A shape key is the spec's text, then the dims in braces.
CREATE TABLE problems (
  id INTEGER PRIMARY KEY,
  spec INTEGER NOT NULL REFERENCES specs (id),
  dims TEXT NOT NULL,                              -- rows=8,cols=100
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('problems', id, spec, dims)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('problems', checksum, id, spec, dims)) VIRTUAL,
  UNIQUE (spec, dims)
);

CREATE TABLE configs (
  id INTEGER PRIMARY KEY,
  implementation INTEGER NOT NULL REFERENCES implementations (id),
  text TEXT NOT NULL,                              -- onchip{num_warps=4,vec=8}
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('configs', id, implementation, text)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('configs', checksum, id, implementation, text)) VIRTUAL,
  UNIQUE (implementation, text)
);

CREATE TABLE versions (
  id INTEGER PRIMARY KEY,
  driver INTEGER NOT NULL,
  compiler TEXT NOT NULL,
  tilewright TEXT NOT NULL,
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('versions', id, driver, compiler, tilewright)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('versions', checksum, id, driver, compiler, tilewright)) VIRTUAL,
  UNIQUE (driver, compiler, tilewright)
);

-- What the binaries of an implementation have in common.
CREATE TABLE dictionaries (
  id INTEGER PRIMARY KEY,
  implementation INTEGER NOT NULL UNIQUE REFERENCES implementations (id),
  data BLOB NOT NULL,                              -- some of them, one behind the other
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('dictionaries', id, implementation, data)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('dictionaries', checksum, id, implementation, data)) VIRTUAL
);

-- Bytes by their content: binaries, and learned models. The content's hash stands for `data`.
CREATE TABLE binaries (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,                       -- XXH3-128 of the bytes before compression
  size INTEGER NOT NULL,                           -- bytes before compression
  dictionary INTEGER REFERENCES dictionaries (id), -- that the frame needs
  data BLOB NOT NULL,                              -- one zstd frame
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('binaries', id, hash, size, dictionary)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('binaries', checksum, id, hash, size, dictionary)) VIRTUAL
);

CREATE TABLE sweeps (
  id INTEGER PRIMARY KEY,
  command TEXT NOT NULL,
  device INTEGER NOT NULL REFERENCES devices (id),
  started_at INTEGER NOT NULL,
  ended_at INTEGER,
  outcome TEXT CHECK (outcome IN ('done', 'interrupted', 'partly')),
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('sweeps', id, command, device, started_at, ended_at,
    outcome)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('sweeps', checksum, id, command, device, started_at, ended_at,
    outcome)) VIRTUAL
);

CREATE TABLE builds (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  ok INTEGER NOT NULL CHECK (ok IN (0, 1)),
  binary INTEGER REFERENCES binaries (id),
  kernels TEXT NOT NULL,                           -- JSON: one object a kernel
  log TEXT NOT NULL,
  compiler TEXT NOT NULL,
  arch TEXT NOT NULL,
  milliseconds REAL NOT NULL,
  sweep INTEGER REFERENCES sweeps (id),
  worker INTEGER,                                  -- which of the sweep's compilers, from 0
  began_us INTEGER,                                -- it took `milliseconds`
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('builds', id, key, ok, binary, kernels, log, compiler, arch,
    milliseconds, sweep, worker, began_us)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('builds', checksum, id, key, ok, binary, kernels, log, compiler, arch,
    milliseconds, sweep, worker, began_us)) VIRTUAL,
  CHECK (ok = (binary IS NOT NULL))
);

-- The very chip, which may differ from others of its model.
CREATE TABLE gpus (
  id INTEGER PRIMARY KEY,
  uuid TEXT NOT NULL UNIQUE,                       -- empty: the emulator
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('gpus', id, uuid)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('gpus', checksum, id, uuid)) VIRTUAL
);

CREATE TABLE trials (
  id INTEGER PRIMARY KEY,
  problem INTEGER NOT NULL REFERENCES problems (id),
  device INTEGER NOT NULL REFERENCES devices (id),
  config INTEGER NOT NULL REFERENCES configs (id),
  mode TEXT NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  status TEXT NOT NULL CHECK (status IN ('ok', 'compile_failed', 'exceeds_limits', 'wrong_result', 'timed_out',
    'crashed', 'pruned')),
  reason TEXT NOT NULL,
  versions INTEGER NOT NULL REFERENCES versions (id),
  build INTEGER REFERENCES builds (id),
  sweep INTEGER REFERENCES sweeps (id),
  measured_at INTEGER NOT NULL,
  gpu INTEGER NOT NULL REFERENCES gpus (id),
  median_ns REAL,                                  -- NULL: not measured
  low_ns REAL,
  high_ns REAL,
  min_ns REAL,
  launches_per_round INTEGER,
  input_sets INTEGER,
  floor_ns REAL,
  compared INTEGER NOT NULL CHECK (compared IN (0, 1)), -- with the reference; a NULL below is then NaN
  max_absolute REAL,
  max_relative REAL,
  norm_relative REAL,
  sm_clock_mhz INTEGER,
  memory_clock_mhz INTEGER,
  temperature_c INTEGER,
  power_mw INTEGER,
  throttle_reasons INTEGER,
  look TEXT NOT NULL CHECK (look IN ('brief', 'whole', 'final')),
  began_us INTEGER,                                -- the device's work for it; what it did follows one behind the other
  set_up_us INTEGER,                               -- its problem's inputs and reference; 0: they were there
  verify_us INTEGER,                               -- loading included; of what came to no end, all of it
  measure_us INTEGER,                              -- of a final: of all finalists together
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('trials', id, problem, device, config, mode, status, reason,
    versions, build, sweep, measured_at, gpu, median_ns, low_ns, high_ns, min_ns, launches_per_round, input_sets,
    floor_ns, compared, max_absolute, max_relative, norm_relative, sm_clock_mhz, memory_clock_mhz, temperature_c,
    power_mw, throttle_reasons, look, began_us, set_up_us, verify_us, measure_us)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('trials', checksum, id, problem, device, config, mode, status, reason,
    versions, build, sweep, measured_at, gpu, median_ns, low_ns, high_ns, min_ns, launches_per_round, input_sets,
    floor_ns, compared, max_absolute, max_relative, norm_relative, sm_clock_mhz, memory_clock_mhz, temperature_c,
    power_mw, throttle_reasons, look, began_us, set_up_us, verify_us, measure_us)) VIRTUAL,
  CHECK (status <> 'pruned' OR (median_ns IS NULL AND compared = 0))
);

-- Apart from the trials, so that listing trials does not read them.
CREATE TABLE rounds (
  trial INTEGER PRIMARY KEY REFERENCES trials (id),
  nanoseconds BLOB NOT NULL,                       -- one little-endian float64 a round
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('rounds', trial, nanoseconds)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('rounds', checksum, trial, nanoseconds)) VIRTUAL
);

-- What forbids configs of a space, the same for many winners; how many, in the order of the rules, says the choice of
-- each.
CREATE TABLE rules (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,                       -- XXH3-128 of the text
  text TEXT NOT NULL,                              -- JSON: ["constraint `vec <= 8`", …]
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('rules', id, hash, text)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('rules', checksum, id, hash, text)) VIRTUAL
);

-- Packs that were folded into this cache.
CREATE TABLE packs (
  id INTEGER PRIMARY KEY,
  hash TEXT NOT NULL UNIQUE,                       -- SHA-256 of the file
  name TEXT NOT NULL,
  folded_at INTEGER NOT NULL,
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('packs', id, hash, name, folded_at)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('packs', checksum, id, hash, name, folded_at)) VIRTUAL
);

CREATE TABLE winners (
  id INTEGER PRIMARY KEY,
  problem INTEGER NOT NULL REFERENCES problems (id),
  device INTEGER NOT NULL REFERENCES devices (id),
  mode TEXT NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  role TEXT NOT NULL CHECK (role IN ('best', 'dynamic', 'base')),
  position INTEGER NOT NULL,                       -- among those of one role; 0 is the first choice
  spec INTEGER NOT NULL REFERENCES specs (id),     -- the problem's
  trial INTEGER NOT NULL REFERENCES trials (id),
  measured_at INTEGER NOT NULL,                    -- the trial's
  pack INTEGER REFERENCES packs (id),              -- that it came with; NULL: chosen here
  runner_up TEXT,                                  -- a config's text
  runner_up_ratio REAL,
  base_ns REAL,
  configs_considered INTEGER NOT NULL,
  configs_failed INTEGER NOT NULL,
  strategy TEXT NOT NULL,
  choice TEXT NOT NULL,                            -- JSON: Selection in cache/model/records.hpp
  rules INTEGER REFERENCES rules (id),             -- what it forbids; NULL: said by the first
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('winners', id, problem, device, mode, role, position, spec,
    trial, measured_at, pack, runner_up, runner_up_ratio, base_ns, configs_considered, configs_failed, strategy,
    choice, rules)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('winners', checksum, id, problem, device, mode, role, position, spec,
    trial, measured_at, pack, runner_up, runner_up_ratio, base_ns, configs_considered, configs_failed, strategy,
    choice, rules)) VIRTUAL,
  UNIQUE (problem, device, mode, role, position)
);

-- What was served first until another took its place. The trial tells when that was, and with which driver and
-- compiler.
CREATE TABLE past_winners (
  id INTEGER PRIMARY KEY,
  problem INTEGER NOT NULL REFERENCES problems (id),
  device INTEGER NOT NULL REFERENCES devices (id),
  mode TEXT NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  role TEXT NOT NULL CHECK (role IN ('best', 'dynamic', 'base')),
  trial INTEGER NOT NULL REFERENCES trials (id),
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('past_winners', id, problem, device, mode, role, trial))
    STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('past_winners', checksum, id, problem, device, mode, role, trial))
    VIRTUAL,
  UNIQUE (problem, device, mode, role, trial)
);

-- Binaries of configs without specialised dims that are kept beside the winners, for shapes around that nobody tuned.
CREATE TABLE spares (
  id INTEGER PRIMARY KEY,
  problem INTEGER NOT NULL REFERENCES problems (id),
  device INTEGER NOT NULL REFERENCES devices (id),
  mode TEXT NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  spec INTEGER NOT NULL REFERENCES specs (id),     -- the problem's
  config INTEGER NOT NULL REFERENCES configs (id),
  build INTEGER NOT NULL REFERENCES builds (id),
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('spares', id, problem, device, mode, spec, config, build))
    STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('spares', checksum, id, problem, device, mode, spec, config, build))
    VIRTUAL,
  UNIQUE (problem, device, mode, config)
);

-- What was learned of the trials of a spec on a device, for shapes that nobody tuned: cache/predict/loss_model.hpp.
CREATE TABLE loss_models (
  id INTEGER PRIMARY KEY,
  spec INTEGER NOT NULL REFERENCES specs (id),
  device INTEGER NOT NULL REFERENCES devices (id),
  mode TEXT NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  shapes INTEGER NOT NULL,                         -- that it was learned from
  learned_at INTEGER NOT NULL,
  binary INTEGER NOT NULL REFERENCES binaries (id), -- one for all specs of an op
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('loss_models', id, spec, device, mode, shapes, learned_at,
    binary)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('loss_models', checksum, id, spec, device, mode, shapes, learned_at,
    binary)) VIRTUAL,
  UNIQUE (spec, device, mode)
);

-- What people decided: a config that is served first, or never; `free`: neither any more. Of two the newer stands.
CREATE TABLE pins (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('pin', 'ban', 'free')),
  spec INTEGER NOT NULL REFERENCES specs (id),
  problem INTEGER REFERENCES problems (id),        -- NULL: all problems of the spec
  device INTEGER NOT NULL REFERENCES devices (id),
  config INTEGER NOT NULL REFERENCES configs (id),
  reason TEXT NOT NULL,
  since INTEGER NOT NULL,
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('pins', id, kind, spec, problem, device, config, reason,
    since)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('pins', checksum, id, kind, spec, problem, device, config, reason,
    since)) VIRTUAL
);

CREATE TABLE ceilings (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES devices (id),
  mode TEXT NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  bytes INTEGER NOT NULL,
  reads INTEGER NOT NULL CHECK (reads >= 1),       -- for each byte written
  memcpy_ns REAL,
  copy_op_ns REAL,
  gpu_uuid TEXT NOT NULL,
  measured_at INTEGER NOT NULL,
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('ceilings', id, device, mode, bytes, reads, memcpy_ns,
    copy_op_ns, gpu_uuid, measured_at)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('ceilings', checksum, id, device, mode, bytes, reads, memcpy_ns,
    copy_op_ns, gpu_uuid, measured_at)) VIRTUAL
);

CREATE TABLE compute_rates (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES devices (id),
  unit TEXT NOT NULL,                              -- fp32, tensor_bf16 …: the unit, the operands' type
  flops_per_second REAL NOT NULL CHECK (flops_per_second > 0), -- a multiply-add counts twice
  config TEXT NOT NULL,                            -- of the op that measures the unit
  gpu_uuid TEXT NOT NULL,
  measured_at INTEGER NOT NULL,
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('compute_rates', id, device, unit, flops_per_second, config,
    gpu_uuid, measured_at)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('compute_rates', checksum, id, device, unit, flops_per_second, config,
    gpu_uuid, measured_at)) VIRTUAL
);

-- What applications asked for and did not get exactly. Text and no references: the op or the device may be unknown
-- here.
CREATE TABLE misses (
  id INTEGER PRIMARY KEY,
  shape_key TEXT NOT NULL,
  device_fingerprint TEXT NOT NULL,
  count INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('misses', id, shape_key, device_fingerprint, count,
    first_at, last_at)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('misses', checksum, id, shape_key, device_fingerprint, count,
    first_at, last_at)) VIRTUAL,
  UNIQUE (shape_key, device_fingerprint)
);

-- The service's: what is to be tuned, its problems one by one, and requests that are not done twice.
CREATE TABLE campaigns (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  definition TEXT NOT NULL,                        -- the file's text
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'partly', 'cancelled', 'failed')),
  submitted_by TEXT NOT NULL,
  submitted_at INTEGER NOT NULL,
  ended_at INTEGER,
  reason TEXT NOT NULL,                            -- why it ended so
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('campaigns', id, name, definition, state, submitted_by,
    submitted_at, ended_at, reason)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('campaigns', checksum, id, name, definition, state, submitted_by,
    submitted_at, ended_at, reason)) VIRTUAL
);

CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  campaign INTEGER REFERENCES campaigns (id),      -- NULL: of misses
  shape_key TEXT NOT NULL,
  device_fingerprint TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'cancelled', 'failed')),
  attempts INTEGER NOT NULL,
  epoch INTEGER NOT NULL,                          -- a result of an older one comes too late
  worker TEXT NOT NULL,
  leased_until INTEGER,
  sweep INTEGER REFERENCES sweeps (id),
  reason TEXT NOT NULL,
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('jobs', id, campaign, shape_key, device_fingerprint, mode,
    state, attempts, epoch, worker, leased_until, sweep, reason)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('jobs', checksum, id, campaign, shape_key, device_fingerprint, mode,
    state, attempts, epoch, worker, leased_until, sweep, reason)) VIRTUAL
);

CREATE TABLE idempotency_keys (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  request_hash TEXT NOT NULL,
  status INTEGER NOT NULL,
  answer TEXT NOT NULL,
  answered_at INTEGER NOT NULL,
  checksum INTEGER NOT NULL GENERATED ALWAYS AS (row_hash('idempotency_keys', id, key, request_hash, status, answer,
    answered_at)) STORED,
  intact INTEGER GENERATED ALWAYS AS (is_intact('idempotency_keys', checksum, id, key, request_hash, status, answer,
    answered_at)) VIRTUAL
);

-- The rows, as they are; but that an implementation's hash is of its tokens now.
INSERT INTO devices (id, fingerprint, compute_capability, facts) SELECT id, fingerprint, compute_capability, facts
  FROM old_devices;
INSERT INTO interfaces (id, hash, op, definition, sequence) SELECT id, hash, op, definition, sequence FROM
  old_interfaces;
INSERT INTO implementations (id, interface, hash, name, recipe) SELECT id, interface, current_hash(hash), name, recipe
  FROM old_implementations;
INSERT INTO specs (id, interface, op, dtype, attributes, text) SELECT id, interface, op, dtype, attributes, text FROM
  old_specs;
INSERT INTO problems (id, spec, dims) SELECT id, spec, dims FROM old_problems;
INSERT INTO configs (id, implementation, text) SELECT id, implementation, text FROM old_configs;
INSERT INTO versions (id, driver, compiler, tilewright) SELECT id, driver, compiler, tilewright FROM old_versions;
INSERT INTO sweeps (id, command, device, started_at, ended_at, outcome) SELECT id, command, device, started_at,
  ended_at, outcome FROM old_sweeps;
INSERT INTO binaries (id, hash, size, data) SELECT id, hash, size, data FROM old_binaries;
INSERT INTO builds (id, key, ok, binary, kernels, log, compiler, arch, milliseconds, sweep, worker, began_us) SELECT
  id, key, ok, binary, kernels, log, compiler, arch, milliseconds, sweep, worker, began_us FROM old_builds;
INSERT INTO rounds (trial, nanoseconds) SELECT trial, nanoseconds FROM old_rounds;
INSERT INTO ceilings (id, device, mode, bytes, reads, memcpy_ns, copy_op_ns, gpu_uuid, measured_at) SELECT id, device,
  mode, bytes, reads, memcpy_ns, copy_op_ns, gpu_uuid, measured_at FROM old_ceilings;
INSERT INTO compute_rates (id, device, unit, flops_per_second, config, gpu_uuid, measured_at) SELECT id, device, unit,
  flops_per_second, config, gpu_uuid, measured_at FROM old_compute_rates;
INSERT INTO gpus (uuid) SELECT gpu_uuid FROM old_trials GROUP BY gpu_uuid ORDER BY min(id);
INSERT INTO trials (id, problem, device, config, mode, status, reason, versions, build, sweep, measured_at, gpu,
  median_ns, low_ns, high_ns, min_ns, launches_per_round, input_sets, floor_ns, compared, max_absolute, max_relative,
  norm_relative, sm_clock_mhz, memory_clock_mhz, temperature_c, power_mw, throttle_reasons, look, began_us, set_up_us,
  verify_us, measure_us) SELECT id, problem, device, config, mode, status, reason, versions, build, sweep,
  measured_at, (SELECT g.id FROM gpus g WHERE g.uuid = gpu_uuid), median_ns, low_ns, high_ns, min_ns,
  launches_per_round, input_sets, floor_ns, compared, max_absolute, max_relative, norm_relative, sm_clock_mhz,
  memory_clock_mhz, temperature_c, power_mw, throttle_reasons, look, began_us, set_up_us, verify_us, measure_us FROM
  old_trials WHERE NOT (status = 'pruned' AND reason = 'compiled for shapes around that were not tuned' AND build IS
  NOT NULL);

-- A spare was a trial of a config that was not tried; the newest of a config counts.
INSERT INTO spares (problem, device, mode, spec, config, build)
SELECT t.problem, t.device, t.mode, p.spec, t.config, t.build FROM old_trials t JOIN problems p ON p.id = t.problem
WHERE t.id IN (SELECT max(id) FROM old_trials WHERE status = 'pruned'
               AND reason = 'compiled for shapes around that were not tuned' AND build IS NOT NULL
               GROUP BY problem, device, mode, config)
ORDER BY t.id;

INSERT INTO rules (hash, text)
SELECT content_hash(text), text FROM
  (SELECT DISTINCT (SELECT json_group_array(key) FROM json_each(choice, '$.forbidden')) AS text FROM old_winners)
WHERE text <> '[]';
-- Of a final that came with an export the winner alone has its rounds: the choice says so.
CREATE TEMP TABLE bare (problem, device, mode, finalists, PRIMARY KEY (problem, device, mode));
INSERT INTO bare SELECT problem, device, mode, count(*) FROM old_trials
WHERE look = 'final' AND id NOT IN (SELECT trial FROM old_rounds) GROUP BY problem, device, mode;
INSERT INTO winners (problem, device, mode, role, position, spec, trial, measured_at, runner_up, runner_up_ratio,
  base_ns, configs_considered, configs_failed, strategy, choice, rules)
SELECT w.problem, w.device, w.mode, role, position, spec, trial,
  (SELECT t.measured_at FROM trials t WHERE t.id = w.trial), runner_up, runner_up_ratio, base_ns, configs_considered,
  configs_failed, strategy, iif(b.finalists IS NULL, marked, json_set(marked, '$.without_rounds', b.finalists)),
  (SELECT r.id FROM rules r
   WHERE r.hash = content_hash((SELECT json_group_array(key) FROM json_each(w.choice, '$.forbidden'))))
FROM (SELECT *, iif(json_type(choice, '$.forbidden') IS NULL, choice,
        json_set(choice, '$.forbidden', json((SELECT json_group_array(value) FROM json_each(choice, '$.forbidden')))))
        AS marked FROM old_winners) w
LEFT JOIN bare b ON b.problem = w.problem AND b.device = w.device AND b.mode = w.mode
ORDER BY w.problem, w.device, w.mode, role, position;
DROP TABLE temp.bare;

INSERT INTO binaries (hash, size, data) SELECT hash, size, data FROM old_loss_models WHERE true
ON CONFLICT (hash) DO NOTHING;
INSERT INTO loss_models (id, spec, device, mode, shapes, learned_at, binary)
SELECT m.id, m.spec, m.device, m.mode, m.shapes, m.learned_at, b.id
FROM old_loss_models m JOIN binaries b ON b.hash = m.hash;

INSERT INTO misses (id, shape_key, device_fingerprint, count, first_at, last_at)
SELECT id, shape_key, device_fingerprint, count, first_at, last_at FROM old_requests;

DROP TABLE temp.old_rounds;
DROP TABLE temp.old_winners;
DROP TABLE temp.old_loss_models;
DROP TABLE temp.old_trials;
DROP TABLE temp.old_builds;
DROP TABLE temp.old_binaries;
DROP TABLE temp.old_sweeps;
DROP TABLE temp.old_ceilings;
DROP TABLE temp.old_compute_rates;
DROP TABLE temp.old_configs;
DROP TABLE temp.old_problems;
DROP TABLE temp.old_specs;
DROP TABLE temp.old_implementations;
DROP TABLE temp.old_interfaces;
DROP TABLE temp.old_versions;
DROP TABLE temp.old_devices;
DROP TABLE temp.old_requests;

CREATE UNIQUE INDEX interfaces_by_op ON interfaces (op, sequence);
CREATE INDEX specs_by_op ON specs (op);
CREATE INDEX trials_by_problem ON trials (problem, device, mode, config);
-- Failures are few among many trials: for asking which configs ever went wrong.
CREATE INDEX trials_that_failed ON trials (device, mode, config) WHERE status NOT IN ('ok', 'pruned');
CREATE INDEX winners_by_spec ON winners (spec, device, mode, role, measured_at, trial, position);
CREATE INDEX spares_by_spec ON spares (spec, device, mode);
CREATE UNIQUE INDEX pins_by_config ON pins (spec, ifnull(problem, 0), device, config);
CREATE INDEX ceilings_by_bytes ON ceilings (device, mode, bytes, reads);
CREATE INDEX compute_rates_by_unit ON compute_rates (device, unit);
CREATE INDEX jobs_by_state ON jobs (state, campaign);

-- For people: `sqlite3 cache.db 'SELECT * FROM winner_table'`.
CREATE VIEW winner_table AS
SELECT specs.text || '{' || problems.dims || '}' AS problem, devices.fingerprint AS device, winners.mode, winners.role,
       configs.text AS config, trials.median_ns, trials.low_ns, trials.high_ns, winners.base_ns
FROM winners
JOIN problems ON problems.id = winners.problem
JOIN specs ON specs.id = winners.spec
JOIN devices ON devices.id = winners.device
JOIN trials ON trials.id = winners.trial
JOIN configs ON configs.id = trials.config;

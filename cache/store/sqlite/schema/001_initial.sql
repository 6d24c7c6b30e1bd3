-- SPDX-License-Identifier: Apache-2.0
-- Schema 1. What each table is for, and the rules over them, stand in docs/cache.md.
-- Ids grow with time: "the newest" always means the greatest id. Times are nanoseconds, moments seconds since 1970.

CREATE TABLE devices (
  id                 INTEGER PRIMARY KEY,
  fingerprint        TEXT    NOT NULL UNIQUE,
  compute_capability INTEGER NOT NULL,
  facts              TEXT    NOT NULL              -- JSON: cache/device_facts.hpp
);

-- An op as its callers see it. `sequence` orders the interfaces of one op: the greatest is the one in use.
CREATE TABLE interfaces (
  id         INTEGER PRIMARY KEY,
  hash       TEXT    NOT NULL UNIQUE,
  op         TEXT    NOT NULL,
  definition TEXT    NOT NULL,                     -- JSON: cache/interface.hpp
  sequence   INTEGER NOT NULL
);
CREATE UNIQUE INDEX interfaces_by_op ON interfaces (op, sequence);

-- The text of an implementation can stay what it is while its op's interface changes: hence the pair.
CREATE TABLE implementations (
  id        INTEGER PRIMARY KEY,
  interface INTEGER NOT NULL REFERENCES interfaces (id),
  hash      TEXT    NOT NULL,
  name      TEXT    NOT NULL,
  recipe    TEXT    NOT NULL,                      -- JSON: cache/recipe.hpp
  UNIQUE (hash, interface)
);

-- op[dtype=…,attribute=…] under one interface.
CREATE TABLE specs (
  id         INTEGER PRIMARY KEY,
  interface  INTEGER NOT NULL REFERENCES interfaces (id),
  op         TEXT    NOT NULL,
  dtype      TEXT    NOT NULL,
  attributes TEXT    NOT NULL,                     -- JSON: [["act", "gelu"], …] in the op's order
  text       TEXT    NOT NULL,
  UNIQUE (interface, text)
);
CREATE INDEX specs_by_op ON specs (op);

-- A shape key is the spec's text, then the dims in braces.
CREATE TABLE problems (
  id   INTEGER PRIMARY KEY,
  spec INTEGER NOT NULL REFERENCES specs (id),
  dims TEXT    NOT NULL,                           -- rows=8,cols=100
  UNIQUE (spec, dims)
);

CREATE TABLE configs (
  id             INTEGER PRIMARY KEY,
  implementation INTEGER NOT NULL REFERENCES implementations (id),
  text           TEXT    NOT NULL,                 -- onchip{num_warps=4,vec=8}
  UNIQUE (implementation, text)
);

CREATE TABLE versions (
  id         INTEGER PRIMARY KEY,
  driver     INTEGER NOT NULL,
  compiler   TEXT    NOT NULL,
  tilewright TEXT    NOT NULL,
  UNIQUE (driver, compiler, tilewright)
);

CREATE TABLE binaries (
  id   INTEGER PRIMARY KEY,
  hash TEXT    NOT NULL UNIQUE,                    -- XXH3-128 of the bytes before compression
  size INTEGER NOT NULL,                           -- bytes before compression
  data BLOB    NOT NULL                            -- one zstd frame
);

CREATE TABLE builds (
  id           INTEGER PRIMARY KEY,
  key          TEXT    NOT NULL UNIQUE,
  ok           INTEGER NOT NULL CHECK (ok IN (0, 1)),
  binary       INTEGER REFERENCES binaries (id),
  kernels      TEXT    NOT NULL,                   -- JSON: one object a kernel
  log          TEXT    NOT NULL,
  compiler     TEXT    NOT NULL,
  arch         TEXT    NOT NULL,
  milliseconds REAL    NOT NULL,
  CHECK (ok = (binary IS NOT NULL))
);

CREATE TABLE sweeps (
  id         INTEGER PRIMARY KEY,
  command    TEXT    NOT NULL,
  device     INTEGER NOT NULL REFERENCES devices (id),
  started_at INTEGER NOT NULL,
  ended_at   INTEGER,
  outcome    TEXT CHECK (outcome IN ('done', 'interrupted', 'partly'))
);

CREATE TABLE trials (
  id                  INTEGER PRIMARY KEY,
  problem             INTEGER NOT NULL REFERENCES problems (id),
  device              INTEGER NOT NULL REFERENCES devices (id),
  config              INTEGER NOT NULL REFERENCES configs (id),
  mode                TEXT    NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  status              TEXT    NOT NULL CHECK (status IN ('ok', 'compile_failed', 'exceeds_limits', 'wrong_result',
                                                         'timed_out', 'crashed')),
  reason              TEXT    NOT NULL,
  versions            INTEGER NOT NULL REFERENCES versions (id),
  build               INTEGER REFERENCES builds (id),
  sweep               INTEGER REFERENCES sweeps (id),
  measured_at         INTEGER NOT NULL,
  gpu_uuid            TEXT    NOT NULL,
  median_ns           REAL,                        -- NULL: not measured
  low_ns              REAL,
  high_ns             REAL,
  min_ns              REAL,
  launches_per_round  INTEGER,
  input_sets          INTEGER,
  floor_ns            REAL,
  compared            INTEGER NOT NULL CHECK (compared IN (0, 1)),   -- with the reference; a NULL below is then NaN
  max_absolute        REAL,
  max_relative        REAL,
  norm_relative       REAL,
  sm_clock_mhz        INTEGER,
  memory_clock_mhz    INTEGER,
  temperature_c       INTEGER,
  power_mw            INTEGER,
  throttle_reasons    INTEGER
);
CREATE INDEX trials_by_problem ON trials (problem, device, mode, config);

-- Apart from the trials, so that listing trials does not read them.
CREATE TABLE rounds (
  trial       INTEGER PRIMARY KEY REFERENCES trials (id),
  nanoseconds BLOB NOT NULL                        -- one little-endian float64 a round
);

CREATE TABLE winners (
  problem            INTEGER NOT NULL REFERENCES problems (id),
  device             INTEGER NOT NULL REFERENCES devices (id),
  mode               TEXT    NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  role               TEXT    NOT NULL CHECK (role IN ('best', 'dynamic', 'base')),
  position           INTEGER NOT NULL,             -- among those of one role; 0 is the first choice
  spec               INTEGER NOT NULL REFERENCES specs (id),   -- the problem's
  trial              INTEGER NOT NULL REFERENCES trials (id),
  runner_up          TEXT,                         -- a config's text
  runner_up_ratio    REAL,
  base_ns            REAL,
  configs_considered INTEGER NOT NULL,
  configs_failed     INTEGER NOT NULL,
  strategy           TEXT    NOT NULL,
  PRIMARY KEY (problem, device, mode, role, position)
) WITHOUT ROWID;
CREATE INDEX winners_by_spec ON winners (spec, device, mode, role, trial);

CREATE TABLE ceilings (
  id          INTEGER PRIMARY KEY,
  device      INTEGER NOT NULL REFERENCES devices (id),
  mode        TEXT    NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  bytes       INTEGER NOT NULL,
  memcpy_ns   REAL,
  copy_op_ns  REAL,
  gpu_uuid    TEXT    NOT NULL,
  measured_at INTEGER NOT NULL
);
CREATE INDEX ceilings_by_bytes ON ceilings (device, mode, bytes);

-- What applications asked for and did not get exactly. Text and no references: the op or the device may be unknown here.
CREATE TABLE requests (
  id                 INTEGER PRIMARY KEY,
  shape_key          TEXT    NOT NULL,
  device_fingerprint TEXT    NOT NULL,
  count              INTEGER NOT NULL,
  first_at           INTEGER NOT NULL,
  last_at            INTEGER NOT NULL,
  UNIQUE (shape_key, device_fingerprint)
);

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

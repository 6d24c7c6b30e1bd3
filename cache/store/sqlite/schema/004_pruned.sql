-- SPDX-License-Identifier: Apache-2.0
-- Schema 4. A config that was not tried, since it cannot win, is a trial of the status `pruned`, whose reason says why. Builds
-- and trials know when they were made, for a timeline of their sweep: moments in microseconds since 1970, NULL where unknown.

ALTER TABLE builds ADD COLUMN sweep INTEGER REFERENCES sweeps (id);
ALTER TABLE builds ADD COLUMN worker INTEGER;      -- which of the sweep's compilers, from 0
ALTER TABLE builds ADD COLUMN began_us INTEGER;    -- it took `milliseconds`

-- A CHECK cannot be altered: the table is made anew.
DROP VIEW winner_table;
CREATE TABLE trials_anew (
  id                  INTEGER PRIMARY KEY,
  problem             INTEGER NOT NULL REFERENCES problems (id),
  device              INTEGER NOT NULL REFERENCES devices (id),
  config              INTEGER NOT NULL REFERENCES configs (id),
  mode                TEXT    NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  status              TEXT    NOT NULL CHECK (status IN ('ok', 'compile_failed', 'exceeds_limits', 'wrong_result',
                                                         'timed_out', 'crashed', 'pruned')),
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
  throttle_reasons    INTEGER,
  look                TEXT    NOT NULL DEFAULT 'whole' CHECK (look IN ('brief', 'whole', 'final')),
  began_us            INTEGER,                     -- the device's work for it; what it did follows one behind the other:
  set_up_us           INTEGER,                     -- its problem's inputs and reference; 0: they were there
  verify_us           INTEGER,                     -- loading included; of what came to no end, all until it was given up
  measure_us          INTEGER,                     -- of a final: of all finalists together
  CHECK (status <> 'pruned' OR (median_ns IS NULL AND compared = 0))
);
INSERT INTO trials_anew (id, problem, device, config, mode, status, reason, versions, build, sweep, measured_at, gpu_uuid,
                         median_ns, low_ns, high_ns, min_ns, launches_per_round, input_sets, floor_ns, compared,
                         max_absolute, max_relative, norm_relative, sm_clock_mhz, memory_clock_mhz, temperature_c,
                         power_mw, throttle_reasons, look)
SELECT id, problem, device, config, mode, status, reason, versions, build, sweep, measured_at, gpu_uuid,
       median_ns, low_ns, high_ns, min_ns, launches_per_round, input_sets, floor_ns, compared,
       max_absolute, max_relative, norm_relative, sm_clock_mhz, memory_clock_mhz, temperature_c,
       power_mw, throttle_reasons, look
FROM trials;
DROP TABLE trials;
ALTER TABLE trials_anew RENAME TO trials;
CREATE INDEX trials_by_problem ON trials (problem, device, mode, config);

CREATE VIEW winner_table AS
SELECT specs.text || '{' || problems.dims || '}' AS problem, devices.fingerprint AS device, winners.mode, winners.role,
       configs.text AS config, trials.median_ns, trials.low_ns, trials.high_ns, winners.base_ns
FROM winners
JOIN problems ON problems.id = winners.problem
JOIN specs ON specs.id = winners.spec
JOIN devices ON devices.id = winners.device
JOIN trials ON trials.id = winners.trial
JOIN configs ON configs.id = trials.config;

-- SPDX-License-Identifier: Apache-2.0
-- Schema 6. What was learned of the trials of a spec on a device, for shapes that nobody tuned: cache/loss_model.hpp.

CREATE TABLE loss_models (
  id         INTEGER PRIMARY KEY,
  spec       INTEGER NOT NULL REFERENCES specs (id),
  device     INTEGER NOT NULL REFERENCES devices (id),
  mode       TEXT    NOT NULL CHECK (mode IN ('cold', 'hot', 'events')),
  shapes     INTEGER NOT NULL,                     -- that it was learned from
  learned_at INTEGER NOT NULL,
  hash       TEXT    NOT NULL,                     -- XXH3-128 of the bytes before compression
  size       INTEGER NOT NULL,                     -- bytes before compression
  data       BLOB    NOT NULL,                     -- one zstd frame
  UNIQUE (spec, device, mode)
);

-- Spares are few among many trials.
CREATE INDEX trials_that_are_spares ON trials (device, mode, problem)
  WHERE status = 'pruned' AND reason = 'compiled for shapes around that were not tuned' AND build IS NOT NULL;
-- So are failures, for asking which configs ever went wrong.
CREATE INDEX trials_that_failed ON trials (device, mode, config) WHERE status NOT IN ('ok', 'pruned');

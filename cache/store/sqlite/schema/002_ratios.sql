-- SPDX-License-Identifier: Apache-2.0
-- Schema 2. Ceilings know how many bytes are read for each one written; those before it were plain copies. Beside them,
-- how fast a device computes.

ALTER TABLE ceilings ADD COLUMN reads INTEGER NOT NULL DEFAULT 1 CHECK (reads >= 1);
DROP INDEX ceilings_by_bytes;
CREATE INDEX ceilings_by_bytes ON ceilings (device, mode, bytes, reads);

CREATE TABLE compute_rates (
  id               INTEGER PRIMARY KEY,
  device           INTEGER NOT NULL REFERENCES devices (id),
  flops_per_second REAL    NOT NULL CHECK (flops_per_second > 0),   -- fp32, a multiply-add counts twice
  config           TEXT    NOT NULL,               -- of the op fma
  gpu_uuid         TEXT    NOT NULL,
  measured_at      INTEGER NOT NULL
);
CREATE INDEX compute_rates_by_device ON compute_rates (device);

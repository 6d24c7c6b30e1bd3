-- SPDX-License-Identifier: Apache-2.0
-- Schema 5. A compute rate knows which unit of the device it is of; those before it were of plain fp32.

ALTER TABLE compute_rates ADD COLUMN unit TEXT NOT NULL DEFAULT 'fp32';   -- or tensor_bf16 …: the unit, the operands' type
DROP INDEX compute_rates_by_device;
CREATE INDEX compute_rates_by_unit ON compute_rates (device, unit);

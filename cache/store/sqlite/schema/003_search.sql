-- SPDX-License-Identifier: Apache-2.0
-- Schema 3. A search looks at some configs for a round or two only, and at its leaders once more, in turns: trials know how
-- long they were looked at. Winners say how they were chosen.

ALTER TABLE trials ADD COLUMN look TEXT NOT NULL DEFAULT 'whole' CHECK (look IN ('brief', 'whole', 'final'));

ALTER TABLE winners ADD COLUMN choice TEXT NOT NULL DEFAULT '{}';   -- JSON: Choice in cache/store/records.hpp

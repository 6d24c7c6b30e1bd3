// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <xxhash.h>

#include <memory>
#include <new>
#include <string>

#include "cache/store/store_impl.hpp"
#include "cache/store/whole_file.hpp"

namespace tilewright {
namespace {

// Names stand for ids, and rows are ordered by their content: the digest does not depend on the order of arrival.
constexpr const char* kContents[] = {
    "SELECT fingerprint, facts FROM devices ORDER BY 1",
    "SELECT op, hash, definition, row_number() OVER (PARTITION BY op ORDER BY sequence DESC) FROM interfaces "
    "ORDER BY 1, 4",
    "SELECT i.hash, m.hash, m.name, m.recipe FROM implementations m JOIN interfaces i ON i.id = m.interface "
    "ORDER BY 1, 2",
    "SELECT d.key, d.ok, b.hash, d.kernels, d.log, d.compiler, d.arch, d.milliseconds FROM builds d "
    "LEFT JOIN binaries b ON b.id = d.binary ORDER BY 1",
    "SELECT t.problem, t.device, t.config, t.mode, t.status, t.reason, t.versions, t.build, t.measured_at, "
    "t.gpu_uuid, t.median_ns, t.low_ns, t.high_ns, t.min_ns, t.launches_per_round, t.input_sets, t.floor_ns, "
    "t.compared, t.max_absolute, t.max_relative, t.norm_relative, t.sm_clock_mhz, t.memory_clock_mhz, "
    "t.temperature_c, t.power_mw, t.throttle_reasons, t.look, t.rounds FROM named_trials t "
    "ORDER BY 1, 2, 3, 4, 9, 27, 5, 6, 11, 12, 13",
    "SELECT t.problem, t.device, t.config, t.measured_at, t.look, w.mode, w.role, w.position, w.runner_up, "
    "w.runner_up_ratio, w.base_ns, w.configs_considered, w.configs_failed, w.strategy, w.choice, r.text "
    "FROM winners w JOIN named_trials t ON t.id = w.trial LEFT JOIN rules r ON r.id = w.rules "
    "ORDER BY 1, 2, 6, 7, 8",
    "SELECT t.problem, t.device, t.config, t.measured_at, t.look, t.median_ns, w.mode, w.role FROM past_winners w "
    "JOIN named_trials t ON t.id = w.trial ORDER BY 1, 2, 3, 4, 5, 6, 7, 8",
    "SELECT n.text, d.fingerprint, s.mode, c.text, b.key FROM spares s JOIN named_problems n ON n.id = s.problem "
    "JOIN devices d ON d.id = s.device JOIN named_configs c ON c.id = s.config JOIN builds b ON b.id = s.build "
    "ORDER BY 1, 2, 3, 4",
    "SELECT i.hash, s.text, p.dims, d.fingerprint, c.text, k.kind, k.reason, k.since FROM pins k "
    "JOIN specs s ON s.id = k.spec JOIN interfaces i ON i.id = s.interface LEFT JOIN problems p ON p.id = k.problem "
    "JOIN devices d ON d.id = k.device JOIN named_configs c ON c.id = k.config ORDER BY 1, 2, 3, 4, 5",
    "SELECT s.text, d.fingerprint, l.mode, l.shapes, l.learned_at, b.hash FROM loss_models l "
    "JOIN specs s ON s.id = l.spec JOIN devices d ON d.id = l.device JOIN binaries b ON b.id = l.binary "
    "ORDER BY 1, 2, 3",
    "SELECT d.fingerprint, c.mode, c.bytes, c.reads, c.memcpy_ns, c.copy_op_ns, c.gpu_uuid, c.measured_at "
    "FROM ceilings c JOIN devices d ON d.id = c.device ORDER BY 1, 2, 3, 4, 8, 5, 6, 7",
    "SELECT d.fingerprint, r.unit, r.flops_per_second, r.config, r.gpu_uuid, r.measured_at FROM compute_rates r "
    "JOIN devices d ON d.id = r.device ORDER BY 1, 2, 6, 3, 4, 5"};

constexpr const char* kNames = R"sql(
WITH named_problems AS (
SELECT p.id, i.hash || ' ' || s.text || '{' || p.dims || '}' AS text FROM main.problems p
JOIN main.specs s ON s.id = p.spec JOIN main.interfaces i ON i.id = s.interface), named_configs AS (
SELECT c.id, m.hash || ' ' || c.text AS text FROM main.configs c
JOIN main.implementations m ON m.id = c.implementation), named_trials AS (
SELECT t.id, p.text AS problem, d.fingerprint AS device, c.text AS config, t.mode, t.status, t.reason,
       v.driver || ' ' || v.compiler || ' ' || v.tilewright AS versions, b.key AS build, t.measured_at,
       g.uuid AS gpu_uuid, t.median_ns, t.low_ns, t.high_ns, t.min_ns, t.launches_per_round, t.input_sets,
       t.floor_ns, t.compared,
       t.max_absolute, t.max_relative, t.norm_relative, t.sm_clock_mhz, t.memory_clock_mhz, t.temperature_c,
       t.power_mw, t.throttle_reasons, t.look, r.nanoseconds AS rounds
FROM main.trials t JOIN named_problems p ON p.id = t.problem JOIN main.devices d ON d.id = t.device
JOIN named_configs c ON c.id = t.config JOIN main.versions v ON v.id = t.versions JOIN main.gpus g ON g.id = t.gpu
LEFT JOIN main.builds b ON b.id = t.build LEFT JOIN main.rounds r ON r.trial = t.id)
)sql";

struct FreeState {
  void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
};

}  // namespace

std::string WholeFile::digest(const Store& store) {
  return store.impl_->reading("digest the cache", [&, &database = store.impl_->database] {
    const auto snapshot = database.begin_read();
    const std::unique_ptr<XXH3_state_t, FreeState> state(XXH3_createState());
    if (state == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(state.get());
    const auto add = [&](const void* data, std::size_t size) { XXH3_128bits_update(state.get(), data, size); };
    for (const char* const sql : kContents) {
      SQLite::Statement rows(database.handle(), std::string(kNames) + sql);
      while (rows.executeStep()) {
        for (int column = 0; column < rows.getColumnCount(); ++column) {
          const SQLite::Column value = rows.getColumn(column);
          const int size = value.getBytes();
          const int kind = value.getType();
          add(&kind, sizeof kind);
          add(&size, sizeof size);
          if (size > 0) add(value.getBlob(), static_cast<std::size_t>(size));
        }
      }
    }
    const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  });
}

}  // namespace tilewright

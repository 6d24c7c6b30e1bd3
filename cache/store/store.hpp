// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/model/config_id.hpp"
#include "cache/model/records.hpp"
#include "cache/serve/winner_source.hpp"
#include "cache/store/sqlite/access.hpp"

/// The cache: one SQLite file with all that tuning has learned (docs/cache.md has the schema).
///
/// Readers do not block; several tuners may write one file. Each write method is one transaction. After it returns, the
/// rows outlive this program (a power cut may cost the last few, but not the file). If it throws CacheError, nothing of
/// it is kept. A file that is not a cache, is damaged, or is newer than this program is refused and left as it is. For
/// one thread at a time: open one Store per thread.
namespace tilewright {

/// TILEWRIGHT_CACHE, else `$XDG_CACHE_HOME/tilewright/cache.db`, else `~/.cache/tilewright/cache.db`.
[[nodiscard]] std::filesystem::path default_cache_path();

struct History;
struct WholeFile;  // cache/store/whole_file.hpp: copies, packs, digests, garbage

class Store final : public WinnerSource {
 public:
  explicit Store(const std::filesystem::path& path, StoreOptions options = {});
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store() override;

  [[nodiscard]] const std::filesystem::path& path() const noexcept;

  /// Several writes as one: none of them is kept unless commit() returns. While it lives, other writers of the file
  /// wait for it, and this Store reads what was written so far.
  class Batch {
   public:
    explicit Batch(Store& store);
    ~Batch();
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;
    void commit();

   private:
    struct State;
    std::unique_ptr<State> state_;
  };

  // Definitions and devices. Adding an existing one changes nothing, with two exceptions: the interface put last is the
  // newest of its op, and the recipe put last is the one in use.
  void put_interface(const OpInterface& interface);
  /// Adds an interface as older than all existing ones of its op.
  void add_older_interface(const OpInterface& interface);
  /// Replaces the recipe of this hash: its parts outside of the hash may have been edited.
  void put_implementation(const std::string& interface_hash, const StoredImplementation& implementation);
  /// Adds a recipe unless its hash has one: the caller does not know which of them is newer.
  void add_implementation(const std::string& interface_hash, const StoredImplementation& implementation);
  void put_device(const DeviceFacts& device);
  /// The newest interface stored for an op, or the one with the given hash.
  [[nodiscard]] std::optional<OpInterface> interface_of(const std::string& op) const override;
  [[nodiscard]] std::optional<OpInterface> interface_by_hash(const std::string& hash) const override;
  [[nodiscard]] std::optional<StoredImplementation> implementation_by_hash(const std::string& hash) const override;
  /// Hashes of the implementations of an interface: of each name, the one with the newest trial. These can still be
  /// compiled, as far as a cache can tell.
  [[nodiscard]] std::set<std::string> implementations_in_use(const std::string& interface_hash) const;
  [[nodiscard]] std::vector<DeviceFacts> devices() const override;
  [[nodiscard]] std::vector<std::string> ops() const override;

  // Builds and binaries.
  [[nodiscard]] std::optional<Build> build(const std::string& key) const override;
  /// Stores the build and its binary (empty if the compile failed), compressed and by content. Replaces a failed build,
  /// and an imported one if this was compiled here; others stay. An empty `binary_hash` is computed.
  void put_build(const Build& build, std::span<const std::byte> binary);
  /// The binary's bytes, checked against their hash. Throws CacheError if they are missing or damaged.
  [[nodiscard]] std::vector<std::byte> binary(const std::string& content_hash) const override;

  // Sweeps.
  /// Returns the sweep's id. `command` is the request, for people.
  std::int64_t begin_sweep(const std::string& command, const std::string& device_fingerprint);
  /// `outcome`: "done", "interrupted", "partly".
  void end_sweep(std::int64_t sweep, const std::string& outcome);

  // Trials. `implementation_hash` ties a trial to its code.
  /// Stores a trial and returns its id. `trial.id` is ignored; a `measured_at` of 0 is now. Throws CacheError unless
  /// interface, implementation and device, and build and sweep if given, are stored. A trial of the same problem,
  /// config, implementation, mode and versions replaces nothing: all are kept, the newest counts.
  std::int64_t put_trial(const ProblemKey& key, const std::string& implementation_hash, const Trial& trial);
  /// The newest trial of each config whose implementation hash is among `implementation_hashes`, in one mode. A pruned
  /// trial counts only if the config was not tried with the same driver and compiler, before or after.
  [[nodiscard]] std::vector<Trial> trials(const ProblemKey& key, const std::vector<std::string>& implementation_hashes,
                                          MeasureMode mode) const;
  /// One trial with its rounds, which listings leave out.
  [[nodiscard]] std::optional<Trial> trial(std::int64_t id) const;

  /// A problem with trials on a device in one mode, and the implementations that were tried.
  struct Tried {
    ProblemKey key;
    MeasureMode mode = MeasureMode::cold;
    std::vector<std::string> implementation_hashes;
  };
  /// In the order of their first trials. `op` empty: all ops.
  [[nodiscard]] std::vector<Tried> tried(const std::string& op = {}) const;
  /// The problems of an interface with trials on a device in one mode, in the order in which they were stored.
  [[nodiscard]] std::vector<Problem> problems_tried(const std::string& interface_hash,
                                                    const std::string& device_fingerprint, MeasureMode mode) const;
  /// The versions of a device's newest trial; nullopt if it has none.
  [[nodiscard]] std::optional<Versions> newest_versions(const std::string& device_fingerprint) const;
  /// All trials (cache/store/history.hpp). `op` empty: all ops.
  [[nodiscard]] History history(const std::string& op = {}) const;

  // Winners.
  /// Replaces the winners of this problem, device and mode; a replaced first of its role becomes a past winner. A
  /// winner's `trial.id` must be stored, ok, and of the same problem, device and mode, else CacheError; the rest of
  /// `trial` is ignored. Several of one role keep their order.
  void put_winners(const ProblemKey& key, MeasureMode mode, const std::vector<Winner>& winners);
  /// The winners by role (best, dynamic, base), then in the order they were put.
  [[nodiscard]] std::vector<Winner> winners(const ProblemKey& key, MeasureMode mode) const;

  /// A config that is or was the first of its role for a problem.
  struct FirstServed {
    WinnerRole role = WinnerRole::best;
    /// False: another has taken its place.
    bool now = false;
    /// Without its rounds.
    Trial trial;
  };
  /// The winners that served first, by mode and role, the newest measurement first.
  [[nodiscard]] std::vector<FirstServed> served_first(const ProblemKey& key) const;

  using WinnerRow = tilewright::WinnerRow;
  struct WinnerFilter {
    std::string op{};           ///< empty: all
    std::string fingerprint{};  ///< empty: all
    std::optional<MeasureMode> mode{};
    std::optional<WinnerRole> role{};
  };
  /// Ordered by op, spec, then dims as numbers.
  [[nodiscard]] std::vector<WinnerRow> list_winners(const WinnerFilter& filter) const;

  // For matching, by index: see WinnerSource.
  [[nodiscard]] std::string title() const override;
  [[nodiscard]] bool changed() const override;
  /// Also changes when a sweep has ended or trials arrived otherwise (an import, spares): they serve shapes nearby.
  [[nodiscard]] std::uint64_t winners_state() const override;
  [[nodiscard]] std::optional<WinnerRow> winner_of(const ProblemKey& key, MeasureMode mode,
                                                   WinnerRole role) const override;
  [[nodiscard]] std::optional<WinnerRow> newest_of_spec(const ProblemKey& key, MeasureMode mode,
                                                        WinnerRole role) const override;
  [[nodiscard]] std::vector<ShapeDims> tuned_shapes(const ProblemKey& key, MeasureMode mode) const override;
  /// Read again after the file has changed.
  [[nodiscard]] std::vector<ShapeDims> tuned_near(const ProblemKey& key, MeasureMode mode,
                                                  std::size_t most) const override;
  /// Read once, until the file changes. Skips unreadable rows.
  [[nodiscard]] std::vector<TimedShape> times_near(const ProblemKey& key, MeasureMode mode,
                                                   std::size_t most) const override;
  [[nodiscard]] std::vector<ShapeSummary> known_shapes(const ProblemKey& key, MeasureMode mode,
                                                       const std::vector<ShapeDims>& shapes) const override;
  [[nodiscard]] std::optional<WinnerRow> timed(const ProblemKey& key, MeasureMode mode,
                                               const ConfigId& config) const override;

  // Spares: binaries of configs without specialised dims, kept at a shape for untuned shapes nearby.
  /// Adds a spare, or replaces its build. Throws CacheError unless implementation, device and build are stored.
  void put_spare(const ProblemKey& key, MeasureMode mode, const ConfigId& config, const std::string& build_key);
  /// The build key of a config that is a spare of exactly this problem; empty if it is none.
  [[nodiscard]] std::string build_of_spare(const ProblemKey& key, MeasureMode mode, const ConfigId& config) const;

  /// Configs of the interface of `key` that failed on its device, in any dtype and with any attributes, and were not ok
  /// at that shape since. None of them is a spare.
  [[nodiscard]] ConfigIds failed_configs(const ProblemKey& key, MeasureMode mode) const;

  // Models: a spec has one per device and mode, the last.
  /// Stores a model learned at `learned_at` (0: now). False if a newer program's model is stored, which stays. Throws
  /// CacheError if the spec has no problem here.
  bool put_loss_model(const ProblemKey& key, MeasureMode mode, const LossModel& model, std::int64_t learned_at = 0);
  /// Read again after the file has changed.
  [[nodiscard]] std::shared_ptr<const Learned> learned(const ProblemKey& key, MeasureMode mode) const override;

  // Pins and bans.
  struct PinRow {
    Pin pin;
    /// Without dims: for all problems of the spec.
    ProblemKey key;
  };
  /// Stores a pin of this moment (`since` 0), or one of another cache if it is newer than the one here; within one
  /// second the ban stands. Throws CacheError unless interface, implementation and device are stored.
  void put_pin(const PinRow& row);
  [[nodiscard]] Pins pins(const ProblemKey& key) const override;
  /// All pins, `free` ones included, by spec, device and problem.
  [[nodiscard]] std::vector<PinRow> list_pins() const;
  /// The configs of an implementation of that name that were tried on the device or are spares there, the latest first.
  [[nodiscard]] std::vector<ConfigId> tried_configs(const ProblemKey& key, const std::string& implementation) const;
  /// True if a config has a binary for some problem of the spec on the device.
  [[nodiscard]] bool has_binary(const ProblemKey& key, const ConfigId& config) const;

  // Ceilings. All are kept; the newest of a size and ratio counts.
  void put_ceiling(const std::string& device_fingerprint, const Ceiling& ceiling);
  [[nodiscard]] std::optional<Ceiling> ceiling(const std::string& device_fingerprint, std::int64_t bytes, int reads,
                                               MeasureMode mode) const;
  /// The newest of each mode, size and ratio.
  [[nodiscard]] std::vector<Ceiling> ceilings(const std::string& device_fingerprint) const;
  // Compute rates. All are kept; the newest counts.
  void put_compute_rate(const std::string& device_fingerprint, const ComputeRate& rate);
  [[nodiscard]] std::optional<ComputeRate> compute_rate(const std::string& device_fingerprint,
                                                        std::string_view unit = kFp32) const;
  /// The newest of each unit, ordered by it.
  [[nodiscard]] std::vector<ComputeRate> compute_rates(const std::string& device_fingerprint) const;

  /// Shapes that applications asked for without an exact winner (cache/store/job_queue.hpp), the most asked first.
  [[nodiscard]] std::vector<Miss> list_misses() const;

  struct Counts {
    std::int64_t devices = 0, interfaces = 0, implementations = 0, problems = 0, configs = 0, trials = 0, winners = 0,
                 builds = 0, binaries = 0, binary_bytes = 0, sweeps = 0, misses = 0, models = 0;
    int schema = 0;
  };
  [[nodiscard]] Counts counts() const;
  /// Checks pages, references, the checksums of all rows and the hashes of all binaries. Throws CacheError for damage.
  void check() const;
  /// Counts commits of other connections and processes: changes exactly when they change the file.
  [[nodiscard]] std::int64_t data_version() const;
  /// True if another file has taken the place of the open one (an export renamed over it). data_version() does not see
  /// that; only a new Store on path() shows it. Ask this before data_version().
  [[nodiscard]] bool outdated() const;

 private:
  friend struct WholeFile;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tilewright

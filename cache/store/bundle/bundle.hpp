// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cache/predict/nearest.hpp"
#include "cache/serve/winner_source.hpp"
#include "cache/store/bundle/container.hpp"
#include "cache/store/store.hpp"

/// A bundle: the winners of a cache as one read-only file, from shape to binary and plan, with nothing else of the
/// cache. It is read without SQLite, and served as a cache is. One thread at a time.
namespace tilewright {

class Bundle final : public WinnerSource {
 public:
  /// Throws CacheError as ContainerReader does.
  explicit Bundle(const std::filesystem::path& file);

  [[nodiscard]] static bool is_one(const std::filesystem::path& file) { return ContainerReader::is_one(file); }

  [[nodiscard]] std::string title() const override;
  [[nodiscard]] bool changed() const override { return container_.changed(); }
  [[nodiscard]] std::vector<std::string> ops() const override;
  [[nodiscard]] std::vector<DeviceFacts> devices() const override;
  [[nodiscard]] std::optional<OpInterface> interface_of(const std::string& op) const override;
  [[nodiscard]] std::optional<OpInterface> interface_by_hash(const std::string& hash) const override;
  [[nodiscard]] std::optional<StoredImplementation> implementation_by_hash(const std::string& hash) const override;
  [[nodiscard]] std::optional<WinnerRow> winner_of(const ProblemKey& key, MeasureMode mode,
                                                   WinnerRole role) const override;
  [[nodiscard]] std::optional<WinnerRow> newest_of_spec(const ProblemKey& key, MeasureMode mode,
                                                        WinnerRole role) const override;
  [[nodiscard]] std::vector<ShapeDims> tuned_shapes(const ProblemKey& key, MeasureMode mode) const override;
  [[nodiscard]] std::vector<ShapeDims> tuned_near(const ProblemKey& key, MeasureMode mode,
                                                  std::size_t most) const override;
  [[nodiscard]] std::vector<ShapeSummary> known_shapes(const ProblemKey& key, MeasureMode mode,
                                                       const std::vector<ShapeDims>& shapes) const override;
  [[nodiscard]] std::shared_ptr<const Learned> learned(const ProblemKey& key, MeasureMode mode) const override;
  [[nodiscard]] std::optional<WinnerRow> timed(const ProblemKey& key, MeasureMode mode,
                                               const ConfigId& config) const override;
  [[nodiscard]] Pins pins(const ProblemKey& key) const override;
  [[nodiscard]] std::optional<Build> build(const std::string& key) const override;
  [[nodiscard]] std::vector<std::byte> binary(const std::string& content_hash) const override;

  /// Reads every value and every binary. Throws CacheError that names the damage.
  void check() const;

 private:
  ContainerReader container_;
  // The tuned shapes and what was learned, as far as they were asked for, by their keys in the file, which never
  // changes.
  mutable std::map<std::string, FlatShapes> tuned_;
  mutable std::map<std::string, std::shared_ptr<const Learned>> learned_;
};

/// The counts of a bundle's contents.
struct BundleCounts {
  std::size_t winners = 0;
  std::size_t binaries = 0;
  /// Winners whose binaries the cache does not have: they are in the bundle for what they tell, and cannot be launched.
  std::size_t without_binary = 0;
};

/// Writes these winners of `from`, in the order of Store::list_winners, with the interfaces, implementations, devices,
/// builds and binaries that they need; checked, and put in its place only when it is whole. Throws CacheError.
BundleCounts write_bundle(const Store& from, const std::vector<WinnerRow>& winners, const std::filesystem::path& file);

}  // namespace tilewright

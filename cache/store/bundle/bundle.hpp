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

/// A bundle: the winners of a cache as one read-only file, from shape to binary and plan, without the rest of the
/// cache. It is read without SQLite, and serves as a cache does. For one thread at a time.
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

  /// Reads all values and binaries. Throws CacheError that names the damage.
  void check() const;

 private:
  ContainerReader container_;
  // The tuned shapes and the models read so far, by their keys in the file, which does not change.
  mutable std::map<std::string, FlatShapes> tuned_;
  mutable std::map<std::string, std::shared_ptr<const Learned>> learned_;
};

/// The counts of a bundle's contents.
struct BundleCounts {
  std::size_t winners = 0;
  std::size_t binaries = 0;
  /// Winners whose binaries the cache lacks: the bundle has them for information; they cannot be launched.
  std::size_t without_binary = 0;
};

/// Writes these winners of `from`, in the order of Store::list_winners, with the interfaces, implementations, devices,
/// builds and binaries that they need. The file is checked, and put in place only when complete. Throws CacheError.
BundleCounts write_bundle(const Store& from, const std::vector<WinnerRow>& winners, const std::filesystem::path& file);

}  // namespace tilewright

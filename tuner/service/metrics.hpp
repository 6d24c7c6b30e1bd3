// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

/// Metrics in Prometheus's text format 0.0.4. For any thread.
namespace tilewright::service {

class Metrics {
 public:
  enum class Kind : std::uint8_t { counter, gauge, histogram };
  /// Name, kind and help of a metric; shared by its series.
  struct Family {
    std::string_view name;
    Kind kind;
    std::string_view help;
  };
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// Upper bounds of a histogram's buckets, in seconds; an unbounded bucket follows.
  static constexpr std::array<double, 13> kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                  0.1,    0.25,  0.5,    1,     2.5,  10};

  /// Adds to a counter. Families of equal name are the same.
  void add(const Family& family, Labels labels, double by = 1);
  /// Sets a gauge.
  void set(const Family& family, Labels labels, double value);
  /// Adds a value to a histogram.
  void observe(const Family& family, Labels labels, double seconds);

  /// All metrics, sorted by name, then labels. Escapes the values of labels.
  [[nodiscard]] std::string text() const;

 private:
  struct Series {
    double value = 0;
    /// Per bucket of kBounds, not cumulative.
    std::array<std::uint64_t, kBounds.size() + 1> counts{};
  };
  struct Known {
    Family family;
    std::map<std::string, Series> series;
  };
  Series& series_of(const Family& family, Labels labels);

  mutable std::mutex mutex_;
  std::map<std::string_view, Known> families_;
};

}  // namespace tilewright::service

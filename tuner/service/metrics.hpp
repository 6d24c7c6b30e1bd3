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

/// Numbers that Prometheus reads, by its text format 0.0.4. For any thread.
namespace tilewright::service {

class Metrics {
 public:
  enum class Kind : std::uint8_t { counter, gauge, histogram };
  /// The facts of all series of a name.
  struct Family {
    std::string_view name;
    Kind kind;
    std::string_view help;
  };
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  /// Upper bounds of a histogram, in seconds; one without a bound comes last.
  static constexpr std::array<double, 13> kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                  0.1,    0.25,  0.5,    1,     2.5,  10};

  /// Adds to a counter. Families with one name are one.
  void add(const Family& family, Labels labels, double by = 1);
  /// Of a gauge.
  void set(const Family& family, Labels labels, double value);
  /// Of a histogram.
  void observe(const Family& family, Labels labels, double seconds);

  /// Families by name, series by labels. Values of labels may be any text.
  [[nodiscard]] std::string text() const;

 private:
  struct Series {
    double value = 0;
    /// As the bounds, without those of smaller ones.
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

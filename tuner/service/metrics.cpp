// SPDX-License-Identifier: Apache-2.0
#include "tuner/service/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace tilewright::service {
namespace {

/// route="/v1/query",status="200"
std::string text_of(Metrics::Labels labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text.append(text.empty() ? "" : ",").append(name).append("=\"");
    for (const char letter : value) {
      if (letter == '\\' || letter == '"') text += '\\';
      text += letter == '\n' ? std::string("\\n") : std::string(1, letter);
    }
    text += '"';
  }
  return text;
}

const char* type_of(Metrics::Kind kind) {
  switch (kind) {
    case Metrics::Kind::counter:
      return "counter";
    case Metrics::Kind::gauge:
      return "gauge";
    case Metrics::Kind::histogram:
      break;
  }
  return "histogram";
}

std::string braced(const std::string& labels) { return labels.empty() ? "" : "{" + labels + "}"; }

}  // namespace

Metrics::Series& Metrics::series_of(const Family& family, Labels labels) {
  return families_.try_emplace(family.name, Known{family, {}}).first->second.series[text_of(labels)];
}

void Metrics::add(const Family& family, Labels labels, double by) {
  const std::lock_guard lock(mutex_);
  series_of(family, labels).value += by;
}

void Metrics::set(const Family& family, Labels labels, double value) {
  const std::lock_guard lock(mutex_);
  series_of(family, labels).value = value;
}

void Metrics::observe(const Family& family, Labels labels, double seconds) {
  const std::lock_guard lock(mutex_);
  Series& series = series_of(family, labels);
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++series.counts[static_cast<std::size_t>(bound - kBounds.begin())];
  series.value += seconds;
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  const auto out = std::back_inserter(text);
  for (const auto& [name, known] : families_) {
    fmt::format_to(out, "# HELP {} {}\n# TYPE {} {}\n", name, known.family.help, name, type_of(known.family.kind));
    for (const auto& [labels, series] : known.series) {
      if (known.family.kind != Kind::histogram) {
        fmt::format_to(out, "{}{} {}\n", name, braced(labels), series.value);
        continue;
      }
      const std::string before = labels.empty() ? "" : labels + ",";
      std::uint64_t count = 0;
      for (std::size_t i = 0; i < kBounds.size(); ++i) {
        count += series.counts[i];
        fmt::format_to(out, "{}_bucket{{{}le=\"{}\"}} {}\n", name, before, kBounds[i], count);
      }
      count += series.counts.back();
      fmt::format_to(out, "{}_bucket{{{}le=\"+Inf\"}} {}\n", name, before, count);
      fmt::format_to(out, "{}_sum{} {}\n{}_count{} {}\n", name, braced(labels), series.value, name, braced(labels),
                     count);
    }
  }
  return text;
}

}  // namespace tilewright::service

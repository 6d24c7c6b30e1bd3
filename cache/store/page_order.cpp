// SPDX-License-Identifier: Apache-2.0
#include "cache/store/page_order.hpp"

#include <algorithm>
#include <map>

namespace tilewright {
namespace {

// https://sqlite.org/fileformat2.html, "B-tree Pages" and "Cell Payload Overflow Pages": U, X and M of a table.
constexpr std::size_t kPage = 4096;
constexpr std::size_t kMost = kPage - 35;
constexpr std::size_t kLeast = (kPage - 12) * 32 / 255 - 23;
// A page's header; a row's sizes, id and place in the page; the place of its rest.
constexpr std::size_t kPageHeader = 8;
constexpr std::size_t kRowHeader = 7;
constexpr std::size_t kRest = 4;

/// The bytes that a row takes of a shared page.
std::size_t shared_bytes(std::size_t size) {
  if (size <= kMost) return size + kRowHeader;
  const std::size_t wanted = kLeast + (size - kLeast) % (kPage - kRest);
  return (wanted <= kMost ? wanted : kLeast) + kRowHeader + kRest;
}

}  // namespace

std::vector<std::size_t> page_order(const std::vector<std::size_t>& sizes) {
  std::multimap<std::size_t, std::size_t> rows;
  for (std::size_t i = 0; i < sizes.size(); ++i) rows.emplace(shared_bytes(sizes[i]), i);
  std::vector<std::size_t> order;
  while (!rows.empty()) {
    // For each page: the largest row left, then the largest that fits beside it.
    std::size_t room = kPage - kPageHeader;
    for (auto next = rows.end(); next != rows.begin(); next = rows.upper_bound(room)) {
      --next;
      order.push_back(next->second);
      room -= std::min(room, next->first);
      rows.erase(next);
    }
  }
  return order;
}

}  // namespace tilewright

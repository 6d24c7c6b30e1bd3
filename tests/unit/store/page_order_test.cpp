// SPDX-License-Identifier: Apache-2.0
#include "cache/store/page_order.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace tilewright::page_order_test {
namespace {

/// The pages of a table with rows of these sizes in bytes, inserted in this order.
std::int64_t pages(const std::vector<std::size_t>& sizes, const std::vector<std::size_t>& order) {
  SQLite::Database database(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  database.exec("PRAGMA page_size = 4096; CREATE TABLE t (id INTEGER PRIMARY KEY, data BLOB)");
  SQLite::Statement insert(database, "INSERT INTO t (data) VALUES (zeroblob(?))");
  for (const std::size_t i : order) {
    // Less the row's header.
    insert.bind(1, static_cast<std::int64_t>(sizes[i] - 5));
    insert.exec();
    insert.reset();
  }
  return database.execAndGet("PRAGMA page_count").getInt64();
}

TEST(PageOrder, fills_pages_that_rows_in_any_order_leave_half_empty) {
  std::mt19937 bits(7);
  std::vector<std::size_t> sizes(400);
  for (std::size_t& size : sizes) size = std::uniform_int_distribution<std::size_t>(200, 20000)(bits);
  const std::size_t bytes = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  std::vector<std::size_t> as_they_are(sizes.size());
  std::iota(as_they_are.begin(), as_they_are.end(), std::size_t{0});
  std::vector<std::size_t> order = page_order(sizes);
  const auto least = static_cast<std::int64_t>(bytes / 4096);
  EXPECT_GT(pages(sizes, as_they_are), least * 105 / 100);
  EXPECT_LT(pages(sizes, order), least * 102 / 100);
  std::ranges::sort(order);
  EXPECT_EQ(order, as_they_are) << "each row once";
}

TEST(PageOrder, of_nothing_is_nothing) { EXPECT_TRUE(page_order({}).empty()); }

}  // namespace
}  // namespace tilewright::page_order_test

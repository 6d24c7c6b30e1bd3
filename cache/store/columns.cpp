// SPDX-License-Identifier: Apache-2.0
#include "cache/store/columns.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/version.hpp"
#include "cache/store/codecs.hpp"
#include "cache/store/sqlite/faults.hpp"
#include "cache/store/sqlite/migrations.hpp"
#include "cache/store/sqlite/tables.hpp"

namespace tilewright {
namespace {

constexpr const char* kReading = "make a cache of columns";
constexpr std::string_view kColumnsMagic = "tilewright columns 1\n";

enum Kind : char { kNull, kInteger, kReal, kText, kBlob };

void put_number(std::string& to, std::uint64_t number) {
  for (; number >= 128; number >>= 7) to += static_cast<char>(number | 128);
  to += static_cast<char>(number);
}

void put_part(std::string& to, std::string_view part) {
  put_number(to, part.size());
  to += part;
}

/// The rest to read. Throws BadRow if it ends too early.
class Reader {
 public:
  explicit Reader(std::string_view rest = {}) : rest_(rest) {}

  std::string_view take(std::size_t size) {
    if (size > rest_.size()) throw BadRow("a column ends too early");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::uint64_t number() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      number |= static_cast<std::uint64_t>(byte & 127) << shift;
      if (byte < 128) return number;
    }
    throw BadRow("a number does not end");
  }
  std::string_view part() { return take(number()); }

 private:
  std::string_view rest_;
};

class ColumnWriter {
 public:
  void add(const SQLite::Column& value) {
    const Kind kind = kind_of(value);
    kinds_ += kind;
    if (kind == kInteger) {
      const auto integer = static_cast<std::uint64_t>(value.getInt64());
      const std::uint64_t step = integer - std::exchange(last_, integer);
      put_number(integers_, (step << 1) ^ (0 - (step >> 63)));
    } else if (kind == kReal) {
      reals_.push_back(value.getDouble());
    } else if (kind != kNull) {
      const void* const bytes = value.getBlob();
      const auto size = static_cast<std::size_t>(value.getBytes());
      put_number(sizes_, size);
      if (size > 0) bytes_.append(static_cast<const char*>(bytes), size);
    }
  }

  void put(std::string& to) const {
    std::string planes;
    for (int byte = 0; byte < 8; ++byte) {
      for (const double real : reals_) planes += static_cast<char>(std::bit_cast<std::uint64_t>(real) >> 8 * byte);
    }
    for (const std::string& part :
         {std::cref(kinds_), std::cref(integers_), std::cref(planes), std::cref(sizes_), std::cref(bytes_)}) {
      put_part(to, part);
    }
  }

 private:
  static Kind kind_of(const SQLite::Column& value) {
    if (value.isInteger()) return kInteger;
    if (value.isFloat()) return kReal;
    if (value.isText()) return kText;
    return value.isBlob() ? kBlob : kNull;
  }

  std::string kinds_, integers_, sizes_, bytes_;
  std::vector<double> reals_;
  std::uint64_t last_ = 0;
};

class ColumnReader {
 public:
  ColumnReader(Reader& from, std::size_t rows)
      : kinds_(from.part()), integers_(from.part()), planes_(from.part()), sizes_(from.part()), bytes_(from.part()) {
    const auto reals = static_cast<std::size_t>(std::ranges::count(kinds_, kReal));
    if (kinds_.size() != rows || planes_.size() != 8 * reals) throw BadRow("a column has another number of rows");
  }

  void bind_next(SQLite::Statement& insert, int place) {
    const char kind = kinds_[row_++];
    if (kind == kInteger) {
      const std::uint64_t number = integers_.number();
      last_ += (number >> 1) ^ (0 - (number & 1));
      insert.bind(place, static_cast<std::int64_t>(last_));
    } else if (kind == kReal) {
      insert.bind(place, next_real());
    } else if (kind == kText || kind == kBlob) {
      // No part is larger than the unpacked file, whose size fits an int.
      const std::string_view bytes = bytes_.take(sizes_.number());
      const auto size = static_cast<int>(bytes.size());
      if (kind == kText) {
        insert.bind(place, std::string(bytes));
      } else {
        insert.bindNoCopy(place, bytes.data(), size);
      }
    } else if (kind == kNull) {
      insert.bind(place);
    } else {
      throw BadRow(fmt::format("a value has the kind {}", int{kind}));
    }
  }

 private:
  double next_real() {
    const std::size_t count = planes_.size() / 8;
    std::uint64_t bits = 0;
    for (std::size_t byte = 0; byte < 8; ++byte) {
      bits |= std::uint64_t{static_cast<unsigned char>(planes_[byte * count + real_])} << 8 * byte;
    }
    ++real_;
    return std::bit_cast<double>(bits);
  }

  std::string_view kinds_;
  Reader integers_;
  std::string_view planes_;
  Reader sizes_, bytes_;
  std::size_t row_ = 0, real_ = 0;
  std::uint64_t last_ = 0;
};

std::vector<std::string> names(SQLite::Database& database, const std::string& sql, const std::string& of = {}) {
  SQLite::Statement rows(database, sql);
  if (!of.empty()) rows.bind(1, of);
  std::vector<std::string> names;
  while (rows.executeStep()) names.push_back(rows.getColumn(0).getString());
  return names;
}

/// Without generated columns.
std::vector<std::string> columns_of(SQLite::Database& database, const std::string& table) {
  return names(database, "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", table);
}

/// Writes nothing for a table without rows.
bool put_table(SQLite::Database& database, const std::string& table, std::string& to) {
  const std::vector<std::string> names = columns_of(database, table);
  std::vector<ColumnWriter> columns(names.size());
  std::size_t rows = 0;
  SQLite::Statement select(database, fmt::format("SELECT {} FROM {} ORDER BY 1", fmt::join(names, ", "), table));
  for (; select.executeStep(); ++rows) {
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i].add(select.getColumn(static_cast<int>(i)));
  }
  if (rows == 0) return false;
  put_part(to, table);
  put_number(to, rows);
  put_number(to, columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    put_part(to, names[i]);
    columns[i].put(to);
  }
  return true;
}

/// A name goes into a statement only if the schema has it.
std::string known(Reader& from, const std::vector<std::string>& names) {
  std::string name(from.part());
  if (std::ranges::find(names, name) == names.end()) throw BadRow(fmt::format("there is no '{}' in its schema", name));
  return name;
}

void read_table(SQLite::Database& database, const std::string& into, Reader& from) {
  const std::string table = known(from, table_names(database, into));
  const std::size_t rows = from.number(), count = from.number();
  const std::vector<std::string> all = columns_of(database, table);
  if (count == 0 || count > all.size()) throw BadRow(fmt::format("the table {} has {} columns", table, count));
  std::vector<std::string> names;
  std::vector<ColumnReader> columns;
  for (std::size_t i = 0; i < count; ++i) {
    names.push_back(known(from, all));
    columns.emplace_back(from, rows);
  }
  const std::string marks = fmt::format("({})", fmt::join(std::vector<char>(count, '?'), ", "));
  const auto insert = [&](std::size_t times, std::size_t at_once) {
    if (times == 0) return;
    SQLite::Statement rows_in(database,
                              fmt::format("INSERT INTO {}.{} ({}) VALUES {}", into, table, fmt::join(names, ", "),
                                          fmt::join(std::vector(at_once, marks), ", ")));
    for (; times > 0; --times) {
      for (int place = 0; std::cmp_less(place, at_once * count); ++place) {
        columns[static_cast<std::size_t>(place) % count].bind_next(rows_in, place + 1);
      }
      rows_in.exec();
      rows_in.reset();
    }
  };
  // A statement makes a table of each list in a constraint, which takes longer than a row.
  constexpr std::size_t kAtOnce = 32;
  insert(rows / kAtOnce, kAtOnce);
  insert(rows % kAtOnce, 1);
}

/// Reads into the database that is attached as `into`, inside a transaction.
void read_tables(SQLite::Database& database, const std::string& into, Reader from) {
  for (std::uint64_t left = from.number(); left > 0; --left) read_table(database, into, from);
  if (const auto broken = broken_reference(database, into)) {
    throw BadRow(fmt::format("the table {} refers to rows that do not exist", broken->table));
  }
}

/// The schema of the rows; leaves `from` at the number of tables.
std::uint64_t read_schema(std::string_view content, Reader& from, std::uint64_t newest,
                          const std::filesystem::path& cache) {
  if (!content.starts_with(kColumnsMagic)) throw BadRow("it holds no columns");
  from = Reader(content.substr(kColumnsMagic.size()));
  const std::uint64_t schema = from.number();
  if (schema == 0) throw BadRow("it names no schema");
  if (schema <= newest) return schema;
  throw fault(kReading, cache,
              fmt::format("has schema {}, and this program ({}) knows schemas up to {}", schema, version(), newest),
              "Use the Tilewright that wrote it or a newer one", 0, CacheFault::newer);
}

/// The cache's tables with their columns and references only.
std::string plain_tables(SQLite::Database& database, const std::string& in) {
  std::string sql;
  for (const std::string& table : table_names(database)) {
    const std::vector<std::string> columns = names(
        database,
        "SELECT c.name || iif(cid = 0, ' INTEGER PRIMARY KEY', '') || coalesce(' REFERENCES ' || f.\"table\", '') "
        "FROM pragma_table_xinfo(?1) c LEFT JOIN pragma_foreign_key_list(?1) f ON f.\"from\" = c.name "
        "WHERE hidden = 0 ORDER BY cid",
        table);
    sql += fmt::format("CREATE TABLE {}.{} ({});\n", in, table, fmt::join(columns, ", "));
  }
  return sql;
}

}  // namespace

void write_columns(const std::filesystem::path& cache, const std::filesystem::path& file,
                   const Surroundings& surroundings) {
  constexpr const char* kDoing = "write the columns of the cache";
  Database database(cache, {.access = StoreAccess::read}, surroundings);
  try {
    std::string tables;
    std::uint64_t count = 0;
    for (const std::string& table : table_names(database.handle())) {
      if (put_table(database.handle(), table, tables)) ++count;
    }
    std::string head(kColumnsMagic);
    put_number(head, surroundings.migrations.size());
    put_number(head, count);
    if (!(std::ofstream(file, std::ios::binary) << head << tables).flush()) {
      throw Error(fmt::format("cannot write {}. Free space there (df -h)", file.string()));
    }
  } catch (const SQLite::Exception& refusal) {
    throw fault(kDoing, cache, refusal, database.busy_timeout());
  }
}

void read_columns(std::string_view content, const std::filesystem::path& cache, const Surroundings& surroundings) {
  try {
    Reader from;
    const std::uint64_t schema = read_schema(content, from, surroundings.migrations.size(), cache);
    const Surroundings then{surroundings.migrations.first(schema), surroundings.network};
    // Making the tables takes longer than filling them from a small file.
    const std::filesystem::path empty = cache.parent_path() / fmt::format("empty-{}.db", schema);
    if (!std::filesystem::exists(empty)) (void)Database(empty, {}, then);
    std::filesystem::copy_file(empty, cache, std::filesystem::copy_options::overwrite_existing);
    Database database(cache, {}, then);
    try {
      // Nobody else has the file, and an incomplete one is thrown away.
      database.handle().exec(
          "PRAGMA foreign_keys = OFF; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; "
          "PRAGMA cache_size = -65536");
      database.begin_access();
      Transaction transaction = database.begin_write();
      read_tables(database.handle(), "main", from);
      transaction.commit();
    } catch (const SQLite::Exception& refusal) {
      if (refusal.getErrorCode() == SQLITE_CONSTRAINT) throw BadRow(refusal.what());
      throw fault(kReading, cache, refusal, database.busy_timeout());
    }
  } catch (const BadRow& bad) {
    throw damage(kReading, cache, bad.what());
  }
  // Migrates it.
  (void)Database(cache, {}, surroundings);
}

void attach_columns(Database& database, std::string_view content, const std::filesystem::path& folder) {
  SQLite::Database& handle = database.handle();
  Reader from;
  if (read_schema(content, from, migrations().size(), database.path()) < migrations().size()) {
    read_columns(content, folder / "pack.db");
    database.run("ATTACH ? AS pack", (folder / "pack.db").string());
    return;
  }
  handle.exec("ATTACH ':memory:' AS pack");
  Transaction transaction(handle, Transaction::Kind::deferred);
  handle.exec(plain_tables(handle, "pack"));
  read_tables(handle, "pack", from);
  transaction.commit();
}

}  // namespace tilewright

// SPDX-License-Identifier: Apache-2.0
#include "cache/store/dictionaries.hpp"

#include <zdict.h>

#include "cache/store/stored_binaries.hpp"

namespace tilewright {

std::vector<std::byte> make_dictionary(std::span<const std::vector<std::byte>> samples) {
  constexpr std::size_t kFewestSamples = 8;
  constexpr std::size_t kMostBytes = std::size_t{112} << 10;
  if (samples.size() < kFewestSamples) return {};
  std::vector<std::byte> all;
  std::vector<std::size_t> sizes;
  for (const std::vector<std::byte>& sample : samples) {
    all.insert(all.end(), sample.begin(), sample.end());
    sizes.push_back(sample.size());
  }
  std::vector<std::byte> dictionary(kMostBytes);
  const std::size_t made = ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), all.data(), sizes.data(),
                                                 static_cast<unsigned>(sizes.size()));
  dictionary.resize(ZDICT_isError(made) != 0 ? 0 : made);
  return dictionary;
}

std::vector<std::int64_t> binaries_of(Database& database, std::int64_t implementation) {
  std::vector<std::int64_t> binaries;
  Query row = database.query(
      "SELECT DISTINCT b.binary FROM configs c JOIN (SELECT config, build FROM trials WHERE build IS NOT NULL UNION "
      "SELECT config, build FROM spares) t ON t.config = c.id JOIN builds b ON b.id = t.build "
      "WHERE c.implementation = ? AND b.binary IS NOT NULL ORDER BY 1",
      implementation);
  while (row.next()) binaries.push_back(row.integer(0));
  return binaries;
}

std::int64_t put_dictionary(Database& database, std::int64_t implementation,
                            std::span<const std::vector<std::byte>> samples) {
  const std::vector<std::byte> words = make_dictionary(samples);
  if (words.empty()) return 0;
  database.run("INSERT INTO dictionaries (implementation, data) VALUES (?, ?)", implementation,
               std::span<const std::byte>(words));
  return database.last_id();
}

std::int64_t add_dictionary(Database& database, std::int64_t implementation) {
  const std::vector<std::int64_t> binaries = binaries_of(database, implementation);
  std::vector<std::vector<std::byte>> samples;
  const std::size_t step = binaries.size() / kDictionarySamples + 1;
  for (std::size_t i = 0; i < binaries.size(); i += step) samples.push_back(binary_of(database, binaries[i]));
  return put_dictionary(database, implementation, samples);
}

}  // namespace tilewright

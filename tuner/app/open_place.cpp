// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/open_place.hpp"

#include <fmt/format.h>

#include <utility>

#include "cache/base/error.hpp"

namespace tilewright::app {

Catalogue* OpenPlace::catalogue() {
  if (!looked_) {
    try {
      catalogue_.emplace(open_catalogue(place_));
    } catch (const UsageError&) {
      throw;
    } catch (const Error&) {  // Looking up in a cache needs no ops.
    }
    looked_ = true;
  }
  return catalogue_ ? &*catalogue_ : nullptr;
}

const OpDefinition* OpenPlace::definition(const std::string& op) {
  Catalogue* const found = catalogue();
  try {
    return found == nullptr ? nullptr : &found->find(op);
  } catch (const Error&) {
    return nullptr;
  }
}

const std::vector<std::string>& OpenPlace::implementations(const std::string& op) {
  if (const auto known = implementations_.find(op); known != implementations_.end()) return known->second;
  std::vector<std::string> hashes;
  if (const OpDefinition* const own = definition(op)) {
    for (const auto& each : own->implementations) hashes.push_back(each.hash);
  } else if (Catalogue* const found = catalogue()) {
    try {
      hashes = found->hashes(op);
    } catch (const DefinitionError& error) {
      mistakes_.emplace(op, error);
    } catch (const UsageError&) {
      throw;
    } catch (const Error&) {  // As above.
    }
  }
  return implementations_.emplace(op, std::move(hashes)).first->second;
}

std::string OpenPlace::warning(const std::string& op, bool is_served) const {
  const auto found = mistakes_.find(op);
  if (found == mistakes_.end()) return {};
  if (!is_served) throw found->second;
  return fmt::format("the definition of {} cannot be read, so that stale winners pass for fresh: {}", op,
                     found->second.what());
}

Roofline OpenPlace::roofline(const WinnerRow& row) {
  const OpDefinition* const found = definition(row.problem.spec.op);
  if (found == nullptr) return {};
  try {
    const std::int64_t version = store_.data_version();
    if (!ceilings_ || version != version_) ceilings_.emplace(store_);
    version_ = version;
    return roofline_of(*ceilings_, found, row.interface_hash, row.problem, row.device.fingerprint(), row.mode);
  } catch (const Error&) {
    return {};
  }
}

}  // namespace tilewright::app

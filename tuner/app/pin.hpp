// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/report/table.hpp"

/// People's decisions: a pinned config is served before all others, a banned one is not served.
namespace tilewright::app {

struct PinRequest {
  Place place;
  /// With all dims, one problem; without dims, all problems of the spec.
  ProblemWords problem;
  PinKind kind = PinKind::pin;
  /// The parameters may stand in any order.
  std::string config;
  /// One line; may be empty if `kind` is free.
  std::string reason;
  /// See choose_devices(); empty: all devices of the cache on which the config was tried.
  std::string device;
};

/// Decides, and returns the decisions that then stand for the problem or spec. Throws UsageError, with what to type, if
/// the cache does not know the config, or if a config to pin cannot serve the problem or has no binary.
std::vector<Store::PinRow> decide(const PinRequest& request);

/// All pins and bans.
[[nodiscard]] std::vector<Store::PinRow> list_pins(const Place& place);
[[nodiscard]] Table table_of(const std::vector<Store::PinRow>& pins);

/// Adds a note to a table of measured or learned figures if the op has pins or bans.
void note_decisions(const Store& store, const std::string& op, Table& table);

}  // namespace tilewright::app

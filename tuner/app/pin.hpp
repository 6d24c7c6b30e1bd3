// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cache/store/store.hpp"
#include "tuner/app/place.hpp"
#include "tuner/app/problem_words.hpp"
#include "tuner/report/table.hpp"

/// People's decisions: a config serves before all else, or never.
namespace tilewright::app {

struct PinRequest {
  Place place;
  /// With all of its dims one problem, with none all problems of the spec.
  ProblemWords problem;
  PinKind kind = PinKind::pin;
  /// Its parameters in any order.
  std::string config;
  /// One line; may be empty where the config becomes free.
  std::string reason;
  /// As choose_devices() takes it; empty: every device of the cache on which the config was tried.
  std::string device;
};

/// Decides, and returns the decisions that stand now for the problem or spec. Throws UsageError for a config that the
/// cache does not know, that cannot serve the problem, or that has no binary to be served with, saying what to type.
std::vector<Store::PinRow> decide(const PinRequest& request);

/// All that are not free.
[[nodiscard]] std::vector<Store::PinRow> list_pins(const Place& place);
[[nodiscard]] Table table_of(const std::vector<Store::PinRow>& pins);

/// Adds a note to a table of measured or learned figures where something was decided of an op.
void note_decisions(const Store& store, const std::string& op, Table& table);

}  // namespace tilewright::app

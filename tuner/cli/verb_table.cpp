// SPDX-License-Identifier: Apache-2.0
// All verbs. Each describes itself and its options in the file of its name.
#include <fmt/format.h>

#include <algorithm>

#include "cache/base/error.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> kVerbs{
      sweep_verb(),   query_verb(),  table_verb(),  summary_verb(), fusion_verb(),     gate_verb(),   regret_verb(),
      prepare_verb(), list_verb(),   show_verb(),   new_verb(),     check_verb(),      verify_verb(), bench_verb(),
      report_verb(),  export_verb(), import_verb(), pin_verb(),     cache_verb(),      key_verb(),    publish_verb(),
      promote_verb(), pull_verb(),   serve_verb(),  doctor_verb(),  completion_verb(), help_verb()};
  return kVerbs;
}

const Verb& find_verb(const std::string& name) {
  const std::vector<Verb>& all = verbs();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Verb& verb) { return verb.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Verb& verb : all) names.push_back(verb.name);
  throw UsageError(
      fmt::format("there is no verb '{}'{}\nType `tilewright help` for all of them", name, suggestion(name, names)));
}

}  // namespace tilewright::cli

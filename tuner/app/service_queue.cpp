// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/service_queue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "cache/base/content_hash.hpp"
#include "cache/base/decode.hpp"
#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "cache/base/json_fields.hpp"
#include "cache/base/units.hpp"
#include "cache/driver/cuda.hpp"
#include "cache/model/device_name.hpp"
#include "tuner/app/misses.hpp"
#include "tuner/app/sweep.hpp"
#include "tuner/definition/shapes.hpp"
#include "tuner/device/device.hpp"

namespace tilewright::app {
namespace {

constexpr std::size_t kMostReported = 10'000;
constexpr std::size_t kMostSweeps = 64;
constexpr std::size_t kMostProblems = 10'000;

/// A text, or a list of texts joined by commas as in NAME=VALUES.
std::string values_of(const nlohmann::json& json, const JsonObject& object, const std::string& name) {
  if (json.is_string()) return json.get<std::string>();
  std::vector<std::string> values;
  if (json.is_array()) {
    for (const nlohmann::json& each : json) {
      if (!each.is_string()) object.fail(fmt::format("'{}' has texts", name));
      values.push_back(each.get<std::string>());
    }
  } else {
    object.fail(fmt::format("'{}' is a text, or a list of texts", name));
  }
  return fmt::format("{}", fmt::join(values, ","));
}

/// One of the document's `sweeps`.
struct AskedSweep {
  ProblemGrid grid;
  std::string interface;
  std::vector<std::string> implementations;
};

struct AskedCampaign {
  std::string name = "campaign";
  std::vector<std::string> devices;
  std::chrono::nanoseconds budget{0};
  std::int64_t priority = 0;
  std::vector<AskedSweep> sweeps;
};

AskedSweep read_sweep(const nlohmann::json& json, const std::string& what) {
  JsonObject object(json, what, JsonOf::request);
  AskedSweep sweep;
  sweep.grid.words.op = object.text("op");
  sweep.interface = object.text("interface");
  if (object.has("implementations")) sweep.implementations = object.texts("implementations");
  if (object.has("dtype")) {
    // Marks the member as read, whatever its kind.
    const nlohmann::json& dtype = json["dtype"];
    static_cast<void>(dtype.is_array() ? object.array("dtype").size() : object.text("dtype").size());
    sweep.grid.words.named.emplace_back("dtype", values_of(dtype, object, "dtype"));
  }
  if (object.has("attributes")) {
    for (const auto& [name, values] : object.object("attributes").items()) {
      sweep.grid.attributes.emplace_back(name, values_of(values, object, name));
    }
  }
  sweep.grid.shapes = object.texts("shapes");
  if (sweep.grid.shapes.empty() || sweep.grid.shapes.size() > 1000) object.fail("'shapes' has 1 to 1000 texts");
  object.finish();
  return sweep;
}

AskedCampaign read_document(const std::string& text) {
  const Decoded decoded = decode_json(text);
  JsonObject object(*decoded, "campaign", JsonOf::request);
  AskedCampaign campaign;
  if (object.has("name")) campaign.name = object.text("name");
  if (campaign.name.size() > 200) object.fail("'name' has at most 200 bytes");
  if (object.has("devices")) campaign.devices = object.texts("devices");
  if (object.has("budget")) {
    const auto budget = duration_from(object.text("budget"));
    if (!budget) object.fail("'budget' takes a time with its unit, such as \"60s\", \"5m\" or \"8h\"");
    campaign.budget = *budget;
  }
  if (object.has("priority")) campaign.priority = object.integer("priority");
  if (campaign.priority < -kMostPriority || campaign.priority > kMostPriority) {
    object.fail(fmt::format("'priority' is from {} to {}", -kMostPriority, kMostPriority));
  }
  const nlohmann::json& sweeps = object.array("sweeps");
  if (sweeps.empty() || sweeps.size() > kMostSweeps) object.fail("'sweeps' has 1 to 64 of them");
  std::size_t index = 0;
  for (const nlohmann::json& each : sweeps) campaign.sweeps.push_back(read_sweep(each, element("sweeps", index++)));
  object.finish();
  return campaign;
}

/// Why the op here is not the one that the sweep names; empty if it is.
std::string why_other(const AskedSweep& sweep, const OpDefinition& definition) {
  const std::string& op = definition.interface.op;
  if (definition.interface.hash() != sweep.interface) {
    return fmt::format("{} has the interface {} here, and the campaign names {}; GET /v1/ops tells of both hashes", op,
                       definition.interface.hash(), sweep.interface);
  }
  for (const std::string& hash : sweep.implementations) {
    const bool is_here =
        std::ranges::any_of(definition.implementations, [&](const auto& own) { return own.hash == hash; });
    if (is_here) continue;
    return fmt::format("{} has no implementation {} here, which the campaign names; GET /v1/ops tells which it has", op,
                       hash);
  }
  return {};
}

std::vector<TuningDevice> chosen_devices(const std::vector<std::string>& names, std::span<const TuningDevice> devices) {
  if (names.empty()) return {devices.begin(), devices.end()};
  std::vector<TuningDevice> chosen;
  std::vector<std::string> known;
  for (const TuningDevice& each : devices) known.push_back(each.name);
  for (const std::string& name : names) {
    const auto found = std::ranges::find_if(
        devices, [&](const TuningDevice& each) { return each.name == name || each.fingerprint == name; });
    if (found == devices.end()) {
      throw UsageError(fmt::format("this service tunes on no device '{}'{}", name, suggestion(name, known)));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

/// Counts problems before any is made. Invalid shapes are reported when they are read.
void require_few(const std::vector<std::string>& shapes) {
  std::size_t sum = 0;
  for (const std::string& text : shapes) {
    std::size_t product = 1;
    std::istringstream words(text);
    for (std::string word; words >> word && product <= kMostProblems;) {
      const std::size_t sign = word.find('=');
      if (sign != std::string::npos) product *= parse_range(word.substr(0, sign), word.substr(sign + 1)).size();
    }
    sum += product;
    if (sum > kMostProblems) {
      throw UsageError(fmt::format("a campaign has at most {} problems; submit several", kMostProblems));
    }
  }
}

/// One job for each problem on each device model.
std::vector<Job> jobs_of(const AskedCampaign& campaign, std::span<const TuningDevice> devices, Catalogue& catalogue) {
  std::vector<Job> jobs;
  std::set<std::pair<std::string, std::string>> seen;
  for (const AskedSweep& sweep : campaign.sweeps) {
    const OpDefinition& definition = catalogue.find(sweep.grid.words.op);
    if (const std::string why = why_other(sweep, definition); !why.empty()) throw UsageError(why);
    require_few(sweep.grid.shapes);
    const std::vector<Problem> problems = problems_of(sweep.grid, definition, false);
    check_sizes(definition, problems);
    for (const Problem& problem : problems) {
      for (const TuningDevice& device : devices) {
        const std::string key = problem.key();
        if (!seen.emplace(key, device.fingerprint).second) continue;
        if (jobs.size() == kMostProblems) {
          throw UsageError(fmt::format("a campaign has at most {} problems; submit several", kMostProblems));
        }
        jobs.push_back({.shape_key = key, .device_fingerprint = device.fingerprint});
      }
    }
  }
  return jobs;
}

std::string text_of_json(const nlohmann::ordered_json& json) { return json.dump(2) + "\n"; }

/// A reader neither makes nor migrates a cache.
JobQueue queue_to_read(const Place& place) { return JobQueue(cache_path(place), StoreAccess::read_older); }

/// The same for a client's repeated request; empty without a key.
std::string key_of(const Submitter& submitter) {
  return submitter.key.empty() ? "" : content_hash(submitter.name + "\n" + submitter.key);
}

/// Reads one miss of the document, in the form that is stored. Throws UsageError.
Miss read_miss(const nlohmann::json& json, Catalogue& catalogue) {
  JsonObject object(json, "miss", JsonOf::request);
  Miss miss{object.text("problem"), object.text("device"), 1, 0, 0};
  if (object.has("count")) miss.count = object.integer("count");
  object.finish();
  if (miss.count < 1 || miss.count > 1'000'000'000) throw UsageError("'count' is from 1 to 1000000000");
  if (miss.device_fingerprint.empty() || miss.device_fingerprint.size() > 300) {
    throw UsageError("'device' is a device's fingerprint, as `tilewright list devices --format json` prints it");
  }
  const OpDefinition& definition = catalogue.find(op_name_of(miss.shape_key));
  const Problem problem = parse_problem(miss.shape_key, definition.interface);
  check_sizes(definition, {problem});
  miss.shape_key = problem.key();
  return miss;
}

}  // namespace

std::vector<TuningDevice> tuning_devices(const std::vector<std::string>& names) {
  std::vector<TuningDevice> devices;
  const auto add = [&](const cuda::Driver& driver, int index) {
    devices.push_back({fmt::format("cuda:{}", index), driver.facts(index).fingerprint()});
  };
  for (const std::string& name : checked_devices(names)) {
    if (name == "cpu") {
      devices.push_back({name, emulator_facts().fingerprint()});
      continue;
    }
    std::string why;
    const cuda::Driver* driver = cuda::Driver::find(&why);
    if (driver == nullptr) throw DeviceError(fmt::format("{} cannot be tuned on: {}", name, why));
    const int count = driver->device_count();
    if (name == "all") {
      for (int i = 0; i < count; ++i) add(*driver, i);
      continue;
    }
    const int index = name == "auto" ? 0 : gpu_index(name).value();
    if (index >= count) throw UsageError(fmt::format("there is no {} here: the driver sees {} GPUs", name, count));
    add(*driver, index);
  }
  return devices;
}

std::optional<JobQueue::Answer> report_misses(const Place& place, const std::string& document,
                                              const Submitter& submitter) {
  Catalogue catalogue = open_catalogue(place);
  std::vector<std::pair<std::size_t, Miss>> misses;
  nlohmann::ordered_json refused = nlohmann::ordered_json::array();
  const auto refuse = [&](std::size_t index, const std::string& why) {
    refused.push_back({{"index", index}, {"why", why}});
  };
  const Decoded decoded = decode_json(document);
  JsonObject object(*decoded, "document", JsonOf::request);
  const nlohmann::json& list = object.array("misses");
  object.finish();
  if (list.size() > kMostReported) throw UsageError(fmt::format("at most {} misses a request", kMostReported));
  for (std::size_t i = 0; i < list.size(); ++i) {
    try {
      misses.emplace_back(i, read_miss(list[i], catalogue));
    } catch (const UsageError& error) {
      refuse(i, error.what());
    }
  }
  JobQueue queue(cache_path(place));
  return queue.once(key_of(submitter), content_hash(document), [&] {
    std::int64_t accepted = 0;
    for (const auto& [index, miss] : misses) {
      if (queue.report(miss)) {
        ++accepted;
      } else {
        refuse(index, fmt::format("{} shapes wait already; ask again when some are tuned", JobQueue::kMostMisses));
      }
    }
    return JobQueue::Answer{200, text_of_json({{"accepted", accepted}, {"refused", refused}})};
  });
}

std::optional<JobQueue::Answer> submit_campaign(const Place& place, std::span<const TuningDevice> devices,
                                                const std::string& document, const Submitter& submitter) {
  const AskedCampaign asked = read_document(document);
  const std::vector<TuningDevice> chosen = chosen_devices(asked.devices, devices);
  if (chosen.empty()) {
    throw UsageError(
        "this service tunes on no device: start it with --devices, such as `tilewright serve --devices all`");
  }
  Catalogue catalogue = open_catalogue(place);
  const std::vector<Job> jobs = jobs_of(asked, chosen, catalogue);
  JobQueue queue(cache_path(place));
  return queue.once(key_of(submitter), content_hash(document), [&] {
    const StoredCampaign campaign{.name = asked.name, .definition = document, .submitted_by = submitter.name};
    const std::optional<std::int64_t> id = queue.submit(campaign, jobs);
    if (!id)
      throw UsageError(fmt::format("{} problems wait already; submit it again when fewer do", JobQueue::kMostJobs));
    return JobQueue::Answer{
        202, text_of_json({{"id", *id}, {"name", asked.name}, {"state", "queued"}, {"problems", jobs.size()}})};
  });
}

bool cancel_campaign(const Place& place, std::int64_t id) { return JobQueue(cache_path(place)).cancel(id); }

Table list_campaigns(const Place& place) {
  Table table;
  table.title = "Campaigns";
  table.columns = {{"id", "id"},
                   {"name", "name"},
                   {"state", "state"},
                   {"priority", "priority"},
                   {"problems", "problems"},
                   {"done", "done"},
                   {"failed", "failed"},
                   {"submitted_by", "by"},
                   {"submitted_at", "submitted"},
                   {"ended_at", "ended"},
                   {"reason", "reason", Unit::none, Shown::everywhere, false, true}};
  for (const StoredCampaign& each : queue_to_read(place).campaigns()) {
    table.rows.push_back({each.id, each.name, each.state, each.priority, each.jobs, each.done, each.failed,
                          each.submitted_by, iso_moment(each.submitted_at),
                          each.ended_at ? Cell(iso_moment(*each.ended_at)) : Cell(), each.reason});
  }
  return table;
}

std::optional<Table> show_campaign(const Place& place, std::int64_t id) {
  JobQueue queue = queue_to_read(place);
  const std::optional<StoredCampaign> campaign = queue.campaign(id);
  if (!campaign) return std::nullopt;
  Table table;
  table.title = campaign->name;
  table.columns = {{"problem", "problem"},
                   {"device", "device"},
                   {"state", "state"},
                   {"attempts", "attempts"},
                   {"reason", "reason", Unit::none, Shown::everywhere, false, true}};
  for (const Job& job : queue.jobs_of(id)) {
    table.rows.push_back(
        {job.shape_key, job.device_fingerprint, std::string(name_of(job.state)), job.attempts, job.reason});
  }
  table.summary = {{"id", id},
                   {"state", campaign->state},
                   {"priority", campaign->priority},
                   {"problems", campaign->jobs},
                   {"done", campaign->done},
                   {"failed", campaign->failed},
                   {"submitted_by", campaign->submitted_by},
                   {"submitted_at", iso_moment(campaign->submitted_at)},
                   {"ended_at", campaign->ended_at ? Cell(iso_moment(*campaign->ended_at)) : Cell()},
                   {"reason", campaign->reason}};
  return table;
}

Table list_reported_misses(const Place& place) { return misses_table(open_to_read(place).list_misses()); }

JobQueue::Depth queue_depth(const Place& place) { return queue_to_read(place).depth(); }

std::string why_other_op(const std::string& definition, const std::string& op, Catalogue& catalogue) {
  for (const AskedSweep& sweep : read_document(definition).sweeps) {
    if (sweep.grid.words.op != op) continue;
    if (std::string why = why_other(sweep, catalogue.find(op)); !why.empty()) return why;
  }
  return {};
}

std::vector<std::string> devices_of(const StoredCampaign& campaign) {
  return read_document(campaign.definition).devices;
}

std::chrono::nanoseconds budget_of_job(const StoredCampaign& campaign) {
  const std::chrono::nanoseconds budget = read_document(campaign.definition).budget;
  if (budget.count() == 0) return budget;
  return std::max(budget / std::max<std::int64_t>(campaign.jobs, 1), std::chrono::nanoseconds(1));
}

}  // namespace tilewright::app

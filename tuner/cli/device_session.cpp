// SPDX-License-Identifier: Apache-2.0
#include "tuner/cli/device_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "cache/base/error.hpp"
#include "cache/base/version.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/sweep_setup.hpp"

namespace tilewright::cli {
namespace {

namespace fs = std::filesystem;

GeneratedSource source_of(const OpDefinition& definition, const Problem& problem, const Candidate& candidate,
                          const DeviceFacts& facts) {
  const auto plan = make_plan(definition.interface, candidate.implementation->recipe, candidate.config, problem, facts);
  if (const auto* illegal = std::get_if<Illegal>(&plan)) {
    throw UsageError(fmt::format("{} cannot serve {}: {}", candidate.config.text(), problem.key(), illegal->reason));
  }
  return generate_source(definition, *candidate.implementation, candidate.config, problem, std::get<LaunchPlan>(plan));
}

}  // namespace

std::unique_ptr<DeviceSession> DeviceSession::open(const Arguments& arguments, Console& console,
                                                   const Catalogue& catalogue, const fs::path& file) {
  auto devices = open_trial_devices(arguments, [&console](const std::string& line) { console.say(line); });
  if (!devices) {
    console.say("Interrupted before anything was run.");
    return nullptr;
  }
  if (!devices->first().said().empty()) console.say(devices->first().said());
  return std::unique_ptr<DeviceSession>(new DeviceSession(arguments, console, catalogue, std::move(devices), file));
}

DeviceSession::DeviceSession(const Arguments& arguments, Console& console, const Catalogue& catalogue,
                             std::unique_ptr<DevicePool> devices, const fs::path& file)
    : console_(console),
      devices_(std::move(devices)),
      compiler_(open_compiler(arguments, devices_->first().facts().is_cpu())),
      scratch_folder_(file.empty() ? std::make_unique<TemporaryFolder>("keep binaries") : nullptr),
      own_(std::make_unique<Store>(scratch_folder_ ? scratch_folder_->path() / "own.db" : file)),
      builder_(std::make_unique<Builder>(
          *own_, *compiler_, catalogue.builtin_dir(),
          static_cast<int>(std::min<std::int64_t>(arguments.integer("jobs", 0, 1), 1024)), interrupted)) {}

DeviceSession::~DeviceSession() = default;

std::string DeviceSession::request(const GeneratedSource& source, const std::string& hash) {
  const std::string arch = device().facts().arch();
  const std::string key = builder_->key_of(source, arch, hash);
  if (cache_ != nullptr && !own_->build(key)) {
    if (const auto build = cache_->build(key); build && build->ok) {
      own_->put_build(Build{.key = build->key,
                            .ok = true,
                            .binary_hash = build->binary_hash,
                            .kernels = build->kernels,
                            .log = build->log,
                            .compiler = build->compiler,
                            .arch = build->arch,
                            .milliseconds = build->milliseconds,
                            .began_us = build->began_us},
                      cache_->binary(build->binary_hash));
    }
  }
  return builder_->request(source, arch, hash);
}

void DeviceSession::request(const OpDefinition& definition, const Problem& problem, const Candidate& candidate) {
  (void)request(generate_reference(definition, problem), reference_hash(definition));
  (void)request(source_of(definition, problem, candidate, device().facts()), candidate.implementation->hash);
}

std::optional<DeviceSession::Ready> DeviceSession::ready(const OpDefinition& definition, const Problem& problem,
                                                         const Candidate& candidate) {
  const std::string key =
      request(source_of(definition, problem, candidate, device().facts()), candidate.implementation->hash);
  const auto build = builder_->wait(key);
  if (!build || interrupted()) return std::nullopt;
  return Ready{candidate, *build, build->ok ? own_->binary(build->binary_hash) : std::vector<std::byte>()};
}

Trials* DeviceSession::set_up(const OpDefinition& definition, const Problem& problem, MeasureMode mode) {
  const std::string wanted = fmt::format("{} {}", problem.key(), name(mode));
  if (trials_ && wanted == problem_) return trials_.get();
  trials_.reset();
  const auto build = builder_->wait(request(generate_reference(definition, problem), reference_hash(definition)));
  if (!build) return nullptr;
  if (!build->ok) {
    throw Error(fmt::format("the reference of {} does not compile; mend {}\n{}", definition.interface.op,
                            definition.reference.source.string(), build->log));
  }
  TrialSetting setting;
  setting.mode = mode;
  setting.versions = {device().driver_version(), compiler_->version(), std::string(version())};
  setting.interrupted = interrupted;
  trials_ = devices_->first().set_up(definition, problem, to_compile_result(*build, own_->binary(build->binary_hash)),
                                     setting);
  problem_ = wanted;
  return trials_.get();
}

void DeviceSession::lock() {
  if (lock_) return;
  lock_.emplace(device().gpu_uuid(), lock_places(), interrupted,
                [this](const std::string& line) { console_.say(line); });
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/device_session.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <variant>

#include "cache/base/error.hpp"
#include "cache/base/version.hpp"
#include "tuner/compile/request.hpp"

namespace tilewright::app {
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

std::unique_ptr<DeviceSession> DeviceSession::open(const Work& work, Listener& listener, const Catalogue& catalogue,
                                                   const fs::path& file) {
  auto devices = open_devices(work, listener);
  if (!devices) {
    listener.warn("Interrupted before anything was run.");
    return nullptr;
  }
  if (!devices->first().said().empty()) listener.warn(devices->first().said());
  return std::unique_ptr<DeviceSession>(new DeviceSession(work, listener, catalogue, std::move(devices), file));
}

DeviceSession::DeviceSession(const Work& work, Listener& listener, const Catalogue& catalogue,
                             std::unique_ptr<DevicePool> devices, const fs::path& file)
    : listener_(listener),
      devices_(std::move(devices)),
      compiler_(open_compiler(work, devices_->first().facts().is_cpu(), listener)),
      scratch_folder_(file.empty() ? std::make_unique<ScratchFolder>("keep binaries") : nullptr),
      own_(std::make_unique<Store>(scratch_folder_ ? scratch_folder_->path() / "own.db" : file)),
      builder_(std::make_unique<Builder>(*own_, *compiler_, catalogue.builtin_dir(), work.jobs,
                                         [&listener] { return listener.cancelled(); })) {}

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
  if (!build || listener_.cancelled()) return std::nullopt;
  return Ready{candidate, *build, build->ok ? own_->binary(build->binary_hash) : std::vector<std::byte>()};
}

ConfigRunner* DeviceSession::set_up(const OpDefinition& definition, const Problem& problem, MeasureMode mode) {
  const std::string wanted = fmt::format("{} {}", problem.key(), name(mode));
  if (runner_ && wanted == problem_) return runner_.get();
  runner_.reset();
  const auto build = builder_->wait(request(generate_reference(definition, problem), reference_hash(definition)));
  if (!build) return nullptr;
  if (!build->ok) {
    throw Error(fmt::format(
        "cannot compile {}, which has the reference of {}, so nothing can be verified: {}\nMend it\n{}",
        definition.reference.source.string(), definition.interface.op, first_error(build->log), build->log));
  }
  TrialSetting setting;
  setting.mode = mode;
  setting.versions = {device().driver_version(), compiler_->version(), std::string(version())};
  setting.interrupted = [this] { return listener_.cancelled(); };
  runner_ = devices_->first().set_up(definition, problem, to_compile_result(*build, own_->binary(build->binary_hash)),
                                     setting);
  problem_ = wanted;
  return runner_.get();
}

void DeviceSession::lock() {
  if (lock_) return;
  lock_.emplace(
      device().gpu_uuid(), lock_places(), [this] { return listener_.cancelled(); },
      [this](const std::string& line) { listener_.warn(line); });
}

}  // namespace tilewright::app

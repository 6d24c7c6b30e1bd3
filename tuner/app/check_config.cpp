// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/check_config.hpp"

#include <fmt/format.h>

#include <utility>

#include "cache/base/error.hpp"
#include "tuner/compile/request.hpp"
#include "tuner/sweep/failure.hpp"

namespace tilewright::app {

std::vector<CheckedOutput> check_config(DeviceSession& session, const OpDefinition& definition, const Problem& problem,
                                        const Candidate& candidate, const Listener& listener) {
  const auto line = [&](std::optional<OutputErrors> errors, TrialStatus status, std::string reason) {
    return CheckedOutput{problem.key(), candidate.config.text(), std::move(errors), status, std::move(reason)};
  };
  try {
    const auto ready = session.ready(definition, problem, candidate);
    if (!ready) return {};
    if (!ready->build.ok) return {line(std::nullopt, TrialStatus::compile_failed, first_error(ready->build.log))};
    ConfigRunner* const runner = session.set_up(definition, problem, MeasureMode::cold);
    if (runner == nullptr) return {};
    Verdict verdict = runner->verify(ready->view());
    if (listener.cancelled()) return {};
    if (verdict.right) {
      verdict.reason = runner->check_again(ready->view());
      verdict.right = verdict.reason.empty();
    }
    if (listener.cancelled()) return {};
    const TrialStatus status = verdict.right ? TrialStatus::ok : TrialStatus::wrong_result;
    std::vector<CheckedOutput> lines;
    for (const OutputErrors& errors : verdict.outputs) lines.push_back(line(errors, status, verdict.reason));
    return lines;
  } catch (const DeviceLost&) {
    // Nothing else can be checked, either.
    throw;
  } catch (const UsageError& error) {
    return {line(std::nullopt, TrialStatus::exceeds_limits, error.what())};
  } catch (const DeviceError& error) {
    if (listener.cancelled()) return {};
    return {line(std::nullopt, status_of(error), error.what())};
  }
}

std::string failure_of(ConfigRunner& runner, const CompiledConfig& config) {
  try {
    const Verdict verdict = runner.verify(config);
    return verdict.right ? "" : fmt::format("wrong_result: {}", verdict.reason);
  } catch (const UsageError& error) {
    return fmt::format("exceeds_limits: {}", error.what());
  } catch (const DeviceError& error) {
    return fmt::format("{}: {}", name(status_of(error)), error.what());
  }
}

}  // namespace tilewright::app

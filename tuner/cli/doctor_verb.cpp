// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/doctor.hpp"

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run_doctor(const Arguments& arguments, Console& console) {
  arguments.require_at_most(0);
  const Format format = format_of(arguments);
  const app::DoctorResult result = app::doctor(place_of(arguments));
  console.print(result.table, format);
  return result.ready ? ExitCode::done : ExitCode::failed;
}

}  // namespace

Verb doctor_verb() {
  Verb verb;
  verb.name = "doctor";
  verb.summary = "Check this machine for everything that tuning needs, and print the commands that mend faults";
  verb.usage = "[OPTION...]";
  verb.description = {
      "Checks the driver, GPUs, NVML, NVRTC, CUDA headers, the emulator's compiler, the ops, the cache (whether it is "
      "whole, and who may write it), its winners for the devices here (whether there are any, and which are stale), "
      "pulled snapshots, and whether a service has the cache. Each fault ends with a command."};
  verb.options = {kOps, kCache, kFormat};
  verb.examples = {{"tilewright doctor", "The faults of this machine, and the commands that mend them."},
                   {"tilewright doctor --format json", "For a bug report."}};
  verb.exit_codes = "0 this machine can tune and the cache is sound, 1 otherwise, 2 the command line is wrong.";
  verb.run = run_doctor;
  return verb;
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/doctor.hpp"

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run(const Arguments& arguments, Console& console) {
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
  verb.summary = "Say what was found on this machine and where, what is wrong, and what to type";
  verb.usage = "[OPTION...]";
  verb.description = {
      "Driver, GPUs, NVML, NVRTC, CUDA headers, the emulator's compiler, the ops, the cache (whether it is whole, who "
      "may write it) and its "
      "winners of the devices here (whether there are any, which are stale), and whether a service has the cache. "
      "Whatever is wrong ends with a command."};
  verb.options = {kOps, kCache, kFormat};
  verb.examples = {{"tilewright doctor", "What is wrong here, and what to type."},
                   {"tilewright doctor --format json", "For a bug report."}};
  verb.exit_codes = "0 something can be tuned here and the cache is sound, 1 not, 2 the command line is wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli

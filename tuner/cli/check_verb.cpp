// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/check.hpp"

#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/tuning_options.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run_check(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  app::CheckRequest request{place_of(arguments), work_of(arguments), read_problem_words(arguments)};
  if (arguments.has("arch")) request.arch = arguments.text("arch") == "none" ? "" : arguments.text("arch");
  watch_interrupts();
  Progress progress(console, false);
  const app::CheckResult result = app::check(request, progress);
  console.print(result.table, format);
  if (result.wrong > 0) return ExitCode::failed;
  return result.cancelled ? ExitCode::partly : ExitCode::done;
}

}  // namespace

Verb check_verb() {
  Verb verb;
  verb.name = "check";
  verb.summary = "Check an op in seconds: definition, base, and a few configs of each implementation";
  verb.usage = "OP [NAME=VALUE...] [OPTION...]";
  verb.description = {
      "Reads the definition and reports each mistake. Runs the base and a few configs of each implementation on the "
      "emulator against the reference, for the smallest and the largest problem of the op's emulator grid or for the "
      "named problem. Compiles one config of each implementation for a GPU, which need not be "
      "here. Nothing is timed or stored.",
  };
  verb.options = {
      {.name = "arch",
       .value = "ARCH",
       .help = "The architecture to compile for: sm_80, sm_90a (default) …, or none.",
       .takes = Takes::arch},
      kJobs,
      kCompileTimeout,
      {"timeout", "SECONDS", "Stop a config that makes no progress for this long. Default: 90."},
      kOps,
      kFormat,
  };
  verb.examples = {
      {"tilewright check saxpy --ops ./my_ops", "An op of your own, before its first sweep."},
      {"tilewright check softmax rows=3 cols=61 dtype=f16 --arch none", "One problem, on the emulator alone."},
  };
  verb.exit_codes =
      "0 all is right, 1 a config is wrong or cannot be run, 2 the command line or the definition is wrong, "
      "3 interrupted.";
  verb.run = run_check;
  return verb;
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/verify.hpp"

#include <optional>

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

ExitCode run_verify(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  app::VerifyRequest request{place_of(arguments),           work_of(arguments),
                             read_problem_words(arguments), mode_of(arguments).value_or(MeasureMode::cold),
                             arguments.texts("config"),     std::nullopt};
  if (arguments.has("max-configs")) {
    request.max_configs = static_cast<std::size_t>(arguments.integer("max-configs", 0, 0));
  }
  watch_interrupts();
  Progress progress(console, false);
  const std::optional<app::VerifyResult> result = app::verify(request, progress);
  if (!result) return ExitCode::partly;
  console.print(result->table, format);
  if (result->wrong > 0) return ExitCode::failed;
  return result->cancelled ? ExitCode::partly : ExitCode::done;
}

}  // namespace

Verb verify_verb() {
  Verb verb;
  verb.name = "verify";
  verb.summary = "Check configs against the op's reference on a device, and print the errors of each output";
  verb.usage = "OP [NAME=VALUES...] [OPTION...]";
  verb.description = {
      "Runs each config on each sample of the op and compares all elements with the reference, which accumulates in "
      "fp64. A second run has other inputs, in place of each that the op allows. Nothing is timed, and "
      "nothing is written to the cache.",
      "If each dim has one value, that problem is checked, tuned or not, with its winner on the device or else the "
      "op's base. Otherwise the winners of the matching tuned problems are checked: dtype=bf16 cols=4096,8192.",
      "Errors cover all samples: the largest absolute and relative error of an element, the number of elements off by "
      "more than atol + rtol·|reference|, and the norm-wise error of the whole output beside its limit.",
  };
  verb.options = {
      {.name = "config",
       .value = "CONFIG",
       .help = "Check this config instead; base is the op's fallback, all is all legal configs.",
       .repeated = true,
       .takes = Takes::config},
      {"max-configs", "N",
       "With --config all: the number of configs, spread over the space; 0: no limit. Default: 0; 24 on the emulator."},
      {.name = "device",
       .value = "NAME",
       .help = "auto (default: the first GPU, else the emulator), cpu, or cuda:N.",
       .takes = Takes::place},
      {.name = "mode",
       .value = "MODE",
       .help = "Check winners timed cold (default), hot, or by events.",
       .words = {"cold", "hot", "events"}},
      kJobs,
      kCompileTimeout,
      {"timeout", "SECONDS", "Stop a config that makes no progress for this long. Default: 10; 90 on the emulator."},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright verify softmax rows=8 cols=100 dtype=f32 --device cpu", "On the emulator, without a GPU."},
      {"tilewright verify softmax dtype=bf16", "The winners of all bf16 shapes that are tuned on this GPU."},
      {"tilewright verify saxpy --ops ./my_ops n=1000 --config all", "Every config of an op of your own."},
  };
  verb.exit_codes =
      "0 all are right, 1 some are wrong or cannot be run, 2 the command line or a definition is wrong, 3 interrupted.";
  verb.run = run_verify;
  return verb;
}

}  // namespace tilewright::cli

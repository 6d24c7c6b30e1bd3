// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "cache/base/error.hpp"
#include "tuner/app/show.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

/// The words behind the op, and those of --shape.
app::ProblemWords words_of(const Arguments& arguments) {
  app::ProblemWords words = read_problem_words(arguments);
  if (arguments.has("shape")) app::add_named(words, arguments.text("shape"));
  return words;
}

ExitCode show_config(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  app::ConfigRequest request{place_of(arguments), words_of(arguments), arguments.text("config"),
                             arguments.text("arch", "sm_90a"), !arguments.has("source")};
  if (request.arch == "cpu" && arguments.has("ptx")) {
    throw UsageError("the emulator has no PTX: name a GPU's architecture, such as --arch sm_90a");
  }
  const app::ShownConfig shown = app::show_config(request);
  if (!request.compiles) {
    console.print(shown.source);
    return ExitCode::done;
  }
  const CompileResult& result = shown.result;
  if (arguments.has("log")) {
    console.print(result.log);
  } else if (!result.ok) {
    console.say(result.log);
  } else if (arguments.has("ptx")) {
    console.print(shown.ptx);
  } else {
    console.print(app::table_of(shown, request.place), format);
  }
  if (result.ok) return ExitCode::done;
  throw Error(shown.error());
}

ExitCode show_winner(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const app::Evidence evidence = app::show_winner({place_of(arguments), words_of(arguments), arguments.text("device")});
  if (!evidence.warning.empty()) console.say("tilewright: " + evidence.warning);
  if (format != Format::text) {
    console.print(evidence.records, format);
    return ExitCode::done;
  }
  for (const std::string& text : evidence.texts) console.print(text);
  return ExitCode::done;
}

ExitCode show_op(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const app::ShownOp shown = app::show_op(arguments.words().front(), place_of(arguments));
  // Programs get the arguments, which a caller must know.
  if (format == Format::json || format == Format::csv) {
    console.print(shown.arguments, format);
    return ExitCode::done;
  }
  for (const Table& table : {shown.op, shown.arguments, shown.parameters}) {
    console.print(table, format);
    console.print("\n");
  }
  return ExitCode::done;
}

ExitCode show_history(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  console.print(app::show_history({place_of(arguments), words_of(arguments), arguments.text("device")}), format);
  return ExitCode::done;
}

void refuse_compiler_options(const Arguments& arguments) {
  for (const char* needs_config : {"arch", "source", "ptx", "resources", "log"}) {
    if (!arguments.has(needs_config)) continue;
    throw UsageError(fmt::format("--{} is for one config: name it with --config (`tilewright query` prints a winner's)",
                                 needs_config));
  }
}

/// Whether the words are the name of an op alone.
bool names_an_op_alone(const Arguments& arguments) {
  return arguments.words().size() == 1 && !arguments.has("shape") &&
         op_name_of(arguments.words().front()) == arguments.words().front();
}

ExitCode run_show(const Arguments& arguments, Console& console) {
  if (arguments.has("config")) return show_config(arguments, console);
  refuse_compiler_options(arguments);
  if (arguments.has("history")) return show_history(arguments, console);
  return names_an_op_alone(arguments) ? show_op(arguments, console) : show_winner(arguments, console);
}

}  // namespace

Verb show_verb() {
  Verb verb;
  verb.name = "show";
  verb.summary = "Show an op, one of its configs (source, PTX, resources, log), or the evidence of a winner";
  verb.usage = "OP [NAME=VALUE...] [--config CONFIG] [OPTION...]";
  verb.description = {
      "With --config: compiles the config for an architecture, without a GPU, and prints the chosen part; by default "
      "its launch and the resources that the compiler reports. Omitted dims come from the first shape of the "
      "definition's grid for which the config is legal with the given dims.",
      "With a problem and no --config: explains why its winner won, in words, or as columns with --format json or csv. "
      "With an op alone: prints its arguments in the order of a call, its implementations and their parameters.",
  };
  verb.options = {
      {.name = "config",
       .value = "CONFIG",
       .help = "Such as 'onchip{num_warps=4,vec=8,static_dims=1}'; parameters in any order.",
       .takes = Takes::config},
      {"shape", "TEXT", "Dims, such as rows=4096,cols=1024. They may also follow the op."},
      {.name = "arch",
       .value = "ARCH",
       .help = "sm_80, sm_90a (default), … or cpu for the emulator.",
       .takes = Takes::arch},
      {"source", "", "The source that goes to the compiler."},
      {"ptx", "", "The PTX of the binary."},
      {"resources", "", "Registers, spills and shared memory of each kernel (the default)."},
      {"log", "", "The whole log of the compiler."},
      {"history", "",
       "Without --config: the winners of the problem over time, the latest first, with driver, "
       "compiler, version, config and time."},
      {.name = "device",
       .value = "NAME",
       .help = "Without --config: the winner on this device of the cache.",
       .takes = Takes::stored_device},
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright show softmax --config 'streaming{num_warps=8,vec=4,ragged=1,unroll=1}' --ptx", "The base's PTX."},
      {"tilewright show softmax rows=4096 cols=1024 dtype=bf16", "Why its winner won."},
      {"tilewright show softmax rows=4096 cols=1024 dtype=bf16 --history",
       "When it became slower, and with which versions."},
      {"tilewright show softmax", "The arguments of a launch, and the parameters to tune."},
  };
  verb.exit_codes = "0 done, 1 the config does not compile or there is no winner, 2 the command line is wrong.";
  verb.run = run_show;
  return verb;
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/gate.hpp"

#include <fmt/format.h>

#include "cache/base/error.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/interrupt.hpp"
#include "tuner/cli/output_file.hpp"
#include "tuner/cli/progress.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run_gate(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  std::vector<std::string> words = arguments.words();
  if (words.size() < 2) {
    throw UsageError(fmt::format("gate compares two sides, and was given {}\nUsage: tilewright gate {}", words.size(),
                                 arguments.verb().usage));
  }
  app::GateRequest request;
  request.place = place_of(arguments);
  request.a = words[0];
  request.b = words[1];
  request.ops = {words.begin() + 2, words.end()};
  request.device = arguments.text("device");
  request.mode = mode_of(arguments).value_or(MeasureMode::cold);
  if (arguments.has("fail-if")) request.rule = parse_gate_rule(arguments.text("fail-if"));
  if (arguments.has("junit")) {
    // A side may be a cache that is compressed, or a pack: no database.
    for (const std::string& side : {request.a, request.b}) OutputFile::refuse_cache(arguments.text("junit"), side);
    OutputFile::refuse_database(arguments.text("junit"));
  }
  Progress progress(console, false);
  if (arguments.has("remeasure")) watch_interrupts();
  const GateReport report = app::gate(request, arguments.has("remeasure") ? &progress : nullptr);
  if (arguments.has("junit")) {
    OutputFile file(arguments.text("junit"), console);
    file.write(gate_junit(report));
    file.commit();
  }
  if (arguments.text("junit") != "-") console.print(gate_table(report), format);
  if (report.count(GateVerdict::failed) > 0) return ExitCode::failed;
  return report.lines.empty() || report.count(GateVerdict::undecided) > 0 ? ExitCode::partly : ExitCode::done;
}

}  // namespace

Verb gate_verb() {
  Verb verb;
  verb.name = "gate";
  verb.summary = "Compare two caches, devices or versions, and fail if a problem became slower than allowed";
  verb.usage = "A B [OP...] [OPTION...]";
  verb.description = {
      "A (before) and B (after) are two caches (files), two packs or folders of packs, two devices of the cache, or "
      "two versions of its trials, as for `table --compare`. Without OP all ops of A are compared.",
      "A problem fails if B is slower by more than --fail-if allows and the difference is significant: at most 1 % of "
      "gates fail over two caches that differ by noise alone, however many problems they have. A problem is undecided "
      "if a side has no rounds, as winners stored before schema 7 may, or if the sides were timed on two GPUs of one "
      "model. Problems of one side alone are counted and not judged.",
      "Nothing is measured without --remeasure, which times suspects again on this machine, the binaries of both sides "
      "in turns; the new times decide. Suspects are undecided problems and problems slower by more than --fail-if "
      "allows. A suspect of another device, of two drivers, or without its binary keeps its first verdict; the table "
      "says why. The caches are not written.",
  };
  verb.options = {
      {"fail-if", "RULE", "The slow-down of B that fails. Default: 'slower > 2 %'."},
      {"junit", "FILE",
       "Also write the problems as JUnit test cases; - writes them to standard output instead of the table."},
      {"remeasure", "",
       "Time suspects again, A and B in turns, on the first GPU here, or on the emulator if both sides are of it."},
      kDevice,
      kMode,
      kOps,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright gate before.db after.db --format markdown", "A table for a pull request."},
      {"tilewright gate 'compiler=NVRTC 12.8' 'compiler=NVRTC 13.0' gemm --junit gate.xml --fail-if 'slower > 5 %'",
       "A CI check of another compiler."},
      {"tilewright gate before.db after.db --remeasure",
       "On the machine with the GPU: both sides are timed under the same conditions."},
  };
  verb.exit_codes =
      "0 no problem failed, 1 a problem failed or a cache cannot be read, 2 the command line is wrong, 3 none failed, "
      "but one is undecided or none has a time on both sides.";
  verb.run = run_gate;
  return verb;
}

}  // namespace tilewright::cli

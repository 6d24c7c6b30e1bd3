// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/promote.hpp"

#include <fmt/format.h>

#include "cache/base/error.hpp"
#include "tuner/app/publish.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/output_file.hpp"
#include "tuner/cli/remote_options.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const std::string at = arguments.word(0, "where the channels are: the address of a service, or a folder");
  arguments.require_at_most(1);
  if (!arguments.has("key"))
    throw UsageError("promote signs: name the key with --key FILE (`tilewright key` makes one)");
  watch_interrupts();
  app::PromoteRequest request{remote_place(arguments, at), arguments.text("key")};
  if (arguments.has("publishers")) request.publishers = arguments.text("publishers");
  request.from = arguments.text("from", request.from);
  request.to = arguments.text("to", request.to);
  if (arguments.has("fail-if")) request.rule = parse_gate_rule(arguments.text("fail-if"));
  request.accept_undecided = arguments.has("accept-undecided");
  const app::Promoted done = app::promote(request);
  if (done.report && arguments.has("junit")) {
    OutputFile file(arguments.text("junit"), console);
    file.write(gate_junit(*done.report));
    file.commit();
  }
  if (done.now) {
    console.print(app::table_of(*done.now, fmt::format("{} of {}", request.to, at)), format);
    return ExitCode::done;
  }
  console.print(gate_table(*done.report), format);
  const bool failed = done.report->count(GateVerdict::failed) > 0;
  console.say(
      failed ? fmt::format("{} stays as it is: {} makes problems slower.", request.to, request.from)
             : fmt::format("{} stays as it is: the gate is undecided. Look, then add --accept-undecided.", request.to));
  return failed ? ExitCode::failed : ExitCode::partly;
}

}  // namespace

Verb promote_verb() {
  Verb verb;
  verb.name = "promote";
  verb.summary = "Make the candidate of a service its stable snapshot, unless it is slower";
  verb.usage = "URL|FOLDER --key FILE [OPTION...]";
  verb.description = {
      "Fetches what both channels point at, verifies signatures and hashes, and compares them as `tilewright gate` "
      "does. What passes is signed for the channel here, and the service is given the manifest: it has no private key. "
      "Where stable points at nothing yet, anything passes. Nothing is measured.",
      "To go back to an older snapshot, publish it again: numbers only grow, and who pulls takes none that is lower.",
  };
  verb.options = {
      {"key", "FILE", "The private key to sign with (`tilewright key`)."},
      {"publishers", "FILE",
       "Public keys in PEM of those who may have signed what is promoted. Default: the other half of --key."},
      {"from", "NAME", "The channel that has it. Default: candidate."},
      {"to", "NAME", "The channel that gets it. Default: stable."},
      {"fail-if", "RULE", "By how much it may not be slower. Default: 'slower > 2 %'."},
      {"accept-undecided", "", "Promote, too, where the gate can say nothing of some problems."},
      {"junit", "FILE", "Write the problems as test cases, too; - is standard output."},
      kToken,
      kAuthorities,
      kFormat,
  };
  verb.examples = {
      {"tilewright promote https://tuning.example --key publisher.key", "candidate becomes stable."},
      {"tilewright promote /srv/tuning --key publisher.key --accept-undecided", "Of a folder, after a look."},
  };
  verb.exit_codes =
      "0 promoted, or it was already, 1 something is slower, or a channel cannot be read, 2 the command line is wrong, "
      "3 undecided.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli

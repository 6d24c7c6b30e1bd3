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

ExitCode run_promote(const Arguments& arguments, Console& console) {
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
  if (arguments.has("junit")) OutputFile::refuse_database(arguments.text("junit"));
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
  verb.summary = "Make the candidate snapshot of a service its stable one, unless it is slower";
  verb.usage = "URL|FOLDER --key FILE [OPTION...]";
  verb.description = {
      "Fetches the snapshots of both channels, verifies signatures and hashes, and compares them as `tilewright gate` "
      "does. A snapshot that passes is signed for the channel here, and the service gets the manifest: it has no "
      "private key. If stable has no snapshot yet, any passes. Nothing is measured.",
      "To go back to an older snapshot, publish it again: numbers only grow, and `pull` refuses a lower one.",
  };
  verb.options = {
      {"key", "FILE", "The private key to sign with (`tilewright key`)."},
      {"publishers", "FILE",
       "Public keys in PEM that may have signed the promoted snapshot. Default: the public half of --key."},
      {"from", "NAME", "The channel to promote from. Default: candidate."},
      {"to", "NAME", "The channel to promote to. Default: stable."},
      {"fail-if", "RULE", "The slow-down that fails. Default: 'slower > 2 %'."},
      {"accept-undecided", "", "Promote even if the gate is undecided about some problems."},
      {"junit", "FILE", "Also write the problems as JUnit test cases; - is standard output."},
      kToken,
      kAuthorities,
      kFormat,
  };
  verb.examples = {
      {"tilewright promote https://tuning.example --key publisher.key", "Makes candidate stable."},
      {"tilewright promote /srv/tuning --key publisher.key --accept-undecided",
       "Promotes in a folder, after a look at the undecided problems."},
  };
  verb.exit_codes =
      "0 promoted, now or before, 1 a problem is slower, or a channel cannot be read, 2 the "
      "command line is wrong, 3 undecided.";
  verb.run = run_promote;
  return verb;
}

}  // namespace tilewright::cli

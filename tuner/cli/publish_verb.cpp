// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/publish.hpp"

#include <fmt/format.h>

#include "cache/base/error.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/remote_options.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  const std::string to = arguments.word(0, "where to publish: the address of a service, or a folder");
  arguments.require_at_most(1);
  if (!arguments.has("key"))
    throw UsageError("publish signs: name the key with --key FILE (`tilewright key` makes one)");
  watch_interrupts();
  app::PublishRequest request{place_of(arguments), remote_place(arguments, to), arguments.text("key")};
  request.channel = arguments.text("channel", request.channel);
  const app::Published done = app::publish(request);
  if (!done.is_new) console.say(fmt::format("{} has this content already: nothing was published.", request.channel));
  console.print(app::table_of(done.now, fmt::format("Published to {}", to)), format);
  return ExitCode::done;
}

}  // namespace

Verb publish_verb() {
  Verb verb;
  verb.name = "publish";
  verb.summary = "Put a signed snapshot of the cache on a channel of a service, for others to pull";
  verb.usage = "URL|FOLDER --key FILE [OPTION...]";
  verb.description = {
      "A snapshot has the winners with their evidence, their binaries and what serving needs besides: spares, what was "
      "learned, pins, ceilings. Trials that nothing is served from stay behind. Its name is the SHA-256 of its file.",
      "A manifest says which snapshot a channel points at, with a number that grows, and the digest of the content, "
      "which is the same for the same packs folded in any order. It is signed here: the service has no private key.",
      "A folder may be served by any web server: it lies there as a service's paths do.",
  };
  verb.options = {
      {"key", "FILE", "The private key to sign with (`tilewright key`)."},
      {"channel", "NAME", "Default: candidate, which `tilewright promote` judges."},
      kToken,
      kAuthorities,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright publish https://tuning.example --key publisher.key", "On candidate."},
      {"tilewright publish /srv/tuning --key publisher.key --channel nightly", "Into a folder."},
  };
  verb.exit_codes = "0 done, 1 there is no winner, or the place does not take it, 2 the command line is wrong.";
  verb.run = run;
  return verb;
}

}  // namespace tilewright::cli

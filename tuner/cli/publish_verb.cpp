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

ExitCode run_publish(const Arguments& arguments, Console& console) {
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
      "A snapshot has the winners with their evidence, their binaries and all else that serving needs: spares, learned "
      "models, pins, ceilings. Times of configs that do not serve stay behind. Its name is the SHA-256 of its file.",
      "A signed manifest gives the snapshot of a channel, a number that only grows, and the digest of the content. The "
      "same packs have the same digest, folded in any order. The manifest is signed "
      "here: the service has no private key.",
      "Any web server can serve a folder: its files lie at the paths of a service.",
  };
  verb.options = {
      {"key", "FILE", "The private key to sign with (`tilewright key`)."},
      {"channel", "NAME", "The channel. Default: candidate, which `tilewright promote` judges."},
      kToken,
      kAuthorities,
      kCache,
      kFormat,
  };
  verb.examples = {
      {"tilewright publish https://tuning.example --key publisher.key", "Publishes on candidate."},
      {"tilewright publish /srv/tuning --key publisher.key --channel nightly", "Publishes into a folder, on nightly."},
  };
  verb.exit_codes =
      "0 done, 1 there is no winner, or the service or folder does not take it, 2 the command line is wrong.";
  verb.run = run_publish;
  return verb;
}

}  // namespace tilewright::cli

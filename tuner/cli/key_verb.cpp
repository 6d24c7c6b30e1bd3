// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tuner/app/publish.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

ExitCode run_key(const Arguments& arguments, Console& console) {
  const std::string file = arguments.word(0, "the file to keep the key in");
  arguments.require_at_most(1);
  app::make_keys(file);
  console.print(fmt::format("{0}\n{0}.pub\n", file));
  console.say(fmt::format(
      "{0} signs your snapshots: keep it secret. Give {0}.pub to services and to machines that pull.", file));
  return ExitCode::done;
}

}  // namespace

Verb key_verb() {
  Verb verb;
  verb.name = "key";
  verb.summary = "Make a key pair that signs snapshots";
  verb.usage = "FILE";
  verb.description = {
      "Writes an Ed25519 key to FILE, readable by its user alone, and its public half to FILE.pub, both as PEM. "
      "`publish` and `promote` sign with FILE. `serve --publishers` and `pull --publishers` verify "
      "with FILE.pub and do not need FILE.",
      "A file of public keys may hold several. To change keys, append the new one, publish "
      "with it, and remove the old one.",
  };
  verb.examples = {{"tilewright key publisher.key", "Makes publisher.key and publisher.key.pub."}};
  verb.exit_codes = "0 done, 1 a file exists already or cannot be written, 2 the command line is wrong.";
  verb.run = run_key;
  return verb;
}

}  // namespace tilewright::cli

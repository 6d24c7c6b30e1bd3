// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/pull.hpp"

#include <fmt/format.h>

#include <optional>
#include <random>
#include <thread>

#include "cache/base/error.hpp"
#include "tuner/app/tuning.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/remote_options.hpp"
#include "tuner/cli/setup.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

app::PullRequest request_of(const Arguments& arguments) {
  app::PullRequest request{remote_place(arguments, arguments.word(0, "where to pull from: an address, or a folder")),
                           {}};
  arguments.require_at_most(1);
  request.folder = arguments.has("to") ? std::filesystem::path(arguments.text("to")) : app::default_pulled_folder();
  request.channel = arguments.text("channel", request.channel);
  if (arguments.has("publishers")) request.publishers = arguments.text("publishers");
  if (arguments.has("pin")) request.pin = app::snapshot_hash(arguments.text("pin"));
  request.misses = app::misses_file(arguments.text("misses"));
  request.kept = static_cast<std::size_t>(arguments.integer("keep", static_cast<std::int64_t>(request.kept), 1));
  return request;
}

void say(const app::Pulled& done, Console& console) {
  for (const std::string& note : app::table_of(done).notes) console.say(note);
  if (done.outcome == app::PullOutcome::pulled) {
    console.print(fmt::format("{} is sha256:{}{}\n", done.file.string(), done.hash,
                              done.manifest ? fmt::format(", number {}", done.manifest->sequence) : ""));
  }
  if (done.misses > 0) console.say(fmt::format("{} missed shapes were sent.", done.misses));
}

/// Pulls until Ctrl-C.
ExitCode pull_on(app::Puller& puller, std::chrono::milliseconds every, Console& console) {
  std::mt19937_64 random{std::random_device()()};
  std::uniform_real_distribution<double> chance(0, 1);
  for (unsigned failures = 0; !interrupted();) {
    bool failed = true;
    try {
      const app::Pulled done = puller.pull();
      failed = done.outcome == app::PullOutcome::away;
      // Tells once that a service is away.
      if (!failed || failures == 0) say(done, console);
    } catch (const UsageError&) {
      throw;
    } catch (const std::exception& error) {  // Exceptions of the file system are no Error.
      if (!interrupted()) console.say_error(error.what());
    }
    failures = failed ? failures + 1 : 0;
    const auto end = std::chrono::steady_clock::now() + app::next_pull(every, failures, chance(random));
    while (!interrupted() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
  return ExitCode::done;
}

ExitCode run_pull(const Arguments& arguments, Console& console) {
  const Format format = format_of(arguments);
  std::optional<std::chrono::nanoseconds> every;
  if (arguments.has("every")) {
    every = app::duration_from(arguments.text("every"));
    if (!every || *every < std::chrono::milliseconds(100)) {
      throw UsageError(
          fmt::format("--every {}: write a time with its unit, such as 30s or 5m", arguments.text("every")));
    }
  }
  watch_interrupts();
  app::Puller puller(request_of(arguments));
  if (every) return pull_on(puller, std::chrono::duration_cast<std::chrono::milliseconds>(*every), console);
  try {
    const app::Pulled done = puller.pull();
    console.print(app::table_of(done), format);
    return done.outcome == app::PullOutcome::away ? ExitCode::partly : ExitCode::done;
  } catch (const Error&) {
    if (!interrupted()) throw;
    console.say_error(
        "the pull was interrupted, and the present snapshot stays. Type it again: the download continues");
    return ExitCode::partly;
  }
}

}  // namespace

Verb pull_verb() {
  Verb verb;
  verb.name = "pull";
  verb.summary = "Fetch the snapshot of a channel, verify it, and put it where applications open it";
  verb.usage = "URL|FOLDER [OPTION...]";
  verb.description = {
      "Verifies the signature of the channel, that its number is not lower than the last, that this version reads the "
      "snapshot, and that its bytes have the hash. Then FOLDER/CHANNEL.db, a link to snapshots/HASH.db, switches to it "
      "in one step. Applications open the link (TILEWRIGHT_CACHE); with watch_ms their "
      "launchers follow it while they run.",
      "An interrupted download continues. If nobody answers, the present snapshot stays and its age is printed. The "
      "newest snapshots and those in use are kept.",
      "Sends the shapes that applications missed to the service. Uses http_proxy, https_proxy, all_proxy and "
      "no_proxy.",
  };
  verb.options = {
      {"channel", "NAME", "The channel. Default: stable."},
      {"publishers", "FILE", "Public keys in PEM whose signatures count. Required without --pin."},
      {"pin", "HASH", "Fetch only this snapshot: sha256: and 64 digits. It is put into FOLDER/snapshots."},
      {"every", "TIME", "Pull at this interval until Ctrl-C: 30s, 5m. After failures the interval is longer."},
      {"to", "FOLDER", "The folder. Default: TILEWRIGHT_PULLED, else tilewright/pulled in the XDG cache folder."},
      {"keep", "N", "The number of newest snapshots to keep. Default: 3."},
      {"misses", "FILE", "The file of missed shapes to send, or off. Default: TILEWRIGHT_MISSES."},
      kToken,
      kAuthorities,
      kFormat,
  };
  verb.examples = {
      {"tilewright pull https://tuning.example --publishers publisher.key.pub", "Once, before a job starts."},
      {"tilewright pull https://tuning.example --publishers publisher.key.pub --every 30s",
       "Continuously, beside applications."},
      {"tilewright pull /srv/tuning --pin sha256:e414fee5875aa37c778ffdb82ce9e6a7a0c65edc64ed795d964daa9549c09d4c",
       "One snapshot, for all ranks of a job."},
  };
  verb.exit_codes =
      "0 the snapshot is in place, 1 it cannot be fetched or trusted, 2 the command line is wrong, 3 nobody answers, "
      "or "
      "it was interrupted, and the present snapshot stays.";
  verb.run = run_pull;
  return verb;
}

}  // namespace tilewright::cli

// SPDX-License-Identifier: Apache-2.0
// The program: picks the verb, and reports uncaught errors.
#include <fmt/format.h>

#include <array>
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include "cache/base/error.hpp"
#include "cache/base/holds.hpp"
#include "cache/base/version.hpp"
#include "tuner/app/work.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/common_options.hpp"
#include "tuner/cli/complete.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/help.hpp"
#include "tuner/cli/verb.hpp"

namespace tilewright::cli {
namespace {

/// Asked before the command line is parsed, so that its mistakes are events, too.
bool asks_for_json_log(const std::vector<std::string>& words) {
  const std::string option = std::string("--") + kLogFormat.name;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option + "=json" || (words[i] == option && i + 1 < words.size() && words[i + 1] == "json"))
      return true;
  }
  return false;
}

ExitCode run(const std::vector<std::string>& words, Console& console) {
  if (words.empty()) {
    console.say(overview_text());
    return ExitCode::usage;
  }
  if (holds(std::array{"--help", "-h"}, words.front())) {
    console.print(overview_text());
    return ExitCode::done;
  }
  if (holds(std::array{"--version", "-V", "version"}, words.front())) {
    console.print(fmt::format("tilewright {}\n", version()));
    return ExitCode::done;
  }
  // Not verbs for people: a sweep starts workers with these words, and shells ask with them.
  if (const auto served = app::serve_as_worker(words)) return *served ? ExitCode::done : ExitCode::failed;
  if (words.front() == kCompleteWords) {
    console.print(completion_text(complete({words.begin() + 1, words.end()})));
    return ExitCode::done;
  }
  const Verb& verb = find_verb(words.front());
  if (asks_for_json_log(words)) console.log_as_json();
  const Arguments arguments(verb, {words.begin() + 1, words.end()});
  if (arguments.has("help")) {
    console.print(help_text(verb));
    return ExitCode::done;
  }
  return verb.run(arguments, console);
}

}  // namespace
}  // namespace tilewright::cli

int main(int argc, char** argv) {
  using namespace tilewright;
  using cli::ExitCode;
  cli::Console console;
  // A limit on file sizes (ulimit -f) is then an error like a full disk, not a silent end.
  std::signal(SIGXFSZ, SIG_IGN);
  // A parent that ignores it would otherwise hide how compilers and workers end.
  std::signal(SIGCHLD, SIG_DFL);
  try {
    return static_cast<int>(cli::run({argv + 1, argv + argc}, console));
  } catch (const UsageError& error) {
    console.say_error(error.what());
    return static_cast<int>(ExitCode::usage);
  } catch (const std::bad_alloc&) {
    console.say_error("the machine's memory is exhausted; give it more, or tune smaller problems");
  } catch (const std::exception& error) {
    console.say_error(error.what());
  }
  return static_cast<int>(ExitCode::failed);
}

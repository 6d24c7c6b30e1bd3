// SPDX-License-Identifier: Apache-2.0
// The shells' side of completion. A script has no verbs and options: it asks the program (complete.hpp), and so suits
// any version.
#include "cache/base/error.hpp"
#include "tuner/cli/arguments.hpp"
#include "tuner/cli/console.hpp"
#include "tuner/cli/verb.hpp"

#include <fmt/format.h>

namespace tilewright::cli {
namespace {

constexpr const char* kBash = R"(# bash completion of tilewright; written by `tilewright completion bash`.
_tilewright() {
  local line=${COMP_LINE:0:COMP_POINT} program=${1/#\~/$HOME} kind= word current
  local -a words
  # Without -r: a blank behind a backslash is part of a word.
  # shellcheck disable=SC2162
  read -a words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current=${words[-1]}
  # Readline replaces what stands behind the last of its word breaks, and in quotes all.
  local kept=${current%"${current##*["${COMP_WORDBREAKS//[^=:]/}"]}"} quote=
  if [[ $current == [\'\"]* ]]; then
    quote=${current:0:1} current=${current:1} kept=
    words[-1]=$current
  fi
  COMPREPLY=()
  {
    read -r kind
    while IFS=$'\t' read -r word _; do
      word=${word#"$kept"}
      [[ -z $quote && $word == *[[:space:]{}]* ]] && printf -v word %q "$word"
      COMPREPLY+=("$word")
    done
  } < <("$program" complete-words "${words[@]:1}" 2>/dev/null)
  case $kind in
    files)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "${current##*=}")
      ;;
    folders)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -d -- "${current##*=}")
      ;;
    *unfinished) compopt -o nospace ;;
  esac
}
complete -F _tilewright tilewright
)";

constexpr const char* kZsh = R"(#compdef tilewright
# zsh completion of tilewright; written by `tilewright completion zsh`.
_tilewright() {
  local program=${(Q)words[1]} kind line
  local -a typed answer offers behind
  program=${~program}
  typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  answer=("${(@f)$($program complete-words "${(@)typed}" 2>/dev/null)}")
  kind=$answer[1]
  shift answer
  case $kind in
    files)
      compset -P '*='
      _files
      ;;
    folders)
      compset -P '*='
      _files -/
      ;;
    *)
      [[ $kind == *unfinished ]] && behind=(-S '')
      for line in "${(@)answer}"; do
        [[ -n $line ]] && offers+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
      done
      _describe -t words word offers "${(@)behind}"
      ;;
  esac
}
if [[ $funcstack[1] == _tilewright ]]; then
  _tilewright "$@"
else
  compdef _tilewright tilewright
fi
)";

constexpr const char* kFish = R"(# fish completion of tilewright; written by `tilewright completion fish`.
function __tilewright_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    # Braces are escaped on the line.
    set -l plain (string unescape -- "$current"); and set current "$plain"
    set -l answer ($words[1] complete-words $words[2..-1] "$current" 2>/dev/null)
    switch "$answer[1]"
        case files
            __fish_complete_path (string replace -r '^--[^=]*=' '' -- "$current")
        case folders
            __fish_complete_directories (string replace -r '^--[^=]*=' '' -- "$current")
        case '*'
            printf '%s\n' $answer[2..-1]
    end
end
complete -c tilewright -f -a '(__tilewright_complete)'
)";

const std::vector<std::pair<std::string, const char*>> kScripts{{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};

ExitCode run_completion(const Arguments& arguments, Console& console) {
  arguments.require_at_most(1);
  const std::string& shell = arguments.word(0, "the name of a shell: bash, zsh or fish");
  std::vector<std::string> known;
  for (const auto& [name, script] : kScripts) {
    if (name == shell) {
      console.print(script);
      return ExitCode::done;
    }
    known.push_back(name);
  }
  throw UsageError(fmt::format("there is no completion for '{}'{}", shell, suggestion(shell, known)));
}

}  // namespace

Verb completion_verb() {
  Verb verb;
  verb.name = "completion";
  verb.summary = "Print the shell script that completes verbs, options and values";
  verb.usage = "bash|zsh|fish";
  verb.description = {
      "The script asks the program at each press of Tab, so it fits any version of the program. An installed program "
      "has put its script where shells look; the examples are for a program elsewhere.",
  };
  verb.examples = {
      {"source <(tilewright completion bash)", "In ~/.bashrc."},
      {"tilewright completion zsh > \"${fpath[1]}/_tilewright\"",
       "Once; or source <(...) in ~/.zshrc, behind compinit."},
      {"tilewright completion fish > ~/.config/fish/completions/tilewright.fish", "Once."},
  };
  verb.exit_codes = "0 done, 2 the command line is wrong.";
  verb.run = run_completion;
  return verb;
}

}  // namespace tilewright::cli

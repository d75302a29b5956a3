// impart completion: lines for a shell, which then asks this program what could be meant.

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app_view.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/presets.h"
#include "impart/config/schema.h"
#include "impart/core/named_table.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

constexpr std::string_view kBash = R"(# bash: source <(impart completion bash)
_impart() {
  local -a words
  read -ra words <<< "${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *' ' ]] && words+=('')
  local word=${words[-1]} candidate
  COMPREPLY=()
  while IFS=$'\t' read -r candidate _; do
    # What stands before an equals sign is a word of its own for bash.
    [[ $word == *=* ]] && candidate=${candidate#*=}
    COMPREPLY+=("$candidate")
  done < <(impart candidates -- "${words[@]:1}" 2> /dev/null)
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  return 0
}
complete -o default -F _impart impart
)";

constexpr std::string_view kZsh = R"(#compdef impart
# zsh: source <(impart completion zsh), or this file as _impart in a folder of $fpath
_impart() {
  local -a settings others
  local line
  for line in "${(@f)$(impart candidates -- "${(@)words[2,CURRENT]}" 2> /dev/null)}"; do
    line=${line%%$'\t'*}
    case $line in
      '') ;;
      *=) settings+=("$line") ;;
      *) others+=("$line") ;;
    esac
  done
  compadd -S '' -a settings
  compadd -a others
  (( $#settings + $#others )) || _files
}
if [[ $funcstack[1] == _impart ]]; then
  _impart "$@"  # this file was loaded for the first word to be completed
elif (( $+functions[compdef] )); then
  compdef _impart impart
fi
)";

constexpr std::string_view kFish = R"(# fish: impart completion fish | source
function __impart_candidates
  impart candidates -- (commandline -opc)[2..-1] (commandline -ct) 2> /dev/null
end
complete -c impart -f -a '(__impart_candidates)'
complete -c impart -n 'not __impart_candidates | string length -q' -F
)";

struct Shell {
  std::string_view name, script;
};
constexpr Shell kShells[] = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};
static_assert(names_are_unique(kShells));

/// What a word could be, and what it means; "" where that is plain.
struct Candidate {
  std::string word, meaning;
};
using Candidates = std::vector<Candidate>;

void add_flags(const CLI::App& command, Candidates& candidates) {
  for (const OptionView& option : options_of(command)) {
    for (const std::string& flag : option.flags) candidates.push_back({flag, option.description});
  }
}

void add_presets(PresetKind kind, Candidates& candidates) {
  for (const Preset& preset : find_presets(kind))
    candidates.push_back({preset.name, preset.summary});
}

/// The values of a key that are single words: "auto | cpu | cuda".
std::vector<std::string> named_values(std::string_view allowed) {
  constexpr std::string_view kBetween = " | ";
  std::vector<std::string> names;
  if (allowed.find(kBetween) == std::string_view::npos) return names;
  while (!allowed.empty()) {
    const std::size_t end = std::min(allowed.find(kBetween), allowed.size());
    const std::string_view name = allowed.substr(0, end);
    if (name.find(' ') == std::string_view::npos) names.emplace_back(name);
    allowed.remove_prefix(std::min(end + kBetween.size(), allowed.size()));
  }
  return names;
}

/// "key=", or "key=value" once there is an equals sign.
void add_settings(std::string_view word, Candidates& candidates) {
  for (const config::ConfigKey& key : config::make_schema()) {
    const std::string start = key.path() + "=";
    if (!word.starts_with(start)) {
      candidates.push_back({start, std::string(key.help)});
      continue;
    }
    for (const std::string& value : named_values(key.allowed))
      candidates.push_back({start + value, ""});
  }
}

/// What the arguments of a command could be.
void add_arguments(const CLI::App& command, std::string_view word, Candidates& candidates) {
  const std::string name = command.get_name();
  if (name == "list") {
    for (const std::string_view listing : listing_names())
      candidates.push_back({std::string(listing), ""});
  }
  if (name == "completion") {
    for (const Shell& shell : kShells) candidates.push_back({std::string(shell.name), ""});
  }
  if (name == "train") add_presets(PresetKind::kRun, candidates);
  if (name == "study") add_presets(PresetKind::kStudy, candidates);
  if (takes_settings(command)) add_settings(word, candidates);
}

/// What the last of the words could become.
Candidates find_candidates(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* command = &app;
  for (auto word = words.begin(); word + 1 < words.end(); ++word) {
    for (const CLI::App* inner : commands_of(*command)) {
      if (inner->get_name() == *word) command = inner;
    }
  }
  const std::string word = words.empty() ? "" : words.back();
  Candidates candidates;
  if (word.starts_with('-')) {
    add_flags(*command, candidates);
  } else {
    for (const CLI::App* inner : commands_of(*command)) {
      candidates.push_back({inner->get_name(), inner->get_description()});
    }
    add_arguments(*command, word, candidates);
  }
  std::erase_if(candidates, [&](const Candidate& one) { return !one.word.starts_with(word); });
  return candidates;
}

}  // namespace

void add_completion_command(CLI::App& app) {
  auto* command =
      app.add_subcommand("completion", "Print what makes a shell complete impart's commands");
  command->footer(
      "bash: source <(impart completion bash)\nzsh, after compinit: source <(impart completion "
      "zsh)\n"
      "fish: impart completion fish | source");
  auto shell = std::make_shared<std::string>();
  command->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  command->callback([shell] { answer_text(find_entry(kShells, "shell", *shell).script); });

  auto* asked = app.add_subcommand("candidates", "What a word could become, for shells");
  asked->group("");  // not for people
  auto words = std::make_shared<std::vector<std::string>>();
  asked->add_option("WORDS", *words);
  asked->callback([&app, words] {
    for (const auto& [word, meaning] : find_candidates(app, *words))
      answer("{}\t{}\n", word, meaning);
  });
}

}  // namespace impart::cli

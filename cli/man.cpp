// impart man: manual pages, made from what --help prints.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/app_view.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "impart/config/schema.h"
#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/core/named_table.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

constexpr std::string_view kEnvironment =
    ".TP\n.B IMPART_PRESETS\nthe folder of presets, instead of impart's own\n"
    ".TP\n.B NO_COLOR\nif set, nothing is coloured\n";

/// Text as troff takes it for itself.
std::string plain(std::string_view text) {
  std::string escaped;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) escaped += "\\&";
    escaped += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    at_start = c == '\n';
  }
  return escaped;
}

/// "impart-data-fetch", the name of its page.
std::string page_name(const CLI::App& command) {
  std::string name = path_of(command);
  for (char& c : name) c = c == ' ' ? '-' : c;
  return name;
}

std::string synopsis(const CLI::App& command) {
  std::string text = fmt::format(".B {}\n[options]", plain(path_of(command)));
  if (!commands_of(command).empty()) return text + " COMMAND …\n";
  for (const OptionView& option : options_of(command)) {
    if (!option.flags.empty()) continue;
    const std::string argument = plain(option.argument);
    text += option.is_required ? " " + argument : fmt::format(" [{}]", argument);
  }
  return text + "\n";
}

std::string options_text(const CLI::App& command) {
  std::string text;
  for (const OptionView& option : options_of(command)) {
    const bool both = !option.flags.empty() && !option.argument.empty();
    text +=
        fmt::format(".TP\n.B {}{}{}\n{}\n", plain(fmt::format("{}", fmt::join(option.flags, ", "))),
                    both ? " " : "", plain(option.argument), plain(option.description));
  }
  return text;
}

std::string commands_text(const CLI::App& command) {
  std::string text;
  for (const CLI::App* inner : commands_of(command)) {
    text += fmt::format(".TP\n.BR {} (1)\n{}\n", plain(page_name(*inner)),
                        plain(inner->get_description()));
  }
  return text;
}

std::string settings_text() {
  const config::RunConfig defaults;
  std::string text;
  for (const config::ConfigKey& key : config::make_schema()) {
    text += fmt::format(".TP\n.B {}={}\n{} ({})\n", plain(key.path()),
                        plain(fmt::format("{}", fmt::join(key.get(defaults), ","))),
                        plain(key.help), plain(key.allowed));
  }
  return text;
}

std::string page(const CLI::App& command) {
  const std::string name = page_name(command);
  std::string text =
      fmt::format(".TH {} 1 \"\" \"impart {}\" \"impart\"\n.SH NAME\n{} \\- {}\n", plain(name),
                  IMPART_VERSION, plain(name), plain(command.get_description()));
  const auto add = [&](std::string_view title, const std::string& section) {
    if (!section.empty()) text += fmt::format(".SH {}\n{}", title, section);
  };
  add("SYNOPSIS", synopsis(command));
  add("COMMANDS", commands_text(command));
  add("OPTIONS", options_text(command));
  if (takes_settings(command)) add("SETTINGS", settings_text());
  const std::string footer = command.get_footer();
  if (!footer.empty()) add("NOTES", fmt::format(".nf\n{}\n.fi\n", plain(footer)));
  add("ENVIRONMENT", std::string(kEnvironment));
  return text;
}

void write_pages(const CLI::App& command, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  OutputFile file((folder / (page_name(command) + ".1")).string());
  file.write(page(command));
  file.commit();
  for (const CLI::App* inner : commands_of(command)) write_pages(*inner, folder);
}

/// The command that words name: {"data", "fetch"}.
const CLI::App& find_command(const CLI::App& app, std::span<const std::string> words) {
  if (words.empty()) return app;
  const std::vector<const CLI::App*> commands = commands_of(app);
  std::vector<std::string> names;
  for (const CLI::App* command : commands) {
    if (command->get_name() == words.front()) return find_command(*command, words.subspan(1));
    names.push_back(command->get_name());
  }
  throw_unknown_name("command", words.front(),
                     std::vector<std::string_view>(names.begin(), names.end()));
}

}  // namespace

void add_man_command(CLI::App& app) {
  auto* command = app.add_subcommand("man", "Print a manual page: impart man train | man -l -");
  auto words = std::make_shared<std::vector<std::string>>();
  auto folder = std::make_shared<std::string>();
  command->add_option("COMMAND", *words, "the command; impart itself if left out");
  command->add_option("--write", *folder, "write the pages of all commands into this folder");
  command->callback([&app, words, folder] {
    if (!folder->empty()) return write_pages(app, *folder);
    answer_text(page(find_command(app, *words)));
  });
}

}  // namespace impart::cli

#include "cli/app_view.h"

#include <algorithm>

#include <fmt/format.h>

#include <CLI/CLI.hpp>

namespace impart::cli {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<OptionView> options_of(const CLI::App& command) {
  std::vector<OptionView> views;
  for (const CLI::Option* option : command.get_options()) {
    OptionView view{.flags = {},
                    .argument = "",
                    .description = option->get_description(),
                    .is_required = option->get_required()};
    for (const std::string& name : option->get_snames()) view.flags.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) view.flags.push_back("--" + name);
    if (view.flags.empty()) {
      view.argument = option->get_name();
    } else if (option->get_type_size() != 0) {
      view.argument = option->get_type_name();
    }
    views.push_back(std::move(view));
  }
  return views;
}

std::string path_of(const CLI::App& command) {
  const CLI::App* parent = command.get_parent();
  return parent == nullptr ? command.get_name()
                           : fmt::format("{} {}", path_of(*parent), command.get_name());
}

bool takes_settings(const CLI::App& command) {
  const std::vector<OptionView> options = options_of(command);
  return std::any_of(options.begin(), options.end(), [](const OptionView& option) {
    return option.argument == "KEY=VALUE" ||
           option.description.find("key=value") != std::string::npos;
  });
}

}  // namespace impart::cli

#include "cli/usage.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/app_view.h"
#include "impart/config/config_keys.h"
#include "impart/core/error.h"
#include "impart/core/named_table.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

/// What other programs call a setting, which may have its value with it.
constexpr std::pair<std::string_view, std::string_view> kOtherNames[] = {
    {"batch_size", "workers.batch"},
    {"dataset", "data.name"},
    {"gpu", "device=cuda"},
    {"learning_rate", "optimizer.lr"},
    {"model", "model.name"},
    {"num_workers", "workers.count"},
    {"o", "output"},
    {"out", "output"},
    {"workers", "workers.count"},
};

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

/// The command that was being parsed.
const CLI::App& innermost(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? app : innermost(*parsed.back());
}

/// "-x" is too short to be mistaken for another.
std::vector<std::string> long_flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const OptionView& option : options_of(command)) {
    std::copy_if(option.flags.begin(), option.flags.end(), std::back_inserter(flags),
                 [](const std::string& flag) { return flag.starts_with("--"); });
  }
  return flags;
}

bool is_among(std::string_view name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// A flag as it was typed: "--epochs 3", "--epochs=3".
struct TypedFlag {
  std::string flag;
  std::string value;  ///< what follows it; "VALUE" if nothing does
};

TypedFlag find_flag(const std::string& typed, std::span<const std::string> arguments) {
  const std::size_t equals = typed.find('=');
  if (equals != std::string::npos) return {typed.substr(0, equals), typed.substr(equals + 1)};
  const auto found = std::find(arguments.begin(), arguments.end(), typed);
  const bool has_value = found != arguments.end() && found + 1 != arguments.end() &&
                         !(found + 1)->starts_with('-') &&
                         (found + 1)->find('=') == std::string::npos;
  return {typed, has_value ? *(found + 1) : "VALUE"};
}

/// "--warmup-epochs" as "warmup_epochs".
std::string key_name(std::string_view flag) {
  std::string name(flag.substr(std::min(flag.find_first_not_of('-'), flag.size())));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// The settings of that name: "epochs=3", "workers.batch=32".
std::vector<std::string> settings_called(std::string_view name, const std::string& value,
                                         const config::Schema& schema) {
  for (const auto& [other, setting] : kOtherNames) {
    if (name != other) continue;
    const bool has_value = setting.find('=') != std::string_view::npos;
    return {has_value ? std::string(setting) : fmt::format("{}={}", setting, value)};
  }
  std::vector<std::string> settings;
  for (const config::ConfigKey& key : schema) {
    if (key.path() == name) return {fmt::format("{}={}", name, value)};
    if (key.name == name) settings.push_back(fmt::format("{}={}", key.path(), value));
  }
  return settings;
}

std::string explain_flag(const CLI::App& command, const TypedFlag& typed) {
  const std::vector<std::string> flags = long_flags_of(command);
  if (is_among(typed.flag, flags)) {
    return fmt::format("flags come after the command: {} {}", path_of(command), typed.flag);
  }
  const std::string unknown = fmt::format("unknown flag '{}'", typed.flag);
  const config::Schema schema = takes_settings(command) ? config::make_schema() : config::Schema{};
  const std::string name = key_name(typed.flag);
  std::vector<std::string> meant = settings_called(name, typed.value, schema);
  const std::string_view flag = nearest_name(typed.flag, views(flags));
  if (meant.empty() && !flag.empty()) return fmt::format("{}, did you mean '{}'?", unknown, flag);
  if (meant.empty()) {
    std::vector<std::string_view> names;
    for (const config::ConfigKey& key : schema) names.push_back(key.name);
    meant = settings_called(nearest_name(name, names), typed.value, schema);
  }
  if (meant.empty()) return fmt::format("{}; see '{} --help'", unknown, path_of(command));
  return fmt::format("{}; settings have no dashes: {}", unknown, fmt::join(meant, " or "));
}

/// "epochs=10" where it is "--epochs 10".
std::string explain_extra(const CLI::App& command, const std::string& extra) {
  const std::string unexpected = fmt::format("unexpected argument '{}'", extra);
  const std::size_t equals = extra.find('=');
  const std::string flag = "--" + extra.substr(0, equals);
  if (equals != std::string::npos && is_among(flag, long_flags_of(command))) {
    return fmt::format("{}, did you mean '{} {}'?", unexpected, flag, extra.substr(equals + 1));
  }
  return fmt::format("{}; see '{} --help'", unexpected, path_of(command));
}

/// An option without its value, or with fewer than it takes.
std::string explain_missing(const CLI::App& command, const std::string& name) {
  const CLI::Option* option = command.get_option_no_throw(name);
  const int values = option == nullptr ? 1 : option->get_expected_min();
  return values > 1 ? fmt::format("{} takes {} values", name, values)
                    : fmt::format("{} needs a value", name);
}

/// CLI11 says "Could not convert: --workers = two".
std::string explain_conversion(const std::string& what) {
  const std::size_t name = what.find(": "), value = what.find(" = ");
  if (name == std::string::npos || value == std::string::npos) return what;
  const std::string found = what.substr(value + 3);
  const bool is_number =
      !found.empty() && found.find_first_not_of("-0123456789") == std::string::npos;
  return fmt::format("{}: '{}' is {}", what.substr(name + 2, value - name - 2), found,
                     is_number ? "out of range" : "not a number");
}

}  // namespace

void add_verbosity(CLI::App& command, Verbosity& verbosity) {
  const auto quiet = [&verbosity](std::int64_t) { verbosity = Verbosity::kQuiet; };
  const auto verbose = [&verbosity](std::int64_t) { verbosity = Verbosity::kVerbose; };
  CLI::Option* q = command.add_flag_function("-q,--quiet", quiet,
                                             "no progress: only warnings, errors and the result");
  command.add_flag_function("-v,--verbose", verbose, "more about every epoch and run")->excludes(q);
}

void check_commands(const CLI::App& app, std::span<const std::string> arguments) {
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  if (commands.empty() || arguments.empty() || arguments.front().starts_with('-')) return;
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
    return command->get_name() == arguments.front();
  });
  if (found != commands.end()) return check_commands(**found, arguments.subspan(1));
  throw_unknown_name("command", arguments.front(), views(names_of_commands(app)));
}

std::string explain_usage(const CLI::App& app, const CLI::ParseError& error,
                          std::span<const std::string> arguments) {
  const CLI::App& command = innermost(app);
  const std::vector<std::string> commands = names_of_commands(command);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    const std::string extra = app.remaining(true).front();
    if (extra.starts_with('-')) return explain_flag(command, find_flag(extra, arguments));
    return explain_extra(command, extra);
  }
  if (!commands.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return fmt::format("give a command: {}; see '{} --help'", fmt::join(commands, ", "),
                       path_of(command));
  }
  const std::string what = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return fmt::format("{}; see '{} --help'",
                       explain_missing(command, what.substr(0, what.find(':'))), path_of(command));
  }
  if (dynamic_cast<const CLI::ConversionError*>(&error) != nullptr) {
    return fmt::format("{}; see '{} --help'", explain_conversion(what), path_of(command));
  }
  return fmt::format("{}; see '{} --help'", what, path_of(command));
}

void check_settings(std::span<const std::string> arguments) {
  const config::Schema schema = config::make_schema();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_next = i + 1 < arguments.size();
    const std::string value = has_next && arguments[i + 1] != "=" ? arguments[i + 1] : "VALUE";
    const std::vector<std::string> meant = settings_called(arguments[i], value, schema);
    if (meant.empty()) continue;
    throw ConfigError(fmt::format("'{}' is a setting, which is written with its value: {}",
                                  arguments[i], fmt::join(meant, " or ")));
  }
}

}  // namespace impart::cli

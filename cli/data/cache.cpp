// impart data cache: what the caches of a store.cache_path hold.

#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/data/data.h"
#include "cli/output.h"
#include "cli/terminal/text_table.h"
#include "impart/store/cache/cache_folder.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

constexpr int kDamagedCache = 65;

std::string state_of(const store::CacheFolder& folder) {
  if (folder.in_use) return "in use";
  return folder.was_closed ? "closed" : "ended without order: the next run checks all";
}

void show_cache(const std::string& path, bool verify) {
  const auto folders = store::look_at_cache(path, verify);
  TextTable table(verify ? std::vector<std::string>{"folder", "payloads", "size", "damaged", ""}
                         : std::vector<std::string>{"folder", "payloads", "size", ""});
  std::uint64_t payloads = 0, bytes = 0, damaged = 0;
  std::string data_id;
  for (const store::CacheFolder& folder : folders) {
    std::vector<std::string> cells = {folder.folder, fmt::to_string(folder.payloads),
                                      format_bytes(static_cast<double>(folder.bytes))};
    if (verify) cells.push_back(fmt::to_string(folder.damaged));
    cells.push_back(state_of(folder));
    table.add(cells);
    payloads += folder.payloads;
    bytes += folder.bytes;
    damaged += folder.damaged;
    if (!folder.data_id.empty()) data_id = fmt::format("{}, {}", folder.data_id, folder.examples);
  }
  answer("{}", table.text());
  answer("{}: {} payloads, {}{}\n", path, payloads, format_bytes(static_cast<double>(bytes)),
         data_id.empty() ? "" : fmt::format(", of {} examples", data_id));
  if (!verify) return;
  answer("{}\n", damaged == 0 ? "all have their hashes"
                              : fmt::format("{} do not have their hash; a run drops them and reads "
                                            "them again",
                                            damaged));
  if (damaged > 0) throw ExitCode{kDamagedCache};
}

void remove_cache(const std::string& path) {
  const std::uint64_t folders = store::clear_cache(path);
  answer("{}: {} folder{} removed\n", path, folders, folders == 1 ? "" : "s");
}

}  // namespace

void add_data_cache(CLI::App& data) {
  auto* command = data.add_subcommand("cache", "Look at, check and clear a store.cache_path");
  command->require_subcommand(1);
  auto path = std::make_shared<std::string>();
  const auto add = [&](const char* name, const char* what, auto run) {
    auto* part = command->add_subcommand(name, what);
    part->add_option("PATH", *path, "what a run has as store.cache_path")->required();
    part->callback([path, run] { run(*path); });
  };
  add("info", "What it holds, by process", [](const std::string& of) { show_cache(of, false); });
  add("verify", "Compare every payload with its hash; exit code 65 if one is damaged",
      [](const std::string& of) { show_cache(of, true); });
  add("clear", "Remove what it holds, unless a run is using it", remove_cache);
}

}  // namespace impart::cli

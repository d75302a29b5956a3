// impart data fetch: downloads a published data set, ready for training.

#include "cli/data/fetch.h"

#include <cstdlib>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "cli/numbers.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "cli/terminal/progress_line.h"
#include "impart/data/fetch/fetch.h"
#include <CLI/CLI.hpp>

namespace impart::cli {
namespace {

constexpr int kFetchStopped = 85;

struct FetchOptions {
  std::string set;
  data::FetchSpec spec;
  unsigned stall_seconds = 30;
};

/// The variables that curl and OpenSSL look at, too.
std::string certificates() {
  for (const char* name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    const char* path = std::getenv(name);
    if (path != nullptr && *path != '\0') return path;
  }
  return "";
}

/// As one word of a shell command.
std::string quoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? "'\\''" : std::string(1, letter);
  return word + "'";
}

void print_outcome(const data::Fetchable& set, const data::FetchSpec& spec,
                   const data::FetchOutcome& outcome) {
  if (outcome.was_complete) {
    answer("{}: {} is there, complete and unchanged: nothing to do\n", spec.dest, set.name);
  } else {
    answer("{}: fetched {}: {} ({:.1f} MB downloaded, sums are right)\n", spec.dest, set.name,
           fmt::join(outcome.files, ", "), static_cast<double>(outcome.downloaded) / 1e6);
  }
  answer("train on it: impart train data.name={} data.root={}\n", set.dataset, quoted(spec.dest));
}

void run_fetch(FetchOptions options) {
  const data::Fetchable& set = find_entry(data::kFetchables, "data set to fetch", options.set);
  options.spec.stall = std::chrono::seconds(options.stall_seconds);
  options.spec.certificates = certificates();
  count_stop_signals();
  data::FetchOutcome outcome;
  try {
    ProgressLine line;
    outcome =
        data::fetch_data(set, options.spec,
                         {.phase = [&](const std::string& what) { return line.bytes_phase(what); },
                          .stop_requested = stop_requested});
  } catch (const data::FetchStopped&) {
    say("impart: stopped; the same command goes on where this one ended\n");
    throw ExitCode{kFetchStopped};
  }
  print_outcome(set, options.spec, outcome);
}

std::string footer() {
  std::string text = "Data sets:\n";
  for (const data::Fetchable& set : data::kFetchables) {
    std::uint64_t bytes = 0;
    for (const data::FetchFile& file : set.files) bytes += file.bytes;
    text += fmt::format("  {:<16} {}; {} MB from {}\n", set.name, set.summary, bytes / 1000000,
                        set.address);
  }
  return text +
         "An interrupted download goes on where it ended. CURL_CA_BUNDLE or SSL_CERT_FILE names\n"
         "certificates to trust, https_proxy and http_proxy name proxies.\n"
         "Exit codes: 0 done, 2 wrong usage, 65 missing or wrong data, 74 network or disk, 85 "
         "stopped";
}

}  // namespace

void add_data_fetch(CLI::App& data_command) {
  auto* command = data_command.add_subcommand("fetch", "Download a published data set");
  command->footer(footer());
  auto options = std::make_shared<FetchOptions>();
  data::FetchSpec& spec = options->spec;
  command
      ->add_option("NAME", options->set,
                   fmt::format("one of {}", fmt::join(names_of(data::kFetchables), ", ")))
      ->required();
  command->add_option("DEST", spec.dest, "the folder to put its files into")->required();
  command->add_option("--from", spec.from,
                      "URL of the folder to fetch the files from instead of the official one: a "
                      "mirror, or file:///FOLDER");
  command->add_option("--sums", spec.sums,
                      "sums of the files, as sha256sum prints them, that count instead of the "
                      "published ones: for a mirror that has packed them anew");
  command->add_flag("--keep-archive", spec.keep_archive,
                    "leave the archive in DEST, beside what was unpacked");
  command->add_flag("--overwrite", spec.overwrite,
                    "replace files in DEST that no fetch has put there");
  command->add_option("--retries", spec.retries, "how often to try again without a new byte")
      ->capture_default_str()
      ->check(number_between(0, 1000));
  command
      ->add_option("--stall", options->stall_seconds,
                   "seconds without a byte after which a transfer has failed")
      ->capture_default_str()
      ->check(number_between(1, 86400));
  command
      ->add_option("--min-rate", spec.least_rate,
                   "bytes per second; a transfer that is slower for --stall seconds has failed")
      ->capture_default_str();
  command->callback([options] { run_fetch(*options); });
}

}  // namespace impart::cli

// Lets libFuzzer loose on one reader of files:
//
//   impart_fuzz --target=npy [FOLDER of inputs…] [-max_total_time=60 …]
//   impart_fuzz --list                       names, and the longest input of each
//   impart_fuzz --write-seeds=FOLDER         FOLDER/TARGET/0, 1, …
//
// tools/fuzz.py runs all of them.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "tests/fuzz/targets.h"

namespace impart::fuzz {
namespace {

const TargetRow* chosen = nullptr;

void write_seeds(const std::filesystem::path& folder) {
  for (const TargetRow& target : kTargets) {
    std::filesystem::create_directories(folder / target.name);
    int number = 0;
    for (const std::string& seed : target.seeds()) {
      std::ofstream(folder / target.name / std::to_string(number++), std::ios::binary) << seed;
    }
  }
}

void take_argument(std::string_view argument) {
  constexpr std::string_view kTarget = "--target=", kWriteSeeds = "--write-seeds=";
  if (argument == "--list") {
    for (const TargetRow& target : kTargets) fmt::print("{} {}\n", target.name, target.most_bytes);
    std::exit(0);
  }
  if (argument.starts_with(kWriteSeeds)) {
    write_seeds(argument.substr(kWriteSeeds.size()));
    std::exit(0);
  }
  if (argument.starts_with(kTarget)) {
    chosen = &find_entry(kTargets, "target", argument.substr(kTarget.size()));
  }
}

}  // namespace
}  // namespace impart::fuzz

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  for (int i = 1; i < *count; ++i) impart::fuzz::take_argument((*arguments)[i]);
  if (impart::fuzz::chosen == nullptr) {
    fmt::print(stderr, "impart_fuzz: --target=NAME is missing; --list lists them\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  impart::fuzz::try_input(*impart::fuzz::chosen, std::as_bytes(std::span(data, size)));
  return 0;
}

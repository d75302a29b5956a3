// What options take as numbers, refused in words that a person reads.
#pragma once

#include <CLI/CLI.hpp>

namespace impart::cli {

CLI::Validator positive_number();
CLI::Validator number_from_zero();
CLI::Validator number_between(double least, double most);

}  // namespace impart::cli

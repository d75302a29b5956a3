#include "cli/data_fetch.h"
#include "tests/support/lone_command.h"

int main(int argc, char** argv) {
  return impart::testing::run_data_command(argc, argv, impart::cli::add_data_fetch);
}

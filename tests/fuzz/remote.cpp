// What a server is asked for first: the list of photographs, and the hashes of small files.

#include "impart/data/images/folder_index.h"
#include "impart/data/remote/listed_files.h"
#include "tests/fuzz/folder.h"

namespace impart::fuzz {

void read_folder_index(Bytes input) {
  data::parse_folder_index(text_of(input), "index.csv");
}

std::vector<std::string> folder_index_seeds() {
  return {data::folder_index_text(
      {{.path = "train/a/1.jpg", .bytes = 10, .label = "a", .hash = "0123456789abcdef"},
       {.path = "val/b, c/2.png", .bytes = 1 << 20, .label = "b, c"}})};
}

void read_file_sums(Bytes input) {
  data::parse_file_sums(text_of(input), "sums.json");
}

std::vector<std::string> file_sums_seeds() {
  return {data::file_sums_text({{"index.json", "0123456789abcdef"}, {"labels.npy", "00"}})};
}

}  // namespace impart::fuzz

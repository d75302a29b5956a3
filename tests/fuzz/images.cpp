// IDX and CIFAR files, photographs.

#include <array>

#include "impart/data/datasets.h"
#include "impart/data/images/photo_decoder.h"
#include "tests/data/images/data_files.h"
#include "tests/data/images/pictures.h"
#include "tests/fuzz/folder.h"

namespace impart::fuzz {
namespace {

using data::load_data;

void read_idx_file(const Folder& folder, std::string_view name, Bytes input) {
  folder.write(name, input);
  folder.write("train-labels-idx1-ubyte", testing::idx_labels("\x05\x01"));
  folder.write("t10k-images-idx3-ubyte", testing::idx_images(1, 4, 4));
  folder.write("t10k-labels-idx1-ubyte", testing::idx_labels("\x01"));
  load_data({.name = "idx", .root = folder.path()});
}

}  // namespace

void read_idx(Bytes input) {
  static const Folder folder;
  read_idx_file(folder, "train-images-idx3-ubyte", input);
}

std::vector<std::string> idx_seeds() {
  return {testing::idx_images(2, 4, 4)};
}

void read_packed_idx(Bytes input) {
  static const Folder folder;
  read_idx_file(folder, "train-images-idx3-ubyte.gz", input);
}

std::vector<std::string> packed_idx_seeds() {
  return {testing::gzip(testing::idx_images(2, 4, 4)),
          testing::gzip(testing::idx_images(2, 4, 4) + std::string(3 << 20, 'x'))};
}

void read_cifar(Bytes input) {
  static const Folder folder;
  folder.write("train.bin", input);
  folder.write("test.bin", testing::cifar_records({{1, 2}}));
  load_data({.name = "cifar100", .root = folder.path()});
}

std::vector<std::string> cifar_seeds() {
  return {testing::cifar_records({{1, 2}, {19, 99}})};
}

void read_photo(Bytes input) {
  static const auto decoder = data::make_photo_decoder({.size = 8});
  std::array<std::uint8_t, 192> pixels{};
  decoder->decode(input, {}, pixels);
}

std::vector<std::string> photo_seeds() {
  const std::vector<jpeg_scan_info> progressive = {{3, {0, 1, 2}, 0, 0, 0, 1},
                                                   {1, {0}, 1, 63, 0, 0},
                                                   {1, {1}, 1, 63, 0, 0},
                                                   {1, {2}, 1, 63, 0, 0},
                                                   {3, {0, 1, 2}, 0, 0, 1, 0}};
  return {testing::jpeg_of(20, 12), testing::jpeg_of(20, 12, 0, progressive), testing::png_of(9, 7),
          testing::png_of(9, 7, true)};
}

}  // namespace impart::fuzz

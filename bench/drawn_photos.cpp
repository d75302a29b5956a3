#include "bench/drawn_photos.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <jpeglib.h>

#include "impart/core/error.h"
#include "impart/core/random.h"

namespace impart::bench {
namespace {

namespace fs = std::filesystem;

/// Noise between lattice points that lie so far apart, of such a height.
struct Octave {
  std::uint32_t spacing;
  int height;
};
constexpr Octave kOctaves[] = {{128, 150}, {32, 50}, {8, 50}, {2, 70}, {1, 70}};
constexpr std::uint32_t kChannels = 3;

/// Adds an octave to a picture of 8 fractional bits.
void add_noise(const Octave& octave, const DrawnPhotosSpec& spec, RandomStream& random,
               std::vector<int>& picture) {
  const int spacing = static_cast<int>(octave.spacing);
  const std::size_t columns = spec.width / octave.spacing + 2;
  std::vector<int> lattice((spec.height / octave.spacing + 2) * columns * kChannels);
  for (int& point : lattice) {
    point = (static_cast<int>(random.next32() & 511) - 256) * octave.height / 2;
  }
  // Colours change less than light does.
  for (std::size_t i = 0; i < lattice.size(); i += kChannels) {
    for (std::size_t c = 1; c < kChannels; ++c) lattice[i + c] = lattice[i] + lattice[i + c] / 4;
  }
  for (std::uint32_t y = 0; y < spec.height; ++y) {
    const int down = static_cast<int>(y % octave.spacing);
    const int* above = lattice.data() + y / octave.spacing * columns * kChannels;
    const int* below = above + columns * kChannels;
    int* row = picture.data() + std::size_t{y} * spec.width * kChannels;
    for (std::uint32_t x = 0; x < spec.width; ++x) {
      const int right = static_cast<int>(x % octave.spacing);
      const std::size_t at = x / octave.spacing * kChannels;
      for (std::size_t c = 0; c < kChannels; ++c) {
        const int left_edge = (above[at + c] * (spacing - down) + below[at + c] * down) / spacing;
        const int right_edge =
            (above[at + kChannels + c] * (spacing - down) + below[at + kChannels + c] * down) /
            spacing;
        *row++ += (left_edge * (spacing - right) + right_edge * right) / spacing;
      }
    }
  }
}

std::vector<std::uint8_t> draw_pixels(std::uint32_t number, const DrawnPhotosSpec& spec) {
  RandomStream random({.seed = 1, .purpose = Purpose("photo"), .epoch = number});
  std::vector<int> picture(std::size_t{spec.width} * spec.height * kChannels, 128 << 8);
  for (const Octave& octave : kOctaves) add_noise(octave, spec, random, picture);
  std::vector<std::uint8_t> pixels;
  pixels.reserve(picture.size());
  for (const int value : picture) {
    pixels.push_back(static_cast<std::uint8_t>(std::clamp(value >> 8, 0, 255)));
  }
  return pixels;
}

/// The file's bytes. The library ends the program where it cannot go on, which is for want of
/// memory.
std::vector<char> compress(std::vector<std::uint8_t> pixels, const DrawnPhotosSpec& spec) {
  jpeg_error_mgr errors{};
  jpeg_compress_struct jpeg{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long bytes = 0;
  jpeg_mem_dest(&jpeg, &memory, &bytes);
  jpeg.image_width = spec.width;
  jpeg.image_height = spec.height;
  jpeg.input_components = kChannels;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, spec.quality, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    JSAMPROW row = pixels.data() + std::size_t{jpeg.next_scanline} * spec.width * kChannels;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::vector<char> file(memory, memory + bytes);
  std::free(memory);
  return file;
}

void write_file(const fs::path& path, const std::vector<char>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw IoError(fmt::format("{}: cannot write", path.string()));
}

}  // namespace

double draw_photos(const std::string& folder, const DrawnPhotosSpec& spec) {
  const auto class_folder = [&](const char* part, std::uint32_t number) {
    return fs::path(folder) / part / fmt::format("class{:03}", number % spec.classes);
  };
  for (std::uint32_t number = 0; number < spec.classes; ++number) {
    fs::create_directories(class_folder("train", number));
    fs::create_directories(class_folder("val", number));
  }
  std::atomic<std::uint32_t> next = 0;
  std::atomic<std::uint64_t> bytes = 0;
  const auto draw = [&] {
    for (std::uint32_t number; (number = next++) < spec.photos;) {
      const std::vector<char> file = compress(draw_pixels(number, spec), spec);
      const fs::path place = class_folder("train", number);
      const fs::path first = place / fmt::format("{:06}-0.jpg", number);
      write_file(first, file);
      for (std::uint32_t copy = 1; copy < spec.copies; ++copy) {
        fs::create_hard_link(first, place / fmt::format("{:06}-{}.jpg", number, copy));
      }
      if (number < spec.classes) write_file(class_folder("val", number) / "0.jpg", file);
      bytes += file.size();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < spec.threads; ++i) threads.emplace_back(draw);
  }
  return static_cast<double>(bytes) / spec.photos;
}

}  // namespace impart::bench

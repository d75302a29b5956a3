// Decodes photos for a test in Python. Each line of the input is
//
//   SIZE WORDS IN OUT      WORDS: "evaluate", or the four words of DecodeChoices with commas
//   between
//
// and the planes go to OUT. Each line of the output is "box LEFT TOP WIDTH HEIGHT" with the random
// crop of WORDS (the input's words "WIDTHxHEIGHT" in place of IN and OUT: nothing is decoded),
// "done", or "bad" and the message.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/data/images/photo_crop.h"
#include "impart/data/images/photo_decoder.h"

namespace {

impart::data::DecodeChoices choices_of(std::string words) {
  impart::data::DecodeChoices choices;
  if (words == "evaluate") return choices;
  choices.random = true;
  for (char& letter : words) letter = letter == ',' ? ' ' : letter;
  std::istringstream numbers(words);
  for (std::uint32_t& word : choices.words) numbers >> word;
  return choices;
}

std::vector<char> contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void decode(std::uint32_t size, const impart::data::DecodeChoices& choices, const std::string& in,
            const std::string& out) {
  const std::vector<char> payload = contents_of(in);
  std::vector<std::uint8_t> pixels(std::size_t{3} * size * size);
  impart::data::make_photo_decoder({.size = size})
      ->decode(std::as_bytes(std::span(payload)), choices, pixels);
  std::ofstream(out, std::ios::binary)
      .write(reinterpret_cast<const char*>(pixels.data()),
             static_cast<std::streamsize>(pixels.size()));
}

std::string answer(std::istringstream& line) {
  std::uint32_t size = 0;
  std::string words, in, out;
  line >> size >> words >> in >> out;
  const impart::data::DecodeChoices choices = choices_of(words);
  if (unsigned width = 0, height = 0;
      out.empty() && std::sscanf(in.c_str(), "%ux%u", &width, &height) == 2) {
    const impart::data::CropBox box = impart::data::choose_random_crop(width, height, choices);
    return fmt::format("box {} {} {} {}", box.left, box.top, box.width, box.height);
  }
  try {
    decode(size, choices, in, out);
    return "done";
  } catch (const impart::DataError& error) {
    return fmt::format("bad {}", error.what());
  }
}

}  // namespace

int main() {
  for (std::string text; std::getline(std::cin, text);) {
    std::istringstream line(text);
    std::cout << answer(line) << std::endl;
  }
}

// Tokenizers, files of tokens, tables of text.

#include <algorithm>

#include <fmt/format.h>
#include <xxhash.h>

#include "impart/data/datasets.h"
#include "impart/data/text/tokenizer.h"
#include "tests/fuzz/folder.h"

namespace impart::fuzz {

/// The checksum is put behind the input, since no chance finds it.
void read_tokenizer(Bytes input) {
  static const Folder folder;
  std::string file(text_of(input));
  file += fmt::format("xxh3 {:016x}\n", XXH3_64bits(file.data(), file.size()));
  const data::TokenizerPtr tokenizer = data::load_tokenizer(folder.write("t", file));
  std::vector<data::Token> tokens;
  tokenizer->append_tokens("the cat", {.path = "p"}, tokens);
}

std::vector<std::string> tokenizer_seeds() {
  const Folder folder;
  const std::string text = "the cat and the hat and the bat äöü";
  const data::CorpusText corpus[] = {{.text = text, .place = {.path = "p"}, .train = true}};
  std::vector<std::string> seeds;
  for (const auto& entry : data::kTokenizers) {
    data::save_tokenizer(*entry.function(std::span(corpus), {.vocabulary = 270}), folder / "t");
    const std::string file = folder.read("t");
    seeds.push_back(file.substr(0, file.rfind("xxh3 ")));
  }
  return seeds;
}

void read_tokens(Bytes input) {
  static const Folder folder;
  folder.write("train.bin", input);
  data::load_token_files({.name = "tokens", .root = folder.path(), .blocks = {.length = 4}});
}

std::vector<std::string> tokens_seeds() {
  std::string with_header;
  for (const std::uint32_t word : {20240520u, 1u, 64u}) with_header += bytes_of(word);
  with_header.resize(1024);
  for (std::uint16_t token = 0; token < 64; ++token) with_header += bytes_of(token);
  return {with_header.substr(1024), with_header};
}

void read_pickle(Bytes input) {
  static const Folder folder;
  folder.write("train.bin", tokens_seeds().front());
  folder.write("meta.pkl", input);
  data::load_token_files({.name = "tokens", .root = folder.path(), .blocks = {.length = 4}});
}

std::vector<std::string> pickle_seeds() {
  return {std::string("\x80\x04\x95}\x94\x8c\nvocab_size\x94K\x41u."),
          std::string("}q\x01X\nvocab_sizeq\x02M\x41\x01u."), "vocab_sizeJ\x41\x01\x01\x01"};
}

/// The first byte chooses the separator.
void read_text_table(Bytes input) {
  static const Folder commas, tabs;
  const bool is_csv = input.empty() || (static_cast<unsigned>(input[0]) & 1) != 0;
  const Folder& folder = is_csv ? commas : tabs;
  folder.write(is_csv ? "train.csv" : "train.tsv",
               input.subspan(std::min<std::size_t>(1, input.size())));
  data::load_text_table({.name = "table", .root = folder.path()});
}

std::vector<std::string> text_table_seeds() {
  return {"1text,label\n\"a, \"\"b\"\"\",x\ncd,y\nef,x\n", "0sentence\tlabel\na b\t1\nc d\t0\n"};
}

}  // namespace impart::fuzz

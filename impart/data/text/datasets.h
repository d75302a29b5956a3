#pragma once

#include <cstdint>
#include <string>

#include "impart/data/text/blocks.h"
#include "impart/data/text/token_set.h"

namespace impart::data {

/// Which text, and what examples are made of it.
struct TextSpec {
  std::string name = "generated";  ///< a row of kDatasets
  /// The file, or the folder that holds the files; `generated` needs none.
  std::string root = {};
  /// Names of the files in the folder; empty: those that the row in kDatasets tells of. A test file
  /// that is not there is no error if its name is empty: a part of the training file is cut off for
  /// it.
  std::string train_file = {}, test_file = {};
  double test_share = 0.1;  ///< of what is cut off; above 0, below 1

  std::string tokenizer = "byte";    ///< a row of kTokenizers; `tokens` and `generated` have theirs
  std::uint32_t vocabulary = 0;      ///< of `bpe`, 0: 8192; of `tokens`, 0: found out
  std::string vocabulary_file = {};  ///< a saved tokenizer to use instead

  /// Of blocks; `length` is also what longer texts with a class are cut to.
  BlockSpec blocks = {};
  /// Train on so many examples only; 0 = all. See keep_examples.
  std::uint64_t limit = 0;

  /// `table`: the column of the text, or several, as in "title,body"; empty: as TextColumns says.
  std::string text_column = {};
  std::string header = "auto";  ///< `table`: true if the first line names columns, false, or auto
  /// `table`: the column of the class; empty: the texts are documents of a corpus.
  std::string label_column = "label";

  /// Of `generated`, and of the rows of a table that are cut off for testing.
  std::uint64_t seed = 1;
  std::uint64_t train_examples = 4096, test_examples = 512;  ///< of `generated`
};

/// Reads or makes a data set, all of it, into memory. Pure but for reading files. DataError names
/// the file and the byte or line where it is missing, damaged or empty; ConfigError if the spec
/// cannot be met.
using TextLoader = TextData(const TextSpec& spec);

/// Plain text. Of a folder, train.txt, and valid.txt, val.txt, dev.txt or test.txt; if it has no
/// train.txt, all *.txt in it and in its folders, in the order of their names. Each file is a
/// document. Without a test file, the last part of the text (of `test_share` of its bytes) is cut
/// off for testing, at the beginning of a character.
TextLoader load_text_files;
/// Tokens of 2 bytes each, in train.bin and val.bin, as nanoGPT (nothing else in the file) or llm.c
/// (a header, known by its first bytes) write them. Their number is `vocabulary`, or that of
/// vocabulary_file, or vocab_size in nanoGPT's meta.pkl beside them, or one more than the largest.
TextLoader load_token_files;
/// Rows of a table: see rows.h for the format. Of a folder, train.tsv or train.csv, and
/// dev, valid, val or test likewise. Without a test file, rows are drawn for it. Classes are the
/// labels of the training rows, in the order of numbers if all are whole numbers, else of bytes.
TextLoader load_text_table;
/// The built-in corpus, see generated.h.
TextLoader make_generated_text;

}  // namespace impart::data

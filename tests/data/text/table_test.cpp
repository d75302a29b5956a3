#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "impart/core/error.h"
#include "impart/data/datasets.h"
#include "impart/data/text/rows.h"
#include "tests/data/text/texts.h"
#include "tests/support/temporary_folder.h"

namespace impart::data {
namespace {

using testing::message_of;
using testing::TemporaryFolder;

std::vector<std::string> texts_of(const TextRows& table) {
  std::vector<std::string> texts;
  for (const TextRow& row : table.rows()) texts.emplace_back(row.text.text);
  return texts;
}

TEST(TextRows, OfCsvMayBeQuoted) {
  const TemporaryFolder folder;
  const std::string content =
      "\xEF\xBB\xBF"
      "id,text,\"label\"\r\n"
      "1,plain,a\r\n"
      "2,\"with, comma\",b\r\n"
      "\r\n"
      "3,\"two\nlines and \"\"quotes\"\"\",a\r\n"
      "4,\"\"\"\",a";
  const std::string path = folder.write("t.csv", content);
  const TextRows table(path, {.text = {"text"}, .label = "label"});
  EXPECT_EQ(texts_of(table),
            (std::vector<std::string>{"plain", "with, comma", "two\nlines and \"quotes\"", "\""}));
  std::vector<std::uint64_t> lines;
  for (const TextRow& row : table.rows()) lines.push_back(row.line);
  EXPECT_EQ(lines, (std::vector<std::uint64_t>{2, 3, 5, 7}));
  EXPECT_EQ(table.rows()[1].label.text, "b");
  EXPECT_EQ(content.substr(table.rows()[1].text.offset, 11), "with, comma");
}

TEST(TextRows, OfTsvAreTakenLiterally) {
  const TemporaryFolder folder;
  using namespace std::string_literals;
  const std::string path =
      folder.write("t.tsv", "label\ttext\n0\t\"a, \"b\" c\n1\tNUL \0 \r x\r\n"s);
  const TextRows table(path, {.text = {"text"}});
  EXPECT_EQ(texts_of(table), (std::vector<std::string>{"\"a, \"b\" c", "NUL \0 \r x"s}));
}

TEST(TextRows, AreRefusedWithPathAndLine) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& name, const std::string& content) {
    const std::string path = folder.write(name, content);
    const std::string message =
        message_of<DataError>([&] { const TextRows table(path, {.label = "label"}); });
    return message.substr(std::min(path.size(), message.size()));
  };
  EXPECT_EQ(refusal("a.tsv", ""), ":1: empty; expected a line with the names of columns");
  EXPECT_EQ(refusal("a.tsv", "label\ttext\n\n"), ":1: no rows after the names of columns");
  EXPECT_EQ(refusal("a.tsv", "label\ttxt\n"),
            ":1: no column text, sentence, content, review; the first line has: label, txt");
  EXPECT_EQ(refusal("a.tsv", "class\ttext\n"),
            ":1: no column label; the first line has: class, text");
  EXPECT_EQ(refusal("a.tsv", "label\ttext\n0\tfine\n1\n"), ":3: 1 field instead of 2");
  EXPECT_EQ(refusal("a.tsv", "label\ttext\n0\tone\tmore\n"), ":2: 3 fields instead of 2");
  EXPECT_EQ(refusal("a.tsv", "label\ttext\n0\tfine\n1\t\n"), ":3: the text is empty");
  EXPECT_EQ(refusal("a.tsv", "label\ttext\n\tfine\n"), ":2: the label is empty");
  EXPECT_EQ(refusal("a.csv", "label,text\n0,\"two\nlines\"\n1,\"open\n2,x\n"),
            ":4: a quote is opened here and never closed");
  EXPECT_EQ(refusal("a.csv", "label,text\n0,\"closed\" x\n"),
            ":2: text after a closing quote (byte 21)");
  EXPECT_EQ(refusal("a.csv", "label,text\n0,a \"quote\"\n"),
            ":2: a quote inside a field that does not begin with one (byte 15)");
  EXPECT_EQ(refusal("a.tsv", "a\tb\n0\tfine\n"),
            ":1: no column text, sentence, content, review; the first line has: a, b; if that is a "
            "row like the others, columns are numbers: data.text_column=1");
  const std::string other = folder.write("a.txt", "label\ttext\n");
  EXPECT_EQ(message_of<ConfigError>([&] { TextRows(other, {.text = {"text"}}); }),
            other + ": a table's name must end in .tsv or .csv");
}

TEST(TextRows, WithoutNamesHaveColumnsByNumber) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.csv", "3,Title,\"A, body\"\n1,,more\n");
  const TextRows rows(path, {.text = {"2", "3"}, .label = "1"});
  EXPECT_EQ(texts_of(rows), (std::vector<std::string>{"Title A, body", "more"}));
  EXPECT_EQ(rows.rows()[0].label.text, "3");
  EXPECT_EQ(rows.rows()[0].line, 1u);
  EXPECT_EQ(rows.note(),
            path +
                ": the first line names no column that was asked for, so it is read as "
                "a row; data.header=true if it does name columns");
  EXPECT_EQ(message_of<DataError>([&] {
              TextRows(path, {.text = {"2", "9"}, .label = "1"});
            }),
            path + ":1: no column 9; without names they are 1 to 3");
  const TextColumns told{.text = {"3"}, .header = HeaderLine::kNo};
  EXPECT_EQ(texts_of(TextRows(path, told)), (std::vector<std::string>{"A, body", "more"}));
  EXPECT_EQ(TextRows(path, told).note(), "");
  const std::string single = folder.write("s.tsv", "one\ntwo\n");
  EXPECT_EQ(texts_of(TextRows(single, {})), (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(texts_of(TextRows(folder.write("p.tsv", "one\t0\n"), {.label = "2"})),
            (std::vector<std::string>{"one"}));
}

TEST(TextRows, AreReadAsTheHeaderIsToldToBe) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t.tsv", "1\t2\nb\tc\n");
  EXPECT_EQ(texts_of(TextRows(path, {.text = {"2"}, .header = HeaderLine::kYes})),
            (std::vector<std::string>{"c"}));
  EXPECT_EQ(texts_of(TextRows(path, {.text = {"2"}, .header = HeaderLine::kNo})),
            (std::vector<std::string>{"2", "c"}));
  const auto refusal = [&](const TextColumns& columns) {
    return message_of<DataError>([&] { TextRows(path, columns); }).substr(path.size());
  };
  EXPECT_EQ(refusal({.text = {"3"}, .header = HeaderLine::kNo}),
            ":1: no column 3; without names they are 1 to 2");
  EXPECT_EQ(refusal({.header = HeaderLine::kNo}),
            ":1: which of the 2 columns is the text? Give data.text_column=NUMBER");
  EXPECT_EQ(refusal({.text = {"2", "body"}, .header = HeaderLine::kYes}),
            ":1: no column body; the first line has: 1, 2");
}

TextSpec table_spec(const TemporaryFolder& folder) {
  return {.name = "table", .root = folder.path(), .blocks = {.length = 6}};
}

TEST(TextTable, GivesTextsWithTheirClass) {
  const TemporaryFolder folder;
  folder.write("train.tsv", "label\tsentence\ngood\tfine\nbad\tterrible\ngood\twell\n");
  folder.write("dev.tsv", "content\tlabel\tmore\nawful\tbad\tx\n");
  const TextData data = load_text(table_spec(folder));
  EXPECT_EQ(data.train.class_names, (std::vector<std::string>{"bad", "good"}));
  EXPECT_EQ(data.train.labels, (std::vector<std::uint32_t>{1, 0, 1}));
  EXPECT_EQ(data.train.lengths, (std::vector<std::uint32_t>{4, 6, 4}));
  EXPECT_EQ(data.train.counts.truncated, 1u);
  EXPECT_EQ(data.train.counts.left_out, 2u);
  EXPECT_EQ(data.train.counts.tokens, 16u);
  EXPECT_EQ(text_of(data.train, data.tokenizer.get(), ExampleId{1}), "terrib");
  EXPECT_EQ(describe_origin(data.train, ExampleId{1}), folder / "train.tsv" + ":3");
  EXPECT_EQ(data.test.labels, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(data.test.classes, 2u);
  EXPECT_FALSE(data.train.is_corpus());
}

TEST(TextTable, OrdersNumbersAsNumbers) {
  const TemporaryFolder folder;
  folder.write("train.csv", "label,text\n10,a\n9,b\n-1,c\n10,d\n");
  folder.write("test.csv", "label,text\n9,a\n");
  const TextData data = load_text(table_spec(folder));
  EXPECT_EQ(data.train.class_names, (std::vector<std::string>{"-1", "9", "10"}));
  EXPECT_EQ(data.train.labels, (std::vector<std::uint32_t>{2, 1, 0, 2}));
}

TEST(TextTable, RefusesALabelThatTrainingDoesNotHave) {
  const TemporaryFolder folder;
  folder.write("train.tsv", "label\ttext\n0\ta\n1\tb\n");
  folder.write("dev.tsv", "label\ttext\n0\ta\n2\tb\n");
  EXPECT_EQ(message_of<DataError>([&] { load_text(table_spec(folder)); }),
            folder / "dev.tsv" + ":3: label '2' is none of the 2 of the training rows");
  const TemporaryFolder bare;
  EXPECT_EQ(message_of<DataError>([&] { load_text(table_spec(bare)); }),
            bare.path() + ": there is no train.tsv, nor train.csv");
}

TEST(TextTable, DrawsRowsForTestingSoThatNoOrderMatters) {
  const TemporaryFolder folder;
  std::string content = "label\ttext\n";
  for (int k = 0; k < 1000; ++k) content += fmt::format("{}\ttext {}\n", k % 2, k);
  folder.write("train.tsv", content);
  const TextData data = load_text(table_spec(folder));
  EXPECT_EQ(data.train.count(), 900u);
  EXPECT_EQ(data.test.count(), 100u);
  const auto ones = std::count(data.test.labels.begin(), data.test.labels.end(), 1u);
  EXPECT_GT(ones, 30);
  EXPECT_LT(ones, 70);
  std::set<std::uint64_t> lines;
  for (const TokenSet* set : {&data.train, &data.test}) {
    for (const TextOrigin& origin : set->origins) lines.insert(origin.line);
  }
  EXPECT_EQ(lines.size(), 1000u);
  TextSpec other = table_spec(folder);
  other.seed = 2;
  EXPECT_NE(load_text(other).test.origins[0].line + load_text(other).test.origins[1].line,
            data.test.origins[0].line + data.test.origins[1].line);
}

TEST(TextTable, JoinsColumnsAndSaysWhatItGuessed) {
  const TemporaryFolder folder;
  folder.write("train.csv", "0,a,b\n1,c,d\n");
  folder.write("dev.csv", "0,e,f\n");
  TextSpec spec = table_spec(folder);
  spec.text_column = "2,3";
  spec.label_column = "1";
  const TextData data = load_text(spec);
  EXPECT_EQ(text_of(data.train, data.tokenizer.get(), ExampleId{1}), "c d");
  EXPECT_EQ(data.train.count(), 2u);
  EXPECT_EQ(data.notes.size(), 2u);
  EXPECT_EQ(dataset_of(load_text(spec)).notes, data.notes);
  spec.header = "maybe";
  EXPECT_EQ(message_of<ConfigError>([&] { load_text(spec); }),
            "data.header is 'maybe'; allowed: auto, true, false");
}

TEST(TextTable, GivesBlocksWithoutLabels) {
  const TemporaryFolder folder;
  folder.write("train.tsv", "label\ttext\n0\tabcd\n1\tefgh\n");
  folder.write("dev.tsv", "text\nijklmnop\n");
  TextSpec spec = table_spec(folder);
  spec.label_column = "";
  const TextData data = load_text(spec);
  EXPECT_TRUE(data.train.is_corpus());
  EXPECT_EQ(data.train.vocabulary, 257u);
  EXPECT_EQ(text_of(data.train, data.tokenizer.get(), ExampleId{0}), "abcd<|endoftext|>ef");
  EXPECT_EQ(describe_origin(data.train, ExampleId{0}), folder / "train.tsv" + ":2, byte 13");
  EXPECT_EQ(data.test.count(), 1u);
}

}  // namespace
}  // namespace impart::data

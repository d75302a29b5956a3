#include "impart/core/safetensors.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "impart/core/error.h"

namespace impart {
namespace {

/// A folder that disappears with the test.
class SafetensorsTest : public ::testing::Test {
 protected:
  SafetensorsTest() { std::filesystem::create_directories(folder_); }
  ~SafetensorsTest() override { std::filesystem::remove_all(folder_); }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }

  /// A file with this header and `data_bytes` zeros behind it.
  std::string craft(std::string header, std::size_t data_bytes) const {
    const std::uint64_t length = header.size();
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
    bytes += header;
    bytes.append(data_bytes, '\0');
    return craft_raw(bytes);
  }
  std::string craft_raw(const std::string& bytes) const {
    std::ofstream(path("crafted.safetensors"), std::ios::binary) << bytes;
    return path("crafted.safetensors");
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("impart-safetensors-{}", ::getpid());
};

const std::vector<float> kFloats = {1.5f, -2.0f, 3.25f};
const std::int64_t kCount = 42;
const std::vector<std::uint8_t> kBytes = {7, 8, 9, 10, 11};

std::vector<TensorView> sample_tensors() {
  return {{"odd bytes", ElementType::kU8, {5}, std::as_bytes(std::span(kBytes))},
          {"layer.weight", ElementType::kF32, {3, 1}, std::as_bytes(std::span(kFloats))},
          {"empty", ElementType::kF32, {0, 4}, {}},
          {"count", ElementType::kI64, {}, std::as_bytes(std::span(&kCount, 1))}};
}

/// The message of the DataError that reading the file throws.
std::string error_of(const std::string& path) {
  try {
    SafetensorsFile{path};
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

TEST_F(SafetensorsTest, ReadsBackWhatWasWritten) {
  write_safetensors(path("a"), sample_tensors(), {{"format", "pt"}, {"quote\"", "é"}});
  const SafetensorsFile file(path("a"));
  const auto expected = sample_tensors();
  ASSERT_EQ(file.tensors().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const TensorView& read = file.tensors()[i];
    EXPECT_EQ(read.name, expected[i].name);
    EXPECT_EQ(read.type, expected[i].type);
    EXPECT_EQ(read.shape, expected[i].shape);
    EXPECT_TRUE(std::ranges::equal(read.data, expected[i].data)) << read.name;
    EXPECT_EQ(file.find(read.name), &read);
  }
  EXPECT_EQ(file.find("layer"), nullptr);
  EXPECT_EQ(file.metadata(), (TensorMetadata{{"format", "pt"}, {"quote\"", "é"}}));
}

TEST_F(SafetensorsTest, AlignsEveryTensorToItsElements) {
  write_safetensors(path("a"), sample_tensors());
  const SafetensorsFile file(path("a"));
  for (const TensorView& tensor : file.tensors()) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data.data()) % width_of(tensor.type), 0u)
        << tensor.name;
  }
}

TEST_F(SafetensorsTest, WritesAnEmptyListOfTensors) {
  write_safetensors(path("a"), {});
  EXPECT_TRUE(SafetensorsFile(path("a")).tensors().empty());
}

TEST_F(SafetensorsTest, RefusesToWriteContradictions) {
  auto tensors = sample_tensors();
  tensors[0].name = "count";
  EXPECT_THROW(write_safetensors(path("a"), tensors), ConfigError);
  tensors = sample_tensors();
  tensors[1].shape = {4};
  EXPECT_THROW(write_safetensors(path("a"), tensors), ConfigError);
  tensors = sample_tensors();
  tensors[0].name = "__metadata__";
  EXPECT_THROW(write_safetensors(path("a"), tensors), ConfigError);
  tensors[0].name = "\xFF";
  EXPECT_THROW(write_safetensors(path("a"), tensors), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(path("a")));
}

struct Damage {
  std::string header;
  std::size_t data_bytes;
  std::string expected;  ///< part of the message
};

TEST_F(SafetensorsTest, SaysWhatIsWrongWithADamagedFile) {
  const std::string f32 = R"("dtype":"F32",)";
  const std::vector<Damage> damages = {
      {"[]", 0, "not a JSON object"},
      {"{\"a\"", 0, "not a JSON object"},
      {R"({"a":3})", 0, "tensor 'a': no dtype"},
      {R"({"a":{"dtype":"F31","shape":[],"data_offsets":[0,4]}})", 4, "unknown dtype 'F31'"},
      {"{\"a\":{" + f32 + R"("shape":[-1],"data_offsets":[0,4]}})", 4, "shape is not a list"},
      {"{\"a\":{" + f32 + R"("shape":[1.0],"data_offsets":[0,4]}})", 4, "shape is not a list"},
      {"{\"a\":{" + f32 + R"("shape":[1],"data_offsets":[0]}})", 4, "not two whole numbers"},
      {"{\"a\":{" + f32 + R"("shape":[2],"data_offsets":[0,8]}})", 4, "not within the 4 of data"},
      {"{\"a\":{" + f32 + R"("shape":[1],"data_offsets":[4,0]}})", 4, "not within the 4 of data"},
      {"{\"a\":{" + f32 + R"("shape":[2],"data_offsets":[0,4]}})", 4, "not the size of its shape"},
      {"{\"a\":{" + f32 + R"("shape":[4294967296,4294967296,4],"data_offsets":[0,0]}})", 0,
       "not the size of its shape"},
      {"{\"a\":{" + f32 + R"("shape":[1],"data_offsets":[4,8]}})", 8, "leave a gap"},
      {"{\"a\":{" + f32 + R"("shape":[1],"data_offsets":[0,4]}})", 8, "leave a gap"},
      {"{\"a\":{" + f32 + R"("shape":[1],"data_offsets":[0,4]},"b":{)" + f32 +
           R"("shape":[1],"data_offsets":[0,4]}})",
       4, "overlap"},
      {"{\"a\":{" + f32 + R"("shape":[1],"data_offsets":[0,4]},"a":{)" + f32 +
           R"("shape":[1],"data_offsets":[4,8]}})",
       8, "two tensors named 'a'"},
      {R"({"__metadata__":{"k":1}})", 0, "'k' is not a text"},
      {R"({"__metadata__":[]})", 0, "__metadata__ is not an object"},
  };
  for (const Damage& damage : damages) {
    const std::string file = craft(damage.header, damage.data_bytes);
    EXPECT_NE(error_of(file).find(damage.expected), std::string::npos) << damage.header << "\n"
                                                                       << error_of(file);
    EXPECT_TRUE(error_of(file).starts_with(file + ": ")) << error_of(file);
  }
}

TEST_F(SafetensorsTest, SaysWhatIsWrongWithAHeaderLength) {
  EXPECT_NE(error_of(craft_raw("short")).find("no room"), std::string::npos);
  EXPECT_NE(error_of(craft_raw(std::string(8, '\xFF'))).find("a header of"), std::string::npos);
  EXPECT_NE(
      error_of(craft_raw(std::string("\x09\0\0\0\0\0\0\0{}      ", 16))).find("a header of 9"),
      std::string::npos);
}

TEST_F(SafetensorsTest, SurvivesEveryTruncationAndFlippedHeaderByte) {
  write_safetensors(path("a"), sample_tensors(), {{"format", "pt"}});
  std::ifstream stream(path("a"), std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(stream), {});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of(craft_raw(whole.substr(0, size))), "no error") << size;
  }
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x15);
    error_of(craft_raw(flipped));  // either a valid file or a DataError, nothing else
  }
}

TEST_F(SafetensorsTest, IsReadBySomebodyElse) {
  if (std::system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0) {
    GTEST_SKIP() << "no /usr/bin/python3 with numpy";
  }
  write_safetensors(path("a"), sample_tensors(), {{"format", "pt"}});
  const char* script = R"(
import json, sys, numpy
raw = open(sys.argv[1], 'rb').read()
n = int.from_bytes(raw[:8], 'little')
assert n % 8 == 0
header = json.loads(raw[8:8 + n])
assert header.pop('__metadata__') == {'format': 'pt'}
assert list(header) == ['odd bytes', 'layer.weight', 'empty', 'count']
types = {'F32': '<f4', 'I64': '<i8', 'U8': 'u1'}
def array(name):
    t = header[name]
    begin, end = t['data_offsets']
    return numpy.frombuffer(raw[8 + n + begin:8 + n + end], types[t['dtype']]).reshape(t['shape'])
spans = sorted(t['data_offsets'] for t in header.values())
assert spans[0][0] == 0 and spans[-1][1] == len(raw) - 8 - n
assert all(a[1] == b[0] for a, b in zip(spans, spans[1:]))
assert array('layer.weight').tolist() == [[1.5], [-2.0], [3.25]]
assert array('count').tolist() == 42
assert array('odd bytes').tolist() == [7, 8, 9, 10, 11]
assert array('empty').shape == (0, 4)
)";
  std::ofstream(path("read.py")) << script;
  const auto command = fmt::format("/usr/bin/python3 '{}' '{}'", path("read.py"), path("a"));
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace impart

#include "impart/data/mds/verify.h"

#include <optional>
#include <vector>

#include <fmt/format.h>

#include "impart/core/error.h"
#include "impart/core/file.h"
#include "impart/data/mds/decoder.h"
#include "impart/data/mds/hashes.h"
#include "impart/data/mds/shard.h"
#include "impart/data/mds/sidecars.h"

namespace impart::data {
namespace {

/// Calls, and tells what it throws about the data. False if it did.
template <class Function>
bool attempt(const MdsProblem& problem, Function&& function) {
  try {
    function();
    return true;
  } catch (const DataError& error) {
    problem(error.what());
  } catch (const ConfigError& error) {
    problem(error.what());
  }
  return false;
}

class Verifier {
 public:
  Verifier(const MdsVerifySpec& spec, const MdsProblem& problem, MdsIndex index)
      : spec_(spec), problem_(problem), index_(std::move(index)) {
    const auto in_index = [&](const std::string& what) { problem(index_.path() + ": " + what); };
    attempt(in_index, [&] { label_ = find_mds_label(index_.columns, spec.label_column); });
    attempt(in_index, [&] { image_ = find_mds_image(index_.columns, spec.image_column); });
    attempt(problem, [&] { sidecars_ = read_mds_sidecars(spec.folder, index_.samples()); });
    if (!spec.label_column.empty()) sidecars_.labels.clear();
  }

  void verify(const Progress& progress) {
    std::uint64_t first = 0;
    for (const MdsShard& shard : index_.shards) {
      attempt(problem_, [&] { verify_shard(shard, first); });
      first += shard.samples;
      if (progress) progress(first, index_.samples());
    }
  }

 private:
  void verify_shard(const MdsShard& shard, std::uint64_t first) {
    const MdsShardFile file = find_mds_file(index_.folder, shard);
    if (file.zipped) verify_hashes(file.path, *shard.zip, InputFile(file.path).bytes());
    std::uint64_t ignored = 0;
    const std::vector<std::byte> bytes = load_mds_shard(index_.folder, shard, ignored);
    const std::string path = index_.folder + '/' + shard.raw.name;
    verify_hashes(path, shard.raw, bytes);
    bool sound = true;
    const MdsOffsets offsets =
        parse_mds_offsets(bytes, shard, least_mds_sample(index_.columns),
                          [&](std::uint64_t offset, const std::string& what) {
                            problem_(fmt::format("{}: byte {}: {}", path, offset, what));
                            sound = false;
                          });
    if (!sound) return;
    for (std::uint64_t i = 0; i < shard.samples; ++i) {
      const auto in_sample = [&](const std::string& what) {
        problem_(fmt::format("{}, sample {} (byte {}): {}", path, i, offsets[i], what));
      };
      attempt(in_sample, [&] {
        verify_sample(std::span(bytes).subspan(offsets[i], offsets[i + 1] - offsets[i]), first + i);
      });
    }
  }

  /// All that are known, each told on its own.
  void verify_hashes(const std::string& path, const MdsFile& entry,
                     std::span<const std::byte> bytes) {
    for (const auto& [name, value] : entry.hashes) {
      const MdsFile one{.name = entry.name, .bytes = entry.bytes, .hashes = {{name, value}}};
      attempt(problem_, [&] { check_mds_hashes(path, one, bytes, false); });
    }
  }

  void verify_sample(std::span<const std::byte> sample, std::uint64_t number) {
    mds_value(index_.columns, 0, sample);  // checks the sizes of all its values
    if (label_) {
      const std::uint32_t label = read_mds_label(index_.columns[*label_].encoding,
                                                 mds_value(index_.columns, *label_, sample));
      if (!sidecars_.labels.empty() && sidecars_.labels[number] != label) {
        throw DataError(fmt::format("its label is {}, but labels.npy says {}", label,
                                    sidecars_.labels[number]));
      }
    }
    if (!spec_.decode || !image_) return;
    if (!decoder_) {
      decoder_.emplace(
          MdsDecoderSpec{.columns = index_.columns, .image = *image_, .example = sample});
      const MdsImageLayout& layout = decoder_->layout();
      pixels_.resize(std::size_t{layout.channels} * layout.height * layout.width);
    }
    decoder_->decode(sample, {}, pixels_);
  }

  const MdsVerifySpec& spec_;
  const MdsProblem& problem_;
  MdsIndex index_;
  MdsSidecars sidecars_;
  std::optional<std::size_t> label_, image_;
  std::optional<MdsSampleDecoder> decoder_;
  std::vector<std::uint8_t> pixels_;
};

}  // namespace

void verify_mds(const MdsVerifySpec& spec, const MdsProblem& problem, const Progress& progress) {
  std::optional<MdsIndex> index;
  if (!attempt(problem, [&] { index = read_mds_index(spec.folder); })) return;
  Verifier(spec, problem, std::move(*index)).verify(progress);
}

}  // namespace impart::data

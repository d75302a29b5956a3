#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <jpeglib.h>
// After jpeglib.h, which it needs.
#include <jerror.h>

#include "impart/core/error.h"
#include "impart/data/images/photo_reader.h"

namespace impart::data {
namespace {

constexpr std::size_t kPixelBytes = 4;
constexpr int kExifMarker = JPEG_APP0 + 1;
constexpr unsigned kLongestSegment = 0xFFFF;
/// Columns beside the window that are decoded, too: chroma is interpolated over neighbours, and at
/// the edge of what is decoded there are none.
constexpr std::uint32_t kMargin = 8;

/// libjpeg reports errors by a call that must not return; this one jumps back to where the library
/// was called. Nothing between may need destruction.
struct JpegErrors {
  jpeg_error_mgr manager;  // first, so that a pointer to it is a pointer to this
  std::jmp_buf back;
  std::array<char, JMSG_LENGTH_MAX> message;
};

[[noreturn]] void jump_back(j_common_ptr jpeg) {
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  errors->manager.format_message(jpeg, errors->message.data());
  std::longjmp(errors->back, 1);
}

/// Whether a warning says no more than that something could be tidier.
bool is_harmless(int code) {
  return code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM || code == JWRN_JFIF_MAJOR ||
         code == JWRN_TOO_MUCH_DATA;
}

void take_warning(j_common_ptr jpeg, int level) {
  if (level < 0 && !is_harmless(jpeg->err->msg_code)) jump_back(jpeg);
}

// The whole payload is the library's buffer: asking for more means that it is truncated.
boolean refuse_more(j_decompress_ptr jpeg) {
  ERREXIT(jpeg, JERR_INPUT_EOF);
  return FALSE;
}

void skip_bytes(j_decompress_ptr jpeg, long count) {
  if (count <= 0) return;
  const auto bytes = static_cast<std::size_t>(count);
  if (bytes > jpeg->src->bytes_in_buffer) ERREXIT(jpeg, JERR_INPUT_EOF);
  jpeg->src->next_input_byte += bytes;
  jpeg->src->bytes_in_buffer -= bytes;
}

void do_nothing(j_decompress_ptr) {}

/// A scan of a few bytes may go over all of a picture: a file of many keeps a decoder busy.
void count_scans(j_common_ptr jpeg) {
  constexpr int kMostScans = 100;
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= kMostScans) return;
  auto* errors = reinterpret_cast<JpegErrors*>(jpeg->err);
  std::snprintf(errors->message.data(), errors->message.size(), "over %d scans", kMostScans);
  std::longjmp(errors->back, 1);
}

class JpegReader final : public PhotoReader {
 public:
  explicit JpegReader(std::span<const std::byte> payload) : bytes_(payload.size()) {
    jpeg_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = jump_back;
    errors_.manager.emit_message = take_warning;
    source_.init_source = do_nothing;
    source_.fill_input_buffer = refuse_more;
    source_.skip_input_data = skip_bytes;
    source_.resync_to_restart = jpeg_resync_to_restart;
    source_.term_source = do_nothing;
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(payload.data());
    source_.bytes_in_buffer = payload.size();
    jpeg_create_decompress(&jpeg_);
    jpeg_.src = &source_;
    progress_.progress_monitor = count_scans;
    jpeg_.progress = &progress_;
    try {
      guard([this] {
        jpeg_save_markers(&jpeg_, kExifMarker, kLongestSegment);
        jpeg_read_header(&jpeg_, TRUE);
      });
    } catch (...) {
      jpeg_destroy_decompress(&jpeg_);
      throw;
    }
    width_ = jpeg_.image_width;
    height_ = jpeg_.image_height;
    if (const jpeg_marker_struct* exif = jpeg_.marker_list) {
      orientation_ = read_app1_orientation({exif->data, exif->data_length});
    }
  }
  ~JpegReader() override { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  bool is_held_whole() const override {
    return jpeg_has_multiple_scans(const_cast<j_decompress_ptr>(&jpeg_)) != FALSE;
  }

  std::uint32_t shrink(std::uint32_t most) override {
    std::uint32_t factor = 1;
    while (factor < 8 && factor * 2 <= most) factor *= 2;
    jpeg_.scale_num = 1;
    jpeg_.scale_denom = factor;
    return factor;
  }

  void start(const CropBox& window) override {
    is_cmyk_ = jpeg_.jpeg_color_space == JCS_CMYK || jpeg_.jpeg_color_space == JCS_YCCK;
    jpeg_.out_color_space = is_cmyk_ ? JCS_CMYK : JCS_EXT_RGBX;
    guard([this] { jpeg_start_decompress(&jpeg_); });
    // The library widens the piece to the left to a whole block.
    const std::uint32_t left = window.left - std::min(window.left, kMargin);
    JDIMENSION from = left;
    JDIMENSION width = std::min(window.left + window.width + kMargin, jpeg_.output_width) - left;
    if (width < jpeg_.output_width) {
      guard([&] { jpeg_crop_scanline(&jpeg_, &from, &width); });
    }
    row_ = place_row(jpeg_.output_width * kPixelBytes);
    window_ = row_.subspan((window.left - from) * kPixelBytes, window.width * kPixelBytes);
    skip_rows(window.top);
  }

  std::span<const std::uint8_t> next_row() override {
    read_row();
    if (is_cmyk_) convert_cmyk();
    return window_;
  }

  void finish() override {
    // Skipping the last row, too, the library would not look at what it skips.
    if (const JDIMENSION left = jpeg_.output_height - jpeg_.output_scanline; left > 0) {
      skip_rows(left - 1);
      read_row();
    }
    guard([this] { jpeg_finish_decompress(&jpeg_); });
  }

 private:
  /// Calls the library; what goes wrong there becomes a DataError.
  template <class Call>
  void guard(const Call& call) {
    if (setjmp(errors_.back) == 0) {
      call();
      return;
    }
    if (errors_.manager.msg_code == JERR_BAD_PRECISION) {
      throw DataError(fmt::format("a JPEG of {} bits per colour, where 8 are read: convert it",
                                  errors_.manager.msg_parm.i[0]));
    }
    throw DataError(fmt::format("damaged JPEG, byte {}: {}", bytes_ - source_.bytes_in_buffer,
                                errors_.message.data()));
  }

  /// libjpeg-turbo writes rows past the caches if they begin where a vector would, and who reads
  /// them at once waits for memory. These never begin there.
  std::span<std::uint8_t> place_row(std::size_t bytes) {
    constexpr std::size_t kVector = 64, kBeside = 8;
    memory_.resize(bytes + 2 * kVector);
    const std::size_t past = reinterpret_cast<std::uintptr_t>(memory_.data()) % kVector;
    return std::span(memory_).subspan(kVector - past + kBeside, bytes);
  }

  void read_row() {
    guard([this] {
      JSAMPROW row = row_.data();
      jpeg_read_scanlines(&jpeg_, &row, 1);
    });
  }

  void skip_rows(JDIMENSION rows) {
    if (rows > 0) guard([&] { jpeg_skip_scanlines(&jpeg_, rows); });
  }

  /// 255 is no ink: so Adobe writes it, and so browsers read it, whoever wrote it.
  void convert_cmyk() {
    for (std::size_t i = 0; i < window_.size(); i += kPixelBytes) {
      const std::uint32_t black = window_[i + 3];
      for (std::size_t c = 0; c < 3; ++c) {
        window_[i + c] = static_cast<std::uint8_t>((window_[i + c] * black + 127) / 255);
      }
    }
  }

  jpeg_decompress_struct jpeg_{};
  JpegErrors errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  std::size_t bytes_;
  bool is_cmyk_ = false;
  std::vector<std::uint8_t> memory_;
  std::span<std::uint8_t> row_, window_;
};

}  // namespace

bool is_jpeg(std::span<const std::byte> payload) {
  return payload.size() >= 3 && payload[0] == std::byte{0xFF} && payload[1] == std::byte{0xD8} &&
         payload[2] == std::byte{0xFF};
}

std::unique_ptr<PhotoReader> read_jpeg(std::span<const std::byte> payload) {
  return std::make_unique<JpegReader>(payload);
}

}  // namespace impart::data

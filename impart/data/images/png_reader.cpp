#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <png.h>

#include "impart/core/error.h"
#include "impart/data/images/photo_reader.h"

namespace impart::data {
namespace {

constexpr std::size_t kPngPixelBytes = 4;
constexpr std::size_t kMagicBytes = 8;

class PngReader final : public PhotoReader {
 public:
  explicit PngReader(std::span<const std::byte> payload)
      : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, jump_back, ignore_warning)),
        payload_(payload) {
    if (png_ == nullptr) throw Error("libpng cannot start reading");
    info_ = png_create_info_struct(png_);
    try {
      if (info_ == nullptr) throw Error("libpng cannot start reading");
      guard([this] {
        png_set_read_fn(png_, this, hand_over);
        png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
        png_read_info(png_, info_);
      });
    } catch (...) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw;
    }
    width_ = png_get_image_width(png_, info_);
    height_ = png_get_image_height(png_, info_);
    png_bytep exif = nullptr;
    png_uint_32 exif_bytes = 0;
    if (png_get_eXIf_1(png_, info_, &exif_bytes, &exif) != 0) {
      orientation_ = read_exif_orientation({exif, exif_bytes});
    }
  }
  ~PngReader() override { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  bool is_held_whole() const override {
    return png_get_interlace_type(png_, info_) != PNG_INTERLACE_NONE;
  }

  std::uint32_t shrink(std::uint32_t) override { return 1; }

  void start(const CropBox& window) override {
    crop_ = window;
    guard([this] { ask_for_rgbx(); });
    row_bytes_ = std::size_t{width_} * kPngPixelBytes;
    if (passes_ == 1) {
      pixels_.resize(row_bytes_);
      for (; row_ < crop_.top; ++row_) read_row();
    } else {
      read_interlaced();
    }
  }

  std::span<const std::uint8_t> next_row() override {
    const std::size_t left = crop_.left * kPngPixelBytes, bytes = crop_.width * kPngPixelBytes;
    if (passes_ > 1) return std::span(pixels_).subspan(row_++ * row_bytes_ + left, bytes);
    read_row();
    ++row_;
    return std::span(pixels_).subspan(left, bytes);
  }

  void finish() override {
    if (passes_ == 1) {
      for (; row_ < height_; ++row_) read_row();
    }
    guard([this] { png_read_end(png_, nullptr); });
  }

 private:
  // libpng reports errors by a call that must not return; this one jumps back to where the library
  // was called. Nothing between may need destruction.
  [[noreturn]] static void jump_back(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self->message_, sizeof self->message_, "%s", message);
    png_longjmp(png, 1);
  }
  static void ignore_warning(png_structp, png_const_charp) {}

  static void hand_over(png_structp png, png_bytep out, std::size_t count) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (count > self->payload_.size() - self->used_) png_error(png, "truncated");
    std::memcpy(out, self->payload_.data() + self->used_, count);
    self->used_ += count;
  }

  /// Calls the library; what goes wrong there becomes a DataError.
  template <class Call>
  void guard(const Call& call) {
    if (setjmp(png_jmpbuf(png_)) == 0) {
      call();
      return;
    }
    throw DataError(fmt::format("damaged PNG, byte {}: {}", used_, message_));
  }

  /// All kinds of pixels become 8-bit red, green, blue and a fourth byte.
  void ask_for_rgbx() {
    const int colours = png_get_color_type(png_, info_);
    png_set_scale_16(png_);
    if (colours == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png_);
    if (colours == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png_);
    if ((colours & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png_);
    if ((colours & PNG_COLOR_MASK_ALPHA) == 0) png_set_filler(png_, 0xFF, PNG_FILLER_AFTER);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    if (png_get_rowbytes(png_, info_) != std::size_t{width_} * kPngPixelBytes) {
      png_error(png_, "unknown kind of pixels");
    }
  }

  void read_row() {
    guard([this] { png_read_row(png_, pixels_.data(), nullptr); });
  }

  void read_interlaced() {
    pixels_.resize(row_bytes_ * height_);
    for (int pass = 0; pass < passes_; ++pass) {
      guard([this] {
        for (std::size_t y = 0; y < height_; ++y) {
          png_read_row(png_, pixels_.data() + y * row_bytes_, nullptr);
        }
      });
    }
    row_ = crop_.top;
  }

  png_structp png_;
  png_infop info_ = nullptr;
  std::span<const std::byte> payload_;
  std::size_t used_ = 0;
  CropBox crop_;
  int passes_ = 1;
  std::uint32_t row_ = 0;  ///< the next one
  std::size_t row_bytes_ = 0;
  std::vector<std::uint8_t> pixels_;  ///< a row; all of them of an interlaced picture
  char message_[128] = {};
};

}  // namespace

bool is_png(std::span<const std::byte> payload) {
  return payload.size() >= kMagicBytes &&
         png_sig_cmp(reinterpret_cast<png_const_bytep>(payload.data()), 0, kMagicBytes) == 0;
}

std::unique_ptr<PhotoReader> read_png(std::span<const std::byte> payload) {
  return std::make_unique<PngReader>(payload);
}

}  // namespace impart::data

#pragma once

#include <cstdint>
#include <memory>

#include "impart/data/payloads/example_set.h"

namespace impart::data {

/// What becomes of photographs.
struct PhotoSpec {
  std::uint32_t size = 224;  ///< height and width of the decoded image
  /// What evaluation brings the shorter side to before it cuts out the centre, `size` or more; 0:
  /// usual_resize(size).
  std::uint32_t resize = 0;
  /// Photographs of more pixels are refused before anything is decoded.
  std::uint64_t largest_pixels = std::uint64_t{1} << 28;
  /// The same for those that are held whole while they are read: at most 0.5 GiB.
  std::uint64_t largest_held_pixels = std::uint64_t{1} << 26;
};

/// Normalisation of photographs, red, green, blue: what ImageNet's models are trained with.
inline constexpr float kPhotoMean[] = {0.485f, 0.456f, 0.406f};
inline constexpr float kPhotoStd[] = {0.229f, 0.224f, 0.225f};

/// A decoder of JPEG and PNG files, told apart by their first bytes, into red, green and blue
/// planes of size × size. Any colours are converted (grey, palettes, 16 bits, CMYK); they are
/// turned as their EXIF says, as browsers do; transparency is ignored, as torchvision's ImageFolder
/// does.
///
/// Evaluation: the shorter side becomes `resize` pixels, then the centre is cut out: torchvision's
/// Resize(256), CenterCrop(224). Training: a random part of the picture, chosen by
/// choose_random_crop, is brought to size × size: torchvision's RandomResizedCrop(224). Mirroring
/// is not done here.
///
/// Resampling is Pillow's antialiased bilinear filter, to the bit. A JPEG that has to shrink to
/// less than half is halved as often as that is so while it is decoded, which is several times
/// faster and differs by a grey level or two. Only the part that is needed is turned into pixels,
/// but all of the file is read: a damaged or truncated file is a DataError whichever part is
/// wanted. Padding between a JPEG's data and its end mark is no damage.
///
/// Besides the result a call needs about 4 × size × (height of the part) bytes; an interlaced PNG
/// or a progressive JPEG is held whole.
std::shared_ptr<const PayloadDecoder> make_photo_decoder(const PhotoSpec& spec = {});

}  // namespace impart::data

#pragma once

#include <cstdint>
#include <span>

#include <ATen/core/Tensor.h>

#include "impart/data/images/augment.h"
#include "impart/data/images/image_set.h"

namespace impart::feed {

/// A data set where batches are made from it.
struct DeviceImages {
  at::Tensor pixels;     ///< uint8 [N, C, H, W], contiguous
  at::Tensor labels;     ///< int64 [N]
  at::Tensor mean, std;  ///< float [C], of pixels scaled to 0..1
};

/// Copies a set to a device.
DeviceImages put_on_device(const data::ImageSet& set, at::Device device);

/// A plan as the int32 tensor [N] that make_batch takes; undefined for an empty plan.
at::Tensor put_on_device(const data::AugmentPlan& plan, at::Device device);

/// The images of a batch as the model wants them: float [B, C, H, W], where row b is image ids[b],
/// cropped and mirrored as plan[ids[b]] says (an undefined plan: as it is), scaled to 0..1, less
/// `mean`, divided by `std`. `ids` is int64 [B]; all tensors are on one device. What comes in at
/// the border is 0 before normalisation.
///
/// On the CPU one pass over the bytes, in parallel over the images; the numbers are those of
/// ((pixel / 255) - mean) / std in float, bit for bit, and an id out of range is an Error.
/// On a GPU one launch, the same floats, channels last; ids are not checked. Where this build has
/// no kernels it is make_batch_from_operations.
at::Tensor make_batch(const DeviceImages& images, const at::Tensor& ids,
                      const at::Tensor& plan = {});

/// The same from tensor operations alone, for any device: nothing waits for the device, and the
/// numbers may differ in the last bits.
at::Tensor make_batch_from_operations(const DeviceImages& images, const at::Tensor& ids,
                                      const at::Tensor& plan = {});

}  // namespace impart::feed

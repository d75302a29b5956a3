#pragma once

#include <memory>
#include <string>

#include "impart/data/images/image_set.h"
#include "impart/data/payloads/example_set.h"
#include "impart/data/payloads/payload_source.h"

namespace impart::data {

/// The images of a set in memory as payloads: their pixels. `place` is what describe() puts before
/// the number of the example: "{place}, image 17".
std::shared_ptr<const PayloadSource> make_memory_source(std::shared_ptr<const ImageSet> set,
                                                        std::string place);

/// A loaded set as an opened one; its pixels stay in memory.
ExampleSet view_in_memory(std::shared_ptr<const ImageSet> set, std::string place);
ExampleSet view_in_memory(ImageSet set, std::string place);

}  // namespace impart::data

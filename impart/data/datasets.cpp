#include "impart/data/datasets.h"

namespace impart {

ImageData load_data(const DataSpec& spec) {
  return find_entry(kDatasets, "data set", spec.name).function(spec);
}

}  // namespace impart

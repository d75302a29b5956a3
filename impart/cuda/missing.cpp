// The layer where it is built without CUDA.

#include "impart/core/error.h"
#include "impart/cuda/batch_norm.h"
#include "impart/cuda/device.h"
#include "impart/cuda/dropout.h"
#include "impart/cuda/fold.h"
#include "impart/cuda/images.h"
#include "impart/cuda/layer_norm.h"
#include "impart/cuda/marks.h"
#include "impart/cuda/patches.h"
#include "impart/cuda/pool.h"
#include "impart/cuda/signals.h"
#include "impart/cuda/tokens.h"
#include "impart/cuda/update.h"

namespace impart::cuda {
namespace {

[[noreturn]] void fail() {
  throw Error("this impart was built without CUDA (IMPART_CUDA=OFF)");
}

}  // namespace

bool has_kernels() {
  return false;
}
bool takes_channels(std::int64_t, Element) {
  return false;
}
Stream make_stream() {
  fail();
}
void set_step(StepState*, const StepState&, Stream) {
  fail();
}
std::size_t scratch_floats(const WorkerArray&) {
  fail();
}
void normalise(const BatchNorm&, Stream) {
  fail();
}
void normalise_with_running(const BatchNorm&, Stream) {
  fail();
}
void differentiate(const BatchNormBackward&, Stream) {
  fail();
}
bool can_fold(std::int64_t, std::int64_t, std::int64_t, Element) {
  return false;
}
void fold_images(const FoldImages&, Stream) {
  fail();
}
void fold_weights(const FoldWeights&, Stream) {
  fail();
}
void unfold_weights(const FoldWeights&, Stream) {
  fail();
}
bool can_filter_patches(const FilterPatches&) {
  return false;
}
void filter_patches(const FilterPatches&, Stream) {
  fail();
}
void max_pool(const MaxPool&, Stream) {
  fail();
}
void max_pool_backward(const MaxPoolBackward&, Stream) {
  fail();
}
void gather_images(const GatherImages&, Stream) {
  fail();
}
void measure_signals(const MeasureSignals&, Stream) {
  fail();
}
void measure_tokens(const MeasureTokens&, Stream) {
  fail();
}
void differentiate_tokens(const DifferentiateTokens&, Stream) {
  fail();
}
bool can_norm_rows(const NormRows&) {
  return false;
}
void add_and_norm(const AddAndNorm&, Stream) {
  fail();
}
std::size_t norm_scratch(const NormRows&) {
  fail();
}
void add_and_norm_backward(const AddAndNormBackward&, Stream) {
  fail();
}
void set_dropout_key(DropoutKey*, DropoutKey, Stream) {
  fail();
}
void drop(const Dropout&, Stream) {
  fail();
}
void update(const Update&, Stream) {
  fail();
}
Marks::~Marks() = default;
void Marks::set(Stream) noexcept {}
std::vector<double> Marks::take_passed() {
  fail();
}
void Marks::wait() {
  fail();
}

}  // namespace impart::cuda

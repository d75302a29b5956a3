#include "impart/models/kernels/attention_kernel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "impart/core/vector_clones.h"
#include "impart/core/vector_floats.h"

namespace impart::kernels {
namespace {

constexpr std::int64_t kTileRows = 4;
constexpr std::int64_t kQueryBlock = 64;

/// A matrix by its first element and the distances between its rows and between its columns.
struct Matrix {
  const float* data;
  std::int64_t row;
  std::int64_t column;
};

/// out (+)= a b for 4 rows of a and 16 columns of b; rows of b are contiguous.
template <bool kAdd>
IMPART_INLINE void multiply_tile(const Matrix& a, const float* b, std::int64_t b_row,
                                 std::int64_t depth, float* out, std::int64_t out_row) {
  Floats s0{}, s1{}, s2{}, s3{}, row;
  const float* left = a.data;
  for (std::int64_t k = 0; k < depth; ++k, left += a.column, b += b_row) {
    load(row, b);
    s0 += left[0] * row;
    s1 += left[a.row] * row;
    s2 += left[2 * a.row] * row;
    s3 += left[3 * a.row] * row;
  }
  if constexpr (kAdd) {
    load(row, out), s0 += row;
    load(row, out + out_row), s1 += row;
    load(row, out + 2 * out_row), s2 += row;
    load(row, out + 3 * out_row), s3 += row;
  }
  store(out, s0);
  store(out + out_row, s1);
  store(out + 2 * out_row, s2);
  store(out + 3 * out_row, s3);
}

/// out (+)= a b, [rows, depth] times [depth, columns]; rows a multiple of 4, columns of 16.
template <bool kAdd>
IMPART_INLINE void multiply(const Matrix& a, std::int64_t rows, const float* b, std::int64_t b_row,
                            std::int64_t columns, std::int64_t depth, float* out,
                            std::int64_t out_row) {
  for (std::int64_t i = 0; i < rows; i += kTileRows) {
    for (std::int64_t j = 0; j < columns; j += kLanes) {
      multiply_tile<kAdd>({a.data + i * a.row, a.row, a.column}, b + j, b_row, depth,
                          out + i * out_row + j, out_row);
    }
  }
}

std::int64_t round_up(std::int64_t count, std::int64_t unit) {
  return (count + unit - 1) / unit * unit;
}

/// Scratch memory of one head. Rows beyond T are zero, so that tiles need no edges.
struct Workspace {
  Workspace(const AttentionShape& shape, float* memory)
      : columns(round_up(shape.tokens, kLanes)), next_(memory) {
    const std::int64_t all = columns * shape.width, block = kQueryBlock * shape.width;
    k = take(all);
    v = take(all);
    k_transposed = take(all);
    v_transposed = take(all);
    grad_k = take(all);
    grad_v = take(all);
    q = take(block);
    out = take(block);
    grad_out = take(block);
    p = take(kQueryBlock * columns);
    grad_s = take(kQueryBlock * columns);
  }
  float* take(std::int64_t floats) { return std::exchange(next_, next_ + floats); }

  std::int64_t columns;                ///< of p and grad_s: T, rounded up
  float *k, *v, *grad_k, *grad_v;      ///< [columns, d]
  float *k_transposed, *v_transposed;  ///< [d, columns]
  float *q, *out, *grad_out;           ///< [kQueryBlock, d]; q is scaled by 1/√d
  float *p, *grad_s;                   ///< [kQueryBlock, columns]

 private:
  float* next_;
};

/// Copies `count` rows from row `first` on, times `factor`; rows up to `padded` become zero.
IMPART_INLINE void copy_rows(const ConstHeadRows& from, std::int64_t first, std::int64_t count,
                             std::int64_t padded, std::int64_t width, float factor, float* to) {
  for (std::int64_t t = 0; t < count; ++t) {
    const float* row = from.data + (first + t) * from.stride;
    for (std::int64_t c = 0; c < width; ++c) to[t * width + c] = factor * row[c];
  }
  std::fill(to + count * width, to + padded * width, 0.0f);
}

IMPART_INLINE void write_rows(const float* from, std::int64_t count, std::int64_t width,
                              const HeadRows& to, std::int64_t first, float factor) {
  for (std::int64_t t = 0; t < count; ++t) {
    float* row = to.data + (first + t) * to.stride;
    for (std::int64_t c = 0; c < width; ++c) row[c] = factor * from[t * width + c];
  }
}

IMPART_INLINE void transpose(const float* from, std::int64_t rows, std::int64_t width, float* to) {
  for (std::int64_t c = 0; c < width; ++c) {
    for (std::int64_t t = 0; t < rows; ++t) to[c * rows + t] = from[t * width + c];
  }
}

/// Which queries are worked on, and how many keys the last of them sees, rounded up.
struct Block {
  std::int64_t first;
  std::int64_t count;
  std::int64_t rows;     ///< count, rounded up to whole tiles
  std::int64_t columns;  ///< keys that are looked at, rounded up to whole tiles
};

Block block_at(const AttentionShape& shape, std::int64_t first) {
  const std::int64_t count = std::min(kQueryBlock, shape.tokens - first);
  const std::int64_t keys = shape.causal ? first + count : shape.tokens;
  return {first, count, round_up(count, kTileRows), round_up(keys, kLanes)};
}

/// Scores of a row: adds the bias and takes unseen keys out.
IMPART_INLINE void mask_row(const AttentionShape& shape, const float* key_bias, std::int64_t query,
                            std::int64_t columns, float* scores) {
  const std::int64_t seen = shape.causal ? std::min(query + 1, shape.tokens) : shape.tokens;
  if (key_bias != nullptr) {
    for (std::int64_t j = 0; j < seen; ++j) scores[j] += key_bias[j];
  }
  std::fill(scores + seen, scores + columns, -INFINITY);
}

IMPART_INLINE float largest_of(const float* scores, std::int64_t columns) {
  Floats most = Floats{} - INFINITY, next;
  for (std::int64_t j = 0; j < columns; j += kLanes) {
    load(next, scores + j);
    most = next > most ? next : most;
  }
  float largest = most[0];
  for (int i = 1; i < kLanes; ++i) largest = std::max(largest, most[i]);
  return largest;
}

/// scores := exp(scores - shift); the sum of what comes out.
IMPART_INLINE float exponentiate_row(float* scores, std::int64_t columns, float shift) {
  Floats sum{}, next;
  for (std::int64_t j = 0; j < columns; j += kLanes) {
    load(next, scores + j);
    next -= shift;
    exponentiate(next);
    store(scores + j, next);
    sum += next;
  }
  return sum_of(sum);
}

IMPART_VECTOR_CLONES
void attend_to_block(const AttentionShape& shape, const AttentionInputs& inputs, const Block& block,
                     const Workspace& space, const HeadRows& output, float* normaliser) {
  const std::int64_t width = shape.width, columns = space.columns;
  const float scale = 1 / std::sqrt(static_cast<float>(width));
  copy_rows(inputs.q, block.first, block.count, block.rows, width, scale, space.q);
  multiply<false>({space.q, width, 1}, block.rows, space.k_transposed, columns, block.columns,
                  width, space.p, columns);
  float factors[kQueryBlock] = {};
  for (std::int64_t i = 0; i < block.count; ++i) {
    float* row = space.p + i * columns;
    mask_row(shape, inputs.key_bias, block.first + i, block.columns, row);
    const float largest = largest_of(row, block.columns);
    const float sum = exponentiate_row(row, block.columns, largest);
    normaliser[block.first + i] = largest + std::log(sum);
    factors[i] = 1 / sum;
  }
  multiply<false>({space.p, columns, 1}, block.rows, space.v, width, width, block.columns,
                  space.out, width);
  for (std::int64_t i = 0; i < block.count; ++i) {
    write_rows(space.out + i * width, 1, width, output, block.first + i, factors[i]);
  }
}

/// grad_s := p (grad_s - Σ grad_out out), a row.
IMPART_INLINE void differentiate_softmax(const float* p, std::int64_t columns, float product,
                                         float* grad_s) {
  for (std::int64_t j = 0; j < columns; ++j) grad_s[j] = p[j] * (grad_s[j] - product);
}

IMPART_INLINE float dot(const float* a, const float* b, std::int64_t width) {
  Floats sum{}, left, right;
  for (std::int64_t c = 0; c < width; c += kLanes) {
    load(left, a + c);
    load(right, b + c);
    sum += left * right;
  }
  return sum_of(sum);
}

IMPART_VECTOR_CLONES
void differentiate_block(const AttentionShape& shape, const AttentionInputs& inputs,
                         const AttentionResults& results, const Block& block,
                         const Workspace& space, const HeadRows& grad_q) {
  const std::int64_t width = shape.width, columns = space.columns;
  const float scale = 1 / std::sqrt(static_cast<float>(width));
  copy_rows(inputs.q, block.first, block.count, block.rows, width, scale, space.q);
  copy_rows(results.output, block.first, block.count, block.rows, width, 1, space.out);
  copy_rows(results.grad_output, block.first, block.count, block.rows, width, 1, space.grad_out);
  multiply<false>({space.q, width, 1}, block.rows, space.k_transposed, columns, block.columns,
                  width, space.p, columns);
  multiply<false>({space.grad_out, width, 1}, block.rows, space.v_transposed, columns,
                  block.columns, width, space.grad_s, columns);
  for (std::int64_t i = 0; i < block.rows; ++i) {
    float *p = space.p + i * columns, *grad_s = space.grad_s + i * columns;
    if (i >= block.count) {
      std::fill_n(p, block.columns, 0.0f);
      std::fill_n(grad_s, block.columns, 0.0f);
      continue;
    }
    mask_row(shape, inputs.key_bias, block.first + i, block.columns, p);
    exponentiate_row(p, block.columns, results.normaliser[block.first + i]);
    const float product = dot(space.grad_out + i * width, space.out + i * width, width);
    differentiate_softmax(p, block.columns, product, grad_s);
  }
  multiply<true>({space.p, 1, columns}, block.columns, space.grad_out, width, width, block.rows,
                 space.grad_v, width);
  multiply<true>({space.grad_s, 1, columns}, block.columns, space.q, width, width, block.rows,
                 space.grad_k, width);
  multiply<false>({space.grad_s, columns, 1}, block.rows, space.k, width, width, block.columns,
                  space.out, width);
  write_rows(space.out, block.count, width, grad_q, block.first, scale);
}

/// Copies keys and values to where blocks find them.
IMPART_VECTOR_CLONES
void prepare(const AttentionShape& shape, const AttentionInputs& inputs, const Workspace& space) {
  const std::int64_t columns = space.columns, width = shape.width;
  copy_rows(inputs.k, 0, shape.tokens, columns, width, 1, space.k);
  copy_rows(inputs.v, 0, shape.tokens, columns, width, 1, space.v);
  transpose(space.k, columns, width, space.k_transposed);
}

}  // namespace

bool has_attention_kernel(std::int64_t width) {
  return width > 0 && width % kLanes == 0;
}

std::int64_t attention_scratch(const AttentionShape& shape) {
  const std::int64_t columns = round_up(shape.tokens, kLanes);
  return (6 * columns + 3 * kQueryBlock) * shape.width + 2 * kQueryBlock * columns;
}

void attend(const AttentionShape& shape, const AttentionInputs& inputs, HeadRows output,
            float* normaliser, float* scratch) {
  const Workspace space(shape, scratch);
  prepare(shape, inputs, space);
  for (std::int64_t first = 0; first < shape.tokens; first += kQueryBlock) {
    attend_to_block(shape, inputs, block_at(shape, first), space, output, normaliser);
  }
}

void differentiate_attention(const AttentionShape& shape, const AttentionInputs& inputs,
                             const AttentionResults& results, const AttentionGradients& gradients,
                             float* scratch) {
  const Workspace space(shape, scratch);
  prepare(shape, inputs, space);
  transpose(space.v, space.columns, shape.width, space.v_transposed);
  std::fill_n(space.grad_k, space.columns * shape.width, 0.0f);
  std::fill_n(space.grad_v, space.columns * shape.width, 0.0f);
  for (std::int64_t first = 0; first < shape.tokens; first += kQueryBlock) {
    differentiate_block(shape, inputs, results, block_at(shape, first), space, gradients.q);
  }
  write_rows(space.grad_k, shape.tokens, shape.width, gradients.k, 0, 1);
  write_rows(space.grad_v, shape.tokens, shape.width, gradients.v, 0, 1);
}

}  // namespace impart::kernels

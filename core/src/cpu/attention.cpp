// Attention some rows of queries at a time: their scores, which stay in the second cache, become weights and then rows
// of the result before those of the next rows are computed, so that the matrix of scores never exists. Keys and values
// are packed for products once for each matrix. A backward pass computes weights again that were not kept.
#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "cpu/attention_kernels.h"
#include "cpu/gemm_kernels.h"
#include "cpu/softmax_kernels.h"
#include "kernels/gemm_pack.h"
#include "torch/core/pool.h"

namespace torch::TORCH_ISA {

namespace {

using gemm_parts::ceil_div;
using gemm_parts::kMostRows;
using gemm_parts::Scratch;

template <class T>
constexpr T kHidden = -std::numeric_limits<T>::infinity();

template <class T>
const SoftmaxKernels<T>& softmax_kernels() {
  if constexpr (sizeof(T) == 4)
    return softmax_float();
  else
    return softmax_double();
}

// The kernels of one type: a product, how much a packed factor takes, and packing one.
template <class T>
auto products() {
  const GemmKernels& all = gemm_kernels();
  if constexpr (sizeof(T) == 4)
    return std::tuple(all.f32, all.packed_f32, all.pack_f32);
  else
    return std::tuple(all.f64, all.packed_f64, all.pack_f64);
}

// c = alpha * a @ b, or c + that. A sum of nothing is zero.
template <class T>
void multiply(int64_t m, int64_t n, int64_t k, T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c,
              bool add, const T* packed = nullptr) {
  if (k > 0 && m > 0 && n > 0)
    return std::get<0>(products<T>())(
        {.m = m, .n = n, .k = k, .alpha = alpha, .a = a, .b = b, .beta = T(add), .d = c, .c = c, .packed = packed});
  for (int64_t i = 0; i < m && !add; ++i)
    for (int64_t j = 0; j < n; ++j) *c.at(i, j) = T(0);
}

// Keys in blocks: what one is packed for does not depend on how many keys a causal query sees.
struct Keys {
  static constexpr int64_t kMost = 256;
  int64_t size, blocks;
  explicit Keys(int64_t size) : size(size), blocks(ceil_div(size, kMost)) {}
  int64_t begin(int64_t block) const { return size * block / std::max<int64_t>(blocks, 1); }
  int64_t count(int64_t block) const { return begin(block + 1) - begin(block); }
  // Where the block of the last of the first `seen` keys ends.
  int64_t end_of(int64_t seen) const {
    int64_t block = 0;
    while (begin(block) < seen) ++block;
    return begin(block);
  }
};

// A matrix of keys or values, (size, width), as right factors of products, one for each block: as it lies or turned.
template <class T>
class Factors {
 public:
  Factors(const Keys& keys, int64_t width, bool turned)
      : keys_(keys), width_(width), turned_(turned), starts_(size_t(keys.blocks) + 1), memory_(placed()) {}

  void pack(MatrixView<const T> m) {
    for (int64_t b = 0; b < keys_.blocks; ++b) {
      const MatrixView<const T> rows{m.at(keys_.begin(b), 0), m.row, m.col};
      std::get<2>(products<T>())(columns(b), depth(b), turned_ ? rows.transposed() : rows, at(b));
    }
  }
  T* at(int64_t block) const { return memory_.data() + starts_[size_t(block)]; }

 private:
  int64_t columns(int64_t block) const { return turned_ ? keys_.count(block) : width_; }
  int64_t depth(int64_t block) const { return turned_ ? width_ : keys_.count(block); }
  int64_t placed() {
    for (int64_t b = 0; b < keys_.blocks; ++b)
      starts_[size_t(b) + 1] = starts_[size_t(b)] + std::get<1>(products<T>())(columns(b), depth(b));
    return std::max<int64_t>(starts_.back(), 1);
  }

  Keys keys_;
  int64_t width_;
  bool turned_;
  std::vector<int64_t> starts_;
  Scratch<T> memory_;
};

// The factors of the matrix that was asked for last, or none where nothing is packed.
template <class T>
class Packed {
 public:
  Packed(bool packs, const Keys& keys, int64_t width, bool turned) {
    if (packs) factors_.emplace(keys, width, turned);
  }
  const Factors<T>* of(MatrixView<const T> m) {
    if (!factors_) return nullptr;
    if (std::exchange(packed_, m.data) != m.data) factors_->pack(m);
    return &*factors_;
  }

 private:
  std::optional<Factors<T>> factors_;
  const T* packed_ = nullptr;
};

// Queries that are computed at once, so that their scores of `size` keys stay near. The cut shows in sums over queries,
// and so is by constants.
struct Rows {
  int64_t length, blocks;
  Rows(int64_t length, int64_t size) : length(length) {
    constexpr int64_t kScores = 1 << 16, kLeast = 28 / kMostRows * kMostRows, kMost = 112 / kMostRows * kMostRows;
    const int64_t rows = std::clamp(kScores / std::max<int64_t>(size, 1), kLeast, kMost);
    blocks = std::max<int64_t>(ceil_div(length, rows), 1);
  }
  int64_t begin(int64_t block) const { return length * block / blocks; }
  int64_t most() const { return ceil_div(length, blocks); }
  int64_t scores(int64_t size) const { return std::max<int64_t>(most() * size, 1); }  // room for those of a block
};

template <class T, class F>
void along(const F* given, int64_t col, int64_t count, T* row, auto f) {
  const F* __restrict const x = given;
  T* __restrict const y = row;
  if (col == 1)
    for (int64_t j = 0; j < count; ++j) y[j] = f(y[j], x[j]);
  else
    for (int64_t j = 0; j < count; ++j) y[j] = f(y[j], x[j * col]);
}
// One row of scores with what its query may not see.
template <class T>
void hide(const AttentionShape<T>& a, int64_t example, int64_t query, int64_t count, T* row) {
  if (a.bias) along(a.bias[example].at(query, 0), a.bias.col, count, row, [](T x, T bias) { return x + bias; });
  if (a.seen)
    along(a.seen[example].at(query, 0), a.seen.col, count, row,
          [](T x, Truth seen) { return seen.byte ? x : kHidden<T>; });
  if (a.is_causal)
    for (int64_t j = query + 1; j < count; ++j) row[j] = kHidden<T>;
}

// c (rows, seen) = alpha * left (rows, width) @ right^T, right of a row for each key: packed, or as it lies.
template <class T>
void spread(int64_t rows, int64_t seen, int64_t width, T alpha, MatrixView<const T> left, const Keys& keys,
            const Factors<T>* packed, MatrixView<const T> right, T* c) {
  if (!packed) return multiply<T>(rows, seen, width, alpha, left, right.transposed(), {c, seen, 1}, false);
  for (int64_t b = 0; keys.begin(b) < seen; ++b)
    multiply<T>(rows, keys.count(b), width, alpha, left, {}, {c + keys.begin(b), seen, 1}, false, packed->at(b));
}
// c (rows, width) = alpha * left (rows, seen) @ right.
template <class T>
void gather(int64_t rows, int64_t seen, int64_t width, T alpha, const T* left, const Keys& keys,
            const Factors<T>* packed, MatrixView<const T> right, MatrixView<T> c) {
  if (!packed) return multiply<T>(rows, width, seen, alpha, {left, seen, 1}, right, c, false);
  for (int64_t b = 0; keys.begin(b) < seen; ++b)
    multiply<T>(rows, width, keys.count(b), alpha, {left + keys.begin(b), seen, 1}, {}, c, b > 0, packed->at(b));
}

// The weights of some queries, in rows of all keys or of as many as the number that is returned: no query of these sees
// the others.
template <class T>
int64_t weigh(const AttentionShape<T>& a, int64_t example, int64_t first, int64_t last, const Keys& keys,
              const Factors<T>* packed, T* weights, bool all = false) {
  int64_t seen = a.is_causal && !all ? std::min(last, a.size) : a.size;
  if (packed) seen = keys.end_of(seen);
  spread<T>(last - first, seen, a.width, a.scale, a.query.from(example, first), keys, packed, a.key[example], weights);
  const bool whole = !a.bias && !a.seen && !a.is_causal;
  for (int64_t i = first; i < last && !whole; ++i) hide(a, example, i, seen, weights + (i - first) * seen);
  softmax_kernels<T>().forward(weights, weights, {last - first, seen, 1},
                               whole ? SoftmaxKind::Plain : SoftmaxKind::Safe);
  return seen;
}

// Queries that are few read keys and values where they lie.
template <class T>
bool packs(const AttentionShape<T>& a) {
  return a.length > 2 * kMostRows && a.size > 0 && a.width > 0 && a.depth > 0;
}

template <class T>
void forward(const AttentionShape<T>& a, const Matrices<T>& out, const Matrices<T>& kept) {
  const Rows rows(a.length, a.size);
  const Keys keys(a.size);
  // A thread packs the keys and values of what it computes: whole examples, where there are enough.
  constexpr double kPiece = 1e6;
  const double flops = 2.0 * double(rows.most()) * double(a.size) * double(a.width + a.depth);
  const int64_t tasks = a.batch * rows.blocks, threads = num_threads();
  const int64_t share = a.batch >= threads ? rows.blocks : ceil_div(tasks, threads);
  parallel_for(tasks, std::max(share, int64_t(kPiece / (flops + 1))), [&](int64_t from, int64_t to) {
    const Scratch<T> memory(kept ? 1 : rows.scores(a.size));
    Packed<T> key(packs(a), keys, a.width, true), value(packs(a), keys, a.depth, false);
    for (int64_t t = from; t < to; ++t) {
      const int64_t example = t / rows.blocks, block = t % rows.blocks;
      const int64_t first = rows.begin(block), last = rows.begin(block + 1);
      T* const weights = kept ? kept.from(example, first).data : memory.data();
      const int64_t seen = weigh(a, example, first, last, keys, key.of(a.key[example]), weights, bool(kept));
      gather<T>(last - first, seen, a.depth, T(1), weights, keys, value.of(a.value[example]), a.value[example],
                out.from(example, first));
    }
  });
}

// With P the weights of some rows, G their gradients and S the scores: dV = P^T G, dP = G V^T, dS from P and dP,
// dQ = scale dS K and dK = scale dS^T Q.
template <class T>
void backward(const AttentionShape<T>& a, const Matrices<const T>& grad, const Matrices<const T>& kept,
              const Matrices<T>& grad_query, const Matrices<T>& grad_key, const Matrices<T>& grad_value) {
  const Rows rows(a.length, a.size);
  const Keys keys(a.size);
  const auto examples = [&](int64_t from, int64_t to) {
    const Scratch<T> memory(kept ? 1 : rows.scores(a.size)), slopes(rows.scores(a.size));
    Packed<T> scoring(packs(a) && !kept, keys, a.width, true), value(packs(a), keys, a.depth, true),
        key(packs(a), keys, a.width, false);
    for (int64_t t = from * rows.blocks; t < to * rows.blocks; ++t) {
      const int64_t example = t / rows.blocks, block = t % rows.blocks;
      const int64_t first = rows.begin(block), last = rows.begin(block + 1), count = last - first;
      const int64_t seen =
          kept ? a.size : weigh(a, example, first, last, keys, scoring.of(a.key[example]), memory.data());
      const T* const p = kept ? kept.from(example, first).data : memory.data();
      T* const ds = slopes.data();
      const MatrixView<const T> g = grad.from(example, first), by_key{p, 1, seen}, slopes_by_key{ds, 1, seen};
      multiply<T>(seen, a.depth, count, T(1), by_key, g, grad_value[example], true);
      spread<T>(count, seen, a.depth, T(1), g, keys, value.of(a.value[example]), a.value[example], ds);
      softmax_kernels<T>().backward(ds, p, ds, {count, seen, 1}, false);
      gather<T>(count, seen, a.width, a.scale, ds, keys, key.of(a.key[example]), a.key[example],
                grad_query.from(example, first));
      multiply<T>(seen, a.width, count, a.scale, slopes_by_key, a.query.from(example, first), grad_key[example], true);
    }
  };
  if (a.batch < num_threads()) return examples(0, a.batch);  // the products of one example are shared out
  parallel_for(a.batch, 1, examples);
}

}  // namespace

const AttentionKernels<float>& attention_float() {
  static constexpr AttentionKernels<float> k{forward<float>, backward<float>};
  return k;
}
const AttentionKernels<double>& attention_double() {
  static constexpr AttentionKernels<double> k{forward<double>, backward<double>};
  return k;
}

}  // namespace torch::TORCH_ISA

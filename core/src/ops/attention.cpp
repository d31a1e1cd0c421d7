#include "ops/attention.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

#include "cpu/attention_kernels.h"
#include "dispatch/register.h"
#include "dispatch/work.h"
#include "iterate/dense.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/attention.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/softmax.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

std::vector<int64_t> with(std::vector<int64_t> batch, int64_t rows, int64_t columns) {
  batch.push_back(rows), batch.push_back(columns);
  return batch;
}

// How far each matrix of a tensor lies from the first.
std::vector<int64_t> offsets_of(const Tensor& t) {
  const size_t dims = size_t(t.dim()) - 2;
  std::vector<int64_t> all{0};
  for (size_t d = 0; d < dims; ++d) {
    std::vector<int64_t> finer;
    finer.reserve(all.size() * size_t(t.sizes()[d]));
    for (const int64_t at : all)
      for (int64_t i = 0; i < t.sizes()[d]; ++i) finer.push_back(at + i * t.strides()[d]);
    all = std::move(finer);
  }
  return all;
}

// A tensor and, once a kernel asks, where its matrices are: tensors without memory may have more of them than fit.
struct Operand {
  Tensor tensor;
  mutable std::vector<int64_t> offsets;

  Operand() = default;
  explicit Operand(const Tensor& t) : tensor(t) {}
  template <class T>
  Matrices<T> matrices() const {
    if (!tensor) return {};
    if (offsets.empty()) offsets = offsets_of(tensor);
    return {static_cast<T*>(tensor.data()), tensor.stride(-2), tensor.stride(-1), offsets.data()};
  }
};

// The operands of a call, as one batch.
struct Call {
  std::vector<int64_t> batch;
  int64_t length, size, width, depth;
  Operand query, key, value, mask;
  DType dtype;
  bool is_causal;
  double scale;

  Call(const char* op, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& m, bool is_causal, double scale)
      : dtype(compute_dtype(q.dtype())), is_causal(is_causal), scale(scale) {
    TORCH_CHECK(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2, op,
                ": query, key and value must have at least 2 dims, got ", q.sizes(), ", ", k.sizes(), ", ", v.sizes());
    TORCH_CHECK(q.dtype() == k.dtype() && k.dtype() == v.dtype(), op,
                ": query, key and value must have one dtype, got ", q.dtype(), ", ", k.dtype(), ", ", v.dtype());
    TORCH_CHECK_IMPLEMENTED(is_floating(q.dtype()), op, ": expects a floating point dtype, got ", q.dtype());
    TORCH_CHECK(q.size(-1) == k.size(-1) && k.size(-2) == v.size(-2), op, ": query (*, L, E), key (*, S, E) and value ",
                "(*, S, V) do not fit each other: ", q.sizes(), ", ", k.sizes(), ", ", v.sizes());
    length = q.size(-2), size = k.size(-2), width = q.size(-1), depth = v.size(-1);
    const auto leading = [](const Tensor& t) { return t.sizes().slice(0, size_t(t.dim()) - 2); };
    batch = broadcast_shapes(op, broadcast_shapes(op, leading(q), leading(k)), leading(v));
    const auto operand = [&](const Tensor& t, DType as) {
      return Operand(expand(as_dtype(t, as), with(batch, t.size(-2), t.size(-1))));
    };
    if (m) {
      TORCH_CHECK(m.dtype() == DType::Bool || is_floating(m.dtype()), op,
                  ": expects a mask of bool or floating point, got ", m.dtype());
      const std::vector<int64_t> scores = with(batch, length, size);
      TORCH_CHECK(broadcast_shapes(op, m.sizes(), scores) == scores, op, ": a mask of shape ", m.sizes(),
                  " does not fit scores of shape ", IntArrayRef(scores));
      mask = Operand(expand(m.dtype() == DType::Bool ? m : as_dtype(m, dtype), scores));
    }
    query = operand(q, dtype), key = operand(k, dtype), value = operand(v, dtype);
  }

  bool has_queries() const { return length > 0 && std::find(batch.begin(), batch.end(), 0) == batch.end(); }

  template <class T>
  AttentionShape<T> shape() const {
    const bool is_bool = mask.tensor && mask.tensor.dtype() == DType::Bool;
    AttentionShape<T> a{.batch = std::accumulate(batch.begin(), batch.end(), int64_t(1), std::multiplies<>()),
                        .length = length,
                        .size = size,
                        .width = width,
                        .depth = depth,
                        .query = query.matrices<const T>(),
                        .key = key.matrices<const T>(),
                        .value = value.matrices<const T>(),
                        .is_causal = is_causal,
                        .scale = T(scale)};
    if (is_bool)
      a.seen = mask.matrices<const Truth>();
    else
      a.bias = mask.matrices<const T>();
    return a;
  }

  // (*, rows, columns), whose matrices lie among each other as those of `like` where those are of 4 dims with the heads
  // inside: what joins the heads again, behind attention, need not copy.
  Tensor empty(const Tensor& like, int64_t rows, int64_t columns) const {
    if (batch.size() == 2 && like.dim() == 4 && like.stride(1) < like.stride(2))
      return transpose(empty_tensor({batch[0], rows, batch[1], columns}, dtype, like.device()), 1, 2);
    return empty_tensor(with(batch, rows, columns), dtype, like.device());
  }
};

template <class F>
void as_float(DType dtype, F f) {
  if (dtype == DType::Float32)
    f(float());
  else
    f(double());
}

constexpr const char* kName = "scaled_dot_product_attention";

std::tuple<Tensor, Tensor> forward(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                   bool is_causal, double scale, bool keep_weights) {
  const Call call(kName, query, key, value, mask, is_causal, scale);
  const auto empty = [&](IntArrayRef sizes) { return empty_tensor(sizes, call.dtype, query.device()); };
  const Operand out(call.empty(query, call.length, call.depth));
  const Tensor weights = keep_weights ? empty(with(call.batch, call.length, call.size)) : empty({0});
  const Operand kept = keep_weights ? Operand(weights) : Operand();
  as_float(call.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (const auto* kernels = work<AttentionKernels<T>>.on(out.tensor); kernels && call.has_queries())
      kernels->forward(call.shape<T>(), out.matrices<T>(), kept.matrices<T>());
  });
  return {as_dtype(out.tensor, query.dtype()), weights};
}

std::tuple<Tensor, Tensor, Tensor> backward(const Tensor& grad, const Tensor& query, const Tensor& key,
                                            const Tensor& value, const Tensor& mask, const Tensor& weights,
                                            bool is_causal, double scale) {
  constexpr const char* op = "_attention_backward";
  const Call call(op, query, key, value, mask, is_causal, scale);
  const std::vector<int64_t> shape = with(call.batch, call.length, call.depth);
  TORCH_CHECK(grad.sizes() == IntArrayRef(shape), op, ": grad ", grad.sizes(), " must have the shape of the result, ",
              IntArrayRef(shape));
  const bool is_kept = weights.dim() != 1;
  const std::vector<int64_t> scores = with(call.batch, call.length, call.size);
  TORCH_CHECK(is_kept ? weights.sizes() == IntArrayRef(scores) && weights.dtype() == call.dtype : weights.numel() == 0,
              op, ": expects weights of ", call.dtype, " and shape ", IntArrayRef(scores), ", or (0,), got ",
              weights.dtype(), " and ", weights.sizes());
  const Operand kept = is_kept ? Operand(as_contiguous(weights, call.dtype)) : Operand();
  const Operand g(as_dtype(grad, call.dtype)), q(call.empty(query, call.length, call.width)),
      k(call.empty(key, call.size, call.width)), v(call.empty(value, call.size, call.depth));
  as_float(call.dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto* kernels = work<AttentionKernels<T>>.on(q.tensor);
    if (!kernels) return;
    zero_(k.tensor), zero_(v.tensor);
    if (call.has_queries())
      kernels->backward(call.shape<T>(), g.matrices<const T>(), kept.matrices<const T>(), q.matrices<T>(),
                        k.matrices<T>(), v.matrices<T>());
  });
  const auto result = [&](const Operand& t) { return as_dtype(t.tensor, query.dtype()); };
  return {result(q), result(k), result(v)};
}

// --- by operators ---

Tensor turned(const Tensor& t) { return transpose(t, -2, -1); }

Tensor all_weights(const Tensor& query, const Tensor& key, const Tensor& mask, bool is_causal, double scale) {
  const Tensor nothing = number(-std::numeric_limits<double>::infinity());
  Tensor scores = matmul(query * number(scale), turned(key));
  if (is_causal) {
    const Tensor seen = tril(ones({scores.size(-2), scores.size(-1)}, DType::Bool, scores.device()));
    scores = masked_fill(scores, logical_not(seen), nothing);
  }
  if (!mask) return is_causal ? _safe_softmax(scores, -1) : softmax(scores, -1);
  scores = mask.dtype() == DType::Bool ? masked_fill(scores, logical_not(mask), nothing)
                                       : scores + _to_copy(mask, scores.dtype());
  return _safe_softmax(scores, -1);
}

std::tuple<Tensor, Tensor> forward_by_operators(const Tensor& query, const Tensor& key, const Tensor& value,
                                                const Tensor& mask, bool is_causal, double scale, bool keep_weights) {
  const Call call(kName, query, key, value, mask, is_causal, scale);
  const auto wide = [&](const Tensor& t) { return as_dtype(t, call.dtype); };
  const Tensor weights = all_weights(wide(query), wide(key), mask, is_causal, scale);
  const Tensor kept = keep_weights
                          ? as_contiguous(expand(weights, with(call.batch, call.length, call.size)), call.dtype)
                          : empty_tensor({0}, call.dtype, query.device());
  return {as_dtype(matmul(weights, wide(value)), query.dtype()), kept};
}

std::tuple<Tensor, Tensor, Tensor> backward_by_operators(const Tensor& grad, const Tensor& query, const Tensor& key,
                                                         const Tensor& value, const Tensor& mask, const Tensor& weights,
                                                         bool is_causal, double scale) {
  const Call call("_attention_backward", query, key, value, mask, is_causal, scale);
  const auto wide = [&](const Tensor& t) { return as_dtype(t, call.dtype); };
  const Tensor g = wide(grad), q = wide(query), k = wide(key);
  const Tensor all = weights.dim() > 1 ? weights : all_weights(q, k, mask, is_causal, scale);
  const Tensor p = expand(all, with(call.batch, call.length, call.size));
  const Tensor of_scores = softmax_backward(matmul(g, turned(wide(value))), p, -1) * number(scale);
  const auto result = [&](const Tensor& t) { return as_dtype(t, query.dtype()); };
  return {result(matmul(of_scores, k)), result(matmul(turned(of_scores), q)), result(matmul(turned(p), g))};
}

// Meta has shapes like the CPU's.
const AttentionWork& work_for(const Tensor& query) {
  const AttentionWork* found = work<AttentionWork>.on(query);
  return found ? *found : attention_on_cpu;
}

// Weights that fit the caches spare a backward pass their product: steps of 4 x 4 x 64 x 32 take 360 us with them and
// 457 without (one thread of an AMD EPYC, Zen 4).
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask, bool is_causal,
              double scale) {
  constexpr double kMostKept = 1 << 20;
  const bool is_recorded = query.requires_grad() || key.requires_grad() || value.requires_grad();
  const auto fits = [&] {  // one of both may be the same for many examples
    const double queries = double(query.numel()), keys = double(key.numel());
    return std::max(queries * double(key.size(-2)), keys * double(query.size(-2))) <=
           kMostKept * double(query.size(-1));
  };
  const bool keep = is_recorded && query.dim() >= 2 && key.dim() >= 2 && query.size(-1) > 0 && fits();
  return std::get<0>(_attention_forward(query, key, value, mask, is_causal, scale, keep));
}

}  // namespace

const AttentionWork attention_on_cpu{forward, backward};
const AttentionWork attention_by_operators{forward_by_operators, backward_by_operators};

void register_attention() {
  set_composite<op::_attention_weights>(all_weights);
  set_native<op::_attention_forward>([](const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                                        bool is_causal, double scale, bool keep_weights) {
    return work_for(query).forward(query, key, value, mask, is_causal, scale, keep_weights);
  });
  set_native<op::_attention_backward>(
      [](const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
         const Tensor& weights, bool is_causal,
         double scale) { return work_for(query).backward(grad, query, key, value, mask, weights, is_causal, scale); });
  set_composite<op::_attention>(attend);
}

}  // namespace torch

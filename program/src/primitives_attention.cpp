// Attention and sums of products by the names and arguments that PyTorch's programs have for them: what torch.nn and
// torch.einsum compute, of the same operators in the same order.
#include <cmath>

#include "primitives.h"
#include "torch/core/autocast.h"
#include "torch/core/ops/attention.h"
#include "torch/core/ops/contraction.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/matmul.h"
#include "torch/core/ops/random.h"
#include "torch/core/ops/view.h"

namespace torch::program {

namespace {

using T = const Tensor&;

struct Attention {
  Tensor mask;  // undefined: none
  double dropout;
  bool is_causal;
  Cell scale;
  bool enable_gqa;
};

Tensor attention(T query, T key, T value, Attention a) {
  const char* op = "scaled_dot_product_attention";
  if (const DeviceType device = query.device().type; autocast::is_enabled(device)) {
    const DType to = autocast::dtype(device);
    const auto cast = [&](T t) {
      return t && is_floating(t.dtype()) && t.dtype() != DType::Float64 ? torch::_to_copy(t, to) : t;
    };
    const Tensor q = cast(query), k = cast(key), v = cast(value);
    a.mask = cast(a.mask);
    const autocast::Off as_they_are;
    return attention(q, k, v, a);
  }
  TORCH_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2, op,
              ": query, key and value must have at least 2 dims, got ", query.sizes(), ", ", key.sizes(), ", ",
              value.sizes());
  TORCH_CHECK(query.dtype() == key.dtype() && key.dtype() == value.dtype(), op,
              ": query, key and value must have one dtype, got ", query.dtype(), ", ", key.dtype(), ", ",
              value.dtype());
  TORCH_CHECK(!a.mask || a.mask.dtype() == DType::Bool || is_floating(a.mask.dtype()), op,
              ": Expected attn_mask dtype to be bool or float, but got attn_mask.dtype: ",
              a.mask ? a.mask.dtype() : DType::Bool);
  Tensor q = query, k = key, v = value;
  if (a.enable_gqa) {  // heads of queries that share one of the keys
    TORCH_CHECK(q.dim() >= 3 && k.dim() >= 3 && v.dim() >= 3 && k.size(-3) > 0 && v.size(-3) > 0, op,
                ": enable_gqa is for tensors with a dim of heads, got ", q.sizes(), ", ", k.sizes(), ", ", v.sizes());
    TORCH_CHECK(q.size(-3) % k.size(-3) == 0 && q.size(-3) % v.size(-3) == 0, op,
                ": enable_gqa wants heads of key and value (dim -3) that divide the ", q.size(-3), " of query, got ",
                k.size(-3), " and ", v.size(-3));
    k = torch::repeat_interleave_self(k, q.size(-3) / k.size(-3), -3);
    v = torch::repeat_interleave_self(v, q.size(-3) / v.size(-3), -3);
  }
  const double scale = a.scale.is_none() ? 1 / std::sqrt(double(q.size(-1))) : a.scale.to_double();
  const DType dtype = q.dtype();
  if (is_reduced_floating(dtype))  // scores need more digits than the result
    for (Tensor* t : {&q, &k, &v}) *t = torch::_to_copy(*t, DType::Float32);
  const auto rounded = [&](T out) { return out.dtype() == dtype ? out : torch::_to_copy(out, dtype); };
  if (a.dropout == 0) return rounded(torch::_attention(q, k, v, a.mask, a.is_causal, scale));
  const Tensor weights = torch::dropout(torch::_attention_weights(q, k, a.mask, a.is_causal, scale), a.dropout, true);
  return rounded(torch::matmul(weights, v));
}

}  // namespace

void register_attention() {
  prim([](T q, T k, T v, T mask, double dropout, bool causal, const Cell& scale,
          bool gqa) { return attention(q, k, v, {mask, dropout, causal, scale, gqa}); },
       "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
       "float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
       false, true);
  prim(
      [](const std::string& equation, const std::vector<Cell>& operands, const Cell&) {
        std::vector<Tensor> tensors;
        for (const Cell& each : operands) tensors.push_back(each.to_tensor());
        return Tensor(torch::_einsum(equation, tensors));
      },
      "aten::einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor");
}

}  // namespace torch::program

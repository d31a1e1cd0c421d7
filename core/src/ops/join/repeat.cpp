// Copies side by side and elements in another order: repeat, roll, flip.
#include "dispatch/work.h"
#include "iterate/dims.h"
#include "ops/join/join.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/join.h"
#include "torch/core/ops/predicate.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

// Each dim of size s becomes a pair (count, s), is expanded along the first and copied: one pass over the result.
Tensor repeat_composite(const Tensor& self, IntArrayRef repeats) {
  TORCH_CHECK(int64_t(repeats.size()) >= self.dim(),
              "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor: ",
              Bracketed{repeats}, " for shape ", self.sizes());
  int64_t lead = int64_t(repeats.size()) - self.dim();
  DimVector pairs, expanded, target;
  for (int64_t d = 0; d < int64_t(repeats.size()); ++d) {
    int64_t count = repeats[size_t(d)], size = d < lead ? 1 : self.size(d - lead);
    TORCH_CHECK(count >= 0, "repeat: Trying to create tensor with negative dimension ", count, ": ",
                Bracketed{repeats});
    int64_t both;
    TORCH_CHECK(!__builtin_mul_overflow(count, size, &both), "repeat: size ", size, " times ", count,
                " does not fit into 64 bits");
    target.push_back(both);
    if (size != 1 && count != 1) {
      pairs.push_back(1);
      expanded.push_back(count);
    }
    pairs.push_back(size);
    expanded.push_back(size == 1 ? count : size);
  }
  checked_numel("repeat", target);
  return reshape(clone(expand(view(self, pairs), expanded), MemoryFormat::Contiguous), target);
}

Tensor tile_composite(const Tensor& self, IntArrayRef dims) {
  DimVector repeats(dims);
  while (repeats.size() < self.dim()) repeats.insert(0, 1);
  return repeat(self, repeats);
}

Tensor repeat_interleave_self_composite(const Tensor& self, int64_t repeats, std::optional<int64_t> dim,
                                        std::optional<int64_t>) {
  TORCH_CHECK(repeats >= 0, "repeat_interleave: Repeats must be non-negative, got ", repeats);
  Tensor x = dim ? self : reshape(self, {-1});
  int64_t d = wrap_dim(dim.value_or(0), x.dim());
  if (x.dim() == 0) x = unsqueeze(x, 0);
  DimVector expanded(x.sizes());
  expanded.insert(d + 1, repeats);
  int64_t joined;
  TORCH_CHECK(!__builtin_mul_overflow(x.size(d), repeats, &joined), "repeat_interleave: size ", x.size(d), " times ",
              repeats, " does not fit into 64 bits");
  DimVector target(x.sizes());
  target[d] = joined;
  checked_numel("repeat_interleave", target);
  return reshape(clone(expand(unsqueeze(x, d + 1), expanded)), target);
}

template <class F>
auto with_counts(const Tensor& repeats, F f) {
  return repeats.dtype() == DType::Int64 ? f(repeats.data<int64_t>()) : f(repeats.data<int32_t>());
}
Tensor repeat_interleave_kernel(const Tensor& repeats, std::optional<int64_t> output_size) {
  TORCH_CHECK(repeats.dim() == 1, "repeat_interleave: repeat_interleave only accept 1D vector as repeat, got shape ",
              repeats.sizes());
  TORCH_CHECK(repeats.dtype() == DType::Int64 || repeats.dtype() == DType::Int32,
              "repeat_interleave: repeats has to be Long or Int tensor, got ", repeats);
  if (repeats.is_meta() && output_size) return empty_tensor({*output_size}, repeats.dtype(), repeats.device());
  TORCH_CHECK_IMPLEMENTED(!repeats.is_meta(),
                          "repeat_interleave: the size of the result is in the values, which Meta tensors do not have");
  if (repeats.device().type != DeviceType::CPU) {  // waits for the number of results
    const Tensor ends = cumsum(repeats, 0);
    const int64_t n = repeats.size(0), total = n ? number_of(torch::select(ends, 0, n - 1)).to_int() : 0;
    TORCH_CHECK(n == 0 || _holds(ge(repeats, number(0))), "repeat_interleave: repeats can not be negative in ",
                repeats);
    TORCH_CHECK(!output_size || *output_size == total,
                "repeat_interleave: allocated size does not match required size: output_size=", output_size.value_or(0),
                ", but the counts add up to ", total);
    const Tensor index = arange(total, DType::Int64, repeats.device());
    return _to_copy(searchsorted(ends, index, false, true), repeats.dtype());
  }
  return with_counts(repeats, [&](auto* counts) {
    int64_t n = repeats.size(0), stride = repeats.stride(0), total = 0;
    for (int64_t i = 0; i < n; ++i) {
      int64_t c = counts[i * stride];
      TORCH_CHECK(c >= 0, "repeat_interleave: repeats can not be negative, got ", c, " at index ", i);
      TORCH_CHECK(!__builtin_add_overflow(total, c, &total),
                  "repeat_interleave: the counts add up to more than 64 bits hold");
    }
    TORCH_CHECK(!output_size || *output_size == total,
                "repeat_interleave: allocated size does not match required size: output_size=", output_size.value_or(0),
                ", but the counts add up to ", total);
    Tensor out = empty_tensor({total}, repeats.dtype());
    auto* p = out.data<std::decay_t<decltype(*counts)>>();
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < int64_t(counts[i * stride]); ++k) *p++ = std::decay_t<decltype(*counts)>(i);
    return out;
  });
}
Tensor repeat_interleave_counts_composite(const Tensor& self, const Tensor& repeats, std::optional<int64_t> dim,
                                          std::optional<int64_t> output_size) {
  Tensor x = dim ? self : reshape(self, {-1});
  if (x.dim() == 0) x = unsqueeze(x, 0);
  int64_t d = wrap_dim(dim.value_or(0), x.dim());
  Tensor counts = repeats;
  if (repeats.dim() == 0 || (repeats.dim() == 1 && repeats.size(0) == 1))
    counts = expand(reshape(repeats, {1}), {x.size(d)});
  else
    TORCH_CHECK(repeats.dim() == 1 && repeats.size(0) == x.size(d),
                "repeat_interleave: repeats must have the same size as input along dim, but got repeats.size(0) = ",
                repeats.dim() ? repeats.size(0) : 1, " and input.size(", d, ") = ", x.size(d));
  return index_select(x, d, repeat_interleave(counts, output_size));
}

Tensor roll_composite(const Tensor& self, IntArrayRef shifts, IntArrayRef dims) {
  TORCH_CHECK(!shifts.empty(), "roll: `shifts` required");
  if (dims.empty() && shifts.size() == 1) return reshape(roll(reshape(self, {-1}), shifts, {0}), self.sizes());
  TORCH_CHECK(shifts.size() == dims.size(), "shifts and dimensions must align. shifts: ", shifts.size(),
              ", dims:", dims.size());
  TORCH_CHECK_INDEX(self.dim() > 0, "roll: dims are given as ", dims, " but a 0-d tensor has none");
  Tensor x = self;
  bool copied = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t d = wrap_dim(dims[i], self.dim()), size = self.size(d);
    int64_t shift = size > 0 ? shifts[i] % size : 0;
    if (shift < 0) shift += size;
    if (shift == 0) continue;
    x = cat(std::vector<Tensor>{narrow(x, d, size - shift, shift), narrow(x, d, 0, size - shift)}, d);
    copied = true;
  }
  return copied ? x : clone(x);
}

Tensor flip_composite(const Tensor& self, IntArrayRef dims) {
  DimSet("flip", dims, self.dim());
  Tensor x = self;
  if (self.dim() > 0)
    for (int64_t d : dims) x = slice(x, d, std::nullopt, std::nullopt, -1);
  return clone(x, MemoryFormat::Contiguous);
}
Tensor fliplr_composite(const Tensor& self) {
  TORCH_CHECK(self.dim() >= 2, "Input must be >= 2-d. fliplr: got shape ", self.sizes());
  return flip(self, {1});
}
Tensor flipud_composite(const Tensor& self) {
  TORCH_CHECK(self.dim() >= 1, "Input must be >= 1-d. flipud: got shape ", self.sizes());
  return flip(self, {0});
}
Tensor rot90_composite(const Tensor& self, int64_t k, IntArrayRef dims) {
  TORCH_CHECK(dims.size() == 2, "expected total rotation dims == 2, but got dims = ", dims.size());
  TORCH_CHECK(self.dim() >= 2, "expected total dims >= 2, but got total dims = ", self.dim());
  int64_t a = wrap_dim(dims[0], self.dim()), b = wrap_dim(dims[1], self.dim());
  TORCH_CHECK(a != b, "expected rotation dims to be different, but got dim0 = ", dims[0], " and dim1 = ", dims[1]);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return transpose(flip(self, {b}), a, b);
    case 2:
      return flip(self, {a, b});
    case 3:
      return transpose(flip(self, {a}), a, b);
    default:
      return clone(self, MemoryFormat::Contiguous);
  }
}

}  // namespace

void register_join_repeat() {
  set_composite<op::repeat>(repeat_composite);
  set_composite<op::tile>(tile_composite);
  set_composite<op::repeat_interleave_self>(repeat_interleave_self_composite);
  set_composite<op::repeat_interleave_counts>(repeat_interleave_counts_composite);
  set_native<op::repeat_interleave>(repeat_interleave_kernel);
  set_composite<op::roll>(roll_composite);
  set_composite<op::flip>(flip_composite);
  set_composite<op::fliplr>(fliplr_composite);
  set_composite<op::flipud>(flipud_composite);
  set_composite<op::rot90>(rot90_composite);
}

}  // namespace torch

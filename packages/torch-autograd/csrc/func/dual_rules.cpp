// Rules for the tangents of operators that need no transposing twice.
#include "func/dual_call.h"
#include "func/functional.h"
#include "torch/autograd/autograd.h"
#include "torch/core/arithmetic.h"
#include "torch/core/ops/binary.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/reduce.h"
#include "torch/core/ops/unary.h"
#include "torch/core/ops/view.h"
#include "torch/core/sparse.h"

namespace torch::autograd {

namespace {

// A view of both. A tangent whose strides are not those of the value may have no such view: then one of a copy.
void look_at(DualCall& c, const Dual& self, uint64_t level, Result& result) {
  c.run(result);
  Result tangents;
  c.values[0].tensor = self.tangent.get();
  try {
    c.run(tangents);
  } catch (const Error&) {
    if (self.tangent.is_contiguous()) throw;
    const Tensor copy = contiguous(self.tangent);
    c.values[0].tensor = copy.get();
    c.run(tangents);
  }
  join(result, tangents, level, &c.given(0));
}

// A view of places in memory, where the tangent has the same; what reaches beyond it has none.
bool look_at_places(DualCall& c, const Dual& self, uint64_t level, Result& result) {
  Result view, tangents;
  c.run(view);
  try {
    tangents.tensors[0] = part_of(self.tangent, self.primal, view.tensors[0]);
  } catch (const Error&) {
    return false;
  }
  if (!tangents.tensors[0]) return false;
  result = std::move(view);
  join(result, tangents, level, &c.given(0));
  return true;
}

// A new tensor, linear in one; other tensors are places.
bool carry(DualCall& c, const Dual& self, uint64_t level, Result& result) {
  for (int i = 1; i < c.row.schema.count; ++i) {
    const Kind kind = c.row.schema.params[i].kind;
    if (kind == Kind::TensorList) return false;
    if (kind == Kind::Tensor && c.given(i) && is_differentiable(c.given(i).dtype())) return false;
  }
  c.run(result);
  if (!result.tensors[0] || !is_differentiable(result.tensors[0].dtype())) return true;
  Result tangents;
  c.values[0].tensor = self.tangent.get();
  c.run(tangents);
  join(result, tangents, level, nullptr);
  return true;
}

// A product of two.
void multiply(DualCall& c, uint64_t level, Result& result) {
  c.run(result);
  if (!is_differentiable(result.tensors[0].dtype())) return;
  Result tangents;
  for (int i = 0; i < 2; ++i) {
    const Dual* d = c.find(c.given(i));
    if (!d) continue;
    TensorImpl* const primal = std::exchange(c.values[i].tensor, d->tangent.get());
    Result part;
    c.run(part);
    c.values[i].tensor = primal;
    Tensor& sum = tangents.tensors[0];
    sum = sum ? add(sum, part.tensors[0]) : part.tensors[0];
  }
  join(result, tangents, level, nullptr);
}

// The shape of the result of an element-wise call; false where the arguments are none of real numbers, or where an
// argument that is expanded to it would count otherwise in type promotion.
bool is_of_elements(const DualCall& c, bool reduces, std::vector<int64_t>& shape) {
  std::optional<DType> common;
  bool one_dtype = true;
  for (int i = 0; i < c.row.schema.count; ++i) {
    const Parameter& p = c.row.schema.params[i];
    if (p.kind == Kind::TensorList || (p.written && !(i == 0 && c.row.schema.in_place()))) return false;
    if (p.kind != Kind::Tensor || !c.given(i)) continue;
    const Tensor& t = c.given(i);
    if (is_sparse(t) || is_complex(t.dtype()) || (reduces && i > 0)) return false;
    one_dtype &= common.value_or(t.dtype()) == t.dtype();
    common = t.dtype();
    if (size_t(t.dim()) > shape.size()) shape.insert(shape.begin(), size_t(t.dim()) - shape.size(), 1);
    for (int64_t d = 1; d <= t.dim(); ++d) {
      int64_t& s = shape[shape.size() - size_t(d)];
      if (s == 1) s = t.size(-d);
    }
  }
  for (int i = 0; i < c.row.schema.count; ++i)
    if (c.row.schema.params[i].kind == Kind::Tensor && c.find(c.given(i)) && c.given(i).dim() == 0 && !shape.empty() &&
        !one_dtype)
      return false;
  return true;
}

// What a call reduces.
struct Reduced {
  std::vector<int64_t> dims;
  bool keepdim = false;
};
Reduced reduced(const DualCall& c, const Tensor& t) {
  Reduced r;
  for (int i = 0; i < c.row.schema.count; ++i) {
    const Parameter& p = c.row.schema.params[i];
    const std::string_view name = c.row.schema.view(p.name);
    const Value& v = c.values[i];
    if (name == "keepdim") r.keepdim = v.i;
    if (name != "dim" || !v.present) continue;
    if (p.kind == Kind::Int) r.dims.push_back(v.i);
    if (p.kind == Kind::IntList)
      r.dims.assign(static_cast<const int64_t*>(v.data), static_cast<const int64_t*>(v.data) + v.size);
  }
  if (r.dims.empty())
    for (int64_t d = 0; d < t.dim(); ++d) r.dims.push_back(d);
  return r;
}
Tensor summed(const DualCall& c, const Tensor& t) {
  const Reduced r = reduced(c, t);
  return r.dims.empty() ? t : sum(t, IntArrayRef(r.dims), r.keepdim);
}

// Whether a reduction gives elements that are there, as those of ordered numbers do. What was not chosen, whatever its
// tangent, has no part in the result: a slope of zero would make NaN of what is infinite.
bool chooses(const Row& row) { return row.attr.tangent == Tangent::Reduction && row.attr.dtypes == DTypes::Real; }

// Elements and their places in a line.
void pick(DualCall& c, const Dual& self, uint64_t level, Result& result) {
  c.run(result);
  const Tensor& t = self.tangent;
  const Reduced r = reduced(c, t);
  const int64_t dim = r.dims.empty() ? 0 : r.dims[0];
  const bool goes = t.dim() && !r.keepdim;
  Result tangents;
  const Tensor picked = gather(t, dim, goes ? unsqueeze(result.tensors[1], dim) : result.tensors[1]);
  tangents.tensors[0] = goes ? squeeze(picked, IntArrayRef(&dim, 1)) : picked;
  join(result, tangents, level, nullptr);
}

}  // namespace

bool has_history(const Tensor& t) {
  if (t.requires_grad()) return true;
  if (const Batched* b = batched(t.get())) return has_history(b->value);
  if (const Dual* d = dual(t.get())) return has_history(d->primal) || has_history(d->tangent);
  const Functional* f = functional(t.get());
  return f && (has_history(f->value) || (f->view && has_history(f->base)));
}

bool have_one_storage(const Tensor& a, const Tensor& b) {
  const auto storage_behind = [](const TensorImpl* t) {
    while (const Batched* b = batched(t)) t = b->value.get();
    return t->storage;
  };
  return storage_behind(a.get()) == storage_behind(b.get());
}

Tensor unwritten(const DualCall& c, const Tensor& tangent) {
  const Dual* written = c.row.schema.in_place() ? c.find(c.given(0)) : nullptr;
  return written && have_one_storage(written->tangent, tangent) ? clone(tangent) : tangent;
}

Tensor without_history(const Tensor& t) {
  if (t.is_wrapped_number()) return t;  // it has none, and an alias would count in type promotion
  if (const Batched* b = batched(t.get())) return example_of(b->value, b->level);
  return alias_of(t, true);
}

void join(Result& result, Result& tangents, uint64_t level, const Tensor* viewed) {
  const auto one = [&](Tensor& t, Tensor& tangent) {
    if (!t || !tangent) return;
    t = dual_of(std::move(t), std::move(tangent), level);
    if (viewed) become_view(t, *viewed);
  };
  for (int k = 0; k < kMaxResults; ++k) one(result.tensors[k], tangents.tensors[k]);
  for (size_t k = 0; k < result.list.size() && k < tangents.list.size(); ++k) one(result.list[k], tangents.list[k]);
}

bool push_linearly(DualCall& c, uint64_t level, Result& result) {
  const Dual* self = c.row.schema.params[0].kind == Kind::Tensor ? c.find(c.given(0)) : nullptr;
  const Tangent way = c.row.attr.tangent;
  if (self && c.row.attr.is_view && way != Tangent::Derivative) {
    look_at(c, *self, level, result);
    return true;
  }
  if (self && c.row.attr.is_view) return look_at_places(c, *self, level, result);
  if (way == Tangent::Product) {
    multiply(c, level, result);
    return true;
  }
  if (self && chooses(c.row) && c.row.schema.result_count == 2) {
    pick(c, *self, level, result);
    return true;
  }
  return self && way == Tangent::Linear && carry(c, *self, level, result);
}

bool push_by_elements(DualCall& c, Result& result, Tensor& tangent) {
  const bool reduces = c.row.attr.tangent == Tangent::Reduction;
  if (!reduces && (!c.row.attr.is_pointwise || c.row.attr.is_random || c.row.schema.result_count != 1)) return false;
  std::vector<int64_t> shape;
  if (c.row.attr.tangent == Tangent::Derivative || chooses(c.row) || !is_of_elements(c, reduces, shape)) return false;
  bool recorded = false;
  std::vector<Tensor> leaves, tangents;
  {
    const bool records = grad_enabled();
    GradMode on(true);
    if (records)
      c.for_each([&](int, const Tensor& given, const Tensor& value) {
        recorded |= has_history(value);
        if (const Dual* d = c.find(given)) recorded |= has_history(d->tangent);
      });
    c.for_each([&](int i, const Tensor& given, Tensor& value) {
      const bool written = i == 0 && c.row.schema.in_place();
      const Dual* d = c.find(given);
      if (!d) {
        if (!recorded) value = without_history(value);
        if (written) value = clone(value);
        return;
      }
      const bool grows = !reduces && !(value.sizes() == IntArrayRef(shape));
      if (!recorded || !value.requires_grad()) value = without_history(value);
      if (grows) value = expand(value, shape);
      if (value.requires_grad())
        value = view(value, value.sizes());
      else
        set_requires_grad(*value, true);
      leaves.push_back(value);
      const Tensor tangent_in = recorded ? unwritten(c, d->tangent) : d->tangent;
      tangents.push_back(grows ? expand(tangent_in, shape) : tangent_in);
      if (written) value = clone(value);
    });
    c.run(result);
  }
  Tensor& r = result.tensors[0];
  if (!r.requires_grad()) return true;
  const auto slope_by = [&](size_t i, const Tensor& u) {
    const bool is_last = i + 1 == leaves.size();
    return grad({r}, {leaves[i]}, {u}, recorded || !is_last, recorded, /*allow_unused=*/true)[0];
  };
  for (size_t i = 0; i < leaves.size(); ++i) {
    Tensor part;
    if (reduces) {
      part = slope_by(i, ones_like(without_history(r)));
      if (!part) continue;
      // Of a line that is flat, as a count, or a norm at zero, no tangent comes through, an endless one either.
      const Tensor flat = eq(summed(c, abs(without_history(part))), number(0.0));
      part = masked_fill(summed(c, mul(part, tangents[i])), flat, number(0.0));
    } else {
      // The matrix of derivatives is diagonal, so a tangent comes in where gradients do. Formulas mask those, where a
      // slope of zero would make NaN of what is infinite.
      const Tensor& t = tangents[i];
      part = slope_by(i, t.dtype() == r.dtype() ? t : _to_copy(t, r.dtype()));
      if (part && have_one_storage(part, t)) part = clone(part);  // a change in place is one of this tangent only
    }
    if (!part) continue;
    if (!recorded) part = without_history(part);
    tangent = tangent ? add(tangent, part) : part;
  }
  if (!recorded) r = without_history(r);
  if (!tangent) tangent = zeros_like(without_history(r));
  if (tangent.dtype() != r.dtype()) tangent = _to_copy(tangent, r.dtype());
  return true;
}

}  // namespace torch::autograd

// Operators on dual numbers.
#include "func/dual.h"

#include <algorithm>

#include "func/dual_call.h"
#include "torch/autograd/autograd.h"
#include "torch/autograd/node.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"
#include "torch/core/sparse.h"
#include "view.h"

namespace torch::autograd {

namespace {

void take_geometry(TensorImpl& t, const Tensor& from) {
  t.set_ndim(int(from.dim()));
  std::copy_n(from.sizes().begin(), from.dim(), t.sizes());
  std::copy_n(from.strides().begin(), from.dim(), t.strides());
  t.byte_offset = from->byte_offset;
  t.refresh_geometry();
}

void give_payload(TensorImpl& t, Payload* p) {
  if (Payload* old = std::exchange(t.payload, p)) Ref<Payload>::steal(old).reset();
  t.keys = Keys(t.keys | key(DispatchKey::Wrapped));
}

int64_t elements_of_storage(const Tensor& t) { return int64_t(t->storage->nbytes) / t.item_size(); }

// Whether a view of places means the same places in both.
bool lie_alike(const Tensor& a, const Tensor& b) {
  return a.strides() == b.strides() && a.storage_offset() == b.storage_offset() &&
         elements_of_storage(a) == elements_of_storage(b);
}

// Whether the elements fill their memory, each once.
bool is_dense(const Tensor& t) {
  const Extent e = extent_of(t.sizes(), t.strides());
  return e.high - e.low == t.numel() && !overlaps(Geometry(*t.get()));
}

// Whether all places of `part` are those of elements of `base`.
bool lies_within(const Tensor& part, const Tensor& base) {
  if (!part.numel()) return true;
  const Extent p = extent_of(part.sizes(), part.strides());
  const int64_t low = part.storage_offset() - base.storage_offset() + p.low;
  return low >= 0 && low + p.high - p.low <= base.numel() && is_dense(base);
}

// A copy that lies in a storage of its own as `place` lies in that of others; the rest of it is zero.
Tensor laid_as(const Tensor& place, const Tensor& values) {
  const int64_t elements = elements_of_storage(place);
  const bool is_part = elements != place.numel() && !overlaps(Geometry(*place.get()));
  const Tensor copy = is_part ? as_strided(new_zeros(without_history(place), IntArrayRef(&elements, 1)), place.sizes(),
                                           place.strides(), place.storage_offset())
                              : empty_like_tensor(place, place.dtype());
  copy_(copy, values);
  return copy;
}

// The same of many tensors, behind a first dim.
Tensor part_of_each(const Tensor& wholes, const Tensor& base, const Tensor& part) {
  std::vector<int64_t> sizes{wholes.size(0)}, strides{wholes.stride(0)};
  const bool is_alike = wholes.has_memory() && base.dtype() == part.dtype() && base->storage == part->storage &&
                        std::equal(base.strides().begin(), base.strides().end(), wholes.strides().begin() + 1) &&
                        lies_within(part, base);
  if (!is_alike) return Tensor();
  sizes.insert(sizes.end(), part.sizes().begin(), part.sizes().end());
  strides.insert(strides.end(), part.strides().begin(), part.strides().end());
  return as_strided(wholes, sizes, strides, wholes.storage_offset() + part.storage_offset() - base.storage_offset());
}

}  // namespace

Tensor part_of(const Tensor& whole, const Tensor& base, const Tensor& part) {
  if (is_complex(base.dtype()) && part.dtype() == real_of(base.dtype()))
    return part_of(view_as_real(whole), view_as_real(base), part);
  const Batched *w = batched(whole.get()), *b = batched(base.get()), *p = batched(part.get());
  if (w && b && p) {
    const Tensor values = part_of(w->value, b->value, p->value);
    return values ? example_of(values, p->level) : values;
  }
  if (w && !b && !p) {  // a tangent for each example, of one tensor
    const Tensor all = part_of_each(w->value, base, part);
    return all ? example_of(all, w->level) : all;
  }
  if (base.dtype() != part.dtype() || base->storage != part->storage || whole.strides() != base.strides() ||
      !whole.has_memory() || !(lies_within(part, base) || lie_alike(whole, base)))
    return Tensor();
  return as_strided(whole, part.sizes(), part.strides(),
                    whole.storage_offset() + part.storage_offset() - base.storage_offset());
}

namespace {

// A tensor that has none gets a tangent of zeros, because `written` is about to be written into it. A view's is a part
// of the one of its base.
void become_dual(const Tensor& t, uint64_t level, const Tensor& written) {
  if (dual(t.get())) return;
  Tensor tangent;
  if (t->base) {
    const Tensor base(Ref<TensorImpl>::share(t->base));
    become_dual(base, level, written);
    const Dual& of_base = *dual(base.get());
    tangent = part_of(of_base.tangent, of_base.primal, t);
    TORCH_CHECK_IMPLEMENTED(tangent, "a tangent cannot be written into ", t, ", a view of ", base,
                            ", whose tangent has no such view; make a new tensor, or clone() the view first");
  } else {
    const bool of_examples = written && batched(written.get()) && !batched(t.get());
    tangent = of_examples ? new_zeros(written, t.sizes(), t.dtype()) : zeros_like(without_history(t));
  }
  Tensor primal = t.requires_grad() && grad_enabled() ? view(t, t.sizes()) : without_history(t);
  give_payload(*t, new Dual(std::move(primal), std::move(tangent), level));
}

// Puts what was computed of a copy into the first argument. Nothing found (of masks, zeros): a tangent becomes zero.
void write(DualCall& c, const Tensor& value, const Tensor& found, uint64_t level, Result& result) {
  const Tensor& self = c.given(0);
  const Dual* d = c.find(self);
  copy_(d ? d->primal : self, value);
  result.tensors[0] = self;
  if (!d && !found) return;
  become_dual(self, level, found);
  const Tensor& tangent = dual(self.get())->tangent;
  if (found)
    copy_(tangent, found);
  else
    zero_(tangent);
}

// The derivative of the operator along the tangents of its arguments. It is linear in the gradient u that comes in;
// its own gradient by u is therefore the transposed of it.
void push(DualCall& c, const VmapLevel& level, Result& result) {
  const bool in_place = c.row.schema.in_place();
  std::vector<Tensor> leaves, tangents;
  bool recorded = false;
  if (grad_enabled())
    c.for_each([&](int, const Tensor& given, const Tensor& value) {
      recorded |= has_history(value);
      if (const Dual* d = c.find(given)) recorded |= has_history(d->tangent);
    });
  {
    GradMode on(true);
    c.for_each([&](int i, const Tensor& given, Tensor& value) {
      const Dual* d = i > 0 && c.row.schema.params[i].written ? nullptr : c.find(given);
      if (d) {
        if (recorded && value.requires_grad())
          value = view(value, value.sizes());
        else
          set_requires_grad(*(value = without_history(value)), true);
        leaves.push_back(value);
        tangents.push_back(recorded ? unwritten(c, d->tangent) : d->tangent);
      } else if (!recorded) {
        value = without_history(value);
      }
      if (in_place && i == 0) value = clone(value);
    });
    c.run(result);
  }
  std::vector<Tensor*> outputs;
  std::vector<Tensor> us;
  const auto note = [&](Tensor& t) {
    if (!t || !is_differentiable(t.dtype()) || !t.requires_grad()) return;
    outputs.push_back(&t);
    us.push_back(ones_like(without_history(t)));
    set_requires_grad(*us.back(), true);
  };
  for (Tensor& t : result.tensors) note(t);
  for (Tensor& t : result.list) note(t);

  std::vector<Tensor> found(outputs.size());
  if (!outputs.empty()) {
    std::vector<Tensor> roots, back, along;
    for (const Tensor* t : outputs) roots.push_back(*t);
    const std::vector<Tensor> all = grad(roots, leaves, us, true, true, true);
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] && all[i].requires_grad()) {
        back.push_back(all[i]);
        along.push_back(tangents[i]);
      }
    if (!back.empty()) found = grad(back, us, along, recorded, recorded, true);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    if (!found[k])
      found[k] = zeros_like(us[k]);
    else if (!recorded)
      found[k] = without_history(found[k]);
    if (std::any_of(tangents.begin(), tangents.end(), [&](const Tensor& t) { return have_one_storage(t, found[k]); }))
      found[k] = clone(found[k]);  // a change in place is one of this tangent only
  }

  if (in_place) {
    const Tensor value = recorded ? result.tensors[0] : without_history(result.tensors[0]);
    return write(c, value, found.empty() ? Tensor() : found[0], level.id, result);
  }
  for (size_t k = 0; k < outputs.size(); ++k) {
    Tensor primal = recorded ? *outputs[k] : without_history(*outputs[k]);
    *outputs[k] = dual_of(std::move(primal), std::move(found[k]), level.id);
  }
}

// Whether two dense tensors share memory, but are not the same view: what is read would change while it is written.
bool overlap(const Tensor& a, const Tensor& b) {
  if (a == b || !a.numel() || !b.numel() || !is_dense(a) || !is_dense(b)) return false;
  const bool same_view = a.data() == b.data() && a.item_size() == b.item_size() &&
                         ((a.sizes() == b.sizes() && a.strides() == b.strides()) || (a.numel() == 1 && b.numel() == 1));
  const char *from_a = static_cast<const char*>(a.data()), *from_b = static_cast<const char*>(b.data());
  return !same_view && from_a < from_b + b.numel() * b.item_size() && from_b < from_a + a.numel() * a.item_size();
}

// What the operator would refuse; it is about to run on a copy, where nothing overlaps.
void check_memory(const DualCall& c) {
  const auto in_memory = [&](int i) {
    Tensor t = c.given(i);
    while (const Dual* d = t ? dual(t.get()) : nullptr) t = d->primal;
    return t && t.has_memory() && !t.is_meta() ? t : Tensor();
  };
  const Tensor written = in_memory(0);
  for (int i = 1; written && i < c.row.schema.count; ++i) {
    const Tensor read = c.row.schema.params[i].kind == Kind::Tensor ? in_memory(i) : Tensor();
    TORCH_CHECK(!read || !overlap(written, read), c.row.schema.op_name(),
                ": unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                "single memory location. Please clone() the tensor before performing the operation.");
  }
}

// An operator in place that only moves dims.
void move_dims(DualCall& c, const Dual& self, Result& result) {
  c.run(result);
  Result moved;
  c.values[0].tensor = self.tangent.get();
  c.run(moved);
  const Tensor& t = c.given(0);
  take_geometry(*t, self.primal);
  result.tensors[0] = t;
}

}  // namespace

int level_of(const Dual& d) noexcept {
  for (const VmapLevel* l = innermost_level(); l; l = l->outer)
    if (l->id == d.level) return l->number;
  return 0;
}

Tensor dual_of(Tensor primal, Tensor tangent, uint64_t level) {
  Tensor r = alias_of(primal, true);
  r->flags = uint8_t(r->flags & ~TensorImpl::kInference);
  give_payload(*r, new Dual(std::move(primal), std::move(tangent), level));
  return r;
}

Tensor make_dual(const Tensor& primal, const Tensor& tangent, uint64_t level) {
  TORCH_CHECK_IMPLEMENTED(layout_of(primal) == Layout::Strided && layout_of(tangent) == Layout::Strided,
                          "make_dual: no dual numbers of layout ", layout_name(layout_of(primal)),
                          "; torch.func.jvp takes sparse primals");
  Tensor t = tangent;
  if (primal.has_memory() && tangent.has_memory() && !lie_alike(t, primal)) t = laid_as(primal, tangent);
  if (!primal.requires_grad() || !grad_enabled()) return dual_of(primal, std::move(t), level);
  Tensor r = view(primal, primal.sizes());
  give_payload(*r, new Dual(primal, std::move(t), level));
  return r;
}

void drop_tangent(TensorImpl& t) {
  const Dual* d = dual(&t);
  if (!d) return;
  const Tensor primal = d->primal;
  Payload* below = primal->payload;  // the primal may be a wrapper, too
  if (below) below->retain();
  Ref<Payload>::steal(std::exchange(t.payload, below)).reset();
  if (!wrapper(primal.get())) t.keys = Keys(t.keys & ~key(DispatchKey::Wrapped));
}

void take_tangent_of_base(TensorImpl* t) {
  if (!t || !t->base || dual(t)) return;
  const Dual* of_base = dual(t->base);
  if (!of_base) return;
  const Batched* b = batched(t);
  for (const VmapLevel* l = innermost_level(); l; l = l->outer)
    if (l->id == of_base->level && l->form == Form::Dual && (!b || b->level < l->number)) {
      Outside outer(*l);
      return become_dual(Tensor(Ref<TensorImpl>::share(t)), of_base->level, Tensor());
    }
}

void call_with_duals(const Row& row, const Value* arguments, const VmapLevel& level, Result& result) {
  const Memory memory = row.attr.memory;
  if (row.attr.is_composite && memory != Memory::Fresh) {
    Readmit inner(DispatchKey::Wrapped);
    return row.invoke(arguments, result, keys_below(DispatchKey::Wrapped));
  }
  DualCall c(row, arguments, level.id);
  Outside outer(level);
  bool moves = false;
  c.for_each([&](int, const Tensor& given, const Tensor&) { moves |= c.find(given) != nullptr; });
  if (!moves || row.attr.is_composite || memory == Memory::Detached) return c.run(result);
  const Dual* self = row.schema.params[0].kind == Kind::Tensor ? c.find(c.given(0)) : nullptr;
  const bool in_place = row.schema.in_place();
  if (in_place) {
    TORCH_CHECK_IMPLEMENTED(memory != Memory::Exchanged, row.schema.op_name(),
                            ": a dual number (forward_ad) keeps its memory");
    if (self && memory == Memory::Rearranged) return move_dims(c, *self, result);
    if (!is_differentiable(c.given(0).dtype())) {
      c.run(result);
      result.tensors[0] = c.given(0);
      return;
    }
    if (row.attr.is_pointwise || row.schema.op_name() == "copy_") check_memory(c);
  }
  bool tensors = row.schema.result_count > 0;
  for (int i = 0; i < row.schema.result_count; ++i)
    tensors &= row.schema.results[i].kind == Kind::Tensor || row.schema.results[i].kind == Kind::TensorList;
  if (!tensors) return c.run(result);
  if (!in_place && push_linearly(c, level.id, result)) return;
  Tensor tangent;
  if (!push_by_elements(c, result, tangent)) return push(c, level, result);
  Tensor& r = result.tensors[0];
  if (in_place)
    write(c, Tensor(r), tangent, level.id, result);
  else if (tangent)
    r = dual_of(std::move(r), std::move(tangent), level.id);
}

bool call_without_old_duals(const Row& row, const Value* arguments, Result& result) {
  DualCall c(row, arguments, 0);
  bool any = false;
  c.for_each([&](int, const Tensor& given, const Tensor&) { any |= dual(given.get()) != nullptr; });
  if (!any) return false;
  Readmit inner(DispatchKey::Wrapped);
  c.run(result);
  if (row.schema.in_place()) {
    take_geometry(*c.given(0), result.tensors[0]);
    result.tensors[0] = c.given(0);
  }
  return true;
}

}  // namespace torch::autograd

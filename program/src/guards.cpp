#include "guards.h"

#include <algorithm>

#include "torch/core/operator.h"

namespace torch::program {

Geometry::Geometry(const Tensor& t)
    : dtype(t.dtype()), device(t.device()), is_number(t.is_wrapped_number()), dims(t.sizes().begin(), t.sizes().end()) {
  dims.insert(dims.end(), t.strides().begin(), t.strides().end());
}

bool Geometry::fits(const TensorImpl* t) const noexcept {
  const size_t n = ndim();
  if (t->dtype != dtype || t->device != device || t->ndim != n ||
      bool(t->flags & TensorImpl::kWrappedNumber) != is_number)
    return false;
  auto* impl = const_cast<TensorImpl*>(t);
  const int64_t *sizes = impl->sizes(), *strides = impl->strides(), *mine = dims.data();
  for (size_t d = 0; d < n; ++d)
    if (sizes[d] != mine[d] || strides[d] != mine[n + d]) return false;
  return true;
}

bool Geometry::is_contiguous() const noexcept {
  int64_t step = 1;
  for (size_t d = ndim(); d-- > 0; step *= dims[d])
    if (dims[d] != 1 && dims[ndim() + d] != step) return false;
  return true;
}

Tensor Geometry::empty(int64_t rows) const {
  int64_t sizes[kMaxDims];
  std::copy_n(dims.begin(), ndim(), sizes);
  sizes[0] = rows;
  return empty_tensor({sizes, ndim()}, dtype, device);
}

Tensor Geometry::empty() const {
  Tensor t = empty_tensor(sizes(), dtype, device);
  if (!std::equal(dims.begin() + ptrdiff_t(ndim()), dims.end(), t->strides())) {
    std::copy(dims.begin() + ptrdiff_t(ndim()), dims.end(), t->strides());  // as dense, in another order
    t->refresh_geometry();
  }
  return t;
}

namespace {

bool is_plain_tensor(const TensorImpl* t, bool& needs_tape) noexcept {
  constexpr Keys kFine = key(DispatchKey::CPU) | key(DispatchKey::CUDA) | key(DispatchKey::Autograd);
  needs_tape |= (t->keys | (t->base ? t->base->keys : 0)) & key(DispatchKey::Autograd);
  return !(t->keys & ~kFine) && !t->payload;
}

}  // namespace

Standing standing_of(const Cell* const* inputs, int count) noexcept {
  if (keys_in_force(0)) return Standing::Other;
  bool needs_tape = false;
  for (int i = 0; i < count; ++i)
    if (inputs[i]->is(Cell::Tag::Tensor) && !is_plain_tensor(inputs[i]->to_tensor().get(), needs_tape))
      return Standing::Other;
  if (!needs_tape || (thread_keys.exclude & key(DispatchKey::Autograd)) || !is_recording || !is_recording())
    return Standing::Plain;
  return Standing::Recorded;
}

bool Guard::fits(const Cell& c) const noexcept {
  if (c.tag() != value.tag()) return false;
  switch (c.tag()) {
    case Cell::Tag::Tensor:
      return tensor.fits(c.to_tensor().get());
    case Cell::Tag::None:
      return true;
    default:
      return !by_value || equal(c, value);
  }
}

Guards::Guards(const RegionText& text, const Cell* const* inputs)
    : all_(size_t(text.inputs)), default_dtype_(default_dtype()) {
  for (int i = 0; i < text.inputs; ++i) {
    Guard& g = all_[size_t(i)];
    const Cell& c = *inputs[i];
    if (c.is(Cell::Tag::Tensor)) {
      g.tensor = Geometry(c.to_tensor());
      g.value = Cell(empty_tensor({0}, DType::Bool));  // only its tag: a plan holds no argument
    } else {
      g.value = c.is(Cell::Tag::List) || c.is(Cell::Tag::Tuple) ? Cell(c.to_ints()) : c;
      g.by_value = false;
    }
  }
  for (const RegionCall& call : text.calls)
    for (size_t k = 0; k < call.arguments.size(); ++k) {
      const RegionArgument& a = call.arguments[k];
      if (a.form != RegionArgument::Form::Value || a.values[0] >= text.inputs) continue;
      Guard& g = all_[size_t(a.values[0])];
      const bool as_tensor = call.row->schema.params[k].kind == Kind::Tensor && g.value.is_number();
      (as_tensor ? g.as_tensor : g.by_value) = true;
    }
}

bool Guards::fits(const Cell* const* inputs) const noexcept {
  if (default_dtype() != default_dtype_) return false;
  for (size_t i = 0; i < all_.size(); ++i)
    if (!all_[i].fits(*inputs[i])) return false;
  return true;
}

}  // namespace torch::program

// Other shapes over the same elements: view, reshape, flatten, squeeze, expand.
#include "iterate/strides.h"
#include "ops/view/geometry.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/view.h"

namespace torch {

Tensor restride(const Tensor& self, const Geometry& g) {
  TensorImpl* t = self.get();
  t->set_ndim(g.sizes.size());
  std::copy_n(g.sizes.data(), t->ndim, t->sizes());
  std::copy_n(g.strides.data(), t->ndim, t->strides());
  t->byte_offset = g.offset * self.item_size();
  t->refresh_geometry();
  return self;
}

DimVector infer_size(IntArrayRef shape, int64_t numel) {
  DimVector sizes(shape);
  int64_t known = 1;
  int inferred = -1;
  bool overflow = false;
  for (int i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == -1) {
      TORCH_CHECK(inferred < 0, "view: only one dimension can be inferred, got shape ", Bracketed{shape});
      inferred = i;
    } else {
      TORCH_CHECK(sizes[i] >= 0, "view: invalid shape dimension ", sizes[i], " at index ", i, " of shape ",
                  Bracketed{shape});
      overflow |= __builtin_mul_overflow(known, sizes[i], &known);
    }
  }
  if (inferred >= 0 && !overflow) {
    TORCH_CHECK(known != 0 || numel != 0, "cannot reshape tensor of 0 elements into shape ", Bracketed{shape},
                " because the unspecified dimension size -1 can be any value and is ambiguous");
    if (known > 0 && numel % known == 0) {
      sizes[inferred] = numel / known;
      return sizes;
    }
  } else if (known == numel && !overflow) {
    return sizes;
  }
  throw_error(ErrorKind::Runtime, message("shape '", Bracketed{shape}, "' is invalid for input of size ", numel));
}

bool view_strides(const Tensor& self, IntArrayRef shape, DimVector* strides) {
  int n = int(shape.size());
  *strides = DimVector(shape.size(), 1);
  if (self.is_contiguous()) {
    int64_t stride = 1;
    for (int i = n - 1; i >= 0; --i) {
      (*strides)[i] = stride;
      stride = next_stride(stride, shape[size_t(i)]);
    }
    return true;
  }
  // Walk both shapes from the right. A run of dims of self in which each stride is the next one's extent is one dim of
  // memory; dims of the new shape must fill each run exactly.
  IntArrayRef sizes = self.sizes(), st = self.strides();
  int view = n - 1;
  int64_t run = 1, base = 1;
  bool open = false;
  for (int d = int(sizes.size()) - 1; d >= 0; --d) {
    if (sizes[size_t(d)] == 1) continue;
    if (!open) {
      base = st[size_t(d)];
      open = true;
    }
    run *= sizes[size_t(d)];
    int next = d - 1;
    while (next >= 0 && sizes[size_t(next)] == 1) --next;
    if (next >= 0 && st[size_t(next)] == sizes[size_t(d)] * st[size_t(d)]) continue;
    int64_t filled = 1;
    while (view >= 0 && (filled < run || shape[size_t(view)] == 1)) {
      (*strides)[view] = base * filled;
      filled *= shape[size_t(view)];
      --view;
    }
    if (filled != run) return false;
    run = 1;
    open = false;
  }
  for (; view >= 0; --view) {
    if (shape[size_t(view)] != 1) return false;
    (*strides)[view] = view + 1 < n ? (*strides)[view + 1] * shape[size_t(view) + 1] : 1;
  }
  return true;
}

Geometry squeezed(const Tensor& self, std::optional<IntArrayRef> dims) {
  DimSet chosen = dims ? DimSet("squeeze", *dims, self.dim()) : DimSet::all(self.dim());
  Geometry g;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (chosen[d] && self.size(d) == 1) continue;
    g.sizes.push_back(self.size(d));
    g.strides.push_back(self.stride(d));
  }
  g.offset = self.storage_offset();
  return g;
}

Geometry unsqueezed(const Tensor& self, int64_t dim) {
  dim = wrap_dim(dim, self.dim() + 1);
  Geometry g{self.sizes(), self.strides(), self.storage_offset()};
  g.strides.insert(dim, dim < self.dim() ? int64_t(uint64_t(self.size(dim)) * uint64_t(self.stride(dim))) : 1);
  g.sizes.insert(dim, 1);
  return g;
}

namespace {

Tensor view_kernel(const Tensor& self, IntArrayRef size) {
  DimVector sizes = infer_size(size, self.numel()), strides;
  TORCH_CHECK(
      view_strides(self, sizes, &strides),
      "view size is not compatible with input tensor's size and stride (at least one dimension spans across two "
      "contiguous subspaces): view of ",
      Bracketed{sizes}, " over sizes ", Bracketed{self.sizes()}, " and strides ", Bracketed{self.strides()},
      ". Use .reshape(...) instead.");
  return view_of(self, sizes, strides, self.storage_offset());
}

Tensor view_dtype_kernel(const Tensor& self, DType dtype) {
  int64_t from = self.item_size(), to = item_size(dtype);
  Geometry g{self.sizes(), self.strides(), 0};
  if (from != to) {
    const char* error = "self.view(dtype): to view ";
    TORCH_CHECK(self.dim() > 0, error, self.dtype(), " as ", dtype,
                " of another item size, self must have a dim, got a 0-d tensor");
    int64_t last = self.dim() - 1;
    TORCH_CHECK(self.stride(last) == 1 || self.size(last) == 1 || self.numel() == 0, error, self.dtype(), " as ", dtype,
                ", self.stride(-1) must be 1, got ", self.stride(last), "; call contiguous() first");
    if (from > to) {
      int64_t k = from / to;
      for (int64_t d = 0; d < last; ++d) g.strides[d] *= k;
      g.strides[last] = 1;
      TORCH_CHECK(!__builtin_mul_overflow(g.sizes[last], k, &g.sizes[last]), error, self.dtype(), " as ", dtype,
                  ": too many elements");
    } else {
      int64_t k = to / from;
      TORCH_CHECK(self.size(last) % k == 0, error, self.dtype(), " as ", dtype, ", self.size(-1) must be divisible by ",
                  k, ", got ", self.size(last));
      TORCH_CHECK(self.storage_offset() % k == 0, error, self.dtype(), " as ", dtype,
                  ", self.storage_offset() must be divisible by ", k, ", got ", self.storage_offset());
      for (int64_t d = 0; d < last; ++d) {
        TORCH_CHECK(g.strides[d] % k == 0 || g.sizes[d] <= 1, error, self.dtype(), " as ", dtype, ", self.stride(", d,
                    ") must be divisible by ", k, ", got ", g.strides[d]);
        g.strides[d] /= k;
      }
      g.sizes[last] /= k;
    }
  }
  const int64_t unit = item_size(real_of(dtype));
  TORCH_CHECK(reinterpret_cast<uintptr_t>(self.data()) % uintptr_t(unit) == 0, "self.view(dtype): to view ",
              self.dtype(), " as ", dtype, ", self must lie at a multiple of ", unit,
              " bytes, and this foreign memory does not; clone() it first");
  Tensor r = alias_of(self, true);
  Tensor base = self->base ? Tensor(Ref<TensorImpl>::share(self->base)) : self;
  r->base = base.release();
  r->dtype = dtype;
  r->keys = Keys((r->keys & ~key(DispatchKey::Stored)) | dtype_key(dtype));
  r->set_ndim(g.sizes.size());
  std::copy(g.sizes.begin(), g.sizes.end(), r->sizes());
  std::copy(g.strides.begin(), g.strides.end(), r->strides());
  r->refresh_geometry();
  return r;
}

Tensor view_as_composite(const Tensor& self, const Tensor& other) { return view(self, other.sizes()); }

Tensor reshape_composite(const Tensor& self, IntArrayRef shape) {
  DimVector sizes = infer_size(shape, self.numel()), strides;
  if (view_strides(self, sizes, &strides)) return view(self, sizes);
  return view(clone(self, MemoryFormat::Contiguous), sizes);
}
Tensor reshape_as_composite(const Tensor& self, const Tensor& other) { return reshape(self, other.sizes()); }
Tensor ravel_composite(const Tensor& self) { return contiguous(reshape(self, {-1})); }

Tensor flatten_composite(const Tensor& self, int64_t start, int64_t end) {
  start = wrap_dim(start, self.dim());
  end = wrap_dim(end, self.dim());
  TORCH_CHECK(start <= end, "flatten() has invalid args: start_dim cannot come after end_dim, got ", start, " and ",
              end);
  if (self.dim() == 0) return reshape(self, {1});
  if (start == end) return self;
  DimVector sizes;
  for (int64_t d = 0; d < start; ++d) sizes.push_back(self.size(d));
  int64_t joined = 1;
  for (int64_t d = start; d <= end; ++d) joined *= self.size(d);
  sizes.push_back(joined);
  for (int64_t d = end + 1; d < self.dim(); ++d) sizes.push_back(self.size(d));
  return reshape(self, sizes);
}

Tensor unflatten_composite(const Tensor& self, int64_t dim, IntArrayRef sizes) {
  dim = wrap_dim(dim, self.dim());
  TORCH_CHECK(!sizes.empty(), "unflatten: sizes must be non-empty");
  TORCH_CHECK(self.dim() > 0, "unflatten: self must have a dim to split, got a 0-d tensor");
  int64_t known = 1;
  int inferred = 0;
  for (int64_t s : sizes) (s == -1 ? ++inferred : known *= s);
  bool fits = inferred == 0 ? known == self.size(dim) : inferred == 1 && known > 0 && self.size(dim) % known == 0;
  TORCH_CHECK(fits, "unflatten: Provided sizes ", Bracketed{sizes}, " don't multiply up to the size of dim ", dim, " (",
              self.size(dim), ") in the input tensor");
  DimVector shape;
  for (int64_t d = 0; d < dim; ++d) shape.push_back(self.size(d));
  for (int64_t s : sizes) shape.push_back(s == -1 ? self.size(dim) / known : s);
  for (int64_t d = dim + 1; d < self.dim(); ++d) shape.push_back(self.size(d));
  return view(self, shape);
}

Tensor squeeze_kernel(const Tensor& self, const std::optional<IntArrayRef> dims) {
  return view_of(self, squeezed(self, dims));
}
Tensor squeeze_inplace(const Tensor& self, const std::optional<IntArrayRef> dims) {
  return restride(self, squeezed(self, dims));
}
Tensor unsqueeze_kernel(const Tensor& self, int64_t dim) { return view_of(self, unsqueezed(self, dim)); }
Tensor unsqueeze_inplace(const Tensor& self, int64_t dim) { return restride(self, unsqueezed(self, dim)); }

Tensor expand_kernel(const Tensor& self, IntArrayRef size, bool) {
  int64_t n = int64_t(size.size()), lead = n - self.dim();
  TORCH_CHECK(lead >= 0, "expand(", self, ", size=", Bracketed{size}, "): the number of sizes provided (", n,
              ") must be greater or equal to the number of dimensions in the tensor (", self.dim(), ")");
  Geometry g{size, DimVector(size.size(), 0), self.storage_offset()};
  for (int64_t i = n - 1; i >= 0; --i) {
    int64_t d = i - lead, want = g.sizes[i];
    if (d < 0) {
      TORCH_CHECK(want >= 0, "expand(", self, ", size=", Bracketed{size}, "): The expanded size of the tensor (", want,
                  ") isn't allowed in a leading, non-existing dimension ", i);
      g.strides[i] = i + 1 < n ? g.sizes[i + 1] * g.strides[i + 1] : 1;  // never stepped along unless size > 1
      if (want != 1) g.strides[i] = 0;
      continue;
    }
    int64_t have = self.size(d);
    if (want == -1) want = g.sizes[i] = have;
    if (want == have) {
      g.strides[i] = self.stride(d);
    } else {
      TORCH_CHECK(have == 1 && want >= 0, "The expanded size of the tensor (", want, ") must match the existing size (",
                  have, ") at non-singleton dimension ", i, ".  Target sizes: ", Bracketed{size},
                  ".  Tensor sizes: ", Bracketed{self.sizes()});
      g.strides[i] = 0;
    }
  }
  checked_numel("expand", g.sizes);
  return view_of(self, g);
}
Tensor expand_as_composite(const Tensor& self, const Tensor& other) { return expand(self, other.sizes()); }
Tensor broadcast_to_composite(const Tensor& self, IntArrayRef size) { return expand(self, size); }

std::vector<Tensor> broadcast_tensors_composite(TensorList tensors) {
  std::vector<int64_t> shape;
  for (const Tensor& t : tensors) shape = broadcast_shapes("broadcast_tensors", shape, t.sizes());
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& t : tensors) out.push_back(t.sizes() == IntArrayRef(shape) ? t : expand(t, shape));
  return out;
}

Tensor atleast_1d_composite(const Tensor& self) { return self.dim() >= 1 ? self : unsqueeze(self, 0); }
Tensor atleast_2d_composite(const Tensor& self) {
  return self.dim() >= 2 ? self : unsqueeze(self.dim() == 1 ? self : unsqueeze(self, 0), 0);
}
Tensor atleast_3d_composite(const Tensor& self) {
  return self.dim() >= 3 ? self : self.dim() == 2 ? unsqueeze(self, 2) : unsqueeze(atleast_2d_composite(self), 2);
}
template <Tensor (*one)(const Tensor&)>
std::vector<Tensor> each(TensorList tensors) {
  std::vector<Tensor> out;
  out.reserve(tensors.size());
  for (const Tensor& t : tensors) out.push_back(one(t));
  return out;
}

}  // namespace

void register_view_shape() {
  set_native<op::view>(view_kernel);
  set_native<op::view_dtype>(view_dtype_kernel);
  set_composite<op::view_as>(view_as_composite);
  set_composite<op::reshape>(reshape_composite);
  set_composite<op::reshape_as>(reshape_as_composite);
  set_composite<op::ravel>(ravel_composite);
  set_composite<op::flatten>(flatten_composite);
  set_composite<op::unflatten>(unflatten_composite);
  set_native<op::squeeze>(squeeze_kernel);
  set_native<op::squeeze_>(squeeze_inplace);
  set_native<op::unsqueeze>(unsqueeze_kernel);
  set_native<op::unsqueeze_>(unsqueeze_inplace);
  set_native<op::expand>(expand_kernel);
  set_composite<op::expand_as>(expand_as_composite);
  set_composite<op::broadcast_to>(broadcast_to_composite);
  set_composite<op::broadcast_tensors>(broadcast_tensors_composite);
  set_composite<op::atleast_1d>(atleast_1d_composite);
  set_composite<op::atleast_2d>(atleast_2d_composite);
  set_composite<op::atleast_3d>(atleast_3d_composite);
  set_composite<op::atleast_1d_list>(each<atleast_1d_composite>);
  set_composite<op::atleast_2d_list>(each<atleast_2d_composite>);
  set_composite<op::atleast_3d_list>(each<atleast_3d_composite>);
}

}  // namespace torch

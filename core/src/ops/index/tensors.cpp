// index and index_put: several index tensors and masks at once.
#include <algorithm>

#include "dispatch/work.h"
#include "ops/index/index.h"
#include "torch/core/ops/copy.h"
#include "torch/core/ops/index.h"
#include "torch/core/ops/pointwise.h"
#include "torch/core/ops/view.h"

namespace torch {

namespace {

// Which elements `indices` name, as byte offsets into the indexed dims, and how the result is shaped.
struct Plan {
  Tensor offsets;  // int64
  std::vector<int64_t> index_shape, result;
  DimVector before, after;  // dims of self that are not indexed, on either side of the indexed ones in the result
};

bool is_mask(const Tensor& t) { return t.dtype() == DType::Bool || t.dtype() == DType::UInt8; }

Plan plan(const Tensor& self, TensorList given) {
  // Masks become positions, so that indices[d] belongs to dim d of self.
  std::vector<Tensor> indices;
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor& t = given[i];
    if (!t) {
      indices.emplace_back();
      continue;
    }
    TORCH_CHECK_INDEX(is_mask(t) || t.dtype() == DType::Int64 || t.dtype() == DType::Int32,
                      "tensors used as indices must be long, int, byte or bool tensors, got ", t.dtype());
    TORCH_CHECK(t.device() == self.device() || t.device().type == DeviceType::CPU,
                "indices should be either on cpu or on the same device as the indexed tensor (", self.device(),
                "), got ", t.device());
    const bool moves = !(t.device() == self.device()) && !self.is_meta();  // places may be given by the CPU
    const auto there = [&](const Tensor& at) { return moves ? _to_copy(at, std::nullopt, self.device()) : at; };
    if (!is_mask(t)) {
      indices.push_back(there(t));
      continue;
    }
    for (int64_t d = 0; d < t.dim(); ++d) {
      int64_t at = int64_t(indices.size()) + d;
      TORCH_CHECK_INDEX(at < self.dim() && self.size(at) == t.size(d), "The shape of the mask ", Bracketed{t.sizes()},
                        " at index ", d, " does not match the shape of the indexed tensor ", Bracketed{self.sizes()},
                        " at index ", at);
    }
    for (const Tensor& p : mask_positions(t)) indices.push_back(there(p));
  }
  TORCH_CHECK_INDEX(int64_t(indices.size()) <= self.dim(), "too many indices for tensor of dimension ", self.dim(),
                    " (got ", indices.size(), ")");
  indices.resize(size_t(self.dim()));

  Plan p;
  int64_t first = -1, last = -1, used = 0;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const Tensor& t = indices[size_t(d)];
    if (!t) continue;
    if (first < 0) first = d;
    last = d;
    ++used;
    bool fits = true;
    std::vector<int64_t> shape(std::max(p.index_shape.size(), size_t(t.dim())), 1);
    for (size_t i = 0; i < shape.size(); ++i) {
      size_t from_end = shape.size() - 1 - i;
      int64_t a = from_end < p.index_shape.size() ? p.index_shape[p.index_shape.size() - 1 - from_end] : 1;
      int64_t b = from_end < size_t(t.dim()) ? t.size(t.dim() - 1 - int64_t(from_end)) : 1;
      fits &= a == b || a == 1 || b == 1;
      shape[i] = a == 1 ? b : a;
    }
    if (!fits) {
      std::string shapes;
      for (const Tensor& each : indices)
        if (each) shapes += (shapes.empty() ? "" : ", ") + message(Bracketed{each.sizes()});
      throw_error(ErrorKind::Index,
                  "shape mismatch: indexing tensors could not be broadcast together with shapes " + shapes);
    }
    p.index_shape = std::move(shape);
  }
  TORCH_CHECK_INDEX(used > 0, "index: at least one index must be a tensor");
  bool adjacent = used == last - first + 1;
  for (int64_t d = 0; d < self.dim(); ++d)
    if (!indices[size_t(d)]) (adjacent && d < first ? p.before : p.after).push_back(d);
  for (int64_t d : p.before.ref()) p.result.push_back(self.size(d));
  p.result.insert(p.result.end(), p.index_shape.begin(), p.index_shape.end());
  for (int64_t d : p.after.ref()) p.result.push_back(self.size(d));
  int64_t count = checked_numel("index", p.index_shape);
  checked_numel("index", p.result);
  if (self.is_meta()) return p;

  const IndexWork& there = *work<IndexWork>.on(self);
  // The CPU's error has no name in front of it: x[i] is no call by name.
  const char* const op = self.device().type == DeviceType::CPU ? "" : "index";
  p.offsets = empty_tensor({count}, DType::Int64, self.device());
  bool begun = false;
  for (int64_t d = 0; d < self.dim(); ++d) {
    const Tensor& t = indices[size_t(d)];
    if (!t) continue;
    Tensor source = t.sizes() == IntArrayRef(p.index_shape) ? as_contiguous(t, t.dtype())
                                                            : contiguous_copy(expand(t, p.index_shape));
    int64_t size = self.size(d), stride = self.stride(d) * self.item_size();
    there.offsets(op, p.offsets, source, d, -size, size, stride, begun);
    begun = true;
  }
  return p;
}

// `dense` has the result's shape (or broadcasts to it by strides of 0).
void run(const char* op, IndexMode mode, const Tensor& self, const Tensor& dense_side, const Plan& p) {
  int64_t item = self.item_size();
  BlockSide before, after;
  int64_t lead = p.before.size(), middle = int64_t(p.index_shape.size());
  auto add = [&](BlockSide& side, int64_t d, int64_t at) {
    side.sizes.push_back(self.size(d));
    side.strided.push_back(self.stride(d) * item);
    side.dense.push_back(dense_side.stride(at) * item);
  };
  for (int64_t i = 0; i < lead; ++i) add(before, p.before[i], i);
  for (int64_t i = 0; i < p.after.size(); ++i) add(after, p.after[i], lead + middle + i);
  // The index dims of a dense tensor are one run; of a value for all, every stride is 0.
  int64_t count_stride = 0;
  for (int64_t i = middle - 1; i >= 0 && count_stride == 0; --i)
    if (p.index_shape[size_t(i)] != 1) count_stride = dense_side.stride(lead + i) * item;
  run_blocks(op, mode, self.dtype(), self.data<char>(), dense_side.data<char>(), p.offsets, count_stride, before,
             after);
}

// One mask over all of self.
bool is_whole_mask(const Tensor& self, TensorList indices) {
  return indices.size() == 1 && indices[0] && is_mask(indices[0]) && indices[0].sizes() == self.sizes() &&
         self.dim() > 0 && !self.is_meta() && indices[0].device() == self.device();
}

Tensor index_kernel(const Tensor& self, TensorList indices) {
  if (is_whole_mask(self, indices)) return masked_select(self, indices[0]);
  Plan p = plan(self, indices);
  Tensor out = empty_tensor(p.result, self.dtype(), self.device());
  if (out.numel() > 0 && !out.is_meta()) run("index", IndexMode::Take, self, out, p);
  return out;
}

// A number goes along with any device.
Tensor value_for(const Tensor& self, const Tensor& value) {
  if (value.dim() > 0 || value.device() == self.device() || value.device().type != DeviceType::CPU || self.is_meta())
    return value;
  const Tensor there = empty_tensor({}, value.dtype(), self.device());
  copy_into(there, value);
  return there;
}

Tensor index_put_inplace(const Tensor& self, TensorList indices, const Tensor& given, bool accumulate) {
  const Tensor values = value_for(self, given);
  TORCH_CHECK(self.dtype() == values.dtype(), "Index put requires the source and destination dtypes match, got ",
              self.dtype(), " for the destination and ", values.dtype(), " for the source.");
  if (is_whole_mask(self, indices) && values.numel() == 1 && values.dim() <= 1 && !accumulate &&
      !shares_memory(self, values))
    return masked_fill_(self, indices[0].dtype() == DType::Bool ? indices[0] : view_dtype(indices[0], DType::Bool),
                        reshape(values, {}));
  Plan p = plan(self, indices);
  TORCH_CHECK(is_expandable_to(values.sizes(), p.result), "shape mismatch: value tensor of shape ",
              Bracketed{values.sizes()}, " cannot be broadcast to indexing result of shape ", Bracketed{p.result});
  if (self.is_meta()) return self;
  TORCH_CHECK(values.device() == self.device(), "index_put_: self is on ", self.device(), ", values on ",
              values.device());
  check_internal_overlap("index_put_", self);
  Tensor source = values.numel() == 1 && !shares_memory(self, values) ? expand(values, p.result)
                  : values.is_contiguous() && values.sizes() == IntArrayRef(p.result) && !shares_memory(self, values)
                      ? values
                      : contiguous_copy(expand(values, p.result));
  run("index_put_", accumulate ? IndexMode::Add : IndexMode::Put, self, source, p);
  return self;
}
Tensor index_put_kernel(const Tensor& self, TensorList indices, const Tensor& values, bool accumulate) {
  Tensor out = preserving_copy(self, self.dtype());
  return index_put_inplace(out, indices, values, accumulate);
}

}  // namespace

void register_index_tensors() {
  set_native<op::index>(index_kernel);
  set_native<op::index_put_>(index_put_inplace);
  set_native<op::index_put>(index_put_kernel);
}

}  // namespace torch

// What the binding asks about layouts: most of it looks at memory that sparse tensors and wrappers have not.
#include "torch/core/sparse.h"

#include <string>
#include <vector>

#include "dispatch.h"
#include "parser.h"
#include "torch/core/ops/create.h"
#include "torch/core/ops/sparse.h"
#include "torch/core/wrapper.h"

namespace torch::python {

bool is_dense(const Tensor& t, const char* op) {
  if (TORCH_LIKELY(lies_in_memory(t))) return true;
  if (is_hollow(t)) return refuse_hollow(Object(wrap(Tensor(t))).get(), op);
  if (t->payload->kind == Payload::Kind::Wrapped) {
    if (readable(t)) {
      PyErr_Format(PyExc_RuntimeError,
                   "functionalize: %s: a tensor has no memory of its own to share here; read its values with tolist() "
                   "or item()",
                   op);
      return false;
    }
    PyErr_Format(
        PyExc_RuntimeError,
        "vmap: it looks like %s needs the values of one example, but all examples are computed at once. Express "
        "it in tensors (torch.where in place of if, gather in place of an index from a tensor), or take it out "
        "of the function that vmap maps",
        op);
    return false;
  }
  Object layout(wrap_layout(layout_of(t)));
  PyErr_Format(PyExc_NotImplementedError,
               "%s: not implemented for tensors of layout %S; convert with .to_dense() first", op, layout.get());
  return false;
}

bool to_readable(Tensor* t, const char* op) {
  if (TORCH_LIKELY(t->has_memory())) return true;
  if (!is_hollow(*t))
    if (Tensor values = readable(*t)) {
      *t = std::move(values);
      return true;
    }
  return is_dense(*t, op);
}

PyObject* tensor_is_shared(PyObject* self, PyObject*) {
  TORCH_PY_TRY(nullptr, {
    const Tensor& t = borrow(self);
    if (t.device().type == DeviceType::CUDA) Py_RETURN_TRUE;  // other processes reach it as it is
    if (is_compressed(t)) {
      const CompressedParts& p = compressed_parts("is_shared", t);
      return PyBool_FromLong(p.compressed->storage->is_shared() && p.plain->storage->is_shared() &&
                             p.values->storage->is_shared());
    }
    if (!is_sparse(t)) return PyBool_FromLong(t->storage->is_shared());
    const SparseParts& p = sparse_parts("is_shared", t);
    return PyBool_FromLong(p.indices->storage->is_shared() && p.values->storage->is_shared());
  })
}

// Without elements, in another sparse layout than `self`'s, with the dims and blocks of its values.
static Tensor nothing_like(const char* op, const Tensor& self, Layout wanted, DType dtype, Device device) {
  const bool compressed = is_compressed(self);
  const Tensor& values = compressed ? compressed_parts(op, self).values : sparse_parts(op, self).values;
  const bool blocks = compressed && has_blocks(layout_of(self));
  const int64_t batch =
      compressed ? compressed_parts(op, self).plain.dim() - 1 : sparse_parts(op, self).indices.size(0) - 2;
  const int64_t dense = values.dim() - 1 - (compressed ? batch : 0) - (blocks ? 2 : 0);
  if (wanted == Layout::Sparse) return empty_sparse(self.sizes(), self.dim() - dense, dtype, device);
  if (dense == 0 && blocks == has_blocks(wanted) && !blocks)
    return empty_compressed(op, self.sizes(), wanted, dtype, device);
  TORCH_CHECK(blocks || !has_blocks(wanted), op, ": expected sparse compressed (non-block) tensor layout but got ",
              layout_name(wanted), "; a block has no size here");
  TORCH_CHECK(batch >= 0, op, ": a sparse compressed tensor has two or more sparse dims, got ", batch + 2);
  const int64_t along = batch + (is_by_rows(wanted) ? 0 : 1);
  std::vector<int64_t> c = self.sizes().slice(0, size_t(batch)).vec(), e = c, v;
  c.push_back(self.size(along) / (has_blocks(wanted) ? values.size(along + 1) : 1) + 1);
  e.push_back(0);
  v = e;
  if (has_blocks(wanted)) v.insert(v.end(), {values.size(batch + 1), values.size(batch + 2)});
  for (int64_t i = self.dim() - dense; i < self.dim(); ++i) v.push_back(self.size(i));
  return make_compressed(
      {wanted, zeros(c, DType::Int64, device), zeros(e, DType::Int64, device), zeros(v, dtype, device)}, self.sizes());
}

bool make_in_layout(const Signature& s, const Arguments& a, Result& result) {
  const Schema& schema = s.row->schema;
  const std::string_view op = schema.op_name();
  const Layout wanted = *a.layout;
  const bool like = schema.params[0].kind == Kind::Tensor;
  const Tensor* self = like ? reinterpret_cast<const Tensor*>(&a.values[0].tensor) : nullptr;
  if (wanted == (self ? layout_of(*self) : Layout::Strided)) return false;
  TORCH_CHECK_IMPLEMENTED(s.row->attr.makes_any_layout, op, ": a tensor of layout ", layout_name(wanted),
                          " cannot be made here; use to_sparse(), to_sparse_csr() or to_dense() on the result");
  DType dtype = self ? self->dtype() : default_dtype();
  Device device = self ? self->device() : Device();
  IntArrayRef size = self ? self->sizes() : IntArrayRef();
  for (int i = 0; i < schema.count; ++i) {
    const Value& v = a.values[i];
    if (!v.present) continue;
    if (schema.params[i].kind == Kind::IntList) size = IntArrayRef(static_cast<const int64_t*>(v.data), size_t(v.size));
    if (schema.params[i].kind == Kind::DType) dtype = DType(v.i);
    if (schema.params[i].kind == Kind::Device) device = Device(DeviceType(v.i), int(v.size));
  }
  if (self && wanted != Layout::Strided && is_any_sparse(*self) && size == self->sizes()) {
    result.tensors[0] = nothing_like(std::string(op).c_str(), *self, wanted, dtype, device);
    return true;
  }
  result.tensors[0] = wanted == Layout::Sparse ? _sparse_zeros(size, dtype, device)
                      : wanted == Layout::Strided
                          ? zeros(size, dtype, device)
                          : empty_compressed(std::string(op).c_str(), size, wanted, dtype, device);
  return true;
}

}  // namespace torch::python

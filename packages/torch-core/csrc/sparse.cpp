// What the binding asks about layouts: most of it looks at memory that sparse tensors and wrappers have not.
#include "torch/core/sparse.h"

#include <string>

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
  result.tensors[0] = wanted == Layout::Sparse ? _sparse_zeros(size, dtype, device)
                      : wanted == Layout::Strided
                          ? zeros(size, dtype, device)
                          : empty_compressed(std::string(op).c_str(), size, wanted, dtype, device);
  return true;
}

}  // namespace torch::python

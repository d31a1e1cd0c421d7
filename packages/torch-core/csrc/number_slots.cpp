// The operators of the language on tensors, and conversions to Python's numbers. Both go straight to an operator's
// slot.
#include <Python.h>

#include <cstring>
#include <vector>

#include "dispatch.h"
#include "parser.h"
#include "torch/core/reads.h"

namespace torch::python {

namespace {

// Name here, row, slot of the type. Comparisons share one slot, tensor_compare().
#define TORCH_BINARY_SLOTS(X)                                \
  X(kAdd, "add", Py_nb_add)                                  \
  X(kSub, "sub", Py_nb_subtract)                             \
  X(kMul, "mul", Py_nb_multiply)                             \
  X(kTrueDiv, "true_divide", Py_nb_true_divide)              \
  X(kFloorDiv, "floor_divide", Py_nb_floor_divide)           \
  X(kMod, "remainder", Py_nb_remainder)                      \
  X(kPow, "pow", Py_nb_power)                                \
  X(kAnd, "bitwise_and", Py_nb_and)                          \
  X(kOr, "bitwise_or", Py_nb_or)                             \
  X(kXor, "bitwise_xor", Py_nb_xor)                          \
  X(kLshift, "bitwise_left_shift", Py_nb_lshift)             \
  X(kRshift, "bitwise_right_shift", Py_nb_rshift)            \
  X(kMatmul, "matmul", Py_nb_matrix_multiply)                \
  X(kIAdd, "add_", Py_nb_inplace_add)                        \
  X(kISub, "sub_", Py_nb_inplace_subtract)                   \
  X(kIMul, "mul_", Py_nb_inplace_multiply)                   \
  X(kITrueDiv, "true_divide_", Py_nb_inplace_true_divide)    \
  X(kIFloorDiv, "floor_divide_", Py_nb_inplace_floor_divide) \
  X(kIMod, "remainder_", Py_nb_inplace_remainder)            \
  X(kIPow, "pow_", Py_nb_inplace_power)                      \
  X(kIAnd, "bitwise_and_", Py_nb_inplace_and)                \
  X(kIOr, "bitwise_or_", Py_nb_inplace_or)                   \
  X(kIXor, "bitwise_xor_", Py_nb_inplace_xor)                \
  X(kILshift, "bitwise_left_shift_", Py_nb_inplace_lshift)   \
  X(kIRshift, "bitwise_right_shift_", Py_nb_inplace_rshift)  \
  X(kLt, "lt", 0)                                            \
  X(kLe, "le", 0)                                            \
  X(kEq, "eq", 0)                                            \
  X(kNe, "ne", 0)                                            \
  X(kGt, "gt", 0)                                            \
  X(kGe, "ge", 0)

#define TORCH_ENUM(id, row, slot) id,
enum BinarySlot { TORCH_BINARY_SLOTS(TORCH_ENUM) kBinarySlots };
#undef TORCH_ENUM
#define TORCH_NAME(id, row, slot) row,
constexpr const char* kBinaryNames[kBinarySlots] = {TORCH_BINARY_SLOTS(TORCH_NAME)};
#undef TORCH_NAME
const Row* binary_rows[kBinarySlots];
#define TORCH_SLOT_ID(id, row, slot) slot,
constexpr int kSlotIds[kBinarySlots] = {TORCH_BINARY_SLOTS(TORCH_SLOT_ID)};
#undef TORCH_SLOT_ID

// Whether a class says itself what the operator of the language does with it on the right: Python asks it next.
template <BinarySlot S>
bool answers_itself(PyTypeObject* type) noexcept {
  if constexpr (S >= kIAdd && S <= kIRshift) return false;
  if constexpr (kSlotIds[S] == 0) return type->tp_richcompare != PyBaseObject_Type.tp_richcompare;
  return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && PyType_GetSlot(type, kSlotIds[S] ? kSlotIds[S] : Py_nb_add);
}

// Calls a row of the form (Tensor, Tensor) or (Tensor, Tensor, *, Scalar alpha=1) without boxing.
Tensor call_binary(const Row* row, const Tensor& a, const Tensor& b) {
  if (row->schema.params[0].written) check_change(a);
  const Keys keys = Keys(detail::keys_in(a) | detail::keys_in(b));
  unsigned dispatch_key = 31u - unsigned(__builtin_clz(unsigned(keys_in_force(keys)) | 1u));
  void* f = row->functions[dispatch_key];
  bool big = a.numel() >= kReleaseNumel || b.numel() >= kReleaseNumel;
  Tensor r;
  {
    ReleaseGil gil(big);
    static constexpr Scalar one(int64_t(1));
    if (TORCH_UNLIKELY(!f)) {
      void* outlet = row->functions[kOutlet];
      return row->schema.count == 2
                 ? reinterpret_cast<Tensor (*)(DispatchKey, const Tensor&, const Tensor&)>(outlet)(
                       DispatchKey(dispatch_key), a, b)
                 : reinterpret_cast<Tensor (*)(DispatchKey, const Tensor&, const Tensor&, const Scalar&)>(outlet)(
                       DispatchKey(dispatch_key), a, b, one);
    }
    if (row->schema.count == 2)
      r = reinterpret_cast<Tensor (*)(const Tensor&, const Tensor&)>(f)(a, b);
    else
      r = reinterpret_cast<Tensor (*)(const Tensor&, const Tensor&, const Scalar&)>(f)(a, b, one);
  }
  if (row->schema.params[0].written && dispatch_key < unsigned(DispatchKey::Autograd))
    mark_changed(a, row->schema.text);
  return r;
}

inline unsigned keys_of(PyObject* o) noexcept { return is_tensor(o) ? impl_of(o)->keys : 0u; }

// The answer of overrides; when all declined, Python asks the other operand.
PyObject* answered(PyObject* answer) { return answer || PyErr_Occurred() ? answer : Py_NewRef(Py_NotImplemented); }

bool is_array(PyObject* o) noexcept {
  for (PyTypeObject* t = Py_TYPE(o); t; t = t->tp_base)
    if (std::strcmp(t->tp_name, "numpy.ndarray") == 0) return true;
  return false;
}

template <BinarySlot S>
PyObject* nb_binary(PyObject* a, PyObject* b) {
  const Row* row = binary_rows[S];
  if (TORCH_UNLIKELY(!row)) Py_RETURN_NOTIMPLEMENTED;
  if (TORCH_UNLIKELY(asks_python(keys_of(a) | keys_of(b)))) {
    PyObject* answer = ask_about_operands(operator_of(*row), a, b);
    if (answer != Py_NotImplemented) return answered(answer);
    Py_DECREF(answer);
  }
  TORCH_PY_TRY(nullptr, {
    if (TORCH_LIKELY(is_tensor(a))) {
      if (TORCH_LIKELY(is_tensor(b))) return wrap(call_binary(row, borrow(a), borrow(b)));
      if (S != kMatmul && is_number(b)) return wrap(call_binary(row, borrow(a), tensor_of_number(b)));
    } else if (S != kMatmul && is_number(a) && is_tensor(b)) {
      return wrap(call_binary(row, tensor_of_number(a), borrow(b)));
    }
  })
  PyObject* const operands[] = {a, b};  // one of them is no tensor
  if (!answers_itself<S>(Py_TYPE(b)) && bring_override(operands, 2))
    return answered(ask_about_operands(operator_of(*row), a, b));
  if (S == kTrueDiv && is_array(a)) {  // of the operators that NumPy leaves to a tensor, PyTorch answers this one
    Object inverse(PyObject_CallMethod(b, "reciprocal", nullptr));
    return inverse ? PyNumber_Multiply(inverse.get(), a) : nullptr;
  }
  Py_RETURN_NOTIMPLEMENTED;
}
template <BinarySlot S>
PyObject* nb_ternary_pow(PyObject* a, PyObject* b, PyObject* modulo) {
  if (modulo != Py_None) {
    PyErr_SetString(PyExc_NotImplementedError, "pow: a third argument (modulo) is not supported");
    return nullptr;
  }
  return nb_binary<S>(a, b);
}

template <int N>
struct UnaryRow {
  static const Row* row;
};
template <int N>
const Row* UnaryRow<N>::row = nullptr;
enum { kNeg, kAbs, kInvert, kPositive };
template <int N>
PyObject* nb_unary(PyObject* self) {
  const Row* row = UnaryRow<N>::row;
  if (!row) {
    PyErr_SetString(PyExc_NotImplementedError, "this operator has no row in this build of torch-core");
    return nullptr;
  }
  if (const DType t = impl_of(self)->dtype;
      N == kInvert && !is_integral(t) && t != DType::Bool && !asks_python(keys_of(self)))
    return PyErr_Format(PyExc_TypeError,
                        "~ (operator.invert) is only implemented on integer and Boolean-type tensors, not on torch.%s",
                        name(t));
  return call_row(row, self, nullptr, 0, nullptr);
}

template <BinarySlot S>
void* binary_function() {
  if constexpr (S == kPow || S == kIPow)
    return reinterpret_cast<void*>(nb_ternary_pow<S>);
  else
    return reinterpret_cast<void*>(nb_binary<S>);
}

PyObject* compare(PyObject* a, PyObject* b, int op) {
  switch (op) {
    case Py_LT:
      return nb_binary<kLt>(a, b);
    case Py_LE:
      return nb_binary<kLe>(a, b);
    case Py_EQ:
      return nb_binary<kEq>(a, b);
    case Py_NE:
      return nb_binary<kNe>(a, b);
    case Py_GT:
      return nb_binary<kGt>(a, b);
    default:
      return nb_binary<kGe>(a, b);
  }
}

// NumPy leaves comparisons to the tensor, which has the higher priority. Of arrays that no tensor can hold nothing is
// said.
PyObject* tensor_compare(PyObject* a, PyObject* b, int op) {
  PyObject* found = compare(a, b, op);
  if (TORCH_LIKELY(found != Py_NotImplemented) || !is_array(b)) return found;
  Object module(PyImport_ImportModule("torch._C"));
  Object other(module ? PyObject_CallMethod(module.get(), "tensor", "O", b) : nullptr);
  if (!other && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    return found;
  }
  Py_DECREF(found);
  return other ? compare(a, other.get(), op) : nullptr;
}

Object value_of(PyObject* self, const char* op) {
  Tensor t = unwrap(self);
  if (t.numel() != 1) {
    if (std::strcmp(op, "bool") == 0) {
      if (t.numel() == 0)
        PyErr_SetString(PyExc_RuntimeError, "Boolean value of Tensor with no values is ambiguous");
      else
        PyErr_Format(PyExc_RuntimeError,
                     "Boolean value of Tensor with more than one value is ambiguous (it has %lld); use any() or all()",
                     (long long)t.numel());
    } else {
      PyErr_Format(std::strcmp(op, "index") == 0 ? PyExc_TypeError : PyExc_ValueError,
                   "%s: only tensors with one element can be converted to a Python number, this one has %lld", op,
                   (long long)t.numel());
    }
    return Object();
  }
  if (TORCH_UNLIKELY(gives_its_number(t))) return Object(number_given(self));
  TORCH_PY_TRY(Object(), {
    if (!to_readable(&t, op)) return Object();
  })
  if (t.is_meta()) {
    PyErr_Format(PyExc_RuntimeError, "%s: a tensor on device %s has no values to read", op,
                 to_string(t.device()).c_str());
    return Object();
  }
  TORCH_PY_TRY(Object(), value_is_read(t, op);)
  return Object(item_of(t));
}
int tensor_bool(PyObject* self) {
  Object v = value_of(self, "bool");
  return v ? PyObject_IsTrue(v.get()) : -1;
}
// The value as a real number: a complex one without an imaginary part is its real part.
Object real_value_of(PyObject* self, const char* op) {
  Object v = value_of(self, op);
  if (!v || !PyComplex_Check(v.get())) return v;
  const Py_complex c = PyComplex_AsCComplex(v.get());
  if (c.imag == 0) return Object(PyFloat_FromDouble(c.real));
  PyErr_Format(PyExc_RuntimeError,
               "%s: value cannot be converted to a real number without overflow: %R has an imaginary part; take .real "
               "or abs() first",
               op, v.get());
  return Object();
}
PyObject* tensor_int(PyObject* self) {
  Object v = real_value_of(self, "int");
  return v ? PyNumber_Long(v.get()) : nullptr;
}
PyObject* tensor_float(PyObject* self) {
  Object v = real_value_of(self, "float");
  return v ? PyNumber_Float(v.get()) : nullptr;
}
PyObject* tensor_index(PyObject* self) {
  DType t = impl_of(self)->dtype;
  if (!is_integral(t) && t != DType::Bool) {
    PyErr_SetString(PyExc_TypeError, "only integer tensors of a single element can be converted to an index");
    return nullptr;
  }
  Object v = value_of(self, "index");
  return v ? PyNumber_Index(v.get()) : nullptr;
}
}  // namespace

PyObject* tensor_complex(PyObject* self, PyObject*) {
  Object v = value_of(self, "complex");
  if (!v) return nullptr;
  Py_complex c = PyComplex_AsCComplex(v.get());
  return PyErr_Occurred() ? nullptr : PyComplex_FromCComplex(c);
}

std::vector<PyType_Slot> number_slots() {
  std::vector<PyType_Slot> slots = {
      {Py_tp_richcompare, reinterpret_cast<void*>(tensor_compare)},
      {Py_nb_negative, reinterpret_cast<void*>(nb_unary<kNeg>)},
      {Py_nb_absolute, reinterpret_cast<void*>(nb_unary<kAbs>)},
      {Py_nb_invert, reinterpret_cast<void*>(nb_unary<kInvert>)},
      {Py_nb_positive, reinterpret_cast<void*>(nb_unary<kPositive>)},
      {Py_nb_bool, reinterpret_cast<void*>(tensor_bool)},
      {Py_nb_int, reinterpret_cast<void*>(tensor_int)},
      {Py_nb_float, reinterpret_cast<void*>(tensor_float)},
      {Py_nb_index, reinterpret_cast<void*>(tensor_index)},
  };
#define TORCH_SLOT(id, row, slot) \
  if (slot) slots.push_back({slot, binary_function<id>()});
  TORCH_BINARY_SLOTS(TORCH_SLOT)
#undef TORCH_SLOT
  return slots;
}

bool bind_number_slots() {
  for (int i = 0; i < kBinarySlots; ++i) {
    binary_rows[i] = find_row(kBinaryNames[i]);
    if (!binary_rows[i]) continue;
    const Schema& s = binary_rows[i]->schema;
    bool plain = s.params[0].kind == Kind::Tensor && s.params[1].kind == Kind::Tensor && s.result_count == 1 &&
                 (s.count == 2 || (s.count == 3 && s.params[2].kind == Kind::Scalar && !s.params[2].optional));
    if (!plain) {
      PyErr_Format(PyExc_SystemError, "row of %s does not fit the number slot: %s", kBinaryNames[i], s.text);
      return false;
    }
  }
  UnaryRow<kNeg>::row = find_row("neg");
  UnaryRow<kAbs>::row = find_row("abs");
  UnaryRow<kInvert>::row = find_row("bitwise_not");
  UnaryRow<kPositive>::row = find_row("positive");
  return true;
}

}  // namespace torch::python

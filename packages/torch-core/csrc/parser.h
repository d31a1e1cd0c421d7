// Python arguments to boxed values, driven by a row's schema.
#pragma once
#include "python.h"

namespace torch::python {

// A row with its parameter names as interned Python strings, made once at import.
struct Signature {
  const Row* row;
  PyObject* names[kMaxParameters];  // as functions show them: `input` for self
  bool makes_tensor;                // takes a device and no tensor: accepts requires_grad, layout, pin_memory as well
  int default_device;               // where the device stands that is the default one unless said; -1: it is a tensor's
  bool takes_out;                   // gives new tensors: accepts out=
  bool needs_tensor;                // two operands that may be numbers, but not both: comparisons, pow, ...
  bool varargs;                     // view(2, 3): the last positional parameter is a list of ints
  bool spreads;                     // meshgrid(a, b): its tensors may stand one by one, but not those of hstack
  int64_t fallback_lists[kMaxParameters][8];  // list defaults
  Value fallbacks[kMaxParameters];
};

// The values of one call, with what they need to stay alive. Lives on the stack.
struct Arguments {
  Value values[kMaxParameters];
  PyObject* out = nullptr;  // borrowed
  bool requires_grad = false;
  bool pin_memory = false;
  // Whether a tensor may stand where the row wants a number. Overloads are first tried without: one of them may want
  // the tensor itself.
  bool tensors_are_numbers = true;
  bool refused_tensor = false;  // for that reason
  // Whether the error for an unknown keyword says what was meant; where overloads are asked in turn, hardly any is
  // read.
  bool explains = true, is_unexplained = false;
  std::optional<Layout> layout;  // layout=, where a tensor is made
  static constexpr int kInts = 24, kTensors = 8;
  int64_t ints[kInts];
  int ints_used = 0;
  int tensors_used = 0;
  std::vector<Tensor> lists[2];
  int lists_used = 0;
  std::vector<int64_t> long_lists[3];
  int long_lists_used = 0;
  TensorImpl* made[kTensors];  // tensors made from numbers, owned

  Arguments() = default;
  Arguments(const Arguments&) = delete;
  ~Arguments() {
    for (int i = 0; i < tensors_used; ++i) Tensor(Ref<TensorImpl>::steal(made[i]));
  }
};

// The call with another layout than the row makes, put into `result`; false when the row itself is right. sparse.cpp
bool make_in_layout(const Signature& s, const Arguments& a, Result& result);

bool make_signature(const Row* row, Signature* s);

// False with a TypeError set. `self` is the tensor that a method was called on, or null.
bool parse(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames,
           Arguments* out);

// --- deprecated.cpp ---
// What parse() did not take, in an order of arguments that rows had in 2018. False with the error of before, or with
// another one that the arguments raise.
bool parse_deprecated(const Signature& s, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames,
                      std::optional<Arguments>* out);

// --- out.cpp ---
// Runs the row with its results written to `a.out`, which it returns.
PyObject* invoke_into(const Signature& s, Arguments& a, bool release_gil);

}  // namespace torch::python

// What the files of torch._C share. The module's own code uses the same Api table that it hands to others.
#pragma once
#include <Python.h>

#include "torch/core/layer.h"
#include "torch/core/operator.h"
#include "torch/core/sparse.h"
#include "torch/python/api.h"
#include "torch/python/object.h"

namespace torch::python {

// --- objects.cpp: torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size ---
bool add_objects(PyObject* module);
PyObject* wrap_dtype(DType);
PyObject* wrap_device(Device);
PyObject* wrap_layout(Layout);
PyObject* wrap_memory_format(MemoryFormat);
PyObject* wrap_size(IntArrayRef);
bool is_size(PyObject*);  // torch.Size
bool is_dtype(PyObject*);
bool is_dtype_like(PyObject*);  // also float, int, bool and complex
bool to_dtype(PyObject*, DType*);
bool to_device(PyObject*, Device*);
// Where this thread makes tensors, by `with torch.device("meta")` or set_default_device; false: on the CPU.
bool default_device(Device*);
extern bool have_default_device;  // whether any thread ever asked for one; changes with the GIL held
bool to_layout(PyObject*, Layout*);
bool to_memory_format(PyObject*, MemoryFormat*);
bool is_memory_format(PyObject*);
bool is_device_like(PyObject*);  // torch.device, str or int

// --- errors.cpp ---
bool add_errors(PyObject* module);
PyObject* raise() noexcept;

// --- numbers.cpp: Python numbers and nested lists to tensors and back ---
bool is_number(PyObject*);    // bool, int, float, complex, NumPy's scalars, and numbers with names
bool is_symbolic(PyObject*);  // a number with a name: torch.SymInt, SymFloat, SymBool
bool is_truth(PyObject*);     // bool, NumPy's and torch.SymBool
bool to_scalar(PyObject*, Scalar*);
PyObject* wrap_scalar(const Scalar&);
PyObject* item_of(const Tensor&);  // of one element, on any device that has values
PyObject* item_of(const Tensor&, const void* element);
Tensor tensor_of_number(PyObject*);  // a wrapped 0-d tensor
bool add_constructors(PyObject* module);
PyObject* tensor_new(PyTypeObject*, PyObject* args, PyObject* kwargs);  // torch.Tensor(2, 3), torch.Tensor([1., 2.])
extern PyMethodDef number_methods[];                                    // item, tolist

// --- storage.cpp, buffer.cpp ---
bool add_storage(PyObject* module);
void release_buffer(Storage*) noexcept;  // of a storage whose context is a Py_buffer
extern PyMethodDef storage_methods[];
extern PyMethodDef buffer_methods[];  // numpy, __array__, __dlpack__
int tensor_getbuffer(PyObject*, Py_buffer*, int flags);
void tensor_releasebuffer(PyObject*, Py_buffer*);
bool add_buffer_functions(PyObject* module);

// --- indexing.cpp: t[...] ---
PyObject* tensor_subscript(PyObject* self, PyObject* key);
int tensor_ass_subscript(PyObject* self, PyObject* key, PyObject* value);
PyObject* tensor_item(PyObject* self, Py_ssize_t i);

// --- operators.cpp: rows as Python callables ---
bool add_operators(PyObject* module);
PyObject* operator_of(const Row&) noexcept;
PyObject* add_operator_of(const Row*);  // of a row that was made at run time: a new reference
const Row* find_row(const char* name);  // the first row of that name, or null
PyObject* call_row(const Row*, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames);
PyObject* wrap_result(const Row&, Result&);
PyObject* to_conversion(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames);  // t.to(...)

// --- number_slots.cpp: a + b, a < b, float(a) ---
std::vector<PyType_Slot> number_slots();
bool bind_number_slots();  // once the operators are there
PyObject* tensor_complex(PyObject* self, PyObject*);

// --- overrides.cpp: __torch_function__ ---
bool add_overrides(PyObject* module);
bool overrides_calls(PyTypeObject*) noexcept;  // a tensor of the class carries DispatchKey::Python
bool keeps_class(
    PyTypeObject*) noexcept;  // results of operators are of this class, unless it has an override of its own
bool bring_override(PyObject* const* args, Py_ssize_t count) noexcept;  // an object among them does, tensor or not
// Whether a call may be for an override, by the keys of its tensors.
extern constinit thread_local bool overrides_off;  // no override is asked
inline bool asks_python(unsigned keys) noexcept {
  return ((keys | thread_keys.include) & key(DispatchKey::Python)) && !overrides_off;
}
// What an override or a mode makes of the call, or NotImplemented: then no override takes it, and it goes on.
PyObject* ask_python(PyObject* function, PyObject* args, PyObject* kwargs);
PyObject* ask_python(PyObject* function, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames);
PyObject* ask_python(const char* method, PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* kwnames);
// For an operator of the language: null without an error when all decline, and Python asks the other operand's class.
PyObject* ask_about_operands(PyObject* function, PyObject* a, PyObject* b);
// Asks, and returns from the function around it when an override has answered.
#define TORCH_ASK_PYTHON(...)                       \
  do {                                              \
    PyObject* answer = ask_python(__VA_ARGS__);     \
    if (answer != Py_NotImplemented) return answer; \
    Py_DECREF(answer);                              \
  } while (false)

// --- life.cpp ---
PyObject* wrap(Tensor);
PyObject* make_subclass(PyTypeObject*, Tensor);
void tensor_dealloc(PyObject*);
int tensor_traverse(PyObject*, visitproc, void*);
int tensor_clear(PyObject*);
int tensor_setattro(PyObject*, PyObject* name, PyObject* value);
PyObject* get_dict(PyObject*, void*);
int put_dict(PyObject*, PyObject* dict, void*);
PyObject* get_attributes(PyObject*, void*);
bool is_collectable(PyObject*);  // the collector may see what this tensor's object refers to
void install_life();
// While the interpreter ends, other threads cannot have the GIL any more: what they would let go of stays.
bool can_have_gil() noexcept;

// --- tensor_type.cpp ---
bool add_tensor_type(PyObject* module);
bool name_special_methods(PyTypeObject*);  // special_methods.cpp: texts for __add__ and the like
bool set_requires_grad(PyObject* tensor, bool value);
// What `pin_memory=True` makes of a tensor, whose reference it takes; null with an error.
PyObject* in_pinned_memory(PyObject* tensor);
extern PyMethodDef question_methods[];

// --- sparse.cpp ---
// NotImplementedError for what looks at elements in memory, which a sparse tensor has not; false when it is one.
bool is_dense(const Tensor&, const char* op);
bool to_readable(Tensor*, const char* op);  // in its place the tensor to read values from
PyObject* tensor_is_shared(PyObject* self, PyObject*);

// --- threads: runtime.cpp; torch.Generator: generator.cpp ---
Generator* to_generator(PyObject*);    // null with a TypeError set
bool add_generator(PyObject* module);  // generator.cpp
bool add_runtime(PyObject* module);
bool add_ranges(PyObject* module);      // ranges.cpp
bool add_registered(PyObject* module);  // registered.cpp
bool add_library(PyObject* module);     // library.cpp
bool add_stable(PyObject* module);      // stable_values.cpp

// Lets other Python threads run while C++ works on something big.
class ReleaseGil {
 public:
  explicit ReleaseGil(bool really) {
    if (!really || flight::is_awaited()) return;
    ++active;
    flight::enter();
    state_ = PyEval_SaveThread();
  }
  ~ReleaseGil() {
    if (!state_) return;
    flight::leave();
    restore_thread(state_);
    flight::free_kept();
    --active;
  }
  ReleaseGil(const ReleaseGil&) = delete;
  static int active;  // how many there are now; guarded by the GIL

 private:
  PyThreadState* state_ = nullptr;
};
constexpr int64_t kReleaseNumel = 16384;  // releasing costs as much as a small operator

#define TORCH_FASTCALL(f) reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(f)), METH_FASTCALL | METH_KEYWORDS

}  // namespace torch::python

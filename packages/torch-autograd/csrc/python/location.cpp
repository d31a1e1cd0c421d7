// Where the user's program is, for messages: cheap enough to note for every recorded operation.
//
// A location is (index of the code object, instruction) in 32 bits. Code objects are kept in a table for good, so that
// a node needs no reference of its own; when the table is full, or Python is one whose frames this file does not know,
// the location is unknown and messages say how to get the whole stack.
#define Py_BUILD_CORE 1
#include <Python.h>
#if PY_VERSION_HEX >= 0x030E0000 && PY_VERSION_HEX < 0x030F0000
#include <internal/pycore_interpframe_structs.h>
#define TORCH_KNOWS_FRAMES 1
#elif PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000
#include <internal/pycore_frame.h>
#define TORCH_KNOWS_FRAMES 1
#elif PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif
#undef Py_BUILD_CORE

#include <mutex>

#include "python.h"

namespace torch::autograd {

namespace {

constexpr uint32_t kCodes = 4095;  // index 0 is unknown
constexpr uint32_t kInstructionBits = 20;
PyCodeObject* codes[kCodes + 1];  // owned references
std::atomic<uint32_t> code_count{0};

// A direct-mapped cache per thread from code object to its index.
struct Cached {
  PyCodeObject* code;
  uint32_t index;
};
constexpr size_t kCache = 64;

TORCH_NOINLINE Cached* open_cache() noexcept {
  return static_cast<Cached*>(open_thread_cache(&ThreadState::locations, kCache * sizeof(Cached)));
}
// The thread's entry for a code object; null when the thread is ending.
Cached* cached(const void* code) noexcept {
  auto* cache = static_cast<Cached*>(thread_state.locations);
  if (TORCH_UNLIKELY(!cache) && !(cache = open_cache())) return nullptr;
  return cache + (reinterpret_cast<uintptr_t>(code) >> 5) % kCache;
}

TORCH_NOINLINE uint32_t find_index(PyCodeObject* code, bool has_gil) noexcept {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  uint32_t n = code_count.load(std::memory_order_relaxed);
  for (uint32_t i = n; i > 0; --i)
    if (codes[i] == code) return i;
  if (n == kCodes || !has_gil) return 0;
  Py_INCREF(code);
  codes[n + 1] = code;
  code_count.store(n + 1, std::memory_order_release);
  return n + 1;
}

TORCH_NOINLINE uint32_t index_of(PyCodeObject* code, bool has_gil, Cached* keep) noexcept {
  const uint32_t index = find_index(code, has_gil);
  if (index && keep) *keep = {code, index};
  return index;
}

Location pack(PyCodeObject* code, int64_t instruction, bool has_gil) noexcept {
  Cached* c = cached(code);
  uint32_t index = TORCH_LIKELY(c && c->code == code) ? c->index : index_of(code, has_gil, c);
  if (!index || instruction < 0 || instruction >= 1 << kInstructionBits) return 0;
  return index << kInstructionBits | uint32_t(instruction);
}

// This thread's state, and whether it holds the GIL: operators on big tensors and backward passes run without. Before
// 3.12 Python's own question for the current state answers with that of the thread which holds the GIL, whose frames
// come and go meanwhile.
struct Here {
  PyThreadState* state;
  bool has_gil;
};
Here here() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  PyThreadState* holder = PyThreadState_GetUnchecked();
#else
  PyThreadState* holder = _PyThreadState_UncheckedGet();
#endif
#if PY_VERSION_HEX >= 0x030C0000
  if (TORCH_LIKELY(holder != nullptr)) return {holder, true};
#endif
  PyThreadState* mine = PyGILState_GetThisThreadState();
  return {mine, mine != nullptr && mine == holder};
}

#ifdef TORCH_KNOWS_FRAMES
Location locate_frame() noexcept {
  const auto [state, has_gil] = here();
  if (!state) return 0;
#if PY_VERSION_HEX >= 0x030D0000
  _PyInterpreterFrame* f = state->current_frame;
#else
  _PyInterpreterFrame* f = state->cframe->current_frame;
#endif
#if PY_VERSION_HEX >= 0x030E0000
  while (f && f->owner >= FRAME_OWNED_BY_INTERPRETER) f = f->previous;
#elif PY_VERSION_HEX >= 0x030C0000
  while (f && f->owner == FRAME_OWNED_BY_CSTACK) f = f->previous;
#endif
  if (!f) return 0;
#if PY_VERSION_HEX >= 0x030E0000
  auto* code =
      reinterpret_cast<PyCodeObject*>(f->f_executable.bits & ~uintptr_t{3});  // without the marks of a reference
  if (!code || !PyCode_Check(code)) return 0;
  return pack(code, f->instr_ptr - reinterpret_cast<_Py_CODEUNIT*>(code->co_code_adaptive), has_gil);
#elif PY_VERSION_HEX >= 0x030D0000
  if (!PyCode_Check(f->f_executable)) return 0;
  auto* code = reinterpret_cast<PyCodeObject*>(f->f_executable);
  return pack(code, f->instr_ptr - _PyCode_CODE(code), has_gil);
#else
  return pack(f->f_code, f->prev_instr - _PyCode_CODE(f->f_code), has_gil);
#endif
}
#elif PY_VERSION_HEX < 0x030B0000
Location locate_frame() noexcept {
  const auto [state, has_gil] = here();
  if (!state || !state->frame) return 0;
  return pack(state->frame->f_code, state->frame->f_lasti, has_gil);
}
#endif

std::string describe_location(Location at) {
  uint32_t index = at >> kInstructionBits;
  if (!index || index > code_count.load(std::memory_order_acquire)) return {};
  Gil gil;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyCodeObject* code = codes[index];
  int line = PyCode_Addr2Line(code, int(at & ((1u << kInstructionBits) - 1)) * int(sizeof(_Py_CODEUNIT)));
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  std::string text = file ? std::string(file) + ":" + std::to_string(line) : std::string();
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return text;
}

// Calls a function of torch.autograd._seams; errors in it are dropped, these are texts for messages.
std::string call_text(const char* function, const std::string* argument) {
  Gil gil;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  std::string text;
  {
    Object module(PyImport_ImportModule("torch.autograd.anomaly_mode"));
    Object result(!module    ? nullptr
                  : argument ? PyObject_CallMethod(module.get(), function, "s", argument->c_str())
                             : PyObject_CallMethod(module.get(), function, nullptr));
    const char* s = result && PyUnicode_Check(result.get()) ? PyUnicode_AsUTF8(result.get()) : nullptr;
    if (s) text = s;
  }
  PyErr_Clear();
  PyErr_Restore(type, value, trace);
  return text;
}

std::string current_traceback() { return call_text("_traceback", nullptr); }
void warn(const std::string& text) { call_text("_warn", &text); }

void drop_object(void* o) noexcept {
  if (!Py_IsInitialized()) return;
  Gil gil;
  Py_DECREF(static_cast<PyObject*>(o));
}

// An operation shows what it returns to the collector; this is for tensors that change as bases of views do.
void track_object(TensorImpl& t) noexcept {
  if (!Py_IsInitialized()) return;
  Gil gil;
  track(static_cast<PyObject*>(t.pyobj));
}

}  // namespace

void install_location() {
#if defined(TORCH_KNOWS_FRAMES) || PY_VERSION_HEX < 0x030B0000
  python.locate = locate_frame;
#endif
  python.describe = describe_location;
  python.traceback = current_traceback;
  python.warn = warn;
  python.drop = drop_object;
  python.track = track_object;
}

}  // namespace torch::autograd

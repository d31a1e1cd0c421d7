// torch.multiprocessing._arena: shared segments and blocks as Python objects. A Block is a writable buffer; tensors are
// made over it, and when the last of them is gone in this process, the block's count goes down.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "objects.h"

namespace torch::shared {

PyTypeObject* block_type;

namespace {

PyTypeObject* arena_type;
std::unordered_map<uint64_t, PyArena*> arenas;  // by segment id; each is alive

PyObject* new_block(PyArena* arena, uint32_t index, uint64_t nbytes) {
  auto* block = PyObject_New(PyBlock, block_type);
  if (!block) return nullptr;
  block->arena = reinterpret_cast<PyArena*>(Py_NewRef(reinterpret_cast<PyObject*>(arena)));
  block->weak = nullptr;
  block->index = index;
  block->nbytes = nbytes;
  block->generation = arena->state->segment->entry(index).generation.load();
  arena->state->held[index] = block;
  return reinterpret_cast<PyObject*>(block);
}

// --- Arena ---

PyObject* make_arena(Segment* segment, bool owner) {
  std::unique_ptr<Segment> keep(segment);
  auto state = std::make_unique<State>();
  if (owner) state->allocator = std::make_unique<Allocator>(*segment);
  auto* arena = PyObject_New(PyArena, arena_type);
  if (!arena) return nullptr;
  state->segment = std::move(keep);
  arena->state = state.release();
  arenas[arena->state->segment->header().id] = arena;
  return reinterpret_cast<PyObject*>(arena);
}
PyObject* arena_create(PyObject*, PyObject* args) {
  int fd;
  unsigned long long id, size;
  if (!PyArg_ParseTuple(args, "iKK:create", &fd, &id, &size)) return nullptr;
  return guarded([&] { return make_arena(Segment::create(fd, id, size), true); });
}
PyObject* arena_attach(PyObject*, PyObject* args) {
  int fd;
  unsigned long long id;
  if (!PyArg_ParseTuple(args, "iK:attach", &fd, &id)) return nullptr;
  return guarded([&] { return make_arena(Segment::attach(fd, id), false); });
}
void arena_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  State* state = reinterpret_cast<PyArena*>(self)->state;
  auto known = arenas.find(state->segment->header().id);
  if (known != arenas.end() && known->second == reinterpret_cast<PyArena*>(self)) arenas.erase(known);
  delete state;
  PyObject_Free(self);
  Py_DECREF(type);
}
State& state_of(PyObject* self) { return *reinterpret_cast<PyArena*>(self)->state; }

PyObject* arena_allocate(PyObject* self, PyObject* arg) {
  unsigned long long size = PyLong_AsUnsignedLongLong(arg);
  if (PyErr_Occurred()) return nullptr;
  State& state = state_of(self);
  if (!state.allocator)
    return PyErr_Format(PyExc_RuntimeError, "allocate: this process only uses the segment; it belongs to another one");
  return guarded([&]() -> PyObject* {
    uint32_t index = state.allocator->allocate(size);
    return new_block(reinterpret_cast<PyArena*>(self), index, size);
  });
}
}  // namespace
PyArena* arena_of(uint64_t segment) {
  auto known = arenas.find(segment);
  return known == arenas.end() ? nullptr : known->second;
}
PyObject* receive(PyArena* arena, uint32_t index, uint32_t generation, uint64_t nbytes) {
  State& state = *arena->state;
  auto held = state.held.find(index);
  if (!state.segment->receive(index, generation, held != state.held.end()))
    return PyErr_Format(PyExc_RuntimeError,
                        "shared memory: this tensor's message was received before, or its block is gone; each message "
                        "can be received once");
  if (held != state.held.end()) return Py_NewRef(reinterpret_cast<PyObject*>(held->second));
  if (nbytes > state.segment->entry(index).size)
    return PyErr_Format(PyExc_RuntimeError, "shared memory: a message promises more bytes than its block has");
  return guarded([&] { return new_block(arena, index, nbytes); });
}
namespace {
PyObject* arena_receive(PyObject* self, PyObject* args) {
  unsigned int index, generation;
  unsigned long long nbytes;
  if (!PyArg_ParseTuple(args, "IIK:receive", &index, &generation, &nbytes)) return nullptr;
  return receive(reinterpret_cast<PyArena*>(self), index, generation, nbytes);
}
PyObject* arena_sweep(PyObject* self, PyObject* args) {
  unsigned long long keep = kCacheLimit;
  if (!PyArg_ParseTuple(args, "|K:sweep", &keep)) return nullptr;
  State& state = state_of(self);
  return guarded([&]() -> PyObject* {
    if (state.allocator) state.allocator->sweep(keep);
    Py_RETURN_NONE;
  });
}
PyObject* arena_reap(PyObject* self, PyObject*) {
  State& state = state_of(self);
  if (state.allocator) state.allocator->reap();
  Py_RETURN_NONE;
}
PyObject* arena_before_fork(PyObject* self, PyObject*) {
  // On behalf of the child, which inherits every Block object: one reference to each block.
  State& state = state_of(self);
  PyObject* list = PyList_New(0);
  for (auto& [index, block] : state.held) {
    PyObject* number = list ? PyLong_FromUnsignedLong(index) : nullptr;
    if (!number || PyList_Append(list, number) < 0) {
      Py_XDECREF(number);
      Py_XDECREF(list);
      return nullptr;
    }
    Py_DECREF(number);
    state.segment->entry(index).count.fetch_add(1);
  }
  return list;
}
PyObject* arena_undo_fork(PyObject* self, PyObject* list) {
  State& state = state_of(self);
  if (!PyList_Check(list)) return PyErr_Format(PyExc_TypeError, "undo_fork: expected the list that before_fork gave");
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    unsigned long index = PyLong_AsUnsignedLong(PyList_GET_ITEM(list, i));
    if (PyErr_Occurred()) return nullptr;
    if (index < state.segment->header().entries.load()) state.segment->drop(uint32_t(index), kCacheLimit, false);
  }
  Py_RETURN_NONE;
}
PyObject* arena_after_fork(PyObject* self, PyObject*) {
  State& state = state_of(self);
  return guarded([&]() -> PyObject* {
    state.allocator.reset();
    try {
      state.segment->claim_slot();
    } catch (const std::runtime_error&) {
      // One process too many. What it inherited is counted for it and stays, for good should it be killed.
    }
    Py_RETURN_NONE;
  });
}
PyObject* arena_take_over(PyObject* self, PyObject*) {
  State& state = state_of(self);
  for (auto& [index, block] : state.held) state.segment->hold(index);
  Py_RETURN_NONE;
}
PyObject* arena_forget_messages(PyObject* self, PyObject*) {
  State& state = state_of(self);
  if (state.allocator || state.segment->slot_is_alive(0))
    return PyErr_Format(PyExc_RuntimeError, "forget_messages: the owner of the segment runs and may send more");
  state.segment->header().in_transit.store(0);
  Py_RETURN_NONE;
}
PyObject* arena_stats(PyObject* self, PyObject*) {
  State& state = state_of(self);
  uint64_t blocks = state.allocator ? state.allocator->live_blocks() : 0,
           bytes = state.allocator ? state.allocator->live_bytes() : 0;
  uint64_t backed = state.allocator ? state.allocator->backed_bytes() : 0;
  return Py_BuildValue("{s:K,s:K,s:K,s:K,s:I}", "live_blocks", blocks, "live_bytes", bytes, "backed_bytes", backed,
                       "held_blocks", static_cast<unsigned long long>(state.held.size()), "in_transit",
                       state.segment->header().in_transit.load());
}
PyObject* arena_fd(PyObject* self, void*) { return PyLong_FromLong(state_of(self).segment->fd()); }
PyObject* arena_id(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(state_of(self).segment->header().id); }
PyObject* arena_is_owner(PyObject* self, void*) { return PyBool_FromLong(state_of(self).allocator != nullptr); }
PyObject* arena_idle(PyObject* self, void*) {
  State& state = state_of(self);
  return PyBool_FromLong(state.held.empty() && state.segment->header().in_transit.load() == 0);
}
PyObject* arena_owner_alive(PyObject* self, void*) {
  State& state = state_of(self);
  return PyBool_FromLong(state.allocator || state.segment->slot_is_alive(0));
}

// --- Block ---

void block_dealloc(PyObject* self) {
  auto* block = reinterpret_cast<PyBlock*>(self);
  if (block->weak) PyObject_ClearWeakRefs(self);
  State& state = *block->arena->state;
  state.held.erase(block->index);
  state.segment->drop(block->index, kCacheLimit);
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(reinterpret_cast<PyObject*>(block->arena));
  PyObject_Free(self);
  Py_DECREF(type);
}
}  // namespace
char* memory_of(PyBlock* block) {
  Segment& segment = *block->arena->state->segment;
  return segment.at(segment.entry(block->index).offset);
}
namespace {
int block_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  auto* block = reinterpret_cast<PyBlock*>(self);
  return PyBuffer_FillInfo(view, self, memory_of(block), Py_ssize_t(block->nbytes), 0, flags);
}
PyObject* block_handle(PyObject* self, void*) {
  auto* block = reinterpret_cast<PyBlock*>(self);
  return Py_BuildValue("IIK", block->index, block->generation, static_cast<unsigned long long>(block->nbytes));
}
PyObject* block_send(PyObject* self, PyObject*) {
  auto* block = reinterpret_cast<PyBlock*>(self);
  block->arena->state->segment->send(block->index);
  return block_handle(self, nullptr);
}
PyObject* block_recall(PyObject* self, PyObject*) {
  auto* block = reinterpret_cast<PyBlock*>(self);
  while (block->arena->state->segment->receive(block->index, block->generation, true)) {
  }
  Py_RETURN_NONE;
}
PyObject* block_is_under_way(PyObject* self, void*) {
  auto* block = reinterpret_cast<PyBlock*>(self);
  return PyBool_FromLong(block->arena->state->segment->entry(block->index).in_transit.load() > 0);
}
PyObject* block_arena(PyObject* self, void*) {
  return Py_NewRef(reinterpret_cast<PyObject*>(reinterpret_cast<PyBlock*>(self)->arena));
}
PyObject* block_address(PyObject* self, void*) {
  return PyLong_FromVoidPtr(memory_of(reinterpret_cast<PyBlock*>(self)));
}
PyObject* block_count(PyObject* self, void*) {
  auto* block = reinterpret_cast<PyBlock*>(self);
  return PyLong_FromUnsignedLong(block->arena->state->segment->entry(block->index).count.load());
}
PyObject* block_holders(PyObject* self, void*) {
  auto* block = reinterpret_cast<PyBlock*>(self);
  long n = 0;
  for (auto& word : block->arena->state->segment->entry(block->index).holders) n += __builtin_popcountll(word.load());
  return PyLong_FromLong(n);
}

PyObject* block_is_elsewhere(PyObject* self, void*) {
  auto* block = reinterpret_cast<PyBlock*>(self);
  return PyBool_FromLong(block->arena->state->segment->is_elsewhere(block->index));
}

PyMethodDef arena_methods[] = {
    {"create", arena_create, METH_VARARGS | METH_STATIC,
     "create(fd, id, size)\n--\n\nA new segment in an empty file; this process owns it."},
    {"attach", arena_attach, METH_VARARGS | METH_STATIC, "attach(fd, id)\n--\n\nThe segment of another process."},
    {"allocate", arena_allocate, METH_O, "allocate(nbytes)\n--\n\nA Block of uninitialised shared memory."},
    {"receive", arena_receive, METH_VARARGS,
     "receive(index, generation, nbytes)\n--\n\nThe Block that a message carried; once for each send."},
    {"sweep", arena_sweep, METH_VARARGS,
     "sweep(keep=268435456)\n--\n\nTakes back what ended processes held, and gives free memory beyond `keep` bytes to "
     "the system."},
    {"reap", arena_reap, METH_NOARGS, "reap()\n--\n\nTakes back what ended processes held."},
    {"before_fork", arena_before_fork, METH_NOARGS,
     "before_fork()\n--\n\nHolds every block once more, for a child; gives their numbers."},
    {"undo_fork", arena_undo_fork, METH_O,
     "undo_fork(numbers)\n--\n\nLets go what before_fork held for a child that did not live to take it."},
    {"after_fork", arena_after_fork, METH_NOARGS,
     "after_fork()\n--\n\nMakes this process, a forked child, a user of the segment."},
    {"take_over", arena_take_over, METH_NOARGS,
     "take_over()\n--\n\nIn a forked child: what before_fork held is held by this process now."},
    {"forget_messages", arena_forget_messages, METH_NOARGS,
     "forget_messages()\n--\n\nFor a segment whose owner has ended, when no more of its messages can come."},
    {"stats", arena_stats, METH_NOARGS, "stats()\n--\n\nCounts of blocks and bytes."},
    {}};
PyGetSetDef arena_getset[] = {
    {"fd", arena_fd, nullptr, "The segment's descriptor.", nullptr},
    {"id", arena_id, nullptr, "The segment's random number.", nullptr},
    {"is_owner", arena_is_owner, nullptr, "Whether this process allocates in the segment.", nullptr},
    {"idle", arena_idle, nullptr, "Whether this process holds no block of it, and no message is under way.", nullptr},
    {"owner_alive", arena_owner_alive, nullptr, "Whether the owner still runs.", nullptr},
    {}};
PyMethodDef block_methods[] = {
    {"send", block_send, METH_NOARGS, "send()\n--\n\nIts `handle`, for one message that is under way from now on."},
    {"recall", block_recall, METH_NOARGS, "recall()\n--\n\nEnds the messages that carry it: nobody will receive them."},
    {}};
PyGetSetDef block_getset[] = {{"arena", block_arena, nullptr, "The Arena that the block lies in.", nullptr},
                              {"address", block_address, nullptr, "Address of the first byte.", nullptr},
                              {"handle", block_handle, nullptr, "(index, generation, nbytes)", nullptr},
                              {"is_under_way", block_is_under_way, nullptr, "Whether a message carries it.", nullptr},
                              {"is_elsewhere", block_is_elsewhere, nullptr,
                               "Whether a message or another process that runs has the block.", nullptr},
                              {"count", block_count, nullptr, "Processes and messages that hold the block.", nullptr},
                              {"holders", block_holders, nullptr, "Processes that hold the block.", nullptr},
                              {}};

PyTypeObject* make_type(PyObject* module, const char* name, size_t size, const char* doc, destructor dealloc,
                        PyMethodDef* methods, PyGetSetDef* getset, getbufferproc buffer) {
  static PyMemberDef weak[] = {{"__weaklistoffset__", T_PYSSIZET, offsetof(PyBlock, weak), 1, nullptr}, {}};
  PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_methods, methods},
                         {Py_tp_getset, getset},
                         {Py_tp_doc, const_cast<char*>(doc)},
                         {buffer ? Py_bf_getbuffer : 0, reinterpret_cast<void*>(buffer)},
                         {Py_tp_members, weak},
                         {0, nullptr}};
  PyType_Spec spec = {name, int(size), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
  auto* type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (type && PyModule_AddType(module, type) < 0) return nullptr;
  return type;
}

PyObject* outline(PyObject*, PyObject* arg) {
  int fd = PyObject_AsFileDescriptor(arg);
  if (fd < 0) return nullptr;
  Outline o = outline_of(fd);
  return Py_BuildValue("OOI", o.made ? Py_True : Py_False, o.owner_alive ? Py_True : Py_False, o.in_transit);
}
PyMethodDef functions[] = {
    {"outline", outline, METH_O, "outline(fd)\n--\n\n(made, owner runs, messages under way) of a segment's file."}, {}};

PyModuleDef module_def = {PyModuleDef_HEAD_INIT,
                          "_arena",
                          "Shared segments with counts across processes.",
                          -1,
                          functions,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace torch::shared

PyMODINIT_FUNC PyInit__arena() {
  using namespace torch::shared;
  PyObject* module = PyModule_Create(&module_def);
  if (!module) return nullptr;
  arena_type = make_type(module, "torch.multiprocessing._arena.Arena", sizeof(PyArena), "A shared segment.",
                         arena_dealloc, arena_methods, arena_getset, nullptr);
  block_type =
      make_type(module, "torch.multiprocessing._arena.Block", sizeof(PyBlock), "A run of bytes in a shared segment.",
                block_dealloc, block_methods, block_getset, block_getbuffer);
  if (!arena_type || !block_type || PyModule_AddFunctions(module, packet_functions) < 0) return nullptr;
  return module;
}

// The Python objects over segments and blocks, for the files of this module.
#pragma once
#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>

#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <unordered_map>

#include "allocator.h"
#include "segment.h"

namespace torch::shared {

struct PyBlock;
struct State {
  std::unique_ptr<Segment> segment;
  std::unique_ptr<Allocator> allocator;         // null when attached
  std::unordered_map<uint32_t, PyBlock*> held;  // the Block object of each block that this process holds
};
struct PyArena {
  PyObject_HEAD State* state;
};
struct PyBlock {
  PyObject_HEAD PyArena* arena;
  uint64_t nbytes;
  uint32_t index;
  uint32_t generation;
  PyObject* weak;
};
extern PyTypeObject* block_type;

// The arena of a segment that this process has, or null.
PyArena* arena_of(uint64_t segment);
char* memory_of(PyBlock* block);
// The Block that a message carried, once for each message; or null with a RuntimeError.
PyObject* receive(PyArena* arena, uint32_t index, uint32_t generation, uint64_t nbytes);

template <class F>
PyObject* guarded(F f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
    return nullptr;
  }
}

extern PyMethodDef packet_functions[];

}  // namespace torch::shared

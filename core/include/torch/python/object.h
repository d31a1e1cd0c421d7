// A Python object that C++ holds.
#pragma once
#include <Python.h>

#include <utility>

namespace torch::python {

// Owns one Python reference.
class Object {
 public:
  explicit Object(PyObject* o = nullptr) noexcept : o_(o) {}
  static Object share(PyObject* o) noexcept { return Object(Py_XNewRef(o)); }
  Object(Object&& other) noexcept : o_(std::exchange(other.o_, nullptr)) {}
  Object& operator=(Object&& other) noexcept {
    std::swap(o_, other.o_);
    return *this;
  }
  ~Object() { Py_XDECREF(o_); }
  PyObject* get() const noexcept { return o_; }
  PyObject* release() noexcept { return std::exchange(o_, nullptr); }
  explicit operator bool() const noexcept { return o_ != nullptr; }

 private:
  PyObject* o_;
};

}  // namespace torch::python

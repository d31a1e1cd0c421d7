// What a captured program relies on, as steps over slots: torch.compiler._guards writes them down, and a call of the
// function walks through them before the program runs. Slot 0 is the tuple of arguments, slot 1 the dict of those by
// name; a step fetches a value into a slot, or asks whether one is as it was.
#pragma once
#include <optional>
#include <vector>

#include "python.h"

namespace torch::program {

// Whether an input of a program is a number that changes from call to call; all others are tensors.
inline bool is_number(PyObject* o) { return PyFloat_CheckExact(o) || PyLong_CheckExact(o); }

// Values fetched for one call: those with no other reference are released at the end.
class Slots {
 public:
  explicit Slots(size_t n) : values_(n) {}
  ~Slots() {
    for (PyObject* o : owned_) Py_DECREF(o);
  }
  Slots(const Slots&) = delete;
  PyObject* operator[](size_t i) const { return values_[i]; }
  void borrow(size_t i, PyObject* o) { values_[i] = o; }
  bool own(size_t i, PyObject* o) {
    if (!o) {
      PyErr_Clear();
      return false;
    }
    owned_.push_back(o);
    values_[i] = o;
    return true;
  }

 private:
  std::vector<PyObject*> values_, owned_;
};

class Guards {
 public:
  // Steps as Python has them: (kind, slot, ...); the slots of the tensors that the program reads; those of
  // objects that must not be one; how many slots.
  Guards(const py::list& steps, std::vector<size_t> inputs, std::vector<size_t> apart, size_t slots, py::object same);
  // Whether a call may run the program; then `slots` has what it reads.
  bool hold(Slots& slots) const;
  size_t slots() const noexcept { return count_; }
  const std::vector<size_t>& inputs() const noexcept { return inputs_; }
  int traverse(visitproc visit, void* arg) const;

 private:
  enum class Kind : uint8_t {
    Const,
    Cell,
    Key,
    Index,
    Attr,
    Is,
    Alive,  // the object that a weak reference names
    Equal,
    Type,
    Len,
    Keys,
    Same,
    Absent,
    NoAttr,
    Tensor,
    Class,
    Sizes,
    Code,
    Memory,
    Order
  };
  // In place of a dim: a number that is an argument itself, and the number that a tensor of one element holds.
  static constexpr uint32_t kWhole = 0xFFFFFFFF, kValue = 0xFFFFFFFE;
  struct Like {
    PyTypeObject* type;
    DType dtype;
    Device device;
    bool requires_grad;
    std::vector<int64_t> sizes, strides;  // -1: any size
    bool any_strides = false;
  };
  struct Step {
    Kind kind;
    uint32_t slot, other = 0;
    int64_t number = 0;
    py::object value{}, name{};
    mutable unsigned tag = 0;  // of a class: its version when it was found right
    Like like{};
    std::optional<std::vector<int64_t>> order{};        // of dense memory: its dims, the outermost first
    std::vector<std::pair<uint32_t, uint32_t>> dims{};  // slots of tensors, and which dim of each; or of numbers
  };

  static Kind kind_of(std::string_view name);
  bool holds(const Step& s, Slots& slots) const;
  bool equal(PyObject* found, PyObject* wanted) const;
  template <class F>
  static bool are_distinct(const std::vector<size_t>& which, F pointer);

  std::vector<Step> steps_;
  std::vector<size_t> inputs_, apart_;
  size_t count_;
  py::object same_value_;
};

}  // namespace torch::program

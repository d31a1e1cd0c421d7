// What `help(torch.Tensor.__add__)` says: names of arguments and an example, where Python's own text of a special
// method knows neither. The slots stay what they are: a wrapper of the same function with another text takes the place
// of the first one, so that operators on tensors and on subclasses go the short way as before.
#include <deque>
#include <string>

#include "python.h"

namespace torch::python {
namespace {

struct Special {
  const char* name;
  const char* arguments;  // between the brackets, after self
  const char* text;
  const char* example;
};

constexpr const char* kOther = ", other, /";
const Special specials[] = {
    {"__abs__", ", /", "``abs(x)``.", "abs(torch.tensor([-1.0, 2.0]))\ntensor([1., 2.])"},
    {"__add__", kOther, "``x + other``.", "torch.tensor([1.0, 2.0]) + 1\ntensor([2., 3.])"},
    {"__and__", kOther, "``x & other``, bit by bit.", "torch.tensor([6]) & 3\ntensor([2])"},
    {"__bool__", ", /", "Whether the one element is not zero.", "bool(torch.tensor([3.0]))\nTrue"},
    {"__eq__", kOther, "``x == other``, element by element.", "torch.tensor([1, 2]) == 2\ntensor([False,  True])"},
    {"__float__", ", /", "The one element as a float.", "float(torch.tensor([3]))\n3.0"},
    {"__floordiv__", kOther, "``x // other``, rounded down.", "torch.tensor([7, -7]) // 2\ntensor([ 3, -4])"},
    {"__ge__", kOther, "``x >= other``, element by element.", "torch.tensor([1, 2]) >= 2\ntensor([False,  True])"},
    {"__getitem__", ", indices, /", "Elements, rows, slices.", "torch.tensor([[1, 2], [3, 4]])[:, 0]\ntensor([1, 3])"},
    {"__gt__", kOther, "``x > other``, element by element.", "torch.tensor([1, 2]) > 1\ntensor([False,  True])"},
    {"__iadd__", kOther, "``x += other``.", "torch.tensor([1.0]).__iadd__(2)\ntensor([3.])"},
    {"__iand__", kOther, "``x &= other``.", "torch.tensor([6]).__iand__(3)\ntensor([2])"},
    {"__ifloordiv__", kOther, "``x //= other``.", "torch.tensor([7]).__ifloordiv__(2)\ntensor([3])"},
    {"__imod__", kOther, "``x %= other``.", "torch.tensor([7]).__imod__(2)\ntensor([1])"},
    {"__imul__", kOther, "``x *= other``.", "torch.tensor([3.0]).__imul__(2)\ntensor([6.])"},
    {"__index__", ", /", "The one element as an index.", "[\"a\", \"b\"][torch.tensor(1)]\n'b'"},
    {"__int__", ", /", "The one element as an int.", "int(torch.tensor([3.7]))\n3"},
    {"__invert__", ", /", "``~x``: every bit, or the truth, turned around.",
     "~torch.tensor([True, False])\ntensor([False,  True])"},
    {"__ior__", kOther, "``x |= other``.", "torch.tensor([4]).__ior__(3)\ntensor([7])"},
    {"__ipow__", kOther, "``x **= other``.", "torch.tensor([3.0]).__ipow__(2)\ntensor([9.])"},
    {"__isub__", kOther, "``x -= other``.", "torch.tensor([3.0]).__isub__(1)\ntensor([2.])"},
    {"__itruediv__", kOther, "``x /= other``.", "torch.tensor([3.0]).__itruediv__(2)\ntensor([1.5000])"},
    {"__ixor__", kOther, "``x ^= other``.", "torch.tensor([6]).__ixor__(3)\ntensor([5])"},
    {"__le__", kOther, "``x <= other``, element by element.", "torch.tensor([1, 2]) <= 1\ntensor([ True, False])"},
    {"__len__", ", /", "The size of the first dim.", "len(torch.zeros(2, 3))\n2"},
    {"__lshift__", kOther, "``x << other``.", "torch.tensor([3]) << 2\ntensor([12])"},
    {"__lt__", kOther, "``x < other``, element by element.", "torch.tensor([1, 2]) < 2\ntensor([ True, False])"},
    {"__matmul__", kOther, "``x @ other``, the product of matrices.",
     "torch.eye(2) @ torch.tensor([1.0, 2.0])\ntensor([1., 2.])"},
    {"__mod__", kOther, "``x % other``, with the sign of other.", "torch.tensor([7, -7]) % 4\ntensor([3, 1])"},
    {"__mul__", kOther, "``x * other``, element by element.", "torch.tensor([1.0, 2.0]) * 3\ntensor([3., 6.])"},
    {"__ne__", kOther, "``x != other``, element by element.", "torch.tensor([1, 2]) != 2\ntensor([ True, False])"},
    {"__neg__", ", /", "``-x``.", "-torch.tensor([1.0, -2.0])\ntensor([-1.,  2.])"},
    {"__or__", kOther, "``x | other``, bit by bit.", "torch.tensor([4]) | 3\ntensor([7])"},
    {"__pos__", ", /", "``+x``.", "+torch.tensor([1.0])\ntensor([1.])"},
    {"__pow__", ", other, mod=None, /", "``x ** other``; ``mod`` is Python's and must be None.",
     "torch.tensor([3.0]) ** 2\ntensor([9.])"},
    {"__radd__", kOther, "``other + x``.", "1 + torch.tensor([1.0])\ntensor([2.])"},
    {"__rfloordiv__", kOther, "``other // x``.", "7 // torch.tensor([2])\ntensor([3])"},
    {"__rmatmul__", kOther, "``other @ x``.", "torch.ones(2).__rmatmul__(torch.eye(2))\ntensor([1., 1.])"},
    {"__rmod__", kOther, "``other % x``.", "7 % torch.tensor([4])\ntensor([3])"},
    {"__rmul__", kOther, "``other * x``.", "3 * torch.tensor([1.0])\ntensor([3.])"},
    {"__rpow__", ", other, mod=None, /", "``other ** x``; ``mod`` is Python's and must be None.",
     "2 ** torch.tensor([3.0])\ntensor([8.])"},
    {"__rshift__", kOther, "``x >> other``.", "torch.tensor([12]) >> 2\ntensor([3])"},
    {"__rsub__", kOther, "``other - x``.", "1 - torch.tensor([3.0])\ntensor([-2.])"},
    {"__rtruediv__", kOther, "``other / x``.", "3 / torch.tensor([2.0])\ntensor([1.5000])"},
    {"__setitem__", ", indices, value, /", "``x[indices] = value``.",
     "x = torch.zeros(3)\n>>> x[1:] = 7\n>>> x\ntensor([0., 7., 7.])"},
    {"__sub__", kOther, "``x - other``.", "torch.tensor([3.0]) - 1\ntensor([2.])"},
    {"__truediv__", kOther, "``x / other``.", "torch.tensor([3.0]) / 2\ntensor([1.5000])"},
    {"__xor__", kOther, "``x ^ other``, bit by bit.", "torch.tensor([6]) ^ 3\ntensor([5])"},
};

}  // namespace

bool name_special_methods(PyTypeObject* type) {
  static std::deque<std::string> texts;     // a wrapper keeps a pointer to its text,
  static std::deque<wrapperbase> wrappers;  // and to its description
  for (const Special& special : specials) {
    PyObject* old = PyDict_GetItemString(type->tp_dict, special.name);
    if (!old || !Py_IS_TYPE(old, &PyWrapperDescr_Type)) continue;
    auto* wrapper = reinterpret_cast<PyWrapperDescrObject*>(old);
    texts.push_back(std::string(special.name) + "($self" + special.arguments + ")\n--\n\n" + special.text + "\n\n>>> " +
                    special.example);
    wrappers.push_back(*wrapper->d_base);
    wrappers.back().doc = texts.back().c_str();
    Object named(PyDescr_NewWrapper(type, &wrappers.back(), wrapper->d_wrapped));
    if (!named || PyDict_SetItemString(type->tp_dict, special.name, named.get()) < 0) return false;
  }
  PyType_Modified(type);
  return true;
}

}  // namespace torch::python

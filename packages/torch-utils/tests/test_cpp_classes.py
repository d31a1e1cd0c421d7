"""Classes of C++ extensions, operators that take dicts, lists and objects, and values that programs put in containers."""

import copy
import io
import os

import pytest
import torch

pytest.importorskip("pybind11")
from torch.utils import cpp_extension
from torch.utils.cpp_extension import load_inline

if not cpp_extension.check_compiler_abi_compatibility(os.environ.get("CXX", "c++")):
    pytest.skip("needs a C++20 compiler", allow_module_level=True)

pytestmark = pytest.mark.usefixtures("time_to_compile")

SOURCE = """
#include <ATen/core/Dict.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/custom_class.h>

struct Table : torch::CustomClassHolder {
  at::Tensor rows;
  int64_t looks = 0;
  inline static int64_t alive = 0;
  explicit Table(at::Tensor r) : rows(std::move(r)) { ++alive; }
  ~Table() override { --alive; }
  at::Tensor look(const at::Tensor& places, double scale) { return ++looks, rows.index_select(0, places) * scale; }
  c10::intrusive_ptr<Table> twice() const { return c10::make_intrusive<Table>(rows * 2); }
};
using Texts = c10::Dict<std::string, at::Tensor>;
Texts means(const Texts& all) {
  Texts found;
  for (const auto& item : all) found.insert(item.key(), item.value().mean());
  return found;
}
std::tuple<std::vector<double>, std::string> mixed(const c10::List<double>& values, std::vector<std::string> words,
                                                   at::ScalarType t) {
  std::string text = at::toString(t);
  for (const auto& word : words) text += " " + word;
  return {values.vec(), text};
}
double scaled_twice(at::Tensor x) {
  static auto op = c10::Dispatcher::singleton()
                       .findSchemaOrThrow("cpp_classes::scaled", "")
                       .typed<at::Tensor(const at::Tensor&, double)>();
  return op.call(op.call(x, 2), 3).sum().item().toDouble();
}
void no_operator() { c10::Dispatcher::singleton().findSchemaOrThrow("cpp_classes::none", "more"); }
TORCH_LIBRARY(cpp_classes, m) {
  m.class_<Table>("Table")
      .def(torch::init<at::Tensor>())
      .def("look", &Table::look, "rows by their places", {torch::arg("places"), torch::arg("scale") = 1.0})
      .def("twice", &Table::twice)
      .def("none", [](const c10::intrusive_ptr<Table>& self) -> std::optional<at::Tensor> { return {}; })
      .def_static("alive", [] { return Table::alive; })
      .def_readwrite("looks", &Table::looks)
      .def_property("size", [](const c10::intrusive_ptr<Table>& self) { return self->rows.size(0); })
      .def_pickle([](const c10::intrusive_ptr<Table>& self) { return self->rows; },
                  [](at::Tensor rows) { return c10::make_intrusive<Table>(rows); });
  m.def("rows", [](const c10::intrusive_ptr<Table>& table) { return table->rows; });
  m.def("joined(__torch__.torch.classes.cpp_classes.Table[] all) -> Tensor", [](std::vector<c10::intrusive_ptr<Table>> all) {
    std::vector<at::Tensor> rows;
    for (const auto& table : all) rows.push_back(table->rows);
    return at::cat(rows);
  });
  m.def("means", &means);
  m.def("mixed(float[] values, str[] words, ScalarType t=6) -> (float[], str)", &mixed);
  m.def("scaled(Tensor x, float by) -> Tensor", [](const at::Tensor& x, double by) { return x * by; });
}
static auto again = torch::class_<Table>("cpp_classes", "Again").def(torch::init<at::Tensor>());

std::vector<int64_t> containers() {
  std::vector<int64_t> r;
  c10::Dict<std::string, int64_t> d;
  d.insert("b", 1);
  r.push_back(d.insert("b", 2).second);           // a value that is there stays
  r.push_back(d.at("b"));
  d.insert_or_assign("b", 3);
  d.insert("a", 4);
  c10::Dict<std::string, int64_t> same = d, other = d.copy();
  same.insert("c", 5);
  for (const auto& item : d) r.push_back(item.value());  // in the order in which they came
  r.push_back(other.size());
  r.push_back(d.erase("b"));
  r.push_back(d.contains("b"));
  r.push_back(d.find("b") == d.end());
  c10::List<int64_t> l({7, 8}), shared = l;
  shared.push_back(9);
  r.push_back(l.size());
  auto pair = c10::ivalue::Tuple::create({c10::IValue(1), c10::IValue(at::ones({3}))});
  c10::IValue value(pair);
  r.push_back(value.toTupleRef().elements()[1].toTensor().numel());
  return r;
}
int64_t absent() { return c10::Dict<std::string, int64_t>().at("x"); }
std::vector<at::Tensor> written() {
  at::Tensor x = at::zeros({2, 3}), y = x;
  x[0] = at::ones({3});        // what an expression gives is written to
  x.select(0, 1) = 2;
  x.index({1, 2}) = 5.0;
  y = at::ones({1});           // a name is another handle
  at::Tensor z = x[0];
  z = at::full(2, 9.0);
  return {x, y, z};
}
std::vector<at::Tensor> made(at::Tensor x, std::optional<at::Tensor> bias) {
  return {torch::full(3, 2.5), torch::zeros(2, torch::kInt), torch::sum(x, 1), torch::linear(x, x, bias),
          x.new_ones(2), torch::tensor({{1, 2}, {3, 4}}), at::zeros({1, 2}).scatter_(1, at::zeros({1, 1}, at::kLong), 7),
          std::get<0>(at::_unique2(at::tensor({3, 1, 3}))), torch::linalg::inv(at::eye(2) * 2),
          torch::repeat_interleave(x, 2, 0)};
}
int64_t highest_thread(int64_t n) {
  std::atomic<int> most{0};
  at::parallel_for(0, n, 1, [&](int64_t, int64_t) {
    at::parallel_for(0, 4, 1, [&](int64_t, int64_t) {
      int seen = most, mine = at::get_thread_num();
      while (seen < mine && !most.compare_exchange_weak(seen, mine)) {}
    });
  });
  return most;
}
at::Tensor without_gradient(at::Tensor x) {
  x.mutable_grad() = at::Tensor();
  return x.grad();
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("containers", &containers); m.def("absent", &absent); m.def("written", &written); m.def("made", &made);
  m.def("scaled_twice", &scaled_twice); m.def("no_operator", &no_operator); m.def("highest_thread", &highest_thread);
  m.def("without_gradient", &without_gradient);
}
"""


@pytest.fixture(scope="module")
def cpp(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("classes"))
    with pytest.raises(RuntimeError) as caught:  # the class that is registered twice
        load_inline("cpp_classes", SOURCE, extra_cflags=["-O0"], build_directory=folder)
    refused = "torch.classes.cpp_classes.Again: it is registered already, as __torch__.torch.classes.cpp_classes.Table"
    assert refused in str(caught.value)
    return load_inline("cpp_classes", SOURCE, extra_cflags=["-O0"], build_directory=folder)


@pytest.fixture
def table(cpp):
    return torch.classes.cpp_classes.Table(torch.arange(6.0).view(3, 2))


def test_objects_of_classes_have_methods_and_attributes(table):
    places = torch.tensor([2, 0])
    assert table.look(places).tolist() == [[4, 5], [0, 1]] and table.look(places=places, scale=2).tolist()[0] == [8, 10]
    assert (table.looks, table.size, table.none()) == (2, 3, None)
    table.looks = 7
    assert table.looks == 7 and "rows by their places" in type(table).look.__doc__
    with pytest.raises(AttributeError):
        table.size = 4
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        torch.classes.cpp_classes.Table("text")
    with pytest.raises(RuntimeError, match="torch.classes.cpp_classes.Missing does not exist: no library"):
        torch.classes.cpp_classes.Missing


def test_objects_live_as_long_as_somebody_holds_them(table):
    before = table.alive()
    other = table.twice()
    rows = torch.ops.cpp_classes.rows(other)
    assert table.alive() == before + 1 and rows.sum().item() == 30
    del other
    assert table.alive() == before and rows.sum().item() == 30


def is_same_table(other, table):
    return type(other) is type(table) and torch.equal(other.look(torch.arange(3)), table.look(torch.arange(3)))


def test_objects_are_copied(table):
    assert is_same_table(copy.deepcopy(table), table)


def test_objects_are_saved(table):
    pytest.importorskip("torch.serialize", exc_type=ImportError)
    file = io.BytesIO()
    torch.save({"table": table}, file)
    file.seek(0)
    assert is_same_table(torch.load(file, weights_only=False)["table"], table)
    file.seek(0)
    with pytest.raises(Exception, match="cpp_classes|torch.classes"):  # code of libraries does not run by itself
        torch.load(file)


def test_operators_take_objects_dicts_and_lists(table):
    ops = torch.ops.cpp_classes
    assert ops.joined([table, table]).shape == (6, 2)
    assert {k: v.item() for k, v in ops.means({"b": torch.arange(3.0), "a": torch.ones(2)}).items()} == {"b": 1, "a": 1}
    assert ops.mixed([1.0, 2.5], ["a", "b"]) == ([1.0, 2.5], "Float a b")
    assert ops.mixed([], [], torch.float64) == ([], "Double")
    assert str(ops.means.default._schema) == "cpp_classes::means(Dict(str, Tensor) _0) -> Dict(str, Tensor)"
    assert "torch.classes.cpp_classes.Table _0" in str(ops.rows.default._schema)
    with pytest.raises(RuntimeError, match=r"Expected a value of type 'Dict\(str, Tensor\)' for argument '_0'.*'dict'"):
        ops.means({"a": 3})


def test_gradients_pass_through_operators_with_dicts(cpp):
    pytest.importorskip("torch.autograd", exc_type=ImportError)
    x = torch.arange(4.0, requires_grad=True)
    torch.ops.cpp_classes.means({"x": x * 2})["x"].backward()
    assert x.grad.tolist() == [0.5] * 4


def test_operators_are_called_by_name(cpp):
    assert cpp.scaled_twice(torch.ones(2)) == 12
    with pytest.raises(RuntimeError, match="Could not find schema for cpp_classes::none.more"):
        cpp.no_operator()


def test_containers_are_shared_by_their_copies_and_keep_their_order(cpp):
    assert cpp.containers() == [0, 1, 3, 4, 5, 2, 1, 0, 1, 3, 3]
    with pytest.raises(RuntimeError, match="Dict::at: there is no such key among 0"):
        cpp.absent()


def test_what_an_expression_gives_is_written_to(cpp):
    x, y, z = cpp.written()
    assert x.tolist() == [[1, 1, 1], [2, 2, 5]] and y.tolist() == [1] and z.tolist() == [9, 9]


def test_one_int_is_a_list_and_an_absent_tensor_none(cpp):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    full, zeros, sums, plain, ones, rows, put, once, half, repeated = cpp.made(x, None)
    assert full.tolist() == [2.5] * 3 and zeros.dtype == torch.int32 and zeros.tolist() == [0, 0]
    assert sums.tolist() == [3, 7] and plain.tolist() == (x @ x.T).tolist() and ones.tolist() == [1, 1]
    assert rows.tolist() == [[1, 2], [3, 4]] and put.tolist() == [[7, 0]] and once.tolist() == [1, 3]
    assert half.tolist() == [[0.5, 0], [0, 0.5]] and repeated[:, 0].tolist() == [1, 1, 3, 3]
    assert cpp.made(x, torch.ones(2))[3].tolist() == (x @ x.T + 1).tolist()


def test_threads_of_a_loop_are_numbered_below_their_count(cpp):
    for n in (1, 3, 500):
        assert cpp.highest_thread(n) < torch.get_num_threads()


def test_the_gradient_of_a_tensor_is_replaced(cpp):
    if not hasattr(torch, "autograd"):
        pytest.skip("needs torch-autograd")
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    assert cpp.without_gradient(x) is None and x.grad is None

// Archives: what is saved loads and runs as before, and no change of one does more than raise an error.
#include "torch/program/archive.h"

#include <unistd.h>

#include <cstring>
#include <fstream>
#include <random>
#include <sstream>

#include "check.h"
#include "torch/core/crc32.h"
#include "torch/core/ops/create.h"
#include "torch/program/klass.h"
#include "torch/program/text.h"

using namespace torch;
using namespace torch::program;

namespace {

constexpr const char* kGraph = R"(graph(%self : __torch__.Net, %x : Tensor, %n : int):
  %one : int = prim::Constant[value=1]()
  %yes : bool = prim::Constant[value=True]()
  %name : str = prim::Constant[value="b\"c\n"]()
  %w : Tensor = prim::GetAttr[name="weight"](%self)
  %d : Dict(str, int[]) = prim::GetAttr[name="table"](%self)
  %l : int[] = aten::__getitem__(%d, %name)
  %k : int = aten::__getitem__(%l, %one)
  %z : Tensor = prim::Loop(%n, %yes, %x)
    block0(%i : int, %y : Tensor):
      %c : bool = aten::lt(%i, %k)
      %r : Tensor = prim::If(%c)
        block0():
          %s : Tensor = aten::add(%y, %w, %one)
          -> (%s)
        block1():
          -> (%y)
      -> (%yes, %r)
  %t : (Tensor, int[]) = prim::TupleConstruct(%z, %l)
  return (%t)
)";

// The class knows the method, whose graph knows the class: who has made them lets them go.
struct Net {
  Cell object;
  FunctionPtr forward;
  ~Net() { forward->set_graph(nullptr); }
};

Net net() {
  auto type = std::make_shared<ClassType>("__torch__.Net", true);
  type->add_attribute("weight", tensor_type(), true);
  type->add_attribute("table", dict_type(string_type(), list_type(int_type())));
  Classes classes{{"__torch__.Net", type}};
  auto forward = std::make_shared<Function>("__torch__.Net.forward", parse_graph(kGraph, &classes));
  type->add_method(forward);
  Cell object = make_object(type);
  object.to_object().slots[0] = Cell(torch::ones({2, 3}));
  Cell table = Cell::dict(string_type(), list_type(int_type()));
  table.to_dict().set(Cell("b\"c\n"), Cell(std::vector<int64_t>{7, 2}));
  object.to_object().slots[1] = table;
  return {object, forward};
}

std::string saved() {
  const std::string path = "/tmp/torch_archive_test." + std::to_string(getpid());
  save(net().object, path);
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  unlink(path.c_str());
  return bytes.str();
}

double total(const Module& m) {
  const Cell result = m.run("forward", {Cell(torch::ones({2, 3})), Cell(5)});
  double sum = 0;
  const Tensor& t = result.items()[0].to_tensor();
  for (int64_t i = 0; i < t.numel(); ++i) sum += t.data<float>()[i];
  return sum;
}

void what_is_saved_loads_and_runs() {
  const std::string bytes = saved();
  const Module m = load(bytes.data(), bytes.size(), "net");
  CHECK_EQ(m.signature("forward"), "forward(Tensor x, int n) -> (Tensor, int[])");
  CHECK_EQ(total(m), 18.0);
  CHECK_THROWS(m.run("back", {}), Value, "net has no method 'back'; it has: forward");
  CHECK_THROWS(m.run("forward", {Cell(1), Cell(1)}), Type,
               "Expected a value of type 'Tensor' for argument 'x' but instead found type 'int'");
}

void values_outlive_their_module() {
  const std::string bytes = saved();
  Module m = load(bytes.data(), bytes.size(), "net");
  const Cell root = m.root();
  const FunctionPtr f = m.method("forward");
  m = Module();
  CHECK_EQ(root.to_object().slots[0].to_tensor().numel(), 6);
  CHECK_THROWS(f->call({root, Cell(torch::ones({1})), Cell(1)}), Runtime, "the program that it belonged to is gone");
  CHECK_THROWS(m.methods(), Runtime, "nothing was loaded");
}

void equal_programs_make_equal_files() { CHECK(saved() == saved()); }

void put(std::string& out, int width, uint64_t v) {
  for (int i = 0; i < width; ++i) out += char(v >> (8 * i));
}
// An archive of only the text and a tensor's bytes, with right checksums.
std::string zipped(const std::string& text) {
  std::string out, directory;
  const std::string numbers(24, '\1');
  for (const auto& [name, bytes] : {std::pair<std::string, std::string>{"program.txt", text}, {"data/0", numbers}}) {
    const size_t at = out.size();
    for (std::string* to : {&out, &directory}) {
      put(*to, 4, to == &out ? 0x04034b50 : 0x02014b50);
      if (to == &directory) put(*to, 2, 20);
      put(*to, 8, 20);
      put(*to, 2, 0x21);
      put(*to, 4, crc32(bytes.data(), bytes.size()));
      put(*to, 4, bytes.size());
      put(*to, 4, bytes.size());
      put(*to, 2, name.size());
      put(*to, 2, 0);
      if (to == &directory) put(*to, 2, 0), put(*to, 8, 0), put(*to, 4, at);
      *to += name;
    }
    out += bytes;
  }
  const size_t start = out.size();
  out += directory;
  put(out, 4, 0x06054b50);
  put(out, 4, 0);
  put(out, 2, 2);
  put(out, 2, 2);
  put(out, 4, directory.size());
  put(out, 4, start);
  put(out, 2, 0);
  return out;
}

// Whether it loads and runs; anything but an Error ends the test.
bool tried(const std::string& bytes) {
  try {
    const Module m = load(bytes.data(), bytes.size(), "changed");
    for (const std::string& name : m.methods()) m.run(name, {Cell(torch::ones({2, 3})), Cell(3)});
    return true;
  } catch (const Error& e) {
    return false;
  }
}

std::mt19937 draw(1);
size_t below(size_t n) { return size_t(draw()) % n; }

void changed_bytes_raise() {
  const std::string bytes = saved();
  for (int turn = 0; turn < 3000; ++turn) {
    std::string other = bytes;
    for (size_t k = 1 + below(3); k--;) other[below(other.size())] = char(below(256));
    if (turn % 5 == 0) other.resize(below(other.size()));
    tried(other);
  }
}

void changed_texts_raise_or_run() {
  std::vector<Tensor> tensors;
  std::string text = program_text(net().object, tensors);
  text.insert(text.find('\n') + 1, tensor_line(0, tensors[0], 0, "data/0"));
  CHECK(tried(zipped(text)));
  const char* words[] = {"0",
                         "-1",
                         "9223372036854775807",
                         "99999999999999999999",
                         "Tensor",
                         "int",
                         "(",
                         ")",
                         "[",
                         "prim::Loop",
                         "prim::If",
                         "aten::add",
                         "%x",
                         "\"",
                         "tensor",
                         "object",
                         "\n",
                         " ",
                         "<",
                         "1e999"};
  int ran = 0;
  const int turns = 6000;
  for (int turn = 0; turn < turns; ++turn) {
    std::string other = text;
    for (size_t k = 1 + below(3); k--;) {
      const size_t at = below(other.size());
      if (below(3) == 0) {
        other.erase(at, below(60));
      } else if (below(2)) {
        other.replace(at, below(8), words[below(std::size(words))]);
      } else {
        const size_t from = below(other.size());
        other.insert(at, other.substr(from, below(80)));
      }
      if (other.empty()) other = "t";
    }
    ran += tried(zipped(other));
  }
  CHECK(ran > 0 && ran < turns);
}

}  // namespace

int main() {
  RUN(what_is_saved_loads_and_runs);
  RUN(values_outlive_their_module);
  RUN(equal_programs_make_equal_files);
  RUN(changed_bytes_raise);
  RUN(changed_texts_raise_or_run);
  return torch::test::result();
}

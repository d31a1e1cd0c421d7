// The C interface over archive.h: every function catches, none throws.
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "torch/c/program.h"
#include "torch/core/pool.h"
#include "torch/program/archive.h"
#include "torch/program/text.h"

using torch::Tensor;
using torch::program::Cell;

static_assert(int(TORCH_CELL_HOST) == int(Cell::Tag::Host) && int(TORCH_CELL_TENSOR) == int(Cell::Tag::Tensor));

struct torch_program {
  torch::program::Module module;
  std::vector<std::string> methods;
  std::mutex mutex;
  std::map<std::string, std::string, std::less<>> signatures;
};
struct torch_cell {
  Cell value;
};

namespace {

template <class F>
torch_status guarded(F f) noexcept {
  try {
    f();
    return TORCH_OK;
  } catch (const torch::program::Raised& e) {
    return torch_fail(torch_status(int(e.kind()) + 1), (e.class_name() + ": " + e.what()).c_str());
  } catch (const torch::Error& e) {
    const int kind = int(e.kind()) + 1;
    return torch_fail(torch_status(kind > TORCH_ERROR_OVERFLOW ? TORCH_ERROR_RUNTIME : kind), e.what());
  } catch (const std::bad_alloc&) {
    return torch_fail(TORCH_ERROR_OUT_OF_MEMORY, "not enough memory");
  } catch (const std::exception& e) {
    return torch_fail(TORCH_ERROR_RUNTIME, e.what());
  }
}

// ErrorKind::Value names what is null.
template <class T>
T* given(T* pointer, const char* what) {
  TORCH_CHECK_VALUE(pointer, what, " must not be NULL");
  return pointer;
}
template <class T>
void set(T* out, T value) {
  *given(out, "out") = value;
}

torch_cell* give(Cell c) { return new torch_cell{std::move(c)}; }
torch_tensor* give(Tensor t) { return reinterpret_cast<torch_tensor*>(t.release()); }
template <class T, class V>
void give_to(T** out, V value) {
  *given(out, "out") = give(std::move(value));
}
Tensor taken(const torch_tensor* t) {
  return torch::Ref<torch::TensorImpl>::share(
      reinterpret_cast<torch::TensorImpl*>(const_cast<torch_tensor*>(given(t, "a tensor"))));
}
const Cell& of(const torch_cell* c) { return given(c, "a cell")->value; }
const std::string& checked_name(const char* text, std::string& held) { return held = given(text, "a name"); }

std::vector<Cell> cells(torch_cell* const* list, int64_t count) {
  TORCH_CHECK_VALUE(count >= 0 && (list || !count), "count must be the number of cells that are given, not ", count);
  std::vector<Cell> out;
  out.reserve(size_t(count) + 1);  // and the object
  for (int64_t i = 0; i < count; ++i) out.push_back(of(list[i]));
  return out;
}

Cell cell_of(const torch_value& v) {
  switch (v.kind) {
    case TORCH_NONE:
      return Cell();
    case TORCH_TENSOR:
      return Cell(taken(v.as.tensor));
    case TORCH_TENSOR_LIST: {
      std::vector<Cell> items;
      for (int64_t i = 0; i < v.more.size; ++i)
        items.push_back(Cell(taken(static_cast<torch_tensor* const*>(given(v.as.list, "a list"))[i])));
      return Cell::list(std::move(items), torch::program::tensor_type());
    }
    case TORCH_BOOLEAN:
      return Cell(v.as.integer != 0);
    case TORCH_INTEGER:
      return Cell(v.as.integer);
    case TORCH_DTYPE:
      TORCH_CHECK_VALUE(uint64_t(v.as.integer) < uint64_t(torch::kDTypes), "unknown torch_dtype ", v.as.integer);
      return Cell(torch::program::number_of(torch::DType(v.as.integer)));
    case TORCH_DOUBLE:
      return Cell(v.as.number);
    case TORCH_COMPLEX:
      return Cell(std::complex<double>(v.as.number, v.more.imaginary));
    case TORCH_INT_LIST: {
      const auto* ints = static_cast<const int64_t*>(v.as.list);
      TORCH_CHECK_VALUE(v.more.size >= 0 && (ints || !v.more.size), "a list must not be NULL");
      return Cell(std::vector<int64_t>(ints, ints + v.more.size));
    }
    case TORCH_STRING:
      return Cell(std::string(static_cast<const char*>(given(v.as.list, "a text")), size_t(v.more.size)));
  }
  torch::throw_error(torch::ErrorKind::Value, "unknown torch_kind " + std::to_string(int(v.kind)));
}

void collect(const Cell& c, std::vector<Tensor>& out) {
  torch::program::Deeper deeper("the tensors of a result");
  if (c.is(Cell::Tag::Tensor)) {
    out.push_back(c.to_tensor());
  } else if (c.is(Cell::Tag::Tuple) || c.is(Cell::Tag::List)) {
    for (const Cell& each : c.items()) collect(each, out);
  } else if (c.is(Cell::Tag::Dict)) {
    for (const auto& e : c.to_dict().entries)
      if (e.alive) collect(e.value, out);
  }
}

const torch::program::DictHeap::Entry& entry(const Cell& dict, int64_t number) {
  for (const auto& e : dict.to_dict().entries)
    if (e.alive && number-- == 0) return e;
  torch::throw_error(torch::ErrorKind::Index, "the dictionary has fewer items");
}

torch_program* program_of(torch::program::Module m) {
  auto* p = new torch_program;
  p->module = std::move(m);
  p->methods = p->module.methods();
  return p;
}

}  // namespace

int torch_program_c_version(void) { return TORCH_PROGRAM_C_VERSION; }

torch_status torch_program_load(const char* path, torch_program** out) {
  return guarded([&] {
    set<torch_program*>(out, nullptr);
    *out = program_of(torch::program::load(std::string(given(path, "path"))));
  });
}
torch_status torch_program_load_memory(const void* bytes, size_t size, const char* name, torch_program** out) {
  return guarded([&] {
    set<torch_program*>(out, nullptr);
    *out = program_of(torch::program::load(given(bytes, "bytes"), size, name ? name : "program"));
  });
}
void torch_program_release(torch_program* p) { delete p; }

const char* torch_program_method(const torch_program* p, int number) {
  return p && number >= 0 && size_t(number) < p->methods.size() ? p->methods[size_t(number)].c_str() : nullptr;
}
const char* torch_program_signature(const torch_program* program, const char* method) {
  const char* text = nullptr;
  guarded([&] {
    auto* p = const_cast<torch_program*>(given(program, "program"));
    std::lock_guard lock(p->mutex);
    std::string name;
    auto at = p->signatures.find(checked_name(method, name));
    if (at == p->signatures.end()) at = p->signatures.emplace(name, p->module.signature(name)).first;
    text = at->second.c_str();
  });
  return text;
}

torch_status torch_program_run(const torch_program* program, const char* method, torch_cell* const* arguments,
                               int count, torch_cell** out) {
  return guarded([&] {
    set<torch_cell*>(out, nullptr);
    *out = give(given(program, "program")->module.run(given(method, "method"), cells(arguments, count)));
  });
}
torch_status torch_program_run_tensors(const torch_program* program, const char* method, torch_tensor* const* arguments,
                                       int count, torch_tensor** out, int capacity, int* out_count) {
  return guarded([&] {
    TORCH_CHECK_VALUE(count >= 0 && (arguments || !count) && capacity >= 0 && (out || !capacity),
                      "count and capacity must be the sizes of what is given, not ", count, " and ", capacity);
    std::vector<Cell> values;
    values.reserve(size_t(count) + 1);
    for (int i = 0; i < count; ++i) values.push_back(Cell(taken(arguments[i])));
    std::vector<Tensor> found;
    collect(given(program, "program")->module.run(given(method, "method"), std::move(values)), found);
    if (out_count) *out_count = int(found.size());
    for (size_t i = 0; i < std::min(found.size(), size_t(capacity)); ++i) out[i] = give(std::move(found[i]));
  });
}

torch_status torch_set_threads(int threads) {
  return guarded([&] { torch::set_num_threads(threads); });
}
int torch_get_threads(void) { return torch::num_threads(); }

// --- values ---

torch_status torch_cell_of(const torch_value* value, torch_cell** out) {
  return guarded([&] { give_to(out, cell_of(*given(value, "value"))); });
}
torch_status torch_cell_parse(const char* text, torch_cell** out) {
  return guarded([&] { give_to(out, torch::program::parse_value(given(text, "text"))); });
}
torch_status torch_cell_tuple(torch_cell* const* items, int64_t count, torch_cell** out) {
  return guarded([&] { give_to(out, Cell::tuple(cells(items, count))); });
}
torch_status torch_cell_list(torch_cell* const* items, int64_t count, torch_cell** out) {
  return guarded([&] {
    std::vector<Cell> list = cells(items, count);
    torch::program::TypePtr element;
    for (const Cell& c : list) element = element ? torch::program::unify(element, c.type()) : c.type();
    give_to(out, Cell::list(std::move(list), element ? torch::program::unshaped(element) : nullptr));
  });
}
torch_status torch_cell_dict(torch_cell* const* keys, torch_cell* const* values, int64_t count, torch_cell** out) {
  return guarded([&] {
    const std::vector<Cell> names = cells(keys, count), items = cells(values, count);
    const auto& any = torch::program::any_type();
    Cell d = Cell::dict(names.empty() ? any : names[0].type(), items.empty() ? any : unshaped(items[0].type()));
    for (size_t i = 0; i < names.size(); ++i) d.to_dict().set(names[i], items[i]);
    give_to(out, std::move(d));
  });
}
void torch_cell_release(torch_cell* c) { delete c; }

torch_cell_kind torch_cell_get_kind(const torch_cell* c) {
  return c ? torch_cell_kind(c->value.tag()) : TORCH_CELL_NONE;
}
torch_status torch_cell_to_tensor(const torch_cell* c, torch_tensor** out) {
  return guarded([&] {
    const Tensor& t = of(c).to_tensor();
    TORCH_CHECK_TYPE(t, "expected a tensor, not None");
    give_to(out, t);
  });
}
torch_status torch_cell_to_bool(const torch_cell* c, int* out) {
  return guarded([&] { set(out, int(of(c).to_bool())); });
}
torch_status torch_cell_to_int(const torch_cell* c, int64_t* out) {
  return guarded([&] { set(out, of(c).to_int()); });
}
torch_status torch_cell_to_double(const torch_cell* c, double* out) {
  return guarded([&] { set(out, of(c).to_double()); });
}
torch_status torch_cell_to_string(const torch_cell* c, const char** text, size_t* size) {
  return guarded([&] {
    const std::string& s = of(c).to_string();
    set(text, s.c_str());
    if (size) *size = s.size();
  });
}
int64_t torch_cell_size(const torch_cell* c) {
  if (!c) return -1;
  switch (c->value.tag()) {
    case Cell::Tag::List:
    case Cell::Tag::Tuple:
      return int64_t(c->value.items().size());
    case Cell::Tag::Dict:
      return int64_t(c->value.to_dict().size());
    case Cell::Tag::String:
      return int64_t(c->value.to_string().size());
    default:
      return -1;
  }
}
torch_status torch_cell_item(const torch_cell* c, int64_t number, torch_cell** out) {
  return guarded([&] {
    TORCH_CHECK_INDEX(number >= 0 && number < torch_cell_size(c), "there is no item ", number);
    give_to(out, of(c).is(Cell::Tag::Dict) ? entry(of(c), number).value : of(c).items()[size_t(number)]);
  });
}
torch_status torch_cell_key(const torch_cell* c, int64_t number, torch_cell** out) {
  return guarded([&] {
    TORCH_CHECK_INDEX(number >= 0, "there is no item ", number);
    give_to(out, entry(of(c), number).key);
  });
}
torch_status torch_cell_find(const torch_cell* c, const char* key, torch_cell** out) {
  return guarded([&] {
    const Cell* found = of(c).to_dict().find(Cell(std::string(given(key, "key"))));
    TORCH_CHECK_INDEX(found, "the dictionary has no key '", key, "'");
    give_to(out, *found);
  });
}
size_t torch_cell_show(const torch_cell* c, char* text, size_t capacity) {
  size_t size = 0;
  guarded([&] {
    const std::string shown = of(c).repr();
    size = shown.size();
    if (!text || !capacity) return;
    const size_t n = std::min(size, capacity - 1);
    std::memcpy(text, shown.data(), n);
    text[n] = 0;
  });
  return size;
}

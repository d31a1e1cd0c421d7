#include "boxing.h"

#include "torch/program/generator.h"

namespace torch::program {

GeneratorHeap::~GeneratorHeap() = default;

namespace {

[[noreturn]] void refuse(const Schema& s, const Parameter& p, const Cell& c) {
  throw_error(ErrorKind::Type, message(s.op_name(), ": argument '", s.view(p.name), "' cannot be of type ",
                                       c.type()->annotation(), "; schema: ", s.text));
}

void set_scalar(torch::Value& v, const Scalar& s) {
  v.scalar_kind = s.kind();
  if (s.is_integral())
    v.i = s.to_int();
  else
    v.d = s.to_double(), v.imag = s.to_complex().imag();
}

// All but what needs room of its own: numbers for tensors, lists.
bool box_plain(const Parameter& p, const Cell& c, torch::Value& v, Keys& keys) {
  using Tag = Cell::Tag;
  v = torch::Value();
  if (c.is_none()) return p.optional || p.kind == Kind::Generator;
  v.present = true;
  switch (p.kind) {
    case Kind::Tensor:
      if (!c.is(Tag::Tensor)) return false;
      v.tensor = c.to_tensor().get();
      if (TORCH_LIKELY(v.tensor != nullptr)) keys |= v.tensor->keys;
      return true;
    case Kind::Scalar:
      if (!c.is_number()) return false;
      set_scalar(v, c.to_scalar());
      return true;
    case Kind::Int:
      if (!c.is(Tag::Int) && !c.is(Tag::Bool)) return false;
      v.i = c.to_int();
      return true;
    case Kind::Bool:
      if (!c.is(Tag::Int) && !c.is(Tag::Bool)) return false;
      v.i = c.to_int() != 0;
      return true;
    case Kind::Float:
      if (!c.is(Tag::Int) && !c.is(Tag::Float)) return false;
      v.d = c.to_double();
      return true;
    case Kind::Str:
      if (!c.is(Tag::String)) return false;
      v.data = c.to_string().data();
      v.size = int64_t(c.to_string().size());
      return true;
    case Kind::DType:
      if (!c.is(Tag::Int)) return false;
      v.i = int64_t(dtype_of_number(c.to_int()));
      return true;
    case Kind::Layout:
      if (!c.is(Tag::Int)) return false;
      v.i = int64_t(layout_of_number(c.to_int()));
      return true;
    case Kind::MemoryFormat:
      if (!c.is(Tag::Int) || c.to_int() < 0 || c.to_int() > int64_t(MemoryFormat::ChannelsLast3d)) return false;
      v.i = c.to_int();
      return true;
    case Kind::Device: {
      if (!c.is(Tag::Device)) return false;
      Device d = c.to_device();
      v.i = int64_t(d.type);
      v.size = d.index;
      return true;
    }
    case Kind::Generator: {
      const auto* g = c.is(Tag::Host) ? dynamic_cast<const GeneratorHeap*>(c.heap()) : nullptr;
      v.generator = g ? g->generator() : nullptr;
      return g;
    }
    default:
      return false;
  }
}

bool is_ints(const std::vector<Cell>& items) {
  for (const Cell& c : items)
    if (!c.is(Cell::Tag::Int) && !c.is(Cell::Tag::Bool)) return false;
  return true;
}
bool is_tensors(const std::vector<Cell>& items, bool none) {
  for (const Cell& c : items)
    if (!c.is(Cell::Tag::Tensor) && !(none && c.is_none())) return false;
  return true;
}
bool is_list(const Cell& c) { return c.is(Cell::Tag::List) || c.is(Cell::Tag::Tuple); }

}  // namespace

Tensor number_as_tensor(const Cell& c) {
  Scalar n = c.to_scalar();
  DType t = n.is_bool()       ? DType::Bool
            : n.is_integral() ? DType::Int64
            : n.is_complex()  ? DType::Complex128
                              : DType::Float64;
  return scalar_tensor_of(n, t, true);
}

template <typename Call>
void box_tensors(const Cell& c, torch::Value& v, Call& out) {
  auto& list = out.lists.emplace_back();
  for (const Cell& each : c.items()) {
    list.push_back(each.to_tensor());
    if (list.back()) out.keys |= list.back()->keys;
  }
  v.data = list.data();
  v.size = int64_t(list.size());
}

void box(const Schema& s, int i, const Cell& c, Boxed& out) {
  const Parameter& p = s.params[i];
  torch::Value& v = out.values[i];
  if (TORCH_LIKELY(box_plain(p, c, v, out.keys))) return;
  if (p.kind == Kind::Tensor && p.accepts_number && c.is_number() && out.made < Boxed::kTensors) {
    Tensor& t = out.tensors[out.made++];
    t = number_as_tensor(c);
    v.tensor = t.get();
    return;
  }
  if (p.kind == Kind::IntList && is_list(c) && is_ints(c.items())) {
    const auto& items = c.items();
    int64_t* to = out.ints + out.used;
    if (out.used + int64_t(items.size()) <= Boxed::kInts)
      out.used += int(items.size());
    else
      to = out.more_ints.emplace_back(items.size()).data();
    for (size_t k = 0; k < items.size(); ++k) to[k] = items[k].to_int();
    v.data = to;
    v.size = int64_t(items.size());
    return;
  }
  if (p.kind == Kind::TensorList && is_list(c) && is_tensors(c.items(), p.optional_elements)) {
    box_tensors(c, v, out);
    return;
  }
  refuse(s, p, c);
}

void box(int i, const Cell& c, RowCall& out) {
  const Schema& s = out.row->schema;
  const Parameter& p = s.params[i];
  torch::Value& v = out.ready[i];
  if (box_plain(p, c, v, out.keys)) return;
  if (p.kind == Kind::Tensor && p.accepts_number && c.is_number()) {
    v.tensor = out.tensors.emplace_back(number_as_tensor(c)).get();
  } else if (p.kind == Kind::IntList && is_list(c) && is_ints(c.items())) {
    auto& ints = out.ints.emplace_back(c.to_ints());
    v.data = ints.data();
    v.size = int64_t(ints.size());
  } else if (p.kind == Kind::TensorList && is_list(c) && is_tensors(c.items(), p.optional_elements)) {
    box_tensors(c, v, out);
  } else {
    refuse(s, p, c);
  }
}

void unbox(const Schema& s, Result& r, Cell* out) {
  for (int i = 0; i < s.result_count; ++i) {
    const Parameter& p = s.results[i];
    switch (p.kind) {
      case Kind::Tensor:
        out[i] = Cell(std::move(r.tensors[i]));
        break;
      case Kind::TensorList: {
        std::vector<Cell> items;
        items.reserve(r.list.size());
        for (Tensor& t : r.list) items.emplace_back(std::move(t));
        out[i] = Cell::list(std::move(items), tensor_type());
        break;
      }
      case Kind::IntList:
        out[i] = Cell(r.ints);
        break;
      case Kind::Bool:
        out[i] = Cell(r.value.i != 0);
        break;
      case Kind::Int:
        out[i] = Cell(r.value.i);
        break;
      case Kind::Float:
        out[i] = Cell(r.value.d);
        break;
      case Kind::DType:
        out[i] = Cell(number_of(DType(r.value.i)));
        break;
      case Kind::Scalar:
        switch (r.value.scalar_kind) {
          case Scalar::Kind::Bool:
            out[i] = Cell(r.value.i != 0);
            break;
          case Scalar::Kind::Float:
            out[i] = Cell(r.value.d);
            break;
          case Scalar::Kind::Complex:
            out[i] = Cell(std::complex<double>(r.value.d, r.value.imag));
            break;
          default:
            out[i] = Cell(r.value.i);
        }
        break;
      default:
        throw_error(ErrorKind::NotImplemented, message(s.op_name(), ": its result has no form in programs"));
    }
  }
}

}  // namespace torch::program

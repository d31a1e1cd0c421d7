#include "region_plan.h"

#include <algorithm>

#include "boxing.h"
#include "grouping.h"
#include "torch/core/operator.h"

namespace torch::program {

Geometry::Geometry(const Tensor& t)
    : dtype(t.dtype()), is_number(t.is_wrapped_number()), dims(t.sizes().begin(), t.sizes().end()) {
  dims.insert(dims.end(), t.strides().begin(), t.strides().end());
}

bool Geometry::fits(const TensorImpl* t) const noexcept {
  const size_t n = ndim();
  if (t->dtype != dtype || t->ndim != n || bool(t->flags & TensorImpl::kWrappedNumber) != is_number) return false;
  auto* impl = const_cast<TensorImpl*>(t);
  const int64_t *sizes = impl->sizes(), *strides = impl->strides(), *mine = dims.data();
  for (size_t d = 0; d < n; ++d)
    if (sizes[d] != mine[d] || strides[d] != mine[n + d]) return false;
  return true;
}

Tensor Geometry::empty() const {
  Tensor t = empty_tensor(sizes(), dtype);
  if (!std::equal(dims.begin() + ptrdiff_t(ndim()), dims.end(), t->strides())) {
    std::copy(dims.begin() + ptrdiff_t(ndim()), dims.end(), t->strides());  // as dense, in another order
    t->refresh_geometry();
  }
  return t;
}

namespace {

bool is_plain_tensor(const TensorImpl* t, bool& needs_tape) noexcept {
  constexpr Keys kFine = key(Slot::CPU) | key(Slot::Autograd);
  needs_tape |= (t->keys | (t->base ? t->base->keys : 0)) & key(Slot::Autograd);
  return !(t->keys & ~kFine) && !t->payload && t->device.type == DeviceType::CPU &&
         !(t->flags & TensorImpl::kConjugate);
}

}  // namespace

bool RegionPlan::is_plain(const Cell* const* inputs, int count) noexcept {
  if (keys_in_force(0)) return false;
  bool needs_tape = false;
  for (int i = 0; i < count; ++i)
    if (inputs[i]->is(Cell::Tag::Tensor) && !is_plain_tensor(inputs[i]->to_tensor().get(), needs_tape)) return false;
  return !needs_tape || !is_recording || !is_recording();
}

bool RegionPlan::Guard::fits(const Cell& c) const noexcept {
  if (c.tag() != value.tag()) return false;
  switch (c.tag()) {
    case Cell::Tag::Tensor:
      return tensor.fits(c.to_tensor().get());
    case Cell::Tag::None:
      return true;
    default:
      return !by_value || equal(c, value);
  }
}

void RegionPlan::guard(const Cell* const* inputs) {
  guards_.resize(size_t(text_.inputs));
  for (int i = 0; i < text_.inputs; ++i) {
    Guard& g = guards_[size_t(i)];
    const Cell& c = *inputs[i];
    if (c.is(Cell::Tag::Tensor)) {
      g.tensor = Geometry(c.to_tensor());
      g.value = c;
    } else {
      g.value = c.is(Cell::Tag::List) || c.is(Cell::Tag::Tuple) ? Cell(c.to_ints()) : c;
      g.by_value = false;
    }
  }
  for (const RegionCall& call : text_.calls)
    for (size_t k = 0; k < call.arguments.size(); ++k) {
      const RegionArgument& a = call.arguments[k];
      if (a.form != RegionArgument::Form::Value || a.values[0] >= text_.inputs) continue;
      Guard& g = guards_[size_t(a.values[0])];
      const bool as_tensor = call.row->schema.params[k].kind == Kind::Tensor && g.value.is_number();
      (as_tensor ? g.as_tensor : g.by_value) = true;
    }
}

bool RegionPlan::fits(const Cell* const* inputs) const noexcept {
  if (default_dtype() != default_dtype_) return false;
  for (size_t i = 0; i < guards_.size(); ++i)
    if (!guards_[i].fits(*inputs[i])) return false;
  return true;
}

// A call whose constants, and what guards hold, lie ready.
RegionPlan::Step RegionPlan::single(int index, const std::vector<Cell>& cells) const {
  const RegionCall& call = text_.calls[size_t(index)];
  Step s;
  s.calls = {index};
  s.out = call.results;
  s.gives_list = call.gives_list;
  s.row = std::make_unique<RowCall>();
  s.row->row = call.row;
  s.row->tensors.reserve(kMaxParameters);
  s.row->ints.reserve(kMaxParameters);
  s.row->lists.reserve(kMaxParameters);
  for (size_t k = 0; k < call.arguments.size(); ++k) {
    const RegionArgument& a = call.arguments[k];
    if (a.form == RegionArgument::Form::Values) {
      s.lists.push_back({uint8_t(k), a.values});
      s.in.insert(s.in.end(), a.values.begin(), a.values.end());
      continue;
    }
    const Cell& c = a.form == RegionArgument::Form::Constant ? a.constant : cells[size_t(a.values[0])];
    const bool filled = a.form == RegionArgument::Form::Value && call.row->schema.params[k].kind == Kind::Tensor;
    if (filled && !c.is_none()) {
      s.row->fills.push_back({uint8_t(k), Operand(a.values[0])});
      s.row->ready[k].present = true;
      s.in.push_back(a.values[0]);
    } else {
      box(int(k), c, *s.row);
    }
  }
  return s;
}

RegionPlan::RegionPlan(const RegionText& text, const Cell* const* inputs, Cell* outputs)
    : text_(text), default_dtype_(default_dtype()) {
  guard(inputs);
  std::vector<Cell> cells(size_t(text.values));
  for (int i = 0; i < text.inputs; ++i) cells[size_t(i)] = *inputs[i];
  std::vector<Step> steps;
  for (size_t k = 0; k < text.calls.size(); ++k) {
    const RegionCall& call = text.calls[k];
    const Schema& schema = call.row->schema;
    Boxed boxed;
    std::vector<Cell> lists;
    lists.reserve(call.arguments.size());
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      const RegionArgument& a = call.arguments[i];
      if (a.form == RegionArgument::Form::Values) {
        std::vector<Cell> items;
        for (int v : a.values) items.push_back(v < 0 ? Cell() : cells[size_t(v)]);
        box(schema, int(i), lists.emplace_back(Cell::list(std::move(items), tensor_type())), boxed);
      } else {
        box(schema, int(i), a.form == RegionArgument::Form::Value ? cells[size_t(a.values[0])] : a.constant, boxed);
      }
    }
    Result r;
    call.row->invoke(boxed.values, r);
    if (call.gives_list) {
      TORCH_CHECK(r.list.size() == call.results.size(), schema.op_name(), " gives another number of tensors");
      for (size_t i = 0; i < r.list.size(); ++i) cells[size_t(call.results[i])] = Cell(std::move(r.list[i]));
    } else {
      Cell out[kMaxResults];
      unbox(schema, r, out);
      for (size_t i = 0; i < call.results.size(); ++i) cells[size_t(call.results[i])] = std::move(out[i]);
    }
    steps.push_back(single(int(k), cells));
  }
  for (size_t i = 0; i < text.outputs.size(); ++i) outputs[i] = cells[size_t(text.outputs[i])];
  // Numbers that calls take as tensors are tensors from here on.
  for (int i = 0; i < text.inputs; ++i)
    if (guards_[size_t(i)].as_tensor) cells[size_t(i)] = Cell(number_as_tensor(cells[size_t(i)]));
  Grouping(*this, cells, std::move(steps)).group();
  find_drops();
  for (Guard& g : guards_)
    if (g.value.is(Cell::Tag::Tensor)) g.value = Cell(empty_tensor({0}, DType::Bool));  // its tag alone: holds nothing
}

void RegionPlan::find_drops() {
  std::vector<int> last(size_t(text_.values), -1);
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (int v : steps_[s].out) last[size_t(v)] = int(s);
    for (int v : steps_[s].in)
      if (v >= 0) last[size_t(v)] = int(s);
  }
  for (int v : text_.outputs) last[size_t(v)] = -1;
  for (int v = text_.inputs; v < text_.values; ++v)
    if (last[size_t(v)] >= 0) steps_[size_t(last[size_t(v)])].drop.push_back(v);
}

bool RegionPlan::has_groups() const noexcept {
  return std::any_of(steps_.begin(), steps_.end(), [](const Step& s) { return s.tiles != nullptr; });
}

std::string RegionPlan::describe() const {
  std::string out;
  auto names = [&](const std::vector<int>& calls) {
    std::string text;
    for (int c : calls) {
      if (!text.empty()) text += ' ';
      text += text_.calls[size_t(c)].row->schema.op_name();
    }
    return text;
  };
  for (const Step& s : steps_) {
    if (!s.tiles) {
      out += "  call   " + names(s.calls) + "\n";
      continue;
    }
    std::string shape;
    for (int64_t n : s.made[0].sizes()) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
    out += "  group  " + names(s.calls) + "  (" + shape + "), " + std::to_string(s.in.size()) + " in, " +
           std::to_string(s.out.size()) + " out, " + std::to_string(s.tiles->steps()) + " loops, " +
           std::to_string(s.tiles->temporaries()) + " tiles of " + std::to_string(s.tiles->tile()) + "\n";
  }
  return out;
}

}  // namespace torch::program

#include "region_run.h"

#include "blocks.h"
#include "boxing.h"
#include "epilogue.h"
#include "rows.h"
#include "straight.h"

namespace torch::program {

namespace {

// The result of a call for some rows of what was planned.
bool is_as_planned(const Tensor& t, const Geometry& made, int64_t rows) {
  return t && t.dtype() == made.dtype && t.is_contiguous() && t.dim() == int64_t(made.ndim()) && t.size(0) == rows &&
         std::equal(t.sizes().begin() + 1, t.sizes().end(), made.sizes().begin() + 1);
}

}  // namespace

bool RegionPlan::invoke(const Step& s, Registers& registers, Result& result) {
  const RowCall& call = *s.row;
  const size_t bytes = sizeof(torch::Value) * call.row->schema.count;
  auto* values = static_cast<torch::Value*>(__builtin_alloca(bytes));
  std::memcpy(static_cast<void*>(values), call.ready, bytes);
  for (const RowCall::Fill& f : call.fills) {
    values[f.parameter].tensor = registers[f.from];
    if (!registers[f.from]) return false;
  }
  std::vector<std::vector<Tensor>> lists;
  lists.reserve(s.lists.size());
  for (const auto& [parameter, from] : s.lists) {
    auto& list = lists.emplace_back();
    for (int v : from) list.push_back(v < 0 ? Tensor() : registers.share(v));
    values[parameter].present = true;
    values[parameter].data = list.data();
    values[parameter].size = int64_t(list.size());
  }
  call.row->invoke(values, result);
  return true;
}

bool RegionPlan::run_call(const Step& s, Registers& registers, int64_t rows) {
  Result result;
  if (!invoke(s, registers, result)) return false;
  if (s.gives_list && result.list.size() != s.out.size()) return false;
  for (size_t i = 0; i < s.out.size(); ++i) {
    Tensor& t = s.gives_list ? result.list[i] : result.tensors[i];
    if (rows >= 0 && !is_as_planned(t, s.made[i], rows)) return false;
    if (TensorImpl* place = registers[s.out[i]])  // of the rows in the output of all blocks
      std::memcpy(place->data(), t.data(), size_t(t.numel() * t.item_size()));
    else
      registers.own(s.out[i], std::move(t));
  }
  return true;
}

bool RegionPlan::run_step(const Step& s, Registers& registers, int64_t rows) {
  if (s.rows) return s.rows->run(registers);
  if (s.blocks) return s.blocks->run(registers);
  if (s.epilogue) return s.epilogue->run(s, registers);
  if (!s.tiles && !s.chain) return run_call(s, registers, rows);
  for (const auto& [v, geometry] : s.expected)
    if (!registers[v] || (rows < 0 && !geometry.fits(registers[v]))) return false;
  TensorImpl* operands[kMaxOperands];
  size_t k = 0;
  for (size_t i = 0; i < s.out.size(); ++i) {
    if (!registers[s.out[i]]) registers.own(s.out[i], rows < 0 ? s.made[i].empty() : s.made[i].empty(rows));
    operands[k++] = registers[s.out[i]];
  }
  for (int v : s.in) operands[k++] = registers[v];
  if (s.flat) {
    char* data[kMaxOperands];
    for (size_t i = 0; i < k; ++i) data[i] = static_cast<char*>(operands[i]->data()) + s.distances[i];
    s.tiles->run(data, s.flat);
  } else if (s.chain) {
    s.chain->run(operands);
  } else if (s.tiles->columns()) {
    s.tiles->run_rows(operands);
  } else {
    iterate(s.tiles->kernel(), operands);
  }
  return true;
}

bool RegionPlan::run(const Cell* const* inputs, Cell* outputs) const {
  if (straight_) return straight_->run(inputs, outputs), true;
  Registers registers(static_cast<TensorImpl**>(__builtin_alloca(sizeof(TensorImpl*) * 2 * size_t(text_.values))),
                      text_.values);
  for (int i = 0; i < text_.inputs; ++i) {
    const Cell& c = *inputs[i];
    if (c.is(Cell::Tag::Tensor))
      registers.borrow(i, c.to_tensor());
    else if (guards_[size_t(i)].as_tensor)
      registers.own(i, number_as_tensor(c));
  }
  for (const Step& s : steps_) {
    if (!run_step(s, registers, -1)) return false;
    for (int v : s.drop) registers.drop(v);
  }
  for (size_t i = 0; i < text_.outputs.size(); ++i) outputs[i] = Cell(registers.give(text_.outputs[i]));
  return true;
}

}  // namespace torch::program

#include "region_plan.h"

#include <algorithm>

#include "blocks.h"
#include "boxing.h"
#include "epilogue.h"
#include "flat.h"
#include "grouping.h"
#include "repeats.h"
#include "rows.h"
#include "straight.h"

namespace torch::program {

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

void make_call(const RegionCall& call, std::vector<Cell>& cells) {
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
}

std::vector<Cell> make_calls(const RegionText& text, std::vector<Cell> inputs) {
  std::vector<Cell> cells = std::move(inputs), outputs;
  cells.resize(size_t(text.values));
  for (const RegionCall& call : text.calls) make_call(call, cells);
  for (int v : text.outputs) outputs.push_back(cells[size_t(v)]);
  return outputs;
}

RegionPlan::RegionPlan(const RegionText& text, const Cell* const* inputs, Cell* outputs)
    : text_(text), guards_(text, inputs) {
  std::vector<Cell> cells(size_t(text.values));
  for (int i = 0; i < text.inputs; ++i) cells[size_t(i)] = *inputs[i];
  std::vector<bool> hands_out;
  for (const RegionCall& call : text.calls) {
    Epilogue::Probe probe;
    make_call(call, cells);
    const Cell* result = call.results.size() == 1 && !call.gives_list ? &cells[size_t(call.results[0])] : nullptr;
    hands_out.push_back(result && result->is(Cell::Tag::Tensor) && probe.is_taken_for(result->to_tensor()));
  }
  for (size_t i = 0; i < text.outputs.size(); ++i) outputs[i] = cells[size_t(text.outputs[i])];
  // Numbers that calls take as tensors are tensors from here on.
  for (int i = 0; i < text.inputs; ++i)
    if (guards_[size_t(i)].as_tensor) cells[size_t(i)] = Cell(number_as_tensor(cells[size_t(i)]));
  Repeats repeats(text, cells);
  text_ = repeats.sink();
  std::vector<Step> steps;
  for (size_t k = 0; k < text_.calls.size(); ++k) {
    hands_out_.push_back(hands_out[size_t(repeats.origins()[k])]);
    steps.push_back(single(int(k), cells));
  }
  Grouping(*this, cells, std::move(steps)).group();
  const auto is_elsewhere = [](const Cell& c) {
    return c.is(Cell::Tag::Tensor) && c.to_tensor().device().type != DeviceType::CPU;
  };
  if (std::none_of(cells.begin(), cells.end(), is_elsewhere)) {
    Rows::find(*this, cells);
    Blocks::find(*this, cells);
    Flat::find(*this, cells);
    straight_ = Straight::find(*this, cells);
    if (!straight_) Epilogue::find(*this, cells);
  }
  find_drops();
  has_groups_ = std::any_of(steps_.begin(), steps_.end(),
                            [](const Step& s) { return s.tiles || s.chain || s.rows || s.blocks || s.epilogue; });
}

RegionPlan::~RegionPlan() = default;

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

std::string RegionPlan::describe(const Step& s) const {
  if (s.rows) return s.rows->describe(*this);
  if (s.blocks) return s.blocks->describe(*this);
  std::string names;
  for (int c : s.calls) {
    if (!names.empty()) names += ' ';
    names += text_.calls[size_t(c)].row->schema.op_name();
  }
  if (s.epilogue) return "  call   " + names + ", in one kernel" + s.epilogue->describe() + "\n";
  if (!s.tiles && !s.chain) return "  call   " + names + "\n";
  std::string shape;
  for (int64_t n : s.made[0].sizes()) shape += (shape.empty() ? "" : ", ") + std::to_string(n);
  const std::string group = "  group  " + names + "  (" + shape + "), " + std::to_string(s.in.size()) + " in, " +
                            std::to_string(s.out.size()) + " out, ";
  if (s.chain) return group + "one kernel of " + to_string(s.made[0].device) + "\n";
  return group + std::to_string(s.tiles->steps()) + " loops, " +
         (s.tiles->fused() ? std::to_string(s.tiles->fused()) + " of them fused, " : std::string()) +
         std::to_string(s.tiles->temporaries()) + " tiles of " + std::to_string(s.tiles->tile()) + "\n";
}

std::string RegionPlan::describe() const {
  std::string out;
  for (const Step& s : steps_) out += describe(s);
  if (straight_) out += straight_->describe();
  return out;
}

}  // namespace torch::program

#include "grouping.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace torch::program {

namespace {

constexpr size_t kMaxLoops = 48;  // of one group
constexpr int64_t kBigNumel = 32768;
constexpr int64_t kMinColumns = 64;    // of rows that are walked one by one
constexpr int64_t kLongColumns = 256;  // of rows for which that costs nothing

int64_t numel_of(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

// The arguments that are tensors: those of registers, and numbers that are constants.
std::vector<TensorArgument> tensors_of(const RowCall& call, const std::vector<Cell>& cells) {
  std::vector<TensorArgument> out;
  const Schema& s = call.row->schema;
  for (int k = 0; k < s.count; ++k) {
    if (s.params[k].kind != Kind::Tensor || !call.ready[k].present) continue;
    auto fill = std::find_if(call.fills.begin(), call.fills.end(), [&](auto& f) { return f.parameter == k; });
    TensorArgument a{k, {}, fill == call.fills.end()};
    a.tensor =
        a.is_constant ? Tensor(Ref<TensorImpl>::share(call.ready[k].tensor)) : cells[size_t(fill->from)].to_tensor();
    for (size_t i = 0; i < out.size() && !a.is_constant; ++i)
      if (!out[i].is_constant && out[i].tensor == a.tensor && a.same_as < 0) a.same_as = int(i);
    out.push_back(std::move(a));
  }
  return out;
}

bool has_parameter(const Schema& s, std::string_view name) {
  for (int k = 0; k < s.count; ++k)
    if (s.view(s.params[k].name) == name) return true;
  return false;
}

}  // namespace

namespace {

// The loop as a device is told of it.
ChainCall as_chain_call(const TileCall& c) {
  ChainCall made{.formula = c.outputs == 1 && c.inputs <= ChainCall::kInputs ? formula_of(c.loop) : 0,
                 .compute = c.types[c.outputs],
                 .gives = c.types[0],
                 .inputs = c.inputs,
                 .made = c.values[0],
                 .scalars = c.scalars.data(),
                 .scalar_bytes = int(c.scalars.size())};
  if (made.formula) std::copy_n(c.values + 1, c.inputs, made.values);
  return made;
}
double as_double(const TileValue& v) {
  double number = 0;
  visit_dtype(v.type, [&](auto zero) {
    using T = decltype(zero);
    T value;
    std::memcpy(&value, v.number, sizeof value);
    if constexpr (std::is_arithmetic_v<T>)
      number = double(value);
    else if constexpr (!std::is_same_v<T, Complex64> && !std::is_same_v<T, Complex128>)
      number = double(float(value));
  });
  return number;
}

}  // namespace

// Whether a call may be one that gives a tensor in another dtype, in the order in which it lies.
bool Grouping::converts(const RegionCall& call) const {
  const auto is_value = [](const RegionArgument& a) { return a.form != RegionArgument::Form::Constant; };
  if (call.results.size() != 1 || std::count_if(call.arguments.begin(), call.arguments.end(), is_value) != 1)
    return false;
  const RegionArgument& a = *std::find_if(call.arguments.begin(), call.arguments.end(), is_value);
  const Cell &from = cells_[size_t(a.values[0])], &to = cells_[size_t(call.results[0])];
  if (a.form != RegionArgument::Form::Value || !from.is(Cell::Tag::Tensor) || !to.is(Cell::Tag::Tensor)) return false;
  const Tensor &one = from.to_tensor(), &other = to.to_tensor();
  return one.dtype() != other.dtype() && one.sizes() == other.sizes() && one.strides() == other.strides() &&
         one.device() == other.device() && one->storage != other->storage;
}

std::optional<Observed> Grouping::look_at(int index) {
  const RegionCall& call = text_.calls[size_t(index)];
  const Attr& attr = call.row->attr;
  if ((!attr.is_pointwise && !attr.is_composite && !converts(call)) || attr.is_view || call.gives_list ||
      !singles_[size_t(index)].lists.empty())
    return {};
  for (int v : call.results) {
    const Cell& c = cells_[size_t(v)];
    if (!c.is(Cell::Tag::Tensor) || c.to_tensor().dim() == 0 || c.to_tensor().numel() == 0) return {};
    if (c.to_tensor().sizes() != tensor(call.results[0]).sizes()) return {};
  }
  const RowCall& row = *singles_[size_t(index)].row;
  std::vector<TensorArgument> tensors = tensors_of(row, cells_);
  // A constant that is no number may be changed from outside, and broadcasting must give what it gives: a composite
  // that reduces has another shape.
  std::vector<int64_t> shape;
  for (const TensorArgument& a : tensors) {
    if (a.is_constant && !a.tensor.is_wrapped_number()) return {};
    if (!is_expandable_to(a.tensor.sizes(), tensor(call.results[0]).sizes())) return {};
    shape = broadcast_shapes("", shape, a.tensor.sizes());
  }
  if (IntArrayRef(shape) != tensor(call.results[0]).sizes()) return {};
  std::optional<Observed> seen = observe(*call.row, row.ready, tensors);
  if (!seen) return {};
  for (size_t i = 0; i < call.results.size(); ++i)
    if (seen->values[size_t(seen->results[i])].type != tensor(call.results[i]).dtype()) return {};
  const auto is_taken = [&](const TileCall& c) { return takes_in_chain(device_of(index), as_chain_call(c)); };
  if (!is_on_cpu(index) && !std::all_of(seen->calls.begin(), seen->calls.end(), is_taken)) return {};
  return seen;
}

// How many tensors a group of these calls reads and writes.
size_t Grouping::operands(const std::vector<int>& calls) const {
  std::set<int> made, in;
  size_t out = 0;
  for (int c : calls) made.insert(text_.calls[size_t(c)].results.begin(), text_.calls[size_t(c)].results.end());
  for (int c : calls)
    for (int v : singles_[size_t(c)].in)
      if (!made.count(v)) in.insert(v);
  for (int v : made) {
    const auto& users = users_[size_t(v)];
    out += !std::all_of(users.begin(), users.end(),
                        [&](int u) { return std::find(calls.begin(), calls.end(), u) != calls.end(); });
  }
  return in.size() + out;
}

bool Grouping::takes(const Item& item, int call) const {
  if (!item.is_group || item.loops + observed_.at(call).calls.size() > kMaxLoops) return false;
  const auto size_of = [&](int c) { return tensor(text_.calls[size_t(c)].results[0]).sizes(); };
  if (size_of(item.calls[0]) != size_of(call) || device_of(item.calls[0]) != device_of(call)) return false;
  const auto compute_of = [&](int c) { return as_chain_call(observed_.at(c).calls[0]).compute; };
  if (!is_on_cpu(call) && compute_of(item.calls[0]) != compute_of(call))
    return false;  // one kernel computes in one type
  std::vector<int> all = item.calls;
  all.push_back(call);
  return operands(all) <= size_t(kMaxOperands);
}

bool Grouping::has(const Item& item, int call) {
  return std::find(item.calls.begin(), item.calls.end(), call) != item.calls.end();
}

bool Grouping::is_read_elsewhere(int call, int value) const {
  const auto& users = users_[size_t(value)];
  return std::any_of(users.begin(), users.end(), [&](int u) {
    return u < 0 ||
           std::any_of(
               items_.begin(), items_.end(), [&](const Item& item) { return has(item, u) && !has(item, call); });
  });
}

// Whether a call is one cheap loop over at most one tensor as big as what it gives.
bool Grouping::is_worth_repeating(int call) const {
  const auto seen = observed_.find(call);
  if (seen == observed_.end() || seen->second.calls.size() != 1 || !is_on_cpu(call)) return false;
  const TileCall& c = seen->second.calls[0];
  const auto found = fusible(c.op, c.loop, c.types, c.inputs, c.scalars.empty() ? nullptr : c.scalars.data());
  if (c.outputs != 1 || !found || !is_cheap(found->formula)) return false;
  const Tensor& made = tensor(text_.calls[size_t(call)].results[0]);
  if (made.numel() < kBigNumel || made.size(-1) < kLongColumns) return false;
  int big = 0;
  for (int v : singles_[size_t(call)].in) big += tensor(v).numel() > 1 && tensor(v).numel() == made.numel();
  return big <= 1;
}

// What one cheap call gives is computed again by the groups that read it, rather than written and read. Layer norm from
// its formula, 1000 x 1000: with a root 364 -> 326 us, its inverse 351 -> 312, `var` 470 -> 327 (one thread of an AMD
// EPYC, Zen 4).
void Grouping::repeat_cheap_calls() {
  for (int c = 0; c < int(text_.calls.size()); ++c) {
    if (!is_worth_repeating(c)) continue;
    const int value = text_.calls[size_t(c)].results[0];
    const auto& users = users_[size_t(value)];
    const size_t home = size_t(item_of_[size_t(value)]);
    const auto reads = [&](const Item& item, int v) {
      return std::any_of(item.calls.begin(), item.calls.end(), [&](int each) {
        const auto& in = singles_[size_t(each)].in;
        return std::find(in.begin(), in.end(), v) != in.end();
      });
    };
    std::vector<size_t> readers;
    bool may = std::find(users.begin(), users.end(), -1) == users.end();
    for (size_t i = home + 1; i < items_.size() && may; ++i) {
      if (!reads(items_[i], value)) continue;
      readers.push_back(i);
      may = takes(items_[i], c);
      // What it reads is there: it comes from outside, or the group reads it anyway, or is small.
      for (int v : singles_[size_t(c)].in) {
        const int from = item_of_[size_t(v)];
        may =
            may && from != int(home) && (from < 0 || tensor(v).numel() < tensor(value).numel() || reads(items_[i], v));
      }
    }
    if (!may || readers.empty()) continue;
    for (size_t i : readers) {
      auto& calls = items_[i].calls;
      calls.insert(std::upper_bound(calls.begin(), calls.end(), c), c);
      ++items_[i].loops;
    }
    if (reads(items_[home], value)) continue;
    std::erase(items_[home].calls, c);
    --items_[home].loops;
    item_of_[size_t(value)] = int(readers[0]);
  }
}

void Grouping::group() {
  item_of_.assign(size_t(text_.values), -1);
  users_.resize(size_t(text_.values));
  for (size_t c = 0; c < text_.calls.size(); ++c)
    for (int v : singles_[c].in)
      if (v >= 0) users_[size_t(v)].push_back(int(c));
  for (int v : text_.outputs) users_[size_t(v)].push_back(-1);

  for (int c = 0; c < int(text_.calls.size()); ++c) {
    int at = -1;
    for (int v : singles_[size_t(c)].in)
      if (v >= 0) at = std::max(at, item_of_[size_t(v)]);
    std::optional<Observed> seen = look_at(c);
    int joined = -1;
    if (seen) {
      observed_[c] = std::move(*seen);
      for (int i = int(items_.size()) - 1; i >= std::max(at, 0) && joined < 0; --i)
        if (takes(items_[size_t(i)], c)) joined = i;
    }
    if (joined < 0) {
      joined = int(items_.size());
      items_.push_back({{}, observed_.count(c) > 0});
    }
    Item& item = items_[size_t(joined)];
    item.calls.push_back(c);
    if (item.is_group) item.loops += observed_.at(c).calls.size();
    for (int v : text_.calls[size_t(c)].results) item_of_[size_t(v)] = joined;
  }
  repeat_cheap_calls();
  for (size_t c = 0; c < text_.calls.size(); ++c)
    reduces_ |= !observed_.count(int(c)) && has_parameter(text_.calls[c].row->schema, "keepdim");
  for (const Item& item : items_) {
    if (item.calls.empty()) continue;
    if (item.is_group && !is_on_cpu(item.calls[0])) {
      RegionPlan::Step step;
      if (is_run_in_tiles(item)) step = make(item);
      if (step.chain) {
        plan_.steps_.push_back(std::move(step));
      } else {
        for (int c : item.calls) plan_.steps_.push_back(std::move(singles_[size_t(c)]));
      }
      continue;
    }
    if (is_run_in_tiles(item)) {
      plan_.steps_.push_back(make(item));
    } else {
      std::shared_ptr<RegionPlan::Step> group;
      if (item.is_group && (reduces_ || reads_handed_out(item))) group = std::make_shared<RegionPlan::Step>(make(item));
      plan_.steps_.push_back(std::move(singles_[size_t(item.calls[0])]));
      plan_.steps_.back().as_group = std::move(group);
    }
  }
}

// Whether the kernel of a call could do it.
bool Grouping::reads_handed_out(const Item& item) const {
  return std::any_of(item.calls.begin(), item.calls.end(), [&](int c) {
    const auto& in = singles_[size_t(c)].in;
    return std::any_of(in.begin(), in.end(), [&](int v) {
      const int from = v < 0 ? -1 : item_of_[size_t(v)];
      return from >= 0 && !items_[size_t(from)].is_group && plan_.hands_out_[size_t(items_[size_t(from)].calls[0])];
    });
  });
}

// One loop by itself is a call, but where it may stand in blocks of rows.
bool Grouping::is_run_in_tiles(const Item& item) const {
  return item.is_group &&
         (item.loops > 1 || (item.loops == 1 && is_on_cpu(item.calls[0]) &&
                             tensor(text_.calls[size_t(item.calls[0])].results[0]).numel() >= kBigNumel));
}

// How many columns the rows have that a group works on, where all its tensors lie in memory row by row; else 0. Says of
// the values what they are to such a walk.
Grouping::Rows Grouping::find_rows(const RegionPlan::Step& step, std::vector<TileValue>& values,
                                   const std::map<int, int>& by_value) const {
  using Along = TileValue::Along;
  const Geometry& made = step.made[0];
  if (made.ndim() < 2) return {};
  const IntArrayRef sizes = made.sizes();
  const size_t last = sizes.size() - 1;
  if (sizes[last] < kMinColumns) return {};
  for (const Geometry& g : step.made)
    if (!g.is_contiguous()) return {};
  bool has_number_by_row = false;
  for (auto [mine, v] : by_value) {
    TileValue& value = values[size_t(mine)];
    if (value.role != TileValue::Role::Input) continue;
    const Tensor& t = tensor(v);
    if (!t.is_contiguous()) return {};
    if (t.sizes() == sizes)
      value.along = Along::All;
    else if (t.numel() == 1)
      value.along = Along::Nothing;
    else if (t.dim() == int64_t(sizes.size()) && t.size(-1) == 1 && t.numel() * sizes[last] == numel_of(sizes))
      value.along = Along::Rows, has_number_by_row = true;
    else if (t.numel() == sizes[last] && t.size(-1) == sizes[last])
      value.along = Along::Columns;
    else
      return {};
  }
  return {sizes[last], has_number_by_row};
}

bool Grouping::make_chain(RegionPlan::Step& step, const std::vector<TileValue>& values,
                          const std::vector<TileCall>& calls, const std::map<int, int>& by_value) const {
  using Along = ChainValue::Along;
  const Geometry& made = step.made[0];
  const IntArrayRef sizes = made.sizes();
  const auto is_like_made = [&](const Geometry& g) { return g.dims == made.dims; };
  if (!std::all_of(step.made.begin(), step.made.end(), is_like_made)) return false;
  const int64_t n = numel_of(sizes), columns = sizes[sizes.size() - 1];
  if (n >= int64_t(1) << 31) return false;
  std::vector<ChainValue> given;
  for (const TileValue& v : values) {
    const auto role = v.role == TileValue::Role::Input    ? ChainValue::Role::Input
                      : v.role == TileValue::Role::Number ? ChainValue::Role::Number
                                                          : ChainValue::Role::Made;
    given.push_back({v.type, role, v.is_output, role == ChainValue::Role::Number ? as_double(v) : 0.0});
  }
  for (auto [mine, v] : by_value) {
    if (values[size_t(mine)].role != TileValue::Role::Input) continue;
    const Tensor& t = tensor(v);
    Along& along = given[size_t(mine)].along;
    if (t.device() != made.device && t.dim() != 0) return false;
    if (t.numel() == 1)
      along = Along::Nothing;
    else if (Geometry(t).dims == made.dims)
      along = Along::All;
    else if (!made.is_contiguous() || !t.is_contiguous())
      return false;
    else if (t.dim() == int64_t(sizes.size()) && t.size(-1) == 1 && t.numel() * columns == n)
      along = Along::Rows;
    else if (t.numel() == columns && t.size(-1) == columns)
      along = Along::Columns;
    else
      return false;
  }
  std::vector<ChainCall> chained;
  for (const TileCall& c : calls) chained.push_back(as_chain_call(c));
  step.chain = torch::make_chain(made.device, given, chained, columns);
  return step.chain != nullptr;
}

RegionPlan::Step Grouping::make(const Item& item) {
  RegionPlan::Step step;
  step.calls = item.calls;
  std::vector<TileValue> values;
  std::vector<TileCall> calls;
  std::map<int, int> known;  // the region's values
  auto input = [&](int v) {
    auto [at, is_new] = known.try_emplace(v, int(values.size()));
    if (is_new) values.push_back({tensor(v).dtype(), TileValue::Role::Input});
    return at->second;
  };
  for (int c : item.calls) {
    const Observed& seen = observed_.at(c);
    const RowCall& row = *singles_[size_t(c)].row;
    std::vector<TensorArgument> tensors = tensors_of(row, cells_);
    std::vector<int> mine;  // the call's values as the group's
    for (size_t i = 0; i < seen.values.size(); ++i) {
      auto fill = row.fills.end();
      if (i < tensors.size())
        fill = std::find_if(row.fills.begin(), row.fills.end(),
                            [&](auto& f) { return f.parameter == tensors[i].parameter; });
      if (fill != row.fills.end()) {
        mine.push_back(input(fill->from));
      } else {
        mine.push_back(int(values.size()));
        values.push_back(seen.values[i]);
      }
    }
    for (TileCall call : seen.calls) {
      for (int k = 0; k < call.outputs + call.inputs; ++k) call.values[k] = mine[size_t(call.values[k])];
      calls.push_back(std::move(call));
    }
    for (size_t i = 0; i < seen.results.size(); ++i)
      known[text_.calls[size_t(c)].results[i]] = mine[size_t(seen.results[i])];
  }
  std::map<int, int> by_value;  // the group's values to the region's
  for (auto [v, mine] : known) by_value[mine] = v;
  std::map<int, int> maker;  // of a value, the call
  for (int c : item.calls)
    for (int v : text_.calls[size_t(c)].results) maker[v] = c;
  auto is_needed = [&](int v) {
    const auto by = maker.find(v);
    return by != maker.end() && &items_[size_t(item_of_[size_t(v)])] == &item && is_read_elsewhere(by->second, v);
  };
  for (auto [mine, v] : by_value) {
    TileValue& value = values[size_t(mine)];
    if (value.role == TileValue::Role::Input) {
      step.in.push_back(v);
      const int from = item_of_[size_t(v)];
      const bool is_made_as_planned = from >= 0 && is_run_in_tiles(items_[size_t(from)]) && is_on_cpu(item.calls[0]);
      if (from >= 0 && !is_made_as_planned) step.expected.push_back({v, Geometry(tensor(v))});
    } else if (is_needed(v)) {
      value.is_output = true;
      step.out.push_back(v);
      step.made.push_back(Geometry(tensor(v)));
    }
  }
  if (step.out.empty()) {  // dead code: somebody may still look
    const int v = text_.calls[size_t(item.calls.back())].results[0];
    values[size_t(known.at(v))].is_output = true;
    step.out.push_back(v);
    step.made.push_back(Geometry(tensor(v)));
  }
  if (!is_on_cpu(item.calls[0])) {
    make_chain(step, values, calls, by_value);
    return step;
  }
  if (reads_handed_out(item)) {
    auto text = std::make_shared<RegionPlan::GroupText>();
    text->values = values, text->calls = calls;
    text->of.assign(values.size(), -1);
    for (auto [mine, v] : by_value) text->of[size_t(mine)] = v;
    step.text = std::move(text);
  }
  const auto [columns, has_number] = find_rows(step, values, by_value);
  if (columns && (has_number || reduces_)) {
    auto tiles = std::make_unique<Tiles>(values, calls, columns);
    if (tiles->columns()) (has_number ? step.tiles : step.by_rows) = std::move(tiles);
  }
  if (!step.tiles) step.tiles = std::make_unique<Tiles>(values, calls);
  return step;
}

}  // namespace torch::program

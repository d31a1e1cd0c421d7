#include "repeats.h"

#include <algorithm>
#include <cstring>

#include "torch/core/operator.h"
#include "torch/core/ops/copy.h"

namespace torch::program {

namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.sizes() != b.sizes()) return false;
  const Tensor x = contiguous(a), y = contiguous(b);
  return std::memcmp(x.data(), y.data(), size_t(x.numel() * x.item_size())) == 0;
}

}  // namespace

// A view of one tensor, which has the same last dims but for those of one element.
bool Repeats::is_repeat(const RegionCall& call) const {
  if (!call.row->attr.is_view || call.gives_list || call.results.size() != 1) return false;
  int from = -1;
  for (const RegionArgument& a : call.arguments)
    if (a.form != RegionArgument::Form::Constant)
      for (int v : a.values)
        if (is_tensor(v) && from < 0) from = v;
  if (from < 0 || !is_tensor(call.results[0])) return false;
  const Tensor &one = tensor(from), &all = tensor(call.results[0]);
  if (one.device().type != DeviceType::CPU || !one.has_memory() || one.numel() == 0 || one.numel() >= all.numel() ||
      all->storage != one->storage || all->byte_offset != one->byte_offset || all.dtype() != one.dtype() ||
      one.dim() > all.dim() || one.is_wrapped_number())
    return false;
  const int64_t lead = all.dim() - one.dim();
  for (int64_t d = 0; d < all.dim(); ++d) {
    const bool is_there = d >= lead && one.size(d - lead) == all.size(d);
    const bool fits = is_there ? all.size(d) == 1 || all.stride(d) == one.stride(d - lead)
                               : all.stride(d) == 0 && (d < lead || one.size(d - lead) == 1);
    if (!fits) return false;
  }
  return true;
}

bool Repeats::reads_by_element(const RegionCall& call) const {
  if (!call.row->attr.is_pointwise || call.row->attr.is_view || call.gives_list || call.results.size() != 1)
    return false;
  return is_tensor(call.results[0]) &&
         std::none_of(call.arguments.begin(), call.arguments.end(),
                      [](const RegionArgument& a) { return a.form == RegionArgument::Form::Values; });
}

// Whether nobody needs the memory of a value.
bool Repeats::may_stay_repeated(int value) const {
  const auto& users = users_[size_t(value)];
  return std::all_of(users.begin(), users.end(),
                     [&](int u) { return u >= 0 && reads_by_element(from_.calls[size_t(u)]); });
}

// Whether the call, made for the purpose, gives what `value` is.
bool Repeats::gives_the_same(const RegionCall& call, int value) {
  const Cell before = cells_[size_t(value)];
  RegionCall trial = call;
  trial.results = {value};
  bool same = false;
  try {
    make_call(trial, cells_);
    same = same_bits(tensor(value), before.to_tensor());
  } catch (const Error&) {  // not for such sizes
  }
  cells_[size_t(value)] = before;
  return same;
}

void Repeats::add(RegionCall call, int origin) {
  to_.calls.push_back(std::move(call));
  origins_.push_back(origin);
}

bool Repeats::rewrite(int index) {
  const RegionCall& call = from_.calls[size_t(index)];
  if (!reads_by_element(call)) return false;
  RegionCall narrow = call;
  std::vector<int64_t> shape;
  const Repeated* repeated = nullptr;
  for (RegionArgument& a : narrow.arguments) {
    if (a.form != RegionArgument::Form::Value || !is_tensor(a.values[0])) continue;
    if (auto at = repeated_.find(a.values[0]); at != repeated_.end()) {
      repeated = &at->second;
      a.values[0] = repeated->value;
    }
    shape = broadcast_shapes("", shape, tensor(a.values[0]).sizes());
  }
  if (!repeated) return false;
  const int made = call.results[0];
  if (IntArrayRef(shape) == tensor(made).sizes()) {
    if (!gives_the_same(narrow, made)) return false;
    add(std::move(narrow), index);
    return true;
  }
  // All that it reads is repeated: so is what it gives, if nobody minds.
  if (!may_stay_repeated(made)) return false;
  RegionCall view = repeated->view;
  const int few = to_.values;
  cells_.emplace_back();
  narrow.results = {few};
  for (RegionArgument& a : view.arguments)
    if (a.form == RegionArgument::Form::Value && a.values[0] == repeated->value) a.values[0] = few;
  view.results = {made};
  try {
    make_call(narrow, cells_);
  } catch (const Error&) {
  }
  if (!is_tensor(few) || !gives_the_same(view, made)) {
    cells_.pop_back();
    return false;
  }
  ++to_.values;
  make_call(view, cells_);
  repeated_[made] = {few, view};
  add(std::move(narrow), index);
  add(std::move(view), index);
  return true;
}

void Repeats::drop_unread() {
  std::vector<int> reads(size_t(to_.values), 0);
  for (int v : to_.outputs) ++reads[size_t(v)];
  for (const RegionCall& call : to_.calls)
    for (const RegionArgument& a : call.arguments)
      for (int v : a.values)
        if (v >= 0) ++reads[size_t(v)];
  for (size_t c = to_.calls.size(); c-- > 0;) {
    const RegionCall& call = to_.calls[c];
    if (call.results.size() != 1 || !repeated_.count(call.results[0]) || reads[size_t(call.results[0])]) continue;
    for (const RegionArgument& a : call.arguments)
      for (int v : a.values)
        if (v >= 0) --reads[size_t(v)];
    to_.calls.erase(to_.calls.begin() + ptrdiff_t(c));
    origins_.erase(origins_.begin() + ptrdiff_t(c));
  }
}

RegionText Repeats::sink() {
  users_.resize(size_t(from_.values));
  for (size_t c = 0; c < from_.calls.size(); ++c)
    for (const RegionArgument& a : from_.calls[c].arguments)
      for (int v : a.values)
        if (v >= 0) users_[size_t(v)].push_back(int(c));
  for (int v : from_.outputs) users_[size_t(v)].push_back(-1);
  to_.calls.clear();
  for (size_t c = 0; c < from_.calls.size(); ++c) {
    const RegionCall& call = from_.calls[c];
    if (is_repeat(call)) {
      int of = -1;
      for (const RegionArgument& a : call.arguments)
        if (a.form == RegionArgument::Form::Value && of < 0 && is_tensor(a.values[0])) of = a.values[0];
      if (of >= 0) repeated_[call.results[0]] = {of, call};
    } else if (!repeated_.empty() && rewrite(int(c))) {
      continue;
    }
    add(call, int(c));
  }
  drop_unread();
  return std::move(to_);
}

}  // namespace torch::program

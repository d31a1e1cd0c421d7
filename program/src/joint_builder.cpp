#include "joint_builder.h"

#include <algorithm>

#include "boxing.h"
#include "torch/core/operator.h"
#include "torch/core/ops/create.h"

namespace torch::program {

namespace {

constexpr int64_t kCarriedBytes = 1 << 20;

bool same_place(const Tensor& a, const Tensor& b) {
  return a->storage && a->storage == b->storage && a->byte_offset == b->byte_offset && a.dtype() == b.dtype() &&
         a.sizes() == b.sizes() && a.strides() == b.strides();
}

// An argument that is no tensor, as a cell of its own.
bool cell_of(const Parameter& p, const torch::Value& v, Cell& out) {
  if (!v.present) return out = Cell(), true;
  switch (p.kind) {
    case Kind::Int:
      return out = Cell(v.i), true;
    case Kind::Bool:
      return out = Cell(v.i != 0), true;
    case Kind::Float:
      return out = Cell(v.d), true;
    case Kind::Str:
      return out = Cell(std::string(static_cast<const char*>(v.data), size_t(v.size))), true;
    case Kind::IntList: {
      const auto* ints = static_cast<const int64_t*>(v.data);
      return out = Cell(std::vector<int64_t>(ints, ints + v.size)), true;
    }
    case Kind::Scalar:
      if (v.scalar_kind == Scalar::Kind::Bool)
        out = Cell(v.i != 0);
      else if (v.scalar_kind == Scalar::Kind::Int)
        out = Cell(v.i);
      else if (v.scalar_kind == Scalar::Kind::Float)
        out = Cell(v.d);
      else
        return false;
      return true;
    case Kind::DType:
      return out = Cell(number_of(DType(v.i))), true;
    case Kind::Layout:
      return out = Cell(number_of(Layout(v.i))), true;
    case Kind::MemoryFormat:
      return out = Cell(v.i), true;
    case Kind::Device:
      return out = Cell(Device(DeviceType(v.i), int8_t(v.size))), true;
    default:
      return false;
  }
}

}  // namespace

// Writes down the calls of a backward pass.
class JointBuilder::Watch final : public Sink {
 public:
  Watch(JointBuilder& b, Found& found) : builder_(b), found_(found) {}
  bool failed = false;

  void saw(const Row& row, const torch::Value* arguments, Result& result) override {
    const Schema& s = row.schema;
    RegionCall call{&row, {}, {}};
    failed |= row.attr.is_random || s.result_count == 0;
    for (int i = 0; i < s.count && !failed; ++i) {
      const Parameter& p = s.params[i];
      const torch::Value& v = arguments[i];
      RegionArgument a{RegionArgument::Form::Constant, Cell(), {}};
      failed |= p.written;
      if (p.kind == Kind::Tensor && v.present && v.tensor) {
        const Tensor t = Ref<TensorImpl>::share(v.tensor);
        const int at = builder_.known(t);
        if (at >= 0)
          a = {RegionArgument::Form::Value, Cell(), {at}};
        else if (t.is_wrapped_number())
          a.constant = Cell(number_of(t));
        else
          failed = true;
      } else if (p.kind == Kind::TensorList && v.present) {
        a.form = RegionArgument::Form::Values;
        for (int64_t k = 0; k < v.size; ++k) {
          const Tensor& t = static_cast<const Tensor*>(v.data)[k];
          a.values.push_back(t ? builder_.known(t) : -1);
          failed |= t && a.values.back() < 0;
        }
      } else if (p.kind != Kind::Tensor) {
        failed |= !cell_of(p, v, a.constant);
      }
      call.arguments.push_back(std::move(a));
    }
    if (failed) return;
    call.gives_list = s.results[0].kind == Kind::TensorList;
    auto give = [&](const Tensor& t) {
      call.results.push_back(builder_.next_);
      if (t) builder_.know(t, builder_.next_);
      ++builder_.next_;
    };
    if (call.gives_list)
      for (const Tensor& t : result.list) give(t);
    else
      for (int i = 0; i < s.result_count; ++i) {
        failed |= s.results[i].kind != Kind::Tensor;
        give(result.tensors[i]);
      }
    found_.calls.push_back(std::move(call));
  }

 private:
  JointBuilder& builder_;
  Found& found_;
};

int JointBuilder::known(const Tensor& t) const {
  if (auto at = values_.find(t.get()); at != values_.end()) return at->second;
  // What the tape keeps is another handle of the same elements.
  if (!t.has_memory() || t.numel() == 0) return -1;
  for (auto at = alive_.rbegin(); at != alive_.rend(); ++at)
    if (at->first.has_memory() && same_place(at->first, t)) return at->second;
  return -1;
}
void JointBuilder::know(const Tensor& t, int value) {
  if (values_.try_emplace(t.get(), value).second) alive_.emplace_back(t, value);
}

bool JointBuilder::run_forward() {
  cells_.resize(size_t(text_.values));
  maker_.assign(size_t(text_.values), -1);
  next_ = text_.values;
  for (int i = 0; i < text_.inputs; ++i) {
    const Cell& c = *inputs_[i];
    Cell& to = cells_[size_t(i)];
    if (to_.guards_[size_t(i)].as_tensor) {
      if (to_.guards_[size_t(i)].by_value) return false;
      to = Cell(number_as_tensor(c));
    } else {
      to = c.is(Cell::Tag::Tensor) && to_.needs_[size_t(i)] ? Cell(tape->leaf(c.to_tensor())) : c;
    }
    if (!to.is(Cell::Tag::Tensor)) continue;
    if (to.to_tensor().numel() == 0) return false;
    know(to.to_tensor(), i);
    to_.tensors_.push_back(i);
  }
  for (size_t k = 0; k < text_.calls.size(); ++k) {
    make_call(text_.calls[k], cells_);
    for (int v : text_.calls[k].results) {
      maker_[size_t(v)] = int(k);
      if (cells_[size_t(v)].is(Cell::Tag::Tensor)) know(cells_[size_t(v)].to_tensor(), v);
    }
  }
  // Outputs are memory of their own: views have more to say to the tape.
  std::set<Storage*> seen;
  for (int i : to_.tensors_) seen.insert(cells_[size_t(i)].to_tensor()->storage);
  for (size_t i = 0; i < text_.outputs.size(); ++i) {
    const Cell& c = cells_[size_t(text_.outputs[i])];
    if (!c.is(Cell::Tag::Tensor) || !c.to_tensor().has_memory() || c.to_tensor()->base) return false;
    if (!seen.insert(c.to_tensor()->storage).second || c.to_tensor().numel() == 0) return false;
    if (!c.to_tensor().requires_grad()) continue;
    to_.differentiable_.push_back(int(i));
    to_.grads_.push_back(Geometry(c.to_tensor()));
  }
  return !to_.differentiable_.empty() && to_.differentiable_.size() <= Joint::kMaxOutputs;
}

bool JointBuilder::differentiate(unsigned which, Found& found) {
  const size_t before = alive_.size();
  std::vector<Tensor> outputs, inputs, grads;
  for (size_t i = 0; i < to_.differentiable_.size(); ++i) {
    if (!(which >> i & 1)) continue;
    outputs.push_back(cells_[size_t(text_.outputs[size_t(to_.differentiable_[i])])].to_tensor());
    Tensor g = zeros(outputs.back().sizes(), outputs.back().dtype(), outputs.back().device());
    found.grads.push_back(next_);
    know(g, next_++);
    grads.push_back(std::move(g));
  }
  for (int i : to_.tensors_)
    if (to_.needs_[size_t(i)]) inputs.push_back(cells_[size_t(i)].to_tensor());
  std::vector<Tensor> results;
  {
    Watch watch(*this, found);
    results = tape->gradients(outputs, inputs, grads);
    if (watch.failed) return false;
  }
  size_t k = 0;
  for (int i : to_.tensors_) {
    Tensor r = to_.needs_[size_t(i)] ? results[k++] : Tensor();
    found.results.push_back(r ? known(r) : -1);
    if (r && found.results.back() < 0) return false;
    // A gradient that is an input of the pass itself would be given out twice.
    if (r && found.results.back() < text_.values) return false;
  }
  // What a pass makes is its own: the next one would take its view of an input for the region's.
  for (size_t i = before; i < alive_.size(); ++i) values_.erase(alive_[i].first.get());
  alive_.resize(before);
  return true;
}

void JointBuilder::note_reads(const RegionCall& call) {
  for (const RegionArgument& a : call.arguments)
    for (int v : a.values)
      if (v >= 0 && v < text_.values) read_.insert(v);
}

// Whether a value of the region is computed again: by element, from inputs that are kept in any case, or what is cheap.
bool JointBuilder::is_cheap(int value) {
  if (auto at = cheap_.find(value); at != cheap_.end()) return at->second;
  bool& cheap = cheap_[value];
  cheap = false;
  if (maker_[size_t(value)] < 0) return cheap = read_.count(value) > 0 || !cells_[size_t(value)].is(Cell::Tag::Tensor);
  const RegionCall& call = text_.calls[size_t(maker_[size_t(value)])];
  if (!call.row->attr.is_pointwise || call.gives_list) return false;
  for (const RegionArgument& a : call.arguments)
    for (int v : a.values)
      if (v < 0 || !(is_cheap(v) || kept_.count(v))) return false;
  return cheap_[value] = true;
}

// A function of one tensor is more work than its result is to carry, as long as that stays in the caches: five times
// tanh(x * y) + y of 1e4 elements with backward takes 67.7 us where all is computed again, 48.7 so (eager: 67.8). Once
// of 65,536 elements 51 and 38 us, of 250,000 188 and 136, of 1e6 the same (one thread of an AMD EPYC, Zen 5).
bool JointBuilder::is_better_kept(int value) const {
  const RegionCall& call = text_.calls[size_t(maker_[size_t(value)])];
  const auto tensors = std::count_if(call.arguments.begin(), call.arguments.end(),
                                     [](const RegionArgument& a) { return a.form == RegionArgument::Form::Value; });
  const Tensor& t = cells_[size_t(value)].to_tensor();
  return tensors == 1 && t.numel() * t.item_size() <= kCarriedBytes;
}

void JointBuilder::choose() {
  for (const Found& f : found_)
    for (const RegionCall& c : f.calls) note_reads(c);
  const std::set<int> outputs(text_.outputs.begin(), text_.outputs.end());
  // In the order in which they are made: what is computed again may read what is kept.
  for (int v : std::set<int>(read_))
    if (v >= text_.inputs && (outputs.count(v) || is_better_kept(v) || !is_cheap(v))) kept_.insert(v);
  const std::set<int> sources = sources_of_kept();
  to_.saved_of_.assign(to_.tensors_.size(), -1);
  for (size_t i = 0; i < to_.tensors_.size(); ++i)
    if (read_.count(to_.tensors_[i])) {
      to_.saved_of_[i] = int(to_.saved_inputs_.size());
      to_.saved_inputs_.push_back(to_.tensors_[i]);
    }
  for (size_t i = 0; i < to_.tensors_.size(); ++i)
    if (to_.saved_of_[i] < 0 && sources.count(to_.tensors_[i])) {
      to_.saved_of_[i] = int(to_.saved_inputs_.size() + kept_.size() + to_.sources_.size());
      to_.sources_.push_back(to_.tensors_[i]);
    }
}

// The inputs that what is kept was made from: a graph of the gradients makes it again, to differentiate it.
std::set<int> JointBuilder::sources_of_kept() const {
  std::set<int> sources, seen;
  for (std::vector<int> todo(kept_.begin(), kept_.end()); !todo.empty();) {
    const int v = todo.back();
    todo.pop_back();
    if (v < 0 || !seen.insert(v).second) continue;
    if (v < text_.inputs) {
      sources.insert(v);
      continue;
    }
    for (const RegionArgument& a : text_.calls[size_t(maker_[size_t(v)])].arguments)
      todo.insert(todo.end(), a.values.begin(), a.values.end());
  }
  return sources;
}

void JointBuilder::write_forward() {
  RegionText text = text_;
  text.outputs.insert(text.outputs.end(), kept_.begin(), kept_.end());
  to_.forward_ = std::make_unique<Region>(std::move(text));
  to_.forward_->expect_more();
}

void JointBuilder::write_backward(const Found& found, unsigned which) {
  // The calls of the region that are made again, for what this backward reads.
  std::set<int> wanted, again;
  std::vector<int> todo;
  for (const RegionCall& c : found.calls)
    for (const RegionArgument& a : c.arguments) todo.insert(todo.end(), a.values.begin(), a.values.end());
  while (!todo.empty()) {
    const int v = todo.back();
    todo.pop_back();
    if (v < text_.inputs || v >= text_.values || kept_.count(v) || !wanted.insert(v).second) continue;
    again.insert(maker_[size_t(v)]);
    for (const RegionArgument& a : text_.calls[size_t(maker_[size_t(v)])].arguments)
      todo.insert(todo.end(), a.values.begin(), a.values.end());
  }
  RegionText text;
  std::map<int, int> number;
  for (int v : to_.saved_inputs_) number[v] = text.values++;
  for (int v : kept_) number[v] = text.values++;
  for (int v : found.grads) number[v] = text.values++;
  text.inputs = text.values;
  auto add = [&](RegionCall call) {
    for (RegionArgument& a : call.arguments) {
      if (a.form == RegionArgument::Form::Value && a.values[0] < text_.inputs && !number.count(a.values[0])) {
        a = {RegionArgument::Form::Constant, *inputs_[a.values[0]], {}};  // a number that a guard holds
        continue;
      }
      for (int& v : a.values)
        if (v >= 0) v = number.at(v);
    }
    for (int& v : call.results) {
      const int mine = text.values++;
      number[v] = mine;
      v = mine;
    }
    text.calls.push_back(std::move(call));
  };
  for (int k : again) add(text_.calls[size_t(k)]);
  for (const RegionCall& c : found.calls) add(c);
  Joint::Back& back = to_.backward_[which];
  for (int v : found.results) {
    back.gives.push_back(v < 0 ? -1 : int(text.outputs.size()));
    if (v >= 0) text.outputs.push_back(number.at(v));
  }
  back.region = std::make_unique<Region>(std::move(text));
  back.region->expect_more();
}

bool JointBuilder::build() {
  if (!run_forward()) return false;
  const unsigned sets = 1u << to_.differentiable_.size();
  found_.resize(sets);
  for (unsigned which = 1; which < sets; ++which)
    if (!differentiate(which, found_[which])) return false;
  choose();
  write_forward();
  to_.backward_.resize(sets);
  for (unsigned which = 1; which < sets; ++which) write_backward(found_[which], which);
  return true;
}

}  // namespace torch::program

#include "blocks.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <set>

#include "boxing.h"
#include "region_run.h"
#include "torch/core/pool.h"

namespace torch::program {

namespace {

constexpr int64_t kBlockBytes = 512 << 10;  // of all values: within the second cache of each core
constexpr int64_t kWorthBytes = 1 << 20;    // less than that stays there anyway

// Some rows of a contiguous tensor, without graph.
Tensor rows_of(const Tensor& t, int64_t first, int64_t count) {
  Tensor rows = alias_of(t, true);
  rows->sizes()[0] = count;
  rows->byte_offset += first * (t.numel() / t.size(0)) * t.item_size();
  rows->refresh_geometry();
  return rows;
}
Tensor handle(TensorImpl* t) { return Ref<TensorImpl>::share(t); }

// Whether a call's parameter `dim` is there, a constant, and names no first dimension.
bool spares_rows(const RegionCall& call, int64_t ndim) {
  const Schema& s = call.row->schema;
  for (int k = 0; k < s.count; ++k) {
    if (s.view(s.params[k].name) != "dim") continue;
    const RegionArgument& a = call.arguments[size_t(k)];
    if (a.form != RegionArgument::Form::Constant) return false;
    const Cell& c = a.constant;
    if (!c.is(Cell::Tag::Int) && !c.is(Cell::Tag::List)) return false;
    const std::vector<int64_t> dims = c.is(Cell::Tag::Int) ? std::vector<int64_t>{c.to_int()} : c.to_ints();
    return !dims.empty() &&
           std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return (d < 0 ? d + ndim : d) > 0; });
  }
  return false;
}

template <class T>
void fill(T* data, int64_t n) {
  uint64_t state = 88172645463325252u;  // xorshift64: any seed but zero
  // As many bits as a number has: sums of fewer may be exact, in any order.
  constexpr int kBits = std::numeric_limits<T>::digits;
  for (int64_t i = 0; i < n; ++i) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    data[i] = T(int64_t(state >> (64 - kBits))) / T(int64_t(1) << (kBits - 3)) - T(4);
  }
}

}  // namespace

// Looks for stretches from the first step on.
class Blocks::Finder {
 public:
  Finder(RegionPlan& plan, const std::vector<Cell>& cells) : plan_(plan), cells_(cells) {}

  void find() {
    std::vector<Step> done;
    for (Step& s : plan_.steps_) {
      if (!takes(s)) {
        end(done);
        if (!takes(s)) {
          clear();
          done.push_back(std::move(s));
          continue;
        }
      }
      stretch_.push_back(std::move(s));
    }
    end(done);
    plan_.steps_ = std::move(done);
  }

 private:
  const Tensor& tensor(int v) const { return cells_[size_t(v)].to_tensor(); }

  void clear() { rows_ = 0, roles_.clear(), made_.clear(), stretch_.clear(); }

  // Notes what an operand is to the blocks; false when it was something else before.
  bool note(int v, bool by_rows) {
    auto [at, is_new] = roles_.try_emplace(v, by_rows);
    return is_new || at->second == by_rows;
  }

  bool takes(const Step& s) {
    auto roles = roles_;
    auto made = made_;
    const int64_t rows = rows_;
    if (s.tiles ? takes_group(s) : takes_call(s)) return true;
    roles_ = std::move(roles), made_ = std::move(made), rows_ = rows;
    return false;
  }

  bool has_rows(const Geometry& g) {
    if (g.ndim() == 0 || !g.is_contiguous() || g.sizes()[0] < 2) return false;
    if (rows_ == 0) rows_ = g.sizes()[0];
    return g.sizes()[0] == rows_;
  }

  bool takes_group(const Step& s) {
    const size_t ndim = s.made[0].ndim();
    for (const Geometry& g : s.made)
      if (!has_rows(g)) return false;
    for (int v : s.in) {
      const Tensor& t = tensor(v);
      if (made_.count(v)) {
        if (size_t(t.dim()) != ndim) return false;
      } else if (size_t(t.dim()) == ndim && t.size(0) == rows_) {
        if (!t.is_contiguous() || !note(v, true)) return false;
      } else if (!note(v, false)) {
        return false;
      }
    }
    made_.insert(s.out.begin(), s.out.end());
    return true;
  }

  bool takes_call(const Step& s) {
    if (!s.row || s.gives_list || !s.lists.empty() || s.row->fills.size() != 1 || s.row->row->attr.is_view)
      return false;
    const int v = s.in[0];
    const Tensor& t = tensor(v);
    if (t.dtype() != DType::Float32 && t.dtype() != DType::Float64) return false;
    if (!has_rows(Geometry(t)) || !spares_rows(plan_.text_.calls[size_t(s.calls[0])], t.dim())) return false;
    if (!made_.count(v) && !note(v, true)) return false;
    for (int out : s.out) {
      const Cell& c = cells_[size_t(out)];
      if (!c.is(Cell::Tag::Tensor) || !has_rows(Geometry(c.to_tensor()))) return false;
    }
    made_.insert(s.out.begin(), s.out.end());
    return true;
  }

  int64_t bytes_by_rows() const {
    int64_t bytes = 0;
    auto add = [&](int v) { bytes += tensor(v).numel() * tensor(v).item_size(); };
    for (auto [v, by_rows] : roles_)
      if (by_rows) add(v);
    for (int v : made_) add(v);
    return bytes;
  }

  // The call gives the same bits for the first rows, and for the last ones, as for all of them.
  bool is_row_by_row(const Step& s, int64_t block) const {
    const Tensor& like = tensor(s.in[0]);
    Tensor numbers = empty_tensor(like.sizes(), like.dtype());
    if (like.dtype() == DType::Float32)
      fill(numbers.data<float>(), numbers.numel());
    else
      fill(numbers.data<double>(), numbers.numel());
    auto call = [&](const Tensor& t) {
      torch::Value values[kMaxParameters];
      std::memcpy(static_cast<void*>(values), s.row->ready, sizeof(torch::Value) * s.row->row->schema.count);
      values[s.row->fills[0].parameter].tensor = t.get();
      Result result;
      s.row->row->invoke(values, result);
      return result;
    };
    const Result all = call(numbers);
    const int64_t tail = (rows_ - 1) / block * block;
    for (const auto& [first, count] : {std::pair(int64_t(0), block), std::pair(tail, rows_ - tail)}) {
      const Result some = call(rows_of(numbers, first, count));
      for (size_t i = 0; i < s.out.size(); ++i) {
        const Tensor &a = all.tensors[i], &b = some.tensors[i];
        if (!a.is_contiguous() || !b.is_contiguous() || b.dim() != a.dim() || b.size(0) != count) return false;
        const Tensor expected = rows_of(a, first, count);
        if (expected.numel() != b.numel() || expected.dtype() != b.dtype() ||
            std::memcmp(expected.data(), b.data(), size_t(b.numel() * b.item_size())) != 0)
          return false;
      }
    }
    return true;
  }

  // What is read outside of the stretch.
  bool is_output(int v) const {
    const auto& outputs = plan_.text_.outputs;
    if (std::find(outputs.begin(), outputs.end(), v) != outputs.end()) return true;
    std::set<int> mine;
    for (const Step& s : stretch_) mine.insert(s.calls.begin(), s.calls.end());
    for (size_t c = 0; c < plan_.text_.calls.size(); ++c)
      for (const RegionArgument& a : plan_.text_.calls[c].arguments)
        if (!mine.count(int(c)) && std::find(a.values.begin(), a.values.end(), v) != a.values.end()) return true;
    return false;
  }

  void end(std::vector<Step>& done) {
    const bool has_call = std::any_of(stretch_.begin(), stretch_.end(), [](const Step& s) { return !s.tiles; });
    const bool has_group = std::any_of(stretch_.begin(), stretch_.end(), [](const Step& s) { return !!s.tiles; });
    const int64_t bytes = has_call && has_group ? bytes_by_rows() : 0;
    const int64_t block = bytes ? std::max<int64_t>(1, kBlockBytes / (bytes / rows_ + 1)) : 0;
    bool works = bytes >= kWorthBytes && block * 2 <= rows_;
    for (const Step& s : stretch_) works = works && (s.tiles || is_row_by_row(s, block));
    if (works)
      done.push_back(make(block));
    else
      std::move(stretch_.begin(), stretch_.end(), std::back_inserter(done));
    clear();
  }

  Step make(int64_t block) {
    auto blocks = std::make_shared<Blocks>();
    Step all;
    for (auto [v, by_rows] : roles_) {
      blocks->in_.push_back({v, by_rows});
      all.in.push_back(v);
    }
    for (int v : made_)
      if (is_output(v)) {
        blocks->out_.push_back({v, Geometry(tensor(v))});
        all.out.push_back(v);
      }
    for (Step& s : stretch_) {
      all.calls.insert(all.calls.end(), s.calls.begin(), s.calls.end());
      if (!s.tiles)
        for (int v : s.out) s.made.push_back(Geometry(tensor(v)));
    }
    // What one block needs no more goes within it.
    std::map<int, Step*> last;
    for (Step& s : stretch_) {
      for (int v : s.out) last[v] = &s;
      for (int v : s.in) last[v] = &s;
    }
    for (auto [v, s] : last)
      if (made_.count(v) && std::find(all.out.begin(), all.out.end(), v) == all.out.end()) s->drop.push_back(v);
    blocks->rows_ = rows_;
    blocks->block_ = block;
    blocks->values_ = plan_.text_.values;
    blocks->steps_ = std::move(stretch_);
    all.blocks = std::move(blocks);
    return all;
  }

  RegionPlan& plan_;
  const std::vector<Cell>& cells_;
  int64_t rows_ = 0;
  std::map<int, bool> roles_;  // of what comes from outside: whether by rows
  std::set<int> made_;
  std::vector<Step> stretch_;
};

void Blocks::find(RegionPlan& plan, const std::vector<Cell>& cells) { Finder(plan, cells).find(); }

bool Blocks::run(RegionPlan::Registers& registers) const {
  std::vector<Tensor> whole;
  for (const Output& o : out_) whole.push_back(o.whole.empty());
  for (const Operand& o : in_)
    if (!registers[o.value]) return false;
  std::atomic<bool> is_as_planned{true};
  parallel_run((rows_ + block_ - 1) / block_, [&](int64_t task) {
    const int64_t first = task * block_, count = std::min(block_, rows_ - first);
    RegionPlan::Registers mine(static_cast<TensorImpl**>(__builtin_alloca(sizeof(TensorImpl*) * 2 * size_t(values_))),
                               values_);
    for (const Operand& o : in_) {
      const Tensor t = handle(registers[o.value]);
      mine.own(o.value, o.by_rows ? rows_of(t, first, count) : alias_of(t, true));
    }
    for (size_t i = 0; i < out_.size(); ++i) mine.own(out_[i].value, rows_of(whole[i], first, count));
    for (const Step& s : steps_) {
      if (!RegionPlan::run_step(s, mine, count)) {
        is_as_planned = false;
        return;
      }
      for (int v : s.drop) mine.drop(v);
    }
  });
  if (!is_as_planned) return false;
  for (size_t i = 0; i < out_.size(); ++i) registers.own(out_[i].value, std::move(whole[i]));
  return true;
}

std::string Blocks::describe(const RegionPlan& plan) const {
  std::string out = "  blocks of " + std::to_string(block_) + " of " + std::to_string(rows_) + " rows\n";
  for (const Step& s : steps_) out += "  " + plan.describe(s);
  return out;
}

}  // namespace torch::program

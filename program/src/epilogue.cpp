#include "epilogue.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "region_run.h"

// Of a core that has them; else null.
extern "C" {
using EpilogueRows = void (*)(void* to, void* out, int64_t first, int64_t rows, int64_t step, int64_t count);
__attribute__((weak)) void torch_epilogue_begin(EpilogueRows rows, void* to, int64_t elements, int dtype) noexcept;
__attribute__((weak)) int64_t torch_epilogue_end(const void** out) noexcept;
}

namespace torch::program {

namespace {

constexpr int64_t kAny = -1;

// No two elements at one place, none left out.
bool is_dense(const Geometry& g) {
  const size_t n = g.ndim();
  std::vector<std::pair<int64_t, int64_t>> dims;  // stride, size
  for (size_t d = 0; d < n; ++d)
    if (g.dims[d] != 1) dims.push_back({g.dims[n + d], g.dims[d]});
  std::sort(dims.begin(), dims.end());
  int64_t next = 1;
  for (auto [stride, size] : dims) {
    if (stride != next) return false;
    next *= size;
  }
  return true;
}

}  // namespace

// --- what calls hand out ---

Epilogue::Probe::Probe() noexcept {
  if (!torch_epilogue_begin || !torch_epilogue_end) return;
  is_on_ = true;
  const auto count = [](void* to, void*, int64_t, int64_t rows, int64_t, int64_t each) {
    *static_cast<std::atomic<int64_t>*>(to) += rows * each;
  };
  torch_epilogue_begin(count, &elements_, kAny, 0);
}
Epilogue::Probe::~Probe() {
  const void* out;
  if (is_on_) torch_epilogue_end(&out);
}
bool Epilogue::Probe::is_taken_for(const Tensor& t) noexcept {
  const void* out = nullptr;
  if (!is_on_ || torch_epilogue_end(&out) != 1) return false;
  return t.device().type == DeviceType::CPU && t.has_memory() && out == t.data() && elements_ == t.numel();
}

// --- planning ---

class Epilogue::Finder {
 public:
  Finder(RegionPlan& plan, const std::vector<Cell>& cells) : plan_(plan), cells_(cells) {}

  void find() {
    auto& steps = plan_.steps_;
    for (size_t g = 0; g < steps.size(); ++g) {
      const Step* group = steps[g].tiles ? &steps[g] : steps[g].as_group.get();
      if (!group || !group->text || is_bound_by_arithmetic(*group)) continue;
      for (size_t c = g; c-- > 0;)
        if (is_reader_of(*group, c, g))
          if (std::optional<Step> both = joined(steps[c], *group, g)) {
            steps[g] = std::move(*both);
            steps.erase(steps.begin() + ptrdiff_t(c));
            --g;
            break;
          }
    }
  }

 private:
  const Tensor& tensor(int v) const { return cells_[size_t(v)].to_tensor(); }

  // Such a group gains nothing where its elements are near, and loses what short runs of long formulas cost: silu
  // behind a convolution of 16 to 96 channels of 112 x 112 takes 460 us of 942 in its kernel, 311 of 793 in a step of
  // its own; gelu behind a product of 196 x 192 x 768 takes 43 us of 660 more; of 51 MB it gains nothing either (one
  // thread of an AMD EPYC, Zen 4).
  static bool is_bound_by_arithmetic(const Step& group) {
    const auto& calls = group.text->calls;
    return std::any_of(calls.begin(), calls.end(), [](const TileCall& c) { return c.heavy; });
  }

  // Whether step `g`, which is this group, is the first that reads what the call of step `c` hands out.
  bool is_reader_of(const Step& group, size_t c, size_t g) const {
    const Step& call = plan_.steps_[c];
    if (!call.row || call.tiles || call.epilogue || call.gives_list || call.out.size() != 1 || call.calls.size() != 1 ||
        !plan_.hands_out_[size_t(call.calls[0])])
      return false;
    const auto reads = [&](const Step& s) { return std::find(s.in.begin(), s.in.end(), call.out[0]) != s.in.end(); };
    return reads(group) &&
           std::none_of(plan_.steps_.begin() + ptrdiff_t(c) + 1, plan_.steps_.begin() + ptrdiff_t(g), reads);
  }

  bool is_read_behind(int v, size_t g) const {
    const auto& outputs = plan_.text_.outputs;
    return std::find(outputs.begin(), outputs.end(), v) != outputs.end() ||
           std::any_of(plan_.steps_.begin() + ptrdiff_t(g) + 1, plan_.steps_.end(),
                       [&](const Step& s) { return std::find(s.in.begin(), s.in.end(), v) != s.in.end(); });
  }

  // What an operand is to rows of `length_` elements of the result, which it may decide.
  std::optional<Along> along_of(const Tensor& t, Epilogue& e) const {
    const Geometry g(t);
    if (g.dims == e.made_.dims) return Along::All;
    if (t.numel() == 1) return Along::Nothing;
    if (!t.is_contiguous() || !e.made_.is_contiguous()) return {};
    const IntArrayRef all = e.made_.sizes();
    const size_t lead = all.size() - size_t(t.dim());
    const auto size = [&](size_t d) { return d < lead ? int64_t(1) : t.sizes()[d - lead]; };
    size_t begin = 0, end = all.size();  // of the dims in which it is not 1
    while (begin < end && size(begin) == 1) ++begin;
    while (begin < end && size(end - 1) == 1) --end;
    for (size_t d = begin; d < end; ++d)
      if (size(d) != all[d]) return {};
    int64_t length = 1;
    for (size_t d = end; d < all.size(); ++d) length *= all[d];
    const bool is_by_rows = length > 1;
    if (!is_by_rows) length = t.numel();
    if (e.length_ && e.length_ != length) return {};
    e.length_ = length;
    return is_by_rows ? Along::Rows : Along::Columns;
  }

  std::optional<Step> joined(Step& call, const Step& group, size_t g) const {
    auto e = std::make_shared<Epilogue>();
    const int v = call.out[0];
    std::vector<TileValue> values = group.text->values;
    e->made_ = Geometry(tensor(v));
    e->made_value_ = v;
    e->elements_ = tensor(v).numel();
    e->is_kept_ = is_read_behind(v, g);
    if (!is_dense(e->made_)) return {};
    for (size_t k = 0; k < group.out.size(); ++k) {
      if (group.made[k].dims != e->made_.dims) return {};
      e->operands_.push_back({group.out[k], Along::All, item_size(group.made[k].dtype), 0, 0});
    }
    e->outputs_ = group.made;
    bool has_numbers = false;
    size_t at = 0;
    for (size_t k = 0; k < values.size(); ++k) {
      const int of = group.text->of[k];
      if (values[k].role != TileValue::Role::Input || of < 0) continue;
      const int from = group.in[at];
      if ((of == v) != (from == v)) return {};  // another part of the result
      const std::optional<Along> along = along_of(tensor(of), *e);
      if (!along || (of == v && *along != Along::All)) return {};
      values[k].along = *along;
      has_numbers |= *along == Along::Rows || *along == Along::Nothing;
      e->operands_.push_back({from, *along, tensor(of).item_size(), tensor(of).numel(),
                              group.distances.empty() ? 0 : group.distances[group.out.size() + at]});
      ++at;
    }
    if (at != group.in.size()) return {};
    // Numbers are read where they lie; a walk of one length serves for any.
    const int64_t columns = has_numbers ? std::max<int64_t>(e->length_, 1) : 0;
    auto tiles = std::make_unique<Tiles>(values, group.text->calls, columns);
    if (tiles->columns() != columns) return {};
    const Kernel kernel = tiles->kernel();
    for (size_t k = 0; k < e->operands_.size(); ++k)
      if (item_size(kernel.types[k]) != e->operands_[k].bytes) return {};
    put_in_place(*e, *group.text);
    e->tiles_ = std::move(tiles);

    Step both = std::move(call);
    both.calls.insert(both.calls.end(), group.calls.begin(), group.calls.end());
    if (!e->is_kept_) both.out.clear();
    both.out.insert(both.out.end(), group.out.begin(), group.out.end());
    for (int i : group.in)
      if (i != v) both.in.push_back(i);
    for (const auto& [value, geometry] : group.expected)
      if (value != v) both.expected.push_back({value, geometry});
    both.epilogue = std::move(e);
    return both;
  }

  // An output may lie where the call's result does, if nothing is read of it once that is written: when the last loop
  // of the group writes it.
  static void put_in_place(Epilogue& e, const RegionPlan::GroupText& text) {
    const TileCall& last = text.calls.back();
    if (e.is_kept_ || last.outputs != 1 || last.types[0] != e.made_.dtype) return;
    const int of = text.of[size_t(last.values[0])];
    for (size_t k = 0; k < e.outputs_.size(); ++k)
      if (e.operands_[k].value == of && e.outputs_[k].dtype == e.made_.dtype) e.in_place_ = int(k);
  }

  RegionPlan& plan_;
  const std::vector<Cell>& cells_;
};

void Epilogue::find(RegionPlan& plan, const std::vector<Cell>& cells) { Finder(plan, cells).find(); }

// --- running ---

struct Epilogue::Running {
  const Epilogue* epilogue;
  char* data[kMaxOperands];
};

void Epilogue::run_by_rows(char* const* data, int64_t first, int64_t count) const {
  char* at[kMaxOperands];
  while (count > 0) {
    const int64_t row = first / length_, column = first - row * length_, n = std::min(count, length_ - column);
    for (size_t k = 0; k < operands_.size(); ++k) {
      const Operand& o = operands_[k];
      const int64_t place = o.along == Along::All       ? first
                            : o.along == Along::Columns ? column
                            : o.along == Along::Rows    ? row % o.period
                                                        : 0;
      at[k] = data[k] + place * o.bytes;
    }
    tiles_->run(at, n);
    first += n, count -= n;
  }
}

void Epilogue::run_rows(void* to, void* out, int64_t first, int64_t rows, int64_t step, int64_t count) {
  const Running& r = *static_cast<const Running*>(to);
  const Epilogue& e = *r.epilogue;
  char* data[kMaxOperands];
  for (size_t k = 0; k < e.operands_.size(); ++k)
    data[k] = e.operands_[k].value == e.made_value_ || int(k) == e.in_place_ ? static_cast<char*>(out) : r.data[k];
  if (rows > 1 && step == count) count *= rows, rows = 1;
  if (!e.length_) {
    int64_t steps[kMaxOperands];
    for (size_t k = 0; k < e.operands_.size(); ++k) {
      const int64_t bytes = e.operands_[k].along == Along::All ? e.operands_[k].bytes : 0;
      data[k] += first * bytes, steps[k] = step * bytes;
    }
    return e.tiles_->run_each(data, count, rows, steps);
  }
  for (int64_t i = 0; i < rows; ++i) e.run_by_rows(data, first + i * step, count);
}

bool Epilogue::run(const RegionPlan::Step& s, RegionPlan::Registers& registers) const {
  for (const auto& [v, geometry] : s.expected)
    if (!registers[v] || !geometry.fits(registers[v])) return false;
  Running running{this, {}};
  for (size_t k = 0; k < operands_.size(); ++k) {
    const Operand& o = operands_[k];
    if (o.value == made_value_ || int(k) == in_place_) continue;
    if (k < outputs_.size()) registers.own(o.value, outputs_[k].empty());
    if (!registers[o.value]) return false;
    running.data[k] = static_cast<char*>(registers[o.value]->data()) + o.distance;
  }
  struct End {
    const void* out = nullptr;
    bool is_over = false;
    int64_t now() noexcept { return is_over = true, torch_epilogue_end(&out); }
    ~End() {
      if (!is_over) now();
    }
  } end;
  Result result;
  torch_epilogue_begin(run_rows, &running, elements_, int(made_.dtype));
  if (!RegionPlan::invoke(s, registers, result)) return false;
  const int64_t taken = end.now();
  Tensor& made = result.tensors[0];
  if (!made || !made_.fits(made.get()) || (taken && end.out != made.data())) return false;
  if (!taken) run_rows(&running, made.data(), 0, 1, 0, elements_);
  if (is_kept_ || in_place_ >= 0)
    registers.own(is_kept_ ? made_value_ : operands_[size_t(in_place_)].value, std::move(made));
  return true;
}

std::string Epilogue::describe() const {
  return std::string(in_place_ < 0 ? "" : ", in place") + (tiles_->fused() ? ", fused" : "");
}

}  // namespace torch::program

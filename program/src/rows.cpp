#include "rows.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "boxing.h"
#include "region_run.h"
#include "torch/core/pool.h"

namespace torch::program {

namespace {

constexpr int64_t kSomeBytes = 64 << 10;  // of all values, for the rows that are done at a time
constexpr int64_t kMostBytes = 1 << 20;   // of all values within: more lies no better than in tensors
constexpr int64_t kMostFoldBytes = kMostBytes / 2;
constexpr int64_t kTaskElements = 16384;
constexpr size_t kMostPassedOver = 64;  // steps that do not join, beyond which a stretch goes on

struct Shown {
  std::optional<RowLoop> loop;
  std::optional<ColumnLoop> columns;
  int times = 0;
  int64_t n = 0;
  const void *in = nullptr, *out = nullptr;
};

void see(void* to, const RowLoop& loop, int64_t n, const Tensor& in, const Tensor& out) {
  *static_cast<Shown*>(to) = {loop, {}, static_cast<Shown*>(to)->times + 1, n, in.data(), out.data()};
}
void see_columns(void* to, const ColumnLoop& loop, int64_t n, const Tensor& in, const Tensor& out) {
  *static_cast<Shown*>(to) = {{}, loop, static_cast<Shown*>(to)->times + 1, n, in.data(), out.data()};
}
struct ColumnWatch {
  explicit ColumnWatch(Shown* to) noexcept {
    if (torch_columns_seen) torch_columns_seen(see_columns, to);
  }
  ~ColumnWatch() {
    if (torch_columns_seen) torch_columns_seen(nullptr, nullptr);
  }
  ColumnWatch(const ColumnWatch&) = delete;
};

}  // namespace

class Rows::Finder {
 public:
  Finder(RegionPlan& plan, const std::vector<Cell>& cells) : plan_(plan), cells_(cells) {}

  void find() {
    std::vector<Step> todo = std::move(plan_.steps_), done;
    for (size_t first = 0; first < todo.size();) {
      const size_t end = look_from(first, todo);
      std::optional<Step> all = reduces() ? make() : std::nullopt;
      if (!all) {
        done.push_back(std::move(todo[first++]));
        continue;
      }
      for (Step* s : before_) done.push_back(std::move(*s));
      done.push_back(std::move(*all));
      std::vector<Step> rest;
      for (Step* s : after_) rest.push_back(std::move(*s));
      first = end - rest.size();
      std::move(rest.begin(), rest.end(), todo.begin() + ptrdiff_t(first));
    }
    plan_.steps_ = std::move(done);
  }

 private:
  const Tensor& tensor(int v) const { return cells_[size_t(v)].to_tensor(); }
  bool is_tensor(int v) const { return v >= 0 && cells_[size_t(v)].is(Cell::Tag::Tensor); }

  static const Tiles* over_rows(const Step& group) {
    return group.by_rows ? group.by_rows.get() : group.tiles && group.tiles->columns() ? group.tiles.get() : nullptr;
  }

  // All or a number for each: whether sizes are those of the rows, or with a last one of 1.
  bool is_wide(IntArrayRef sizes) const { return sizes == IntArrayRef(sizes_); }
  bool is_narrow(IntArrayRef sizes) const {
    return sizes.size() == sizes_.size() && sizes.back() == 1 &&
           std::equal(sizes.begin(), sizes.end() - 1, sizes_.begin());
  }
  bool agrees_on(IntArrayRef sizes) {
    if (sizes_.empty()) sizes_.assign(sizes.begin(), sizes.end());
    return is_wide(sizes);
  }

  // Gathers the stretch that begins with a step, up to where it returns: what joins it, what may stand before it, and
  // what waits until it is over.
  size_t look_from(size_t first, std::vector<Step>& steps) {
    sizes_.clear(), made_.clear(), late_.clear(), folds_.clear(), fold_bytes_ = 0;
    stretch_.clear(), before_.clear(), after_.clear();
    size_t i = first;
    for (; i < steps.size() && before_.size() + after_.size() < kMostPassedOver; ++i) {
      Step& s = steps[i];
      const bool waits = std::any_of(s.in.begin(), s.in.end(), [&](int v) { return late_.count(v) > 0; });
      if (!waits && takes(s)) {
        stretch_.push_back(&s);
      } else if (i == first) {
        return i + 1;
      } else if (!waits && std::none_of(s.in.begin(), s.in.end(), [&](int v) { return is_made(v); })) {
        before_.push_back(&s);
      } else {
        after_.push_back(&s);
        late_.insert(s.out.begin(), s.out.end());
      }
    }
    return i;
  }
  bool reduces() const {
    bool reduces = false, walks = false;
    for (const Step* s : stretch_)
      if (const Step& g = group_of(*s); !g.tiles)
        reduces = true;
      else
        walks |= over_rows(g) != nullptr;
    return reduces && walks;
  }

  bool takes(const Step& s) {
    const auto sizes = sizes_;
    if (takes_group(group_of(s)) || takes_call(s)) {
      made_.insert(made_.end(), s.out.begin(), s.out.end());
      return true;
    }
    sizes_ = sizes;
    if (!takes_fold(s)) return false;
    late_.insert(s.out[0]);
    return true;
  }
  bool is_made(int v) const { return std::find(made_.begin(), made_.end(), v) != made_.end(); }

  bool takes_group(const Step& g) {
    if (!g.tiles) return false;
    // What was made within is whole rows or their numbers to this group as well.
    for (int v : g.in)
      if (is_made(v) && !is_wide(tensor(v).sizes()) && !is_narrow(tensor(v).sizes())) return false;
    if (over_rows(g)) return agrees_on(g.made[0].sizes());
    if (sizes_.empty() || !is_narrow(g.made[0].sizes())) return false;
    const Kernel kernel = g.tiles->kernel();
    int k = 0;
    for (const Geometry& made : g.made)
      if (!made.is_contiguous() || made.dtype != kernel.types[k++]) return false;
    for (int v : g.in) {
      const Tensor& t = tensor(v);
      if (!t.is_contiguous() || !is_narrow(t.sizes()) || t.dtype() != kernel.types[k++]) return false;
    }
    return true;
  }

  // A reduction over the last dim that keeps it, found by its loop.
  bool takes_call(const Step& s) {
    if (!s.row || s.gives_list || !s.lists.empty() || s.row->fills.size() != 1 || s.out.size() != 1) return false;
    if (!is_tensor(s.in[0]) || !is_tensor(s.out[0])) return false;
    const Tensor &in = tensor(s.in[0]), &out = tensor(s.out[0]);
    const int64_t n = in.dim();
    if (n < 2 || out.dim() != n || out.size(-1) != 1 || in.size(-1) < 2 || in.numel() == 0 || !in.is_contiguous() ||
        !out.is_contiguous() || in.numel() != out.numel() * in.size(-1) || out.numel() < 2)
      return false;
    if (!agrees_on(in.sizes())) return false;
    auto [at, is_new] = loops_.try_emplace(s.calls[0]);
    if (is_new) at->second = loop_of(s, in, out);
    return at->second.has_value();
  }

  // A reduction over all dims but the last one, of rows that are folded part by part. One part would be one task for
  // all rows: that call comes after the stretch.
  bool takes_fold(const Step& s) {
    if (!s.row || s.gives_list || !s.lists.empty() || s.row->fills.size() != 1 || s.out.size() != 1) return false;
    if (sizes_.empty() || !is_tensor(s.in[0]) || !is_tensor(s.out[0])) return false;
    const Tensor &in = tensor(s.in[0]), &out = tensor(s.out[0]);
    if (!is_wide(in.sizes()) || !in.is_contiguous() || !out.is_contiguous() || out.numel() != in.size(-1) ||
        in.numel() == out.numel() || out.dim() == 0 || out.size(-1) != in.size(-1))
      return false;
    auto [at, is_new] = column_loops_.try_emplace(s.calls[0]);
    if (is_new) at->second = columns_of(s, in, out);
    if (!at->second || at->second->part >= in.numel() / in.size(-1)) return false;
    if (!folds_.empty() && column_loops_.at(folds_[0]->calls[0])->part != at->second->part) return false;
    const int64_t bytes = is_made(s.in[0]) ? ColumnLoop::kRows * in.size(-1) * in.item_size() : 0;
    if (fold_bytes_ + bytes > kMostFoldBytes) return false;
    fold_bytes_ += bytes;
    folds_.push_back(&s);
    return true;
  }

  // What a call showed of its loop, if that was one, over just these tensors, and what it gave.
  static Tensor shown_of(const Step& s, const Tensor& in, Shown& shown) {
    torch::Value values[kMaxParameters];
    std::memcpy(static_cast<void*>(values), s.row->ready, sizeof(torch::Value) * s.row->row->schema.count);
    values[s.row->fills[0].parameter].tensor = in.get();
    Result result;
    const RowWatch rows(see, &shown);
    const ColumnWatch columns(&shown);
    s.row->row->invoke(values, result);
    const Tensor& made = result.tensors[0];
    return shown.times == 1 && shown.n == in.size(-1) && shown.in == in.data() && made && shown.out == made.data()
               ? made
               : Tensor();
  }
  static std::optional<ColumnLoop> columns_of(const Step& s, const Tensor& in, const Tensor& out) {
    Shown shown;
    const Tensor made = shown_of(s, in, shown);
    if (!made || !shown.columns) return {};
    const ColumnLoop& loop = *shown.columns;
    const int64_t n = shown.n, rows = in.numel() / n, step = n * in.item_size();
    const Tensor memory = empty_tensor({2, n * loop.bytes}, DType::UInt8),
                 again = empty_tensor(out.sizes(), out.dtype());
    char *const sum = static_cast<char*>(memory.data()), *const next = sum + n * loop.bytes;
    for (int64_t first = 0; first < rows; first += loop.part) {
      char* const to = first ? next : sum;
      loop.reset(to, n);
      const int64_t end = std::min(rows, first + loop.part);
      for (int64_t r = first; r < end; r += ColumnLoop::kRows)
        loop.fold(static_cast<const char*>(in.data()) + r * step, step, std::min(ColumnLoop::kRows, end - r), n, r, to);
      if (first) loop.merge(sum, next, n);
    }
    loop.finish(sum, n, loop.number, again.data());
    if (std::memcmp(again.data(), made.data(), size_t(n * out.item_size())) != 0) return {};
    return loop;
  }
  // The loop that the call ran, if it was one, on just these rows, and gives what the call gave.
  static std::optional<RowLoop> loop_of(const Step& s, const Tensor& in, const Tensor& out) {
    Shown shown;
    const Tensor made = shown_of(s, in, shown);
    if (!made || !shown.loop || shown.loop->in != in.dtype() || shown.loop->out != out.dtype()) return {};
    const int64_t rows = out.numel(), bytes = out.item_size();
    for (int64_t r : {int64_t(0), rows / 2, rows - 1}) {
      alignas(16) char number[16];
      (*shown.loop)(static_cast<const char*>(in.data()) + r * shown.n * in.item_size(), 0, 1, shown.n, number);
      if (std::memcmp(number, static_cast<const char*>(made.data()) + r * bytes, size_t(bytes)) != 0) return {};
    }
    return shown.loop;
  }

  bool is_output(int v) const {
    const auto& outputs = plan_.text_.outputs;
    if (std::find(outputs.begin(), outputs.end(), v) != outputs.end()) return true;
    for (size_t c = 0; c < plan_.text_.calls.size(); ++c)
      for (const RegionArgument& a : plan_.text_.calls[c].arguments)
        if (std::find(a.values.begin(), a.values.end(), v) != a.values.end() &&
            std::none_of(stretch_.begin(), stretch_.end(), [&](const Step* s) {
              return std::find(s->calls.begin(), s->calls.end(), int(c)) != s->calls.end();
            }))
          return true;
    return false;
  }

  std::optional<Step> make() {
    auto rows = std::make_shared<Rows>();
    Step all;
    rows->columns_ = sizes_.back();
    rows->rows_ = 1;
    for (size_t d = 0; d + 1 < sizes_.size(); ++d) rows->rows_ *= sizes_[d];
    const auto row_bytes = [&](int v) {
      return tensor(v).item_size() * (is_wide(tensor(v).sizes()) ? rows->columns_ : int64_t(1));
    };
    std::set<int> wide, folded;
    for (const Step* s : stretch_)
      for (const auto* values : {&s->in, &s->out})
        for (int v : *values)
          if (is_wide(tensor(v).sizes())) wide.insert(v);
    int64_t bytes = 0;
    for (int v : wide) bytes += row_bytes(v);
    rows->some_ = std::clamp<int64_t>(kSomeBytes / bytes, 1, RowLoop::kMostRows);
    if (!folds_.empty()) {
      rows->some_ = std::min(ColumnLoop::kRows, int64_t(std::bit_floor(uint64_t(rows->some_))));
      rows->part_ = column_loops_.at(folds_[0]->calls[0])->part;
    }
    for (const Step* s : folds_) folded.insert(s->in[0]);

    std::map<int, int> last;  // the step that reads a value last
    for (size_t i = 0; i < stretch_.size(); ++i)
      for (int v : stretch_[i]->in) last[v] = int(i);
    std::map<int, int> places;
    std::multimap<int64_t, int64_t> free;  // by bytes
    std::map<int, std::pair<int64_t, int64_t>> taken;
    const auto place = [&](int v, int64_t row_step) {
      auto [at, is_new] = places.try_emplace(v, int(rows->places_.size()));
      if (!is_new) return at->second;
      Place p{v, -1, row_step};
      if (is_made(v)) {
        p.row_step = row_bytes(v);
        if (is_output(v)) {
          rows->out_.push_back({v, Geometry(tensor(v))});
          all.out.push_back(v);
        } else {
          p.is_folded = folded.count(v) > 0;
          const int64_t bytes = (p.row_step * (p.is_folded ? ColumnLoop::kRows : rows->some_) + 63) / 64 * 64;
          if (auto room = free.find(bytes); room != free.end()) {
            p.offset = room->second;
            free.erase(room);
          } else {
            p.offset = rows->bytes_;
            rows->bytes_ += bytes;
          }
          if (!p.is_folded) taken[v] = {bytes, p.offset};
        }
      } else {
        all.in.push_back(v);
        if (v >= plan_.text_.inputs) rows->expected_.push_back({v, Geometry(tensor(v))});
      }
      rows->places_.push_back(p);
      return at->second;
    };
    for (size_t i = 0; i < stretch_.size(); ++i) {
      const Step &s = *stretch_[i], &g = group_of(s);
      Part part;
      all.calls.insert(all.calls.end(), s.calls.begin(), s.calls.end());
      if (std::find(folds_.begin(), folds_.end(), &s) != folds_.end()) {
        const ColumnLoop& loop = *column_loops_.at(s.calls[0]);
        rows->folds_.push_back(
            {loop, place(s.in[0], row_bytes(s.in[0])), row_bytes(s.in[0]), s.out[0], rows->part_bytes_});
        rows->part_bytes_ += (loop.bytes * rows->columns_ + 63) / 64 * 64;
        rows->out_.push_back({s.out[0], Geometry(tensor(s.out[0]))});
        all.out.push_back(s.out[0]);
        continue;
      }
      if (g.tiles) {
        part.tiles = over_rows(g);
        part.is_of_numbers = !part.tiles;
        if (!part.tiles) part.tiles = g.tiles.get();
        size_t k = 0;
        for (int v : g.out) part.at.push_back(place(v, 0)), ++k;
        for (int v : g.in) {
          const int64_t step = part.is_of_numbers ? tensor(v).item_size() : part.tiles->row_step(k);
          part.at.push_back(place(v, step)), ++k;
          if (rows->places_[size_t(part.at.back())].row_step != step) return {};
        }
      } else {
        part.loop = *loops_.at(s.calls[0]);
        part.at.push_back(place(s.out[0], 0));
        part.at.push_back(place(s.in[0], row_bytes(s.in[0])));
      }
      for (int k : part.at) part.steps.push_back(rows->places_[size_t(k)].row_step);
      rows->parts_.push_back(std::move(part));
      for (const auto& [v, step] : last)
        if (step == int(i))
          if (auto room = taken.find(v); room != taken.end()) free.insert(room->second), taken.erase(room);
    }
    if (rows->bytes_ > kMostBytes) return {};
    rows->grain_ = std::max<int64_t>(1, kTaskElements / (rows->columns_ * rows->some_));
    for (Step* s : stretch_) rows->steps_.push_back(std::move(*s));
    all.rows = std::move(rows);
    return all;
  }

  RegionPlan& plan_;
  const std::vector<Cell>& cells_;
  std::map<int, std::optional<RowLoop>> loops_;            // by call
  std::map<int, std::optional<ColumnLoop>> column_loops_;  // by call
  std::vector<int64_t> sizes_;
  std::vector<int> made_;  // within, row by row
  std::set<int> late_;     // what is there only after the stretch
  std::vector<Step*> stretch_, before_, after_;
  std::vector<const Step*> folds_;  // of the stretch
  int64_t fold_bytes_ = 0;          // of what they read that was made within
};

void Rows::find(RegionPlan& plan, const std::vector<Cell>& cells) { Finder(plan, cells).find(); }

bool Rows::run(RegionPlan::Registers& registers) const {
  for (const auto& [v, geometry] : expected_)
    if (!registers[v] || !geometry.fits(registers[v])) return false;
  for (const Place& p : places_)
    if (p.offset < 0 && !registers[p.value] &&
        std::none_of(out_.begin(), out_.end(), [&](const auto& o) { return o.first == p.value; }))
      return false;
  for (const auto& [v, geometry] : out_) registers.own(v, geometry.empty());
  const auto walk = [&](int64_t begin, int64_t end, char* accumulators) {
    const Tensor memory = bytes_ ? empty_tensor({bytes_ + 64}, DType::UInt8) : Tensor();
    char* const room =
        bytes_ ? reinterpret_cast<char*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64) : nullptr;
    char** const at = static_cast<char**>(__builtin_alloca(sizeof(char*) * places_.size()));
    for (size_t i = 0; i < places_.size(); ++i) {
      const Place& p = places_[i];
      at[i] = p.offset >= 0 ? room + p.offset : static_cast<char*>(registers[p.value]->data()) + begin * p.row_step;
    }
    for (const Fold& f : folds_) f.loop.reset(accumulators + f.offset, columns_);
    const int64_t step = folds_.empty() ? end - begin : ColumnLoop::kRows;
    for (int64_t first = begin; first < end; first += step) {
      const int64_t count = std::min(step, end - first);
      run_rows(first, count, at);
      for (const Fold& f : folds_)
        f.loop.fold(at[f.at] - count * f.step, f.step, count, columns_, first, accumulators + f.offset);
      for (size_t i = 0; i < places_.size(); ++i)
        if (places_[i].is_folded) at[i] = room + places_[i].offset;
    }
  };
  if (folds_.empty()) {
    parallel_for((rows_ + some_ - 1) / some_, grain_,
                 [&](int64_t begin, int64_t end) { walk(begin * some_, std::min(rows_, end * some_), nullptr); });
    return true;
  }
  const int64_t parts = (rows_ + part_ - 1) / part_;
  const Tensor memory = empty_tensor({parts * part_bytes_}, DType::UInt8);
  char* const accumulators = static_cast<char*>(memory.data());
  parallel_run(parts, [&](int64_t part) {
    walk(part * part_, std::min(rows_, (part + 1) * part_), accumulators + part * part_bytes_);
  });
  for (const Fold& f : folds_) {
    char* const sum = accumulators + f.offset;
    for (int64_t part = 1; part < parts; ++part) f.loop.merge(sum, sum + part * part_bytes_, columns_);
    f.loop.finish(sum, columns_, f.loop.number, registers[f.value]->data());
  }
  return true;
}

// Some rows after the other; `at` goes on with them.
void Rows::run_rows(int64_t first, int64_t count, char** at) const {
  for (const int64_t end = first + count; first < end; first += some_) {
    const int64_t some = std::min(some_, end - first);
    for (const Part& part : parts_) {
      char* data[kMaxOperands];
      for (size_t k = 0; k < part.at.size(); ++k) data[k] = at[part.at[k]];
      if (!part.tiles)
        part.loop(data[1], part.steps[1], some, columns_, data[0]);
      else if (part.is_of_numbers)
        part.tiles->run(data, some);
      else
        part.tiles->run_each(data, columns_, some, part.steps.data());
    }
    for (size_t i = 0; i < places_.size(); ++i)
      if (places_[i].offset < 0 || places_[i].is_folded) at[i] += some * places_[i].row_step;
  }
}

std::string Rows::describe(const RegionPlan& plan) const {
  std::string out = "  blocks of " + std::to_string(some_) + " of " + std::to_string(rows_) + " rows\n";
  for (const Step& s : steps_) out += "  " + plan.describe(group_of(s));
  return out;
}

}  // namespace torch::program

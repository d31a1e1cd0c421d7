#include "tiles.h"

#include <algorithm>
#include <cstring>

#include "torch/core/error.h"
#include "torch/core/pool.h"

namespace torch::program {

namespace {
constexpr int64_t kTileBytes = 4096;  // of one value: a dozen of them fit into the first cache
constexpr int kMaxRegisters = 200;
constexpr int64_t kLongColumns = 256;  // of rows at whose begin filling a tile with a number costs little

// A tile of the number that an operand is.
template <class T>
void fill(char* const* data, int64_t n, const void*) {
  alignas(32) T block[32 / sizeof(T)];  // which is moved as vectors, whatever the compiler makes of loops
  std::fill_n(block, std::size(block), *reinterpret_cast<const T*>(data[1]));
  constexpr int64_t kSome = std::size(block);
  T* const to = reinterpret_cast<T*>(data[0]);
  int64_t i = 0;
  for (; i + kSome <= n; i += kSome) std::memcpy(to + i, block, sizeof block);
  std::copy_n(block, n - i, to + i);
}
Loop fill_of(int64_t bytes) {
  switch (bytes) {
    case 1:
      return fill<uint8_t>;
    case 2:
      return fill<uint16_t>;
    case 4:
      return fill<uint32_t>;
    case 8:
      return fill<uint64_t>;
    default:
      return nullptr;
  }
}
}  // namespace

bool TileCall::operator==(const TileCall& o) const {
  return loop == o.loop && outputs == o.outputs && inputs == o.inputs && scalars == o.scalars &&
         std::equal(types, types + outputs + inputs, o.types) &&
         std::equal(values, values + outputs + inputs, o.values);
}

// Gives every value registers, one for each type in which it is needed: first the operands, then constants, then
// temporaries, which are shared by values that do not live at one time.
class Tiles::Builder {
 public:
  Builder(Tiles& to, const std::vector<TileValue>& values, const std::vector<TileCall>& calls)
      : to_(to), values_(values), calls_(calls) {}

  void build() {
    choose_types();
    find_lives();
    for (now_ = 0; now_ < int(calls_.size()); ++now_) call(calls_[size_t(now_)]);
    finish();
  }

 private:
  using Key = std::pair<int, DType>;
  using Along = TileValue::Along;
  struct Known {  // of a step
    int formula;  // -1: another
    DType type;
    int outputs;
  };

  void choose_types() {
    std::map<int, std::vector<DType>> wanted;
    int64_t widest = 1;
    auto note = [&](DType t) { widest = std::max(widest, item_size(t)); };
    for (const TileCall& c : calls_)
      for (int k = 0; k < c.outputs + c.inputs; ++k) {
        note(c.types[k]);
        if (values_[size_t(c.values[k])].role != TileValue::Role::Number) note(values_[size_t(c.values[k])].type);
        if (k >= c.outputs) {
          auto& types = wanted[c.values[k]];
          if (std::find(types.begin(), types.end(), c.types[k]) == types.end()) types.push_back(c.types[k]);
        }
      }
    to_.tile_ = kTileBytes / std::max<int64_t>(4, widest);
    Kernel& k = to_.kernel_;
    auto operand = [&](int v, DType t) {
      const int at = k.outputs + k.inputs;
      TORCH_CHECK(at < kMaxOperands, "a group of too many tensors");
      k.types[at] = t;
      const auto along = values_[size_t(v)].along;
      const bool is_number = along == Along::Rows || along == Along::Nothing;
      to_.widths_.push_back(to_.columns_ && is_number ? 0 : item_size(t));
      const int64_t step = along == Along::All ? to_.columns_ : along == Along::Rows ? 1 : 0;
      to_.row_steps_.push_back(step * item_size(t));
      if (t != values_[size_t(v)].type) to_.columns_ = 0;  // somebody has to convert it
      place_[{v, t}] = at;
    };
    for (int v = 0; v < int(values_.size()); ++v)
      if (values_[size_t(v)].is_output) operand(v, values_[size_t(v)].type), ++k.outputs;
    for (int v = 0; v < int(values_.size()); ++v)
      if (values_[size_t(v)].role == TileValue::Role::Input) {
        // What is needed in one other type is converted by the engine: a number once, not for each tile.
        const auto& types = wanted[v];
        operand(v, types.size() == 1 ? types[0] : values_[size_t(v)].type), ++k.inputs;
      }
    for (auto& [v, types] : wanted)
      if (values_[size_t(v)].role == TileValue::Role::Number)
        for (DType t : types) constants_.push_back({v, t});
    for (size_t i = 0; i < constants_.size(); ++i) place_[constants_[i]] = k.outputs + k.inputs + int(i);
    first_temporary_ = k.outputs + k.inputs + int(constants_.size());
  }

  void find_lives() {
    for (int i = 0; i < int(calls_.size()); ++i)
      for (int k = calls_[size_t(i)].outputs; k < calls_[size_t(i)].outputs + calls_[size_t(i)].inputs; ++k)
        last_[calls_[size_t(i)].values[k]] = i;
  }

  int temporary() {
    if (free_.empty()) {
      TORCH_CHECK(first_temporary_ + to_.temporaries_ < kMaxRegisters, "a group of too many values");
      return first_temporary_ + to_.temporaries_++;
    }
    const int r = free_.back();
    free_.pop_back();
    return r;
  }
  void release(int r) {
    if (r >= first_temporary_) free_.push_back(r);
  }
  void step(Loop loop, std::vector<int> at, const std::vector<char>& scalars, const TileCall* call = nullptr) {
    Step s{loop, int32_t(at.size()), int32_t(to_.scalars_.size()), {}};
    for (size_t i = 0; i < at.size(); ++i) s.at[i] = uint8_t(at[i]);
    // Each begins where any number may.
    to_.scalars_.insert(to_.scalars_.end(), scalars.begin(), scalars.end());
    to_.scalars_.resize((to_.scalars_.size() + 15) / 16 * 16);
    to_.steps_.push_back(s);
    Known known{-1, DType::Float32, call ? call->outputs : 1};
    if (call && call->outputs == 1)
      if (const auto found =
              fusible(call->op, loop, call->types, call->inputs, scalars.empty() ? nullptr : scalars.data()))
        known.type = found->type, known.formula = found->formula;
    known_.push_back(known);
  }
  // Writes register `from` of one type to `into` of another.
  void convert(int from, DType type, int into, DType wanted) {
    const ConvertPath path = convert_path(type, wanted);
    int before = -1;
    for (int i = 0; i < path.count; ++i) {
      const int out = i + 1 == path.count ? into : temporary();
      step(path.step[i], {out, from}, {});
      if (before >= 0) release(before);
      before = from = out;
    }
  }

  int read(int v, DType wanted) {
    if (auto at = place_.find({v, wanted}); at != place_.end()) return at->second;
    const DType stored = values_[size_t(v)].type;
    const int from = place_.at({v, stored}), into = temporary();
    convert(from, stored, into, wanted);
    return place_[{v, wanted}] = into;
  }

  void call(const TileCall& c) {
    std::vector<int> at(size_t(c.outputs + c.inputs));
    for (int k = c.outputs; k < c.outputs + c.inputs; ++k) at[size_t(k)] = read(c.values[k], c.types[k]);
    struct Store {
      int from, into;
      DType type, stored;
    };
    std::vector<Store> stores;
    for (int k = 0; k < c.outputs; ++k) {
      const int v = c.values[k];
      const DType stored = values_[size_t(v)].type;
      auto known = place_.find({v, stored});
      const int home = known != place_.end() ? known->second : temporary();
      place_[{v, stored}] = home;
      at[size_t(k)] = home;
      if (stored == c.types[k]) continue;
      at[size_t(k)] = temporary();
      stores.push_back({at[size_t(k)], home, c.types[k], stored});
    }
    step(c.loop, at, c.scalars, &c);
    for (const Store& s : stores) {
      convert(s.from, s.type, s.into, s.stored);
      release(s.from);
    }
    // What nobody reads any more, in whatever form.
    for (int k = 0; k < c.outputs + c.inputs; ++k) {
      const int v = c.values[k];
      auto last = last_.find(v);
      if (last != last_.end() && last->second > now_) continue;
      for (auto it = place_.begin(); it != place_.end();) {
        if (it->first.first == v && it->second >= first_temporary_) {
          release(it->second);
          it = place_.erase(it);
        } else {
          ++it;
        }
      }
    }
  }

  // Whether what step `i` writes is read after the steps before `end`.
  bool is_read_after(size_t i, size_t end) const {
    const auto& steps = to_.steps_;
    const int r = steps[i].at[0];
    if (r < to_.kernel_.outputs) return true;
    for (size_t k = i + 1; k < steps.size(); ++k) {
      const uint8_t* at = steps[k].at;
      const int outputs = known_[k].outputs;
      if (k >= end && std::find(at + outputs, at + steps[k].operands, r) != at + steps[k].operands) return true;
      if (std::find(at, at + outputs, r) != at + outputs) return false;
    }
    return false;
  }
  // Whether a step reads an operand that is one number.
  bool reads_number(size_t i) const {
    const Step& s = to_.steps_[i];
    return std::any_of(s.at + known_[i].outputs, s.at + s.operands,
                       [&](int r) { return r < int(to_.widths_.size()) && to_.widths_[size_t(r)] == 0; });
  }
  std::unique_ptr<FusedLoop> fuse(size_t begin, size_t end) const {
    std::vector<FusedStep> steps;
    std::vector<bool> keeps, is_constant(size_t(first_temporary_ + to_.temporaries_));
    std::fill_n(is_constant.begin() + (first_temporary_ - int(constants_.size())), constants_.size(), true);
    for (size_t k = 0; k < to_.widths_.size(); ++k) is_constant[k] = to_.widths_[k] == 0;
    for (size_t i = begin; i < end; ++i) {
      const Step& s = to_.steps_[i];
      steps.push_back({known_[i].formula, {s.at, s.at + s.operands}, to_.scalars_.data() + s.scalars});
      keeps.push_back(is_read_after(i, end));
    }
    return FusedLoop::make(steps, keeps, is_constant, known_[begin].type);
  }
  // Has the step read tiles that are full of the numbers; false where that would cost more than it saves. Softmax
  // composed with backward: the comparison with a row's maximum would end its walk over rows.
  bool fill_numbers(size_t i, std::vector<Step>& done) {
    Step& s = to_.steps_[i];
    if (to_.columns_ < kLongColumns) return false;
    for (int k = known_[i].outputs; k < s.operands; ++k) {
      const int r = s.at[k];
      if (r >= int(to_.widths_.size()) || to_.widths_[size_t(r)] != 0) continue;
      auto [at, is_new] = filled_.try_emplace(r, first_temporary_ + to_.temporaries_);
      if (is_new) {
        const Loop fill = fill_of(item_size(to_.kernel_.types[r]));
        if (!fill || at->second >= kMaxRegisters) return filled_.erase(at), false;
        ++to_.temporaries_;
        done.push_back({fill, 2, 0, {uint8_t(at->second), uint8_t(r)}});
      }
      s.at[k] = uint8_t(at->second);
    }
    return true;
  }
  // Puts one loop in the place of several, as many as it takes.
  void fuse() {
    std::vector<Step> done;
    for (size_t i = 0; i < to_.steps_.size();) {
      size_t end = i;
      while (end < to_.steps_.size() && known_[end].formula >= 0 && known_[end].type == known_[i].type) ++end;
      std::unique_ptr<FusedLoop> loop;
      const size_t least = reads_number(i) ? 1 : 2;
      for (; end >= i + least && !loop; --end) loop = fuse(i, end);
      if (!loop) {
        if (reads_number(i) && !fill_numbers(i, done)) to_.columns_ = 0;
        done.push_back(to_.steps_[i++]);
        continue;
      }
      Step s{loop->loop(), int32_t(loop->registers().size()), 0, {}};
      std::copy(loop->registers().begin(), loop->registers().end(), s.at);
      done.push_back(s);
      to_.fused_.push_back(std::move(loop));
      i = end + 1;
    }
    to_.steps_ = std::move(done);
  }

  void finish() {
    Tiles& t = to_;
    fuse();
    t.constant_count_ = int(constants_.size());
    t.constants_.reset(static_cast<char*>(
        ::operator new(size_t(std::max<size_t>(1, constants_.size()) * kTileBytes), std::align_val_t(64))));
    alignas(64) char step[2][kBufferBytes];
    for (size_t i = 0; i < constants_.size(); ++i) {
      const auto& [v, type] = constants_[i];
      alignas(16) char number[16];
      const ConvertPath path = convert_path(values_[size_t(v)].type, type);
      std::memcpy(number, values_[size_t(v)].number, sizeof number);
      if (path.count) convert_block(path, number, values_[size_t(v)].number, 1, step);
      char* out = t.constants_.get() + int64_t(i) * kTileBytes;
      for (int64_t k = 0; k < t.tile_; ++k) std::memcpy(out + k * item_size(type), number, size_t(item_size(type)));
    }
    t.is_one_fused_ =
        t.steps_.size() == 1 && t.fused_.size() == 1 &&
        std::all_of(t.steps_[0].at, t.steps_[0].at + t.steps_[0].operands, [&](int r) { return r < first_temporary_; });
    int64_t cost = 0;
    for (const TileCall& c : calls_) cost += c.heavy ? 4 : 1;
    t.kernel_.loop = run;
    t.kernel_.scalars = &t;
    t.kernel_.grain = std::clamp<int64_t>(65536 / std::max<int64_t>(1, cost), 4096, 32768) / t.tile_ * t.tile_;
  }

  Tiles& to_;
  const std::vector<TileValue>& values_;
  const std::vector<TileCall>& calls_;
  std::map<Key, int> place_;
  std::map<int, int> last_, filled_;  // by value; by operand that is a number, the tile full of it
  std::vector<Key> constants_;
  std::vector<Known> known_;
  std::vector<int> free_;
  int first_temporary_ = 0, now_ = 0;
};

Tiles::Tiles(const std::vector<TileValue>& values, const std::vector<TileCall>& calls, int64_t columns)
    : columns_(columns) {
  Builder(*this, values, calls).build();
}

void Tiles::run_rows(TensorImpl* const* operands) const {
  const int count = kernel_.outputs + kernel_.inputs;
  const int64_t rows = operands[0]->numel / columns_;
  parallel_for(rows, std::max<int64_t>(1, kernel_.grain / columns_), [&](int64_t begin, int64_t end) {
    char* data[kMaxOperands];
    for (int k = 0; k < count; ++k) data[k] = static_cast<char*>(operands[k]->data()) + begin * row_steps_[size_t(k)];
    run_each(data, columns_, end - begin, row_steps_.data());
  });
}

void Tiles::run_fused(char* const* data, int64_t n) const {
  const Step& s = steps_[0];
  const int operands = kernel_.outputs + kernel_.inputs;
  char* operand[kMaxOperands];
  for (int k = 0; k < s.operands; ++k) {
    const int r = s.at[k];
    operand[k] = r < operands ? data[r] : constants_.get() + (r - operands) * kTileBytes;
  }
  s.loop(operand, n, nullptr);
}

void Tiles::run_each(char** data, int64_t n, int64_t rows, const int64_t* steps) const {
  const int operands = kernel_.outputs + kernel_.inputs;
  if (!is_one_fused_) {
    for (int64_t r = 0; r < rows; ++r) {
      run(data, n, this);
      for (int k = 0; k < operands; ++k) data[k] += steps[k];
    }
    return;
  }
  const Step& s = steps_[0];
  char* operand[kMaxOperands];
  int64_t step[kMaxOperands];
  for (int k = 0; k < s.operands; ++k) {
    const int r = s.at[k];
    operand[k] = r < operands ? data[r] : constants_.get() + (r - operands) * kTileBytes;
    step[k] = r < operands ? steps[r] : 0;
  }
  for (int64_t r = 0; r < rows; ++r) {
    s.loop(operand, n, nullptr);
    for (int k = 0; k < s.operands; ++k) operand[k] += step[k];
  }
}

void Tiles::run(char* const* data, int64_t n, const void* self) {
  const Tiles& t = *static_cast<const Tiles*>(self);
  if (t.is_one_fused_) return t.run_fused(data, n);
  const int operands = t.kernel_.outputs + t.kernel_.inputs;
  char* memory = static_cast<char*>(__builtin_alloca_with_align(size_t(t.temporaries_) * kTileBytes + 64, 512));
  char* at[kMaxRegisters];
  for (int k = 0; k < operands; ++k) at[k] = data[k];
  for (int k = 0; k < t.constant_count_; ++k) at[operands + k] = t.constants_.get() + k * kTileBytes;
  for (int k = 0; k < t.temporaries_; ++k) at[operands + t.constant_count_ + k] = memory + k * kTileBytes;
  const Step *first = t.steps_.data(), *end = first + t.steps_.size();
  for (int64_t i = 0; i < n; i += t.tile_) {
    const int64_t count = std::min(t.tile_, n - i);
    for (const Step* s = first; s != end; ++s) {
      char* operand[kMaxOperands];
      for (int k = 0; k < s->operands; ++k) operand[k] = at[s->at[k]];
      s->loop(operand, count, t.scalars_.data() + s->scalars);
    }
    for (int k = 0; k < operands; ++k) at[k] += t.tile_ * t.widths_[size_t(k)];
  }
}

}  // namespace torch::program

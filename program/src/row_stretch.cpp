#include "row_stretch.h"

#include <algorithm>

namespace torch::program {

namespace {

constexpr size_t kMostPassedOver = 64;  // steps that do not join, beyond which a stretch goes on

bool has(const std::vector<int>& values, int v) { return std::find(values.begin(), values.end(), v) != values.end(); }

}  // namespace

const Tiles* Rows::Stretch::over_rows(const Step& group) {
  return group.by_rows ? group.by_rows.get() : group.tiles && group.tiles->columns() ? group.tiles.get() : nullptr;
}

bool Rows::Stretch::is_narrow(IntArrayRef sizes) const {
  return sizes.size() == sizes_.size() && sizes.back() == 1 &&
         std::equal(sizes.begin(), sizes.end() - 1, sizes_.begin());
}

bool Rows::Stretch::agrees_on(IntArrayRef sizes) {
  if (sizes_.empty()) sizes_.assign(sizes.begin(), sizes.end());
  return is_wide(sizes);
}

int64_t Rows::Stretch::row_bytes(int v) const {
  return tensor(v).item_size() * (is_wide(tensor(v).sizes()) ? sizes_.back() : int64_t(1));
}

bool Rows::Stretch::is_made(int v) const { return has(made_, v); }

bool Rows::Stretch::is_needed(int v) const {
  if (has(text_.outputs, v)) return true;
  for (size_t c = 0; c < text_.calls.size(); ++c) {
    const auto& arguments = text_.calls[c].arguments;
    const bool reads = std::any_of(arguments.begin(), arguments.end(), [&](const auto& a) { return has(a.values, v); });
    if (reads && std::none_of(steps_.begin(), steps_.end(), [&](const Step* s) { return has(s->calls, int(c)); }))
      return true;
  }
  return false;
}

size_t Rows::Stretch::look_from(size_t first, std::vector<Step>& steps) {
  sizes_.clear(), made_.clear(), late_.clear(), folds_.clear(), fold_bytes_ = 0;
  steps_.clear(), before_.clear(), after_.clear();
  size_t i = first;
  for (; i < steps.size() && before_.size() + after_.size() < kMostPassedOver; ++i) {
    Step& s = steps[i];
    const bool waits = std::any_of(s.in.begin(), s.in.end(), [&](int v) { return late_.count(v) > 0; });
    if (!waits && takes(s)) {
      steps_.push_back(&s);
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

bool Rows::Stretch::is_worth_it() const {
  bool reduces = false, walks = false;
  for (const Step* s : steps_)
    if (const Step& g = group_of(*s); !g.tiles)
      reduces = true;
    else
      walks |= over_rows(g) != nullptr;
  return reduces && walks;
}

bool Rows::Stretch::takes(const Step& s) {
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

bool Rows::Stretch::takes_group(const Step& g) {
  if (!g.tiles) return false;
  // What was made within is whole rows or their numbers to this group as well.
  for (int v : g.in)
    if (is_made(v) && !is_wide(tensor(v).sizes()) && !is_narrow(tensor(v).sizes())) return false;
  return over_rows(g) ? agrees_on(g.made[0].sizes()) : takes_numbers(g);
}

// A group over the numbers of rows.
bool Rows::Stretch::takes_numbers(const Step& g) const {
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

bool Rows::Stretch::is_plain(const Step& s) const {
  return s.row && !s.gives_list && s.lists.empty() && s.row->fills.size() == 1 && s.out.size() == 1 &&
         is_tensor(s.in[0]) && is_tensor(s.out[0]) && tensor(s.in[0]).is_contiguous() &&
         tensor(s.out[0]).is_contiguous();
}

// A reduction over the last dim that keeps it, found by its loop.
bool Rows::Stretch::takes_call(const Step& s) {
  if (!is_plain(s)) return false;
  const Tensor &in = tensor(s.in[0]), &out = tensor(s.out[0]);
  const int64_t n = in.dim();
  if (n < 2 || out.dim() != n || out.size(-1) != 1 || in.size(-1) < 2 || in.numel() == 0 || out.numel() < 2 ||
      in.numel() != out.numel() * in.size(-1))
    return false;
  return agrees_on(in.sizes()) && loops_.rows(s.calls[0], *s.row, in, out);
}

// A reduction over all dims but the last one, of rows that are folded part by part. One part would be one task for
// all rows: that call comes after the stretch.
bool Rows::Stretch::takes_fold(const Step& s) {
  if (sizes_.empty() || !is_plain(s)) return false;
  const Tensor &in = tensor(s.in[0]), &out = tensor(s.out[0]);
  if (!is_wide(in.sizes()) || out.numel() != in.size(-1) || in.numel() == out.numel() || out.dim() == 0 ||
      out.size(-1) != in.size(-1))
    return false;
  const ColumnLoop* loop = loops_.columns(s.calls[0], *s.row, in, out);
  if (!loop || loop->part >= in.numel() / in.size(-1)) return false;
  if (!folds_.empty() && loops_.columns_of(folds_[0]->calls[0]).part != loop->part) return false;
  const int64_t bytes = is_made(s.in[0]) ? ColumnLoop::kRows * in.size(-1) * in.item_size() : 0;
  if (fold_bytes_ + bytes > kMostFoldBytes) return false;
  fold_bytes_ += bytes;
  folds_.push_back(&s);
  return true;
}

}  // namespace torch::program

#include "straight.h"

#include <algorithm>
#include <set>

namespace torch::program {

namespace {
constexpr int64_t kMostBytes = 32768;  // of the block, which is on the stack
}

bool Straight::add(const RegionPlan::Step& s, const std::vector<Cell>& cells) {
  if (s.rows || s.blocks || s.chain) return false;
  Step step;
  if (s.flat) {
    step.tiles = s.tiles.get();
    step.n = s.flat;
    for (size_t i = 0; i < s.out.size(); ++i) step.operands.push_back({s.out[i], s.distances[i]});
    for (size_t i = 0; i < s.in.size(); ++i) step.operands.push_back({s.in[i], s.distances[s.out.size() + i]});
  } else {
    if (!s.row || s.gives_list || !s.lists.empty() || !s.row->tensors.empty() || s.row->fills.size() != 2 ||
        s.out.size() != 1)
      return false;
    const int x = s.row->fills[0].from, w = s.row->fills[1].from;
    step.product = VectorProduct::find(*s.row, cells[size_t(x)].to_tensor(), cells[size_t(w)].to_tensor(),
                                       cells[size_t(s.out[0])].to_tensor());
    if (!step.product) return false;
    step.operands = {{s.out[0], 0}, {x, 0}, {w, 0}};
  }
  steps_.push_back(std::move(step));
  return true;
}

// Inputs lie where they are, outputs are tensors of their own, and all else is in the block.
bool Straight::find_places(const RegionPlan& plan, const std::vector<Cell>& cells) {
  const RegionText& text = plan.text_;
  values_ = text.values;
  std::set<int> read, made;
  for (const RegionPlan::Step& s : plan.steps_) {
    read.insert(s.in.begin(), s.in.end());
    made.insert(s.out.begin(), s.out.end());
  }
  for (int v : read) {
    if (v < 0 || !cells[size_t(v)].is(Cell::Tag::Tensor) || (v < text.inputs && plan.guards_[size_t(v)].as_tensor))
      return false;
    if (v < text.inputs)
      inputs_.push_back(v);
    else if (!made.count(v))
      return false;
  }
  for (int v : text.outputs) {
    if (!made.erase(v)) return false;  // an argument, or given twice
    outputs_.push_back({v, Geometry(cells[size_t(v)].to_tensor())});
  }
  for (int v : made) {
    const Tensor& t = cells[size_t(v)].to_tensor();
    within_.push_back({v, bytes_});
    bytes_ += (t.numel() * t.item_size() + 63) / 64 * 64;
  }
  return bytes_ <= kMostBytes;
}

std::unique_ptr<const Straight> Straight::find(const RegionPlan& plan, const std::vector<Cell>& cells) {
  if (std::none_of(plan.steps_.begin(), plan.steps_.end(), [](const RegionPlan::Step& s) { return s.flat > 0; }))
    return nullptr;
  auto found = std::make_unique<Straight>();
  if (!found->find_places(plan, cells)) return nullptr;
  for (const RegionPlan::Step& s : plan.steps_)
    if (!found->add(s, cells)) return nullptr;
  return found;
}

void Straight::run(const Cell* const* inputs, Cell* outputs) const {
  char** at = static_cast<char**>(__builtin_alloca(sizeof(char*) * size_t(values_)));
  char* block = static_cast<char*>(__builtin_alloca_with_align(size_t(bytes_) + 1, 512));
  for (int v : inputs_) at[v] = static_cast<char*>(inputs[v]->to_tensor()->data());
  for (const auto& [v, offset] : within_) at[v] = block + offset;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Geometry& like = outputs_[i].second;
    Tensor made = empty_tensor(like.sizes(), like.dtype, like.device);
    at[outputs_[i].first] = static_cast<char*>(made->data());
    outputs[i] = Cell(std::move(made));
  }
  char* data[kMaxOperands];
  for (const Step& s : steps_) {
    size_t k = 0;
    for (const Place& p : s.operands) data[k++] = at[p.value] + p.distance;
    if (s.tiles)
      s.tiles->run(data, s.n);
    else
      (*s.product)(data[1], data[2], data[0]);
  }
}

std::string Straight::describe() const {
  return message("  straight: ", steps_.size(), " steps over addresses, ", bytes_, " bytes between them\n");
}

}  // namespace torch::program

#include "region.h"

#include <cstring>

#include "boxing.h"
#include "joint.h"
#include "region_plan.h"

namespace torch::program {

namespace {
constexpr int kMaxPlans = 8;
constexpr int kPatience = 32;  // where arguments are hardly ever like earlier ones, plans are not for them
}  // namespace

// The tensors of one run: inputs are the caller's, what is made is owned.
class RegionPlan::Registers {
 public:
  Registers(TensorImpl** memory, int count) : at_(memory), owned_(memory + count), count_(count) {
    std::memset(static_cast<void*>(memory), 0, sizeof(TensorImpl*) * 2 * size_t(count));
  }
  ~Registers() {
    for (int i = 0; i < count_; ++i) drop(i);
  }
  Registers(const Registers&) = delete;
  TensorImpl* operator[](int i) const noexcept { return at_[i]; }
  void borrow(int i, const Tensor& t) noexcept { at_[i] = t.get(); }
  void own(int i, Tensor t) noexcept { at_[i] = owned_[i] = t.release(); }
  void drop(int i) noexcept {
    if (owned_[i]) Tensor(Ref<TensorImpl>::steal(std::exchange(owned_[i], nullptr)));
  }
  // An output may be an input, or stand twice in the list.
  Tensor give(int i) const noexcept { return Ref<TensorImpl>::share(at_[i]); }

 private:
  TensorImpl **at_, **owned_;
  int count_;
};

bool RegionPlan::run(const Cell* const* inputs, Cell* outputs) const {
  Registers registers(static_cast<TensorImpl**>(__builtin_alloca(sizeof(TensorImpl*) * 2 * size_t(text_.values))),
                      text_.values);
  for (int i = 0; i < text_.inputs; ++i) {
    const Cell& c = *inputs[i];
    if (c.is(Cell::Tag::Tensor))
      registers.borrow(i, c.to_tensor());
    else if (guards_[size_t(i)].as_tensor)
      registers.own(i, number_as_tensor(c));
  }
  torch::Value values[kMaxParameters];
  Result result;
  for (const Step& s : steps_) {
    if (s.tiles) {
      for (const auto& [v, geometry] : s.expected)
        if (!registers[v] || !geometry.fits(registers[v])) return false;
      TensorImpl* operands[kMaxOperands];
      size_t k = 0;
      for (size_t i = 0; i < s.out.size(); ++i) {
        registers.own(s.out[i], s.made[i].empty());
        operands[k++] = registers[s.out[i]];
      }
      for (int v : s.in) operands[k++] = registers[v];
      iterate(s.tiles->kernel(), operands);
    } else {
      const RowCall& call = *s.row;
      std::memcpy(static_cast<void*>(values), call.ready, sizeof(torch::Value) * call.row->schema.count);
      for (const RowCall::Fill& f : call.fills) {
        values[f.parameter].tensor = registers[f.from];
        if (!registers[f.from]) return false;
      }
      std::vector<std::vector<Tensor>> lists;
      lists.reserve(s.lists.size());
      for (const auto& [parameter, from] : s.lists) {
        auto& list = lists.emplace_back();
        for (int v : from) list.push_back(v < 0 ? Tensor() : registers.give(v));
        values[parameter].present = true;
        values[parameter].data = list.data();
        values[parameter].size = int64_t(list.size());
      }
      call.row->invoke(values, result);
      if (s.gives_list && result.list.size() != s.out.size()) return false;
      for (size_t i = 0; i < s.out.size(); ++i)
        registers.own(s.out[i], std::move(s.gives_list ? result.list[i] : result.tensors[i]));
      result.list.clear();
    }
    for (int v : s.drop) registers.drop(v);
  }
  for (size_t i = 0; i < text_.outputs.size(); ++i) outputs[i] = Cell(registers.give(text_.outputs[i]));
  return true;
}

Region::Region(RegionText text) : text_(std::move(text)) {}
Region::~Region() = default;

bool Region::is_worth_it(const RegionText& text) {
  int loops = 0;
  for (const RegionCall& c : text.calls) loops += c.row->attr.is_pointwise || c.row->attr.is_composite;
  return loops > 1;
}

bool Region::run(const Cell* const* inputs, Cell* outputs) const {
  const Standing standing = standing_of(inputs, text_.inputs);
  if (standing == Standing::Recorded) return run_recorded(inputs, outputs);
  if (standing != Standing::Plain || misses_.load(std::memory_order_relaxed) > kPatience) return false;
  try {
    const RegionPlan* plan = last_.load(std::memory_order_acquire);
    if (TORCH_UNLIKELY(!plan || !plan->fits(inputs))) {
      std::unique_lock lock(mutex_, std::try_to_lock);
      if (!lock) return false;  // another thread is planning
      plan = nullptr;
      for (const auto& p : plans_)
        if (p->fits(inputs)) plan = p.get();
      if (!plan) {
        // The first run may be the only one.
        if (misses_++ == 0 || plans_.size() == kMaxPlans) return false;
        plans_.push_back(std::make_unique<RegionPlan>(text_, inputs, outputs));
        last_.store(plans_.back().get(), std::memory_order_release);
        return true;
      }
      last_.store(plan, std::memory_order_release);
    }
    return plan->has_groups() && plan->run(inputs, outputs);
  } catch (const Error&) {
    return false;  // the steps one by one say where
  }
}

bool Region::run_recorded(const Cell* const* inputs, Cell* outputs) const {
  if (joint_misses_.load(std::memory_order_relaxed) > kPatience) return false;
  try {
    const Joint* joint = last_joint_.load(std::memory_order_acquire);
    if (TORCH_UNLIKELY(!joint || !joint->fits(inputs))) {
      std::unique_lock lock(mutex_, std::try_to_lock);
      if (!lock) return false;
      joint = nullptr;
      for (const auto& j : joints_)
        if (j->fits(inputs)) joint = j.get();
      if (!joint) {
        if (joint_misses_++ == 0 || joints_.size() == kMaxPlans) return false;
        if (!Joint::may_differentiate(inputs, text_.inputs)) return false;
        joints_.push_back(std::make_shared<const Joint>(text_, inputs));
        joint = joints_.back().get();
      }
      last_joint_.store(joint, std::memory_order_release);
    }
    return joint->works() && joint->run(inputs, outputs);
  } catch (const Error&) {
    return false;
  }
}

std::string Region::describe() const {
  std::lock_guard lock(mutex_);
  if (const Joint* joint = last_joint_.load(); joint && joint->works()) return joint->describe();
  const RegionPlan* plan = last_.load();
  if (!plan) return message("  not planned yet: ", text_.calls.size(), " calls\n");
  return plan->describe();
}

}  // namespace torch::program

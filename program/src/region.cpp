#include "region.h"

#include "joint.h"
#include "region_plan.h"

namespace torch::program {

namespace {
constexpr int kMaxPlans = 8;
constexpr int kPatience = 32;  // where arguments are hardly ever like earlier ones, plans are not for them
}  // namespace

Region::Region(RegionText text) : text_(std::move(text)) {}
Region::~Region() = default;

bool Region::is_worth_it(const RegionText& text) {
  int loops = 0;
  for (const RegionCall& c : text.calls) loops += c.row->attr.is_pointwise || c.row->attr.is_composite;
  return loops > 0 && text.calls.size() > 1;  // two loops, or one that the kernel of a call may do
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

void Region::reorder(const std::vector<int>& order) {
  const std::vector<int> before = text_.outputs;
  for (size_t k = 0; k < order.size(); ++k) text_.outputs[k] = before[size_t(order[k])];
}

std::string Region::describe() const {
  std::lock_guard lock(mutex_);
  if (const Joint* joint = last_joint_.load(); joint && joint->works()) return joint->describe();
  const RegionPlan* plan = last_.load();
  if (!plan) return message("  not planned yet: ", text_.calls.size(), " calls\n");
  return plan->describe();
}

}  // namespace torch::program

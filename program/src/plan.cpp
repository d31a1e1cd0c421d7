#include "torch/program/plan.h"

#include "code.h"
#include "torch/program/passes.h"

namespace torch::program {

Plan::Plan(const Graph& graph, const std::string& name) {
  GraphPtr g = graph.copy();
  inline_calls(*g);
  function_ = std::make_shared<Function>(name, std::move(g));
}
Plan::Plan(const Function& f) : Plan(*f.graph(), f.qualified_name()) { function_->defaults = f.defaults; }

std::string Code::describe() const {
  std::string out;
  int regions = 0;
  size_t others = 0;
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Step& s = steps_[i];
    if (s.op != Op::Region) {
      ++others;
      continue;
    }
    const Location& at = s.node->location();
    out +=
        message("region ", regions++, at ? " at " + at.str() : "", ": ", s.in.size(), " in, ", s.out.size(), " out\n") +
        s.region->describe();
    i = size_t(s.target) - 1;
  }
  return out + message("steps outside of regions: ", others, "\n");
}

std::string Function::describe() { return code()->describe(); }

}  // namespace torch::program

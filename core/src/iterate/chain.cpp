#include "iterate/chain.h"

#include <mutex>
#include <unordered_map>

#include "dispatch/work.h"

namespace torch {

namespace {
std::mutex mutex;
std::unordered_map<Loop, int>& formulas_of_loops() {
  static auto& all = *new std::unordered_map<Loop, int>;
  return all;
}
}  // namespace

void note_formula(Loop loop, int formula) {
  const std::lock_guard lock(mutex);
  formulas_of_loops()[loop] = formula;
}
int formula_of(Loop loop) {
  const std::lock_guard lock(mutex);
  const auto at = formulas_of_loops().find(loop);
  return at == formulas_of_loops().end() ? 0 : at->second;
}

std::unique_ptr<Chain> make_chain(Device device, ArrayRef<ChainValue> values, ArrayRef<ChainCall> calls,
                                  int64_t columns) {
  const auto* there = work<ChainWork>.find(device);
  return there ? there->make(device, values, calls, columns) : nullptr;
}
bool takes_in_chain(Device device, const ChainCall& call) {
  const auto* there = work<ChainWork>.find(device);
  return there && there->takes(call);
}

}  // namespace torch

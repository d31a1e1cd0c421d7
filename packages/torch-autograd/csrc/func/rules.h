// Rules of vmap, by subject: what an operator has to do for a whole batch (batched.h).
#pragma once
#include <initializer_list>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "func/batched.h"

namespace torch::autograd {

using Sizes = std::vector<int64_t>;
using Rules = std::unordered_map<std::string_view, BatchRule>;  // by the operator's name

struct AddTo {
  Rules& rules;
  void operator()(BatchRule rule, std::initializer_list<std::string_view> names) const {
    for (std::string_view n : names) rules[n] = rule;
  }
};

inline bool only_first_is_batched(const BatchedCall& c) {
  for (int i = 1; i < c.count(); ++i)
    if (c.is_tensor(i) && c.given(i) && c.is_batched(i)) return false;
  return c.is_batched(0);
}

// Moves a dim of one example, of `n`, behind the batch.
bool move_dim(int64_t& d, int64_t n);
// The dims of a call as those of the batch; false when one is out of range. `n`: how many dims an example has.
bool move_dims(BatchedCall& c, int64_t n, bool all_by_default);
void all_in_front(BatchedCall& c);
// Shape, dtype and memory do not matter: clone, fill_, zeros_like.
bool as_it_is(BatchedCall& c, Result& result);
// Works on the last dims of its first argument: at least `kRank` of them.
template <int kRank>
bool on_last_dims(BatchedCall& c, Result& result) {
  return c.is_batched(0) && c.rank(0) >= kRank && as_it_is(c, result);
}

void add_view_rules(Rules& rules);
void add_product_rules(Rules& rules);
void add_layer_rules(Rules& rules);

}  // namespace torch::autograd

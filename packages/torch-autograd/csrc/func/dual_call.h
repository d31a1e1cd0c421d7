// A call of an operator on dual numbers, and rules for the tangent of its result.
#pragma once
#include <algorithm>
#include <deque>

#include "func/dual.h"
#include "torch/core/row.h"

namespace torch::autograd {

// A call with the primals in place of the dual numbers.
class DualCall {
 public:
  DualCall(const Row& row, const Value* arguments, uint64_t level) : row(row), level_(level), arguments_(arguments) {
    std::copy_n(arguments, row.schema.count, values);
    for (int i = 0; i < row.schema.count; ++i) {
      if (row.schema.params[i].kind == Kind::Tensor) {
        if (const Dual* d = find(given(i))) values[i].tensor = d->primal.get();
      } else if (row.schema.params[i].kind == Kind::TensorList && values[i].present) {
        std::vector<Tensor>& list = lists_.emplace_back();
        for (const Tensor& t : given_list(i)) {
          const Dual* d = t ? find(t) : nullptr;
          list.push_back(d ? d->primal : t);
        }
        values[i].data = list.data();
      }
    }
  }

  const Row& row;
  Value values[kMaxParameters];

  const Tensor& given(int i) const { return reinterpret_cast<const Tensor&>(arguments_[i].tensor); }
  const Dual* find(const Tensor& t) const {
    const Dual* d = t ? dual(t.get()) : nullptr;
    return d && (!level_ || d->level == level_) ? d : nullptr;
  }
  void run(Result& result) const { row.invoke(values, result); }

  // Calls f(given, value) for each tensor: value may be exchanged.
  template <class F>
  void for_each(F f) {
    size_t k = 0;
    for (int i = 0; i < row.schema.count; ++i) {
      if (row.schema.params[i].kind == Kind::Tensor && values[i].tensor) {
        held_.emplace_back(Ref<TensorImpl>::share(values[i].tensor));
        f(i, given(i), held_.back());
        values[i].tensor = held_.back().get();
      } else if (row.schema.params[i].kind == Kind::TensorList && values[i].present) {
        std::vector<Tensor>& list = lists_[k++];
        const ArrayRef<Tensor> from = given_list(i);
        for (size_t j = 0; j < list.size(); ++j)
          if (list[j]) f(i, from[j], list[j]);
      }
    }
  }

 private:
  ArrayRef<Tensor> given_list(int i) const {
    return {static_cast<const Tensor*>(arguments_[i].data), size_t(arguments_[i].size)};
  }
  const uint64_t level_;  // 0: of any
  const Value* arguments_;
  std::deque<std::vector<Tensor>> lists_;
  std::deque<Tensor> held_;
};

// Whether what is computed from `t` has a history, also that of the values behind wrappers.
bool has_history(const Tensor& t);
// The tensor itself, without a history of its own.
Tensor without_history(const Tensor& t);
// Whether a change of one in place is one of the other; also of examples.
bool have_one_storage(const Tensor& a, const Tensor& b);
// A tangent that a recorded call may keep: a copy where the call writes into it.
Tensor unwritten(const DualCall& call, const Tensor& tangent);
// Gives results their tangents, those without one stay as they are. Of a view they are views of both.
void join(Result& result, Result& tangents, uint64_t level, const Tensor* viewed);

// The part of `whole`, a tensor laid out as `base`, that lies where `part` lies in `base`; undefined: there is no such.
Tensor part_of(const Tensor& whole, const Tensor& base, const Tensor& part);

// --- rules: false where they do not hold, and nothing has been done ---

// Views, operators linear in one tensor, products.
bool push_linearly(DualCall& call, uint64_t level, Result& result);
// Element-wise operators and reductions of real numbers: an element of the result depends on one element of each
// argument, or on one line of it. The gradient of the sum of the results is then the derivative, element by element.
// The result is the plain one, computed of a copy where the operator is in place; no tangent: it follows nothing.
bool push_by_elements(DualCall& call, Result& result, Tensor& tangent);

}  // namespace torch::autograd

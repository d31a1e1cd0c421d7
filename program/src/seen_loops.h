// The loops beneath reductions, found by watching a call of each once: what a reduction makes of one row, or of the
// columns of some rows. A loop that does not give the call's own bits again counts as none.
#pragma once
#include <map>
#include <optional>

#include "columns.h"
#include "region_plan.h"
#include "torch/core/row_loops.h"

namespace torch::program {

class SeenLoops {
 public:
  // Of a call of one reduction of `in`, which gave `out`; null where it showed none. Calls are told apart by number.
  const RowLoop* rows(int call, const RowCall& row, const Tensor& in, const Tensor& out);
  const ColumnLoop* columns(int call, const RowCall& row, const Tensor& in, const Tensor& out);
  // Of a call that was asked for before.
  const RowLoop& rows_of(int call) const { return *rows_.at(call); }
  const ColumnLoop& columns_of(int call) const { return *columns_.at(call); }

 private:
  std::map<int, std::optional<RowLoop>> rows_;
  std::map<int, std::optional<ColumnLoop>> columns_;
};

}  // namespace torch::program

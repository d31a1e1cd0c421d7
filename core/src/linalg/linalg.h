// The parts of the family, each of which fills its operators' slots.
#pragma once

namespace torch::linalg {

void register_lu();
void register_solve();
void register_cholesky();
void register_triangular();
void register_svd();

}  // namespace torch::linalg

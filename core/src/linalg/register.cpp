#include "register.h"

#include "linalg/linalg.h"

namespace torch {

void register_linalg() {
  linalg::register_lu();
  linalg::register_solve();
  linalg::register_cholesky();
  linalg::register_triangular();
  linalg::register_svd();
}

}  // namespace torch

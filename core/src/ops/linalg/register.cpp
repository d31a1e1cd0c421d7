#include "dispatch/register.h"

#include "ops/linalg/linalg.h"

namespace torch {

void register_linalg() {
  linalg::register_lu();
  linalg::register_solve();
  linalg::register_triangular();
  linalg::register_cholesky();
  linalg::register_symmetric();
  linalg::register_qr();
  linalg::register_svd();
  linalg::register_eigen();
  linalg::register_least_squares();
  linalg::register_norms();
  linalg::register_functions();
}

}  // namespace torch

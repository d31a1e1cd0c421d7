// The parts of the family, each of which sets its operators' functions.
#pragma once

namespace torch::linalg {

void register_lu();
void register_solve();
void register_triangular();
void register_cholesky();
void register_symmetric();
void register_qr();
void register_svd();
void register_eigen();
void register_least_squares();
void register_norms();
void register_functions();

}  // namespace torch::linalg

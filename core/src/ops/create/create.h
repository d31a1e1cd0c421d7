#pragma once

namespace torch {

void register_create_factories();
void register_create_ranges();
void register_create_windows();
void register_create_grids();
void register_create_diagonals();

}  // namespace torch

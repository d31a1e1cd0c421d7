// The tables of work (work.h) that the plug-in fills for CUDA, family by family, and what starts it.
#pragma once

namespace torch::cuda {

void fill_elementwise_tables();  // elementwise.cpp
void fill_reduce_table();        // reduce.cpp
void fill_index_table();         // index.cpp

// Registers the backend and all tables; once, when the plug-in is loaded.
void start();

}  // namespace torch::cuda

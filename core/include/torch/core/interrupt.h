// Ctrl+C while an operator runs. The pool asks before each task (pool.h), so a kernel that is cut into tasks has
// nothing to do; a loop that goes on for long inside of one task asks itself, every million steps or so.
#pragma once
#include "torch/core/macros.h"

namespace torch {

// Throws out of the operator when the user wants the program to stop. Costs some nanoseconds: the question is passed on
// a few times a second. On a thread of the pool it ends the task when the thread that waits for it was told to stop.
TORCH_API void check_interrupt();

// Asks the program, and throws; set by torch._C, null where there is no interpreter.
extern TORCH_API void (*ask_for_interrupt)();

}  // namespace torch

// Visibility, branch hints and the interface number: included by every public header.
#pragma once

#define TORCH_API __attribute__((visibility("default")))
#define TORCH_LIKELY(x) __builtin_expect(!!(x), 1)
#define TORCH_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TORCH_INLINE inline __attribute__((always_inline))
#define TORCH_NOINLINE __attribute__((noinline))

// Rises when a public header or the meaning of an operator row changes (ci/interface.py holds the hash). It stands in
// the SONAME, in the capsule torch._C._api and in every compiled part, and is compared before a part's library is
// loaded.
#define TORCH_CORE_INTERFACE 1

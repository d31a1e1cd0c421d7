// Families of operators that a build leaves out (TORCH_FAMILIES): what computes for them is not referred to.
#pragma once
#include <string_view>

#ifndef TORCH_ABSENT_FAMILIES
#define TORCH_ABSENT_FAMILIES ""
#endif

namespace torch {

inline constexpr std::string_view kAbsentFamilies = TORCH_ABSENT_FAMILIES;  // each between spaces

constexpr bool has_family(std::string_view family) {
  for (size_t at = kAbsentFamilies.find(family); at != kAbsentFamilies.npos; at = kAbsentFamilies.find(family, at + 1))
    if (kAbsentFamilies[at - 1] == ' ' && kAbsentFamilies[at + family.size()] == ' ') return false;
  return true;
}

}  // namespace torch

# How every native target of the stack is compiled. Installed beside TorchCoreConfig.cmake, so that torch-autograd and
# extensions of others build with the same settings as the library they link.
include_guard()

option(TORCH_WERROR "Treat warnings as errors" OFF)
# Caches of compilers have their own way with headers that are compiled beforehand, or none.
if(CMAKE_CXX_COMPILER_LAUNCHER)
  set(torch_precompile OFF)
else()
  set(torch_precompile ON)
endif()
option(TORCH_PRECOMPILE "Compile headers that most sources of a target begin with only once" ${torch_precompile})
set(TORCH_SANITIZE "" CACHE STRING "Sanitizers to build with: address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Sanitized builds are for finding faults: -O1 compiles sooner and keeps stacks readable.
if(TORCH_SANITIZE)
  set(TORCH_HOST_FLAGS -O1)
  # Vectors of integers are bits to the kernels: they wrap, as every instruction set has it.
  set(TORCH_KERNEL_FLAGS -O1)
  set(TORCH_KERNEL_CHECKS -fno-sanitize=signed-integer-overflow)
else()
  set(TORCH_HOST_FLAGS $<$<CONFIG:Release>:-O2>)
  set(TORCH_KERNEL_FLAGS -O3)
endif()

# Everything is hidden unless it says TORCH_API. Thread-local caches are on the path of every small operator:
# initial-exec makes them one load instead of a call.
function(torch_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES
    CXX_EXTENSIONS OFF
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON
    POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE -Wall -Wextra -ftls-model=initial-exec -fno-semantic-interposition
    -ffile-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}/=)
  if(TORCH_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(TORCH_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${TORCH_SANITIZE} -fno-omit-frame-pointer -g1)
    if(TORCH_SANITIZE MATCHES "undefined")
      # gcc 12 takes addresses of constexpr strings for run-time values when it checks for null.
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=undefined
        -fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute)
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${TORCH_SANITIZE})
  endif()
endfunction()

# For builds from nothing: half of the time of a short source goes into its headers. Sources include what they need all
# the same, and compile without.
function(torch_precompile target)
  if(TORCH_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()

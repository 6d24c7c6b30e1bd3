# SPDX-License-Identifier: Apache-2.0
# The first of the install rules: what is not built is told of before anything is installed. scripts/run builds the
# program alone.
set(needed "$<TARGET_FILE:tilewright_launch>")
if(TILEWRIGHT_BUILD_TUNER)
  list(APPEND needed "$<TARGET_FILE:tilewright_cli>" "$<TARGET_FILE:tilewright_jit>"
    "${PROJECT_BINARY_DIR}/share/man" "${PROJECT_BINARY_DIR}/winners/nvidia-h200.db")
endif()
install(CODE "set(needed \"${needed}\")
foreach(file IN LISTS needed)
  if(NOT EXISTS \"\${file}\")
    message(FATAL_ERROR \"\${file} is not built, and nothing was installed. Build it first: \"
      \"cmake --build ${PROJECT_BINARY_DIR} --target to_install\")
  endif()
endforeach()")

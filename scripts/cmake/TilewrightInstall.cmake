# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` writes: the launch library, its headers and its CMake package for find_package(tilewright), and
# where they are built, the program and the library that compiles at run time. The ops are installed by kernels/.
include(CMakePackageConfigHelpers)

set(TILEWRIGHT_PACKAGE_DIR "${CMAKE_INSTALL_LIBDIR}/cmake/tilewright")
install(TARGETS tilewright_launch EXPORT tilewright
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/cache/launch/include/"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
install(EXPORT tilewright NAMESPACE tilewright::
  FILE tilewright-targets.cmake DESTINATION "${TILEWRIGHT_PACKAGE_DIR}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/tilewright-config.cmake.in"
  "${PROJECT_BINARY_DIR}/tilewright-config.cmake" INSTALL_DESTINATION "${TILEWRIGHT_PACKAGE_DIR}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tilewright-config-version.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/tilewright-config.cmake"
  "${PROJECT_BINARY_DIR}/tilewright-config-version.cmake"
  DESTINATION "${TILEWRIGHT_PACKAGE_DIR}")
# For those who do not build with CMake: `pkg-config --cflags --libs tilewright`. The prefix is where the file lies.
file(RELATIVE_PATH TILEWRIGHT_PREFIX "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/prefix")
string(REGEX REPLACE "/$" "" TILEWRIGHT_PREFIX "${TILEWRIGHT_PREFIX}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/tilewright.pc.in" "${PROJECT_BINARY_DIR}/tilewright.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tilewright.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
if(TILEWRIGHT_BUILD_TUNER)
  install(TARGETS tilewright_cli RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  # What the program writes of itself (tuner/cli): each where man and the shells look.
  install(DIRECTORY "${PROJECT_BINARY_DIR}/share/man" DESTINATION "${CMAKE_INSTALL_DATADIR}")
  install(FILES "${PROJECT_BINARY_DIR}/share/completion.bash"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME tilewright)
  install(FILES "${PROJECT_BINARY_DIR}/share/completion.zsh"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions" RENAME _tilewright)
  install(FILES "${PROJECT_BINARY_DIR}/share/completion.fish"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" RENAME tilewright.fish)
  install(TARGETS tilewright_jit LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
# Finds the library of the bundle; what others install is the wheel (scripts/wheel).
install(DIRECTORY "${PROJECT_SOURCE_DIR}/cache/launch/python/tilewright" DESTINATION python
  COMPONENT bundle EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
install(FILES "${PROJECT_SOURCE_DIR}/tests/gpu/python_gpu_test.py" "${PROJECT_SOURCE_DIR}/tests/gpu/torch_gpu_test.py"
  DESTINATION python COMPONENT bundle EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_SOURCE_DIR}/docs/examples/python/main.py"
  DESTINATION python RENAME example.py COMPONENT bundle EXCLUDE_FROM_ALL)
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/tilewright")
# All of the above, and no test.
add_custom_target(to_install DEPENDS tilewright_launch)
if(TILEWRIGHT_BUILD_TUNER)
  add_dependencies(to_install tilewright_cli tilewright_jit tilewright_pages)
endif()
if(TARGET shipped_winners)
  add_dependencies(to_install shipped_winners)
endif()

# nibblas_flags: the flags of every object of this project. Target options come after CMAKE_CXX_FLAGS, so the two that
# the numerics contract needs win over the user's -Ofast or -ffast-math. src/strict_fp.hpp checks that they did.
add_library(nibblas_flags INTERFACE)
target_compile_features(nibblas_flags INTERFACE cxx_std_20)
target_compile_options(nibblas_flags INTERFACE -ffp-contract=off -fno-fast-math)
if(NIBBLAS_TOP_LEVEL)
  target_compile_options(nibblas_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
endif()
if(NIBBLAS_WERROR)
  target_compile_options(nibblas_flags INTERFACE -Werror)
endif()

# nibblas_add_library(<target> <source>...): a public library, static or shared as BUILD_SHARED_LIBS says.
function(nibblas_add_library target)
  add_library(${target} ${ARGN})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
                                       PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:nibblas_flags>)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        POSITION_INDEPENDENT_CODE ON VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    target_compile_definitions(${target} PUBLIC NIBBLAS_STATIC)
  else()
    target_compile_definitions(${target} PRIVATE NIBBLAS_BUILDING)
    # With -Ofast or -ffast-math in CMAKE_CXX_FLAGS, gcc would link start-up code that switches the whole process to
    # flush-to-zero. -O2 is there to replace -Ofast, which -fno-fast-math does not undo at link time.
    target_link_options(${target} PRIVATE -O2 -fno-fast-math -fno-unsafe-math-optimizations)
  endif()
endfunction()


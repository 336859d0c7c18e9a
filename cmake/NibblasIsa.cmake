include(CheckCXXCompilerFlag)

# nibblas_add_isa(<name> [FLAGS <flag>...] [FORBID <regex>] [HEADERS <variable>]): compiles src/isa/<name>.cpp, the only
# kind of file with instruction-set flags, into the library.
# - Optimised in every configuration: an unoptimised kernel would emit out-of-line template functions that the linker
#   may share with baseline code. LTO is off for the same reason.
# - No exceptions: kernels are noexcept throughout, and the personality routine would be a symbol to share.
# - gcc's -ftree-ter and -ftree-reassoc pull the adds to an accumulator behind all their products, which then do not fit
#   the registers. Without them the int8 kernels are 10 to 35 % faster on AVX2.
# - gcc 12 warns about its own AVX-512 header (_mm512_undefined_ps); clang does not know one of the two options.
# - Left out, with a message, when the compiler does not know the flags, NIBBLAS_ISA_<NAME> is off or HEADERS, a variable
#   that holds a directory of headers, is false.
# - FORBID: what must not occur in the object's disassembly (checked by tests/guard).
set(NIBBLAS_ISA_OPTIMIZATION -O3 CACHE STRING "Optimisation of the instruction-set files")
mark_as_advanced(NIBBLAS_ISA_OPTIMIZATION)
function(nibblas_add_isa name)
  cmake_parse_arguments(ARG "" "FORBID;HEADERS" "FLAGS" ${ARGN})
  string(TOUPPER ${name} upper)
  set(source ${PROJECT_SOURCE_DIR}/src/isa/${name}.cpp)
  if(NOT EXISTS ${source})
    return()
  endif()
  if(ARG_FLAGS)
    option(NIBBLAS_ISA_${upper} "Build the ${name} kernels" ON)
    string(JOIN " " flags ${ARG_FLAGS})
    check_cxx_compiler_flag("${flags}" NIBBLAS_COMPILER_HAS_${upper})
    if(NOT NIBBLAS_ISA_${upper} OR NOT NIBBLAS_COMPILER_HAS_${upper})
      message(STATUS "nibblas: the ${name} kernels are left out")
      return()
    endif()
  endif()
  if(ARG_HEADERS AND NOT ${ARG_HEADERS})
    message(STATUS "nibblas: the ${name} kernels are left out: ${ARG_HEADERS} is not set")
    return()
  endif()

  add_library(nibblas_isa_${name} OBJECT ${source})
  target_include_directories(nibblas_isa_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  if(ARG_HEADERS)
    target_include_directories(nibblas_isa_${name} SYSTEM PRIVATE ${${ARG_HEADERS}})
  endif()
  target_link_libraries(nibblas_isa_${name} PRIVATE nibblas_flags)
  target_compile_options(nibblas_isa_${name} PRIVATE ${ARG_FLAGS} ${NIBBLAS_ISA_OPTIMIZATION} -fno-lto -fno-exceptions
    $<$<CXX_COMPILER_ID:GNU>:-fno-tree-ter -fno-tree-reassoc -Wno-uninitialized -Wno-maybe-uninitialized>)
  set_target_properties(nibblas_isa_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        POSITION_INDEPENDENT_CODE ON INTERPROCEDURAL_OPTIMIZATION OFF)
  target_compile_definitions(nibblas_isa_${name} PRIVATE NIBBLAS_STATIC)
  target_sources(nibblas PRIVATE $<TARGET_OBJECTS:nibblas_isa_${name}>)
  target_compile_definitions(nibblas PRIVATE NIBBLAS_HAVE_${upper}=1)
  set_property(TARGET nibblas_isa_${name} PROPERTY NIBBLAS_FORBID "${ARG_FORBID}")
  set_property(TARGET nibblas_isa_${name} PROPERTY NIBBLAS_ISA_FLAGS "${ARG_FLAGS}")
  set_property(GLOBAL APPEND PROPERTY NIBBLAS_ISAS ${name})
endfunction()

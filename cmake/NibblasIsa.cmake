# nibblas_add_isa(<name> [flags...]): compiles src/isa/<name>.cpp, the only kind of file with instruction-set flags,
# into the library. Optimised in every configuration: an unoptimised kernel would emit out-of-line template functions
# that the linker may share with baseline code. LTO is off for the same reason.
function(nibblas_add_isa name)
  set(source ${PROJECT_SOURCE_DIR}/src/isa/${name}.cpp)
  if(NOT EXISTS ${source})
    return()
  endif()
  add_library(nibblas_isa_${name} OBJECT ${source})
  target_include_directories(nibblas_isa_${name} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(nibblas_isa_${name} PRIVATE nibblas_flags)
  target_compile_options(nibblas_isa_${name} PRIVATE ${ARGN} $<$<NOT:$<CONFIG:Release>>:-O2> -fno-lto)
  target_compile_definitions(nibblas_isa_${name} PRIVATE NIBBLAS_STATIC)
  set_target_properties(nibblas_isa_${name} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                        POSITION_INDEPENDENT_CODE ON INTERPROCEDURAL_OPTIMIZATION OFF)
  target_sources(nibblas PRIVATE $<TARGET_OBJECTS:nibblas_isa_${name}>)
  string(TOUPPER ${name} upper)
  target_compile_definitions(nibblas PRIVATE NIBBLAS_HAVE_${upper}=1)
endfunction()

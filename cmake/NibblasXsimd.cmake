# NIBBLAS_XSIMD_INCLUDE_DIR: where xsimd/xsimd.hpp (header only) lies, or NOTFOUND. Other major versions have other names
# for what the kernels use.
find_path(NIBBLAS_XSIMD_INCLUDE_DIR xsimd/xsimd.hpp DOC "Directory of xsimd/xsimd.hpp, version 8.1 or a later 8")
if(NIBBLAS_XSIMD_INCLUDE_DIR)
  file(STRINGS ${NIBBLAS_XSIMD_INCLUDE_DIR}/xsimd/config/xsimd_config.hpp version REGEX "#define XSIMD_VERSION_M[AI]")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" version "${version}")
  if(NOT version VERSION_GREATER_EQUAL 8.1 OR NOT version VERSION_LESS 9)
    message(STATUS "nibblas: xsimd ${version} is not 8.1 or a later 8")
    set(NIBBLAS_XSIMD_INCLUDE_DIR NOTFOUND)
  endif()
endif()

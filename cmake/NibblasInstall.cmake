include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nibblas)
set(libraries nibblas)
if(TARGET nibblas_gguf)
  list(APPEND libraries nibblas_gguf)
endif()

install(TARGETS ${libraries} EXPORT nibblasTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/nibblas DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(EXPORT nibblasTargets NAMESPACE nibblas:: DESTINATION ${package_dir})

configure_package_config_file(cmake/nibblasConfig.cmake.in ${PROJECT_BINARY_DIR}/nibblasConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/nibblasConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/nibblasConfig.cmake ${PROJECT_BINARY_DIR}/nibblasConfigVersion.cmake
        DESTINATION ${package_dir})

# nibblas_install_pc(<name> <library> <description> <requires> <private libs>): a pkg-config file that finds its prefix
# from where it lies.
function(nibblas_install_pc PC_NAME PC_LIBRARY PC_DESCRIPTION PC_REQUIRES PC_LIBS_PRIVATE)
  set(pc_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH PC_PREFIX ${pc_dir} ${CMAKE_INSTALL_PREFIX})
  file(RELATIVE_PATH PC_INCLUDE ${pc_dir} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
  get_target_property(type nibblas TYPE)
  set(PC_DEFINES "")
  if(type STREQUAL STATIC_LIBRARY)
    set(PC_DEFINES " -DNIBBLAS_STATIC")
  endif()
  configure_file(cmake/nibblas.pc.in ${PROJECT_BINARY_DIR}/${PC_NAME}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${PC_NAME}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

nibblas_install_pc(nibblas nibblas "${PROJECT_DESCRIPTION}" "" "${CMAKE_THREAD_LIBS_INIT}")
if(TARGET nibblas_gguf)
  nibblas_install_pc(nibblas-gguf nibblas_gguf "GGUF files for nibblas" nibblas "")
endif()

# cmake --install, and four Debian packages by `cpack -G DEB`: qbc-server, qbc-worker (with qbcompiler),
# qbc (the client) and python3-qbcompiler.
include(GNUInstallDirs)
set(man_maker ${CMAKE_SOURCE_DIR}/cmake/make_man.py)
set(man_folder ${CMAKE_BINARY_DIR}/man)
file(MAKE_DIRECTORY ${man_folder})

# qb_install(program component "one line about it"): the program and its manual page, written from --help.
function(qb_install program component about)
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${component})
  set(page ${man_folder}/${program}.1)
  add_custom_command(OUTPUT ${page}.gz
    COMMAND /usr/bin/python3 ${man_maker} $<TARGET_FILE:${program}> ${about} ${page}
    COMMAND gzip -9nf ${page}
    DEPENDS ${program} ${man_maker} VERBATIM)
  add_custom_target(man-${program} DEPENDS ${page}.gz)
  add_dependencies(package-files man-${program})
  install(FILES ${page}.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component} OPTIONAL)
endfunction()

# What only packages need: manual pages and descriptors. Not part of a plain build.
add_custom_target(package-files)

if(QB_SERVICE)
  qb_install(qbc-server server "server of the compile service for NPUs")
  qb_install(qbc-worker worker "agent that runs compile jobs of a qbc-server")
  qb_install(qbc-sandbox worker "starts a compile process with as little as it needs")
  qb_install(qbc client "client of the compile service for NPUs")
endif()
qb_install(qbcompiler worker "compiles trained models for NPUs")

# Units. /lib/systemd is where Debian 12 looks.
set(units ${CMAKE_SOURCE_DIR}/deploy/systemd)
install(FILES ${units}/qbc-server.service DESTINATION lib/systemd/system COMPONENT server)
install(FILES ${units}/qbc-worker@.service DESTINATION lib/systemd/system COMPONENT worker)
install(FILES ${units}/user/qbc-server.service DESTINATION lib/systemd/user COMPONENT server)
install(FILES ${units}/qbc.sysusers DESTINATION lib/sysusers.d RENAME qbc-server.conf COMPONENT server)
install(FILES ${units}/qbc.sysusers DESTINATION lib/sysusers.d RENAME qbc-worker.conf COMPONENT worker)

# The Python package, as dpkg wants it: below dist-packages, with the descriptors that setup.py makes for
# pip and the metadata by which pip knows that it is there.
set(descriptors ${CMAKE_BINARY_DIR}/qbc_v1.binpb)
file(GLOB protos CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto/qbc/v1/*.proto)
add_custom_command(OUTPUT ${descriptors}
  COMMAND protobuf::protoc -I ${CMAKE_SOURCE_DIR} --include_imports
          --descriptor_set_out=${descriptors} ${protos}
  DEPENDS ${protos} VERBATIM)
add_custom_target(python-descriptors DEPENDS ${descriptors})
add_dependencies(package-files python-descriptors)
set(dist_packages lib/python3/dist-packages)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/client/python/qbcompiler DESTINATION ${dist_packages}
  COMPONENT python PATTERN __pycache__ EXCLUDE PATTERN *.binpb EXCLUDE)
install(FILES ${descriptors} DESTINATION ${dist_packages}/qbcompiler COMPONENT python OPTIONAL)
file(WRITE ${CMAKE_BINARY_DIR}/METADATA
  "Metadata-Version: 2.1\nName: qbcompiler\nVersion: ${PROJECT_VERSION}\nLicense: Apache-2.0\n")
install(FILES ${CMAKE_BINARY_DIR}/METADATA COMPONENT python
  DESTINATION ${dist_packages}/qbcompiler-${PROJECT_VERSION}.dist-info)

# --- packages -----------------------------------------------------------------------------------------

# 0.1.0~git20261130.abc: a version before 0.1.0, that grows with the commits. A checkout whose HEAD has
# the tag v0.1.0 makes 0.1.0 itself.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} describe --exact-match --tags --match v${PROJECT_VERSION}
  OUTPUT_QUIET ERROR_QUIET RESULT_VARIABLE not_released)
set(package_version ${PROJECT_VERSION})
if(not_released)
  execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} log -1 --format=%cd.%h --date=format:%Y%m%d%H%M
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  string(APPEND package_version "~git${commit}")
endif()

set(copyright ${CMAKE_BINARY_DIR}/copyright)
file(READ ${CMAKE_SOURCE_DIR}/NOTICE notice)
file(READ ${CMAKE_SOURCE_DIR}/deploy/debian/copyright.in copyright_head)
# What stands in the programs themselves (qb_link_archives) comes with its licence.
set(linked_licences)
foreach(package libabsl-dev libgrpc-dev libprotobuf-dev libre2-dev libc-ares-dev zlib1g-dev)
  if(EXISTS /usr/share/doc/${package}/copyright)
    file(READ /usr/share/doc/${package}/copyright linked_licence)
    string(APPEND linked_licences "\n\n==== ${package} ====\n\n${linked_licence}")
  endif()
endforeach()
file(WRITE ${copyright} "${copyright_head}\n${notice}${linked_licences}")
file(WRITE ${CMAKE_BINARY_DIR}/changelog "qbc (${package_version}) unstable; urgency=medium\n\n"
  "  * Built from the project's own tree, whose CHANGELOG.md tells what is new.\n\n"
  " -- the qbc authors <qbc@localhost>  Thu, 01 Jan 2026 00:00:00 +0000\n")
execute_process(COMMAND gzip -9nf ${CMAKE_BINARY_DIR}/changelog COMMAND_ERROR_IS_FATAL ANY)
foreach(pair server:qbc-server worker:qbc-worker client:qbc python:python3-qbcompiler)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  string(TOUPPER ${component} upper)
  install(FILES ${copyright} ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package}
    COMPONENT ${component})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_FILE_NAME DEB-DEFAULT)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL server worker client python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGE_NAME qbc)
set(CPACK_PACKAGE_VERSION ${package_version})
set(CPACK_PACKAGE_VENDOR "the qbc authors")
set(CPACK_PACKAGE_CONTACT "the qbc authors <qbc@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
  "python3 (>= 3.9), python3-grpcio, python3-numpy, python3-protobuf, python3-pydantic, python3-yaml")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "qbc-worker, python3-torch")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${CMAKE_SOURCE_DIR}/deploy/debian/python/prerm)
set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS "qbc, qbc-worker")
set(CPACK_DEBIAN_WORKER_PACKAGE_SUGGESTS "qbc-server")
set(CPACK_DEBIAN_SERVER_DESCRIPTION "Server of a compile service for NPUs
Keeps compile jobs and the files they need, hands them to workers and
tells clients what happens. Independent of any maker of NPUs.")
set(CPACK_DEBIAN_WORKER_DESCRIPTION "Compiler for NPUs and the agent that runs it for a server
qbcompiler compiles trained ONNX models into executables for an openly
documented abstract machine; qbc-worker takes jobs from a qbc-server and
runs one qbcompiler process for each. Independent of any maker of NPUs.")
set(CPACK_DEBIAN_CLIENT_DESCRIPTION "Client of a compile service for NPUs
Uploads models and samples, follows jobs and fetches results.
Independent of any maker of NPUs.")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "Python package of a compiler for NPUs
Compiles models on this machine or on a compile server, with the same
results. Independent of any maker of NPUs.")
foreach(part SERVER WORKER)
  set(CPACK_DEBIAN_${part}_PACKAGE_CONTROL_EXTRA
    ${CMAKE_SOURCE_DIR}/deploy/debian/postinst;${CMAKE_SOURCE_DIR}/deploy/debian/prerm;${CMAKE_SOURCE_DIR}/deploy/debian/postrm)
endforeach()
include(CPack)

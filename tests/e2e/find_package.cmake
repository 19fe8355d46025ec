# SPDX-License-Identifier: MIT
# find_package.cmake - a project that uses an installed libpmc: an example with either library.
# WANTED: a version; EXAMPLES: the installed folder of examples.
cmake_minimum_required(VERSION 3.13)
project(count C)
find_package(pmc ${WANTED} REQUIRED)
add_executable(shared ${EXAMPLES}/count.c)
target_link_libraries(shared pmc::pmc)
add_executable(static ${EXAMPLES}/count.c)
target_link_libraries(static pmc::pmc_static)

// SPDX-License-Identifier: Apache-2.0
// A target of precompiled headers has a source file; the headers are named in CMakeLists.txt.
#include <gtest/gtest.h>

// SPDX-License-Identifier: Apache-2.0
#pragma once

#define NIBBLAS_VERSION_MAJOR 0
#define NIBBLAS_VERSION_MINOR 1
#define NIBBLAS_VERSION_PATCH 0
#define NIBBLAS_VERSION "0.1.0"

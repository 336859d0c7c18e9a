// SPDX-License-Identifier: Apache-2.0
#pragma once

// NIBBLAS_API marks what the shared library exports; everything else is hidden.
#if defined(NIBBLAS_STATIC)
#define NIBBLAS_API
#elif defined(_WIN32)
#ifdef NIBBLAS_BUILDING
#define NIBBLAS_API __declspec(dllexport)
#else
#define NIBBLAS_API __declspec(dllimport)
#endif
#else
#define NIBBLAS_API __attribute__((visibility("default")))
#endif

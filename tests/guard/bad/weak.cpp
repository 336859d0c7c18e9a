// SPDX-License-Identifier: Apache-2.0
// What the guard is for: an inline function that the linker may share with the rest of the program.

inline int shared_with_everybody(int x) { return x + 1; }

extern "C" int (*const nibblas_isa_weak)(int);
int (*const nibblas_isa_weak)(int) = &shared_with_everybody;

// SPDX-License-Identifier: Apache-2.0
// A global that is set when the program starts, before anybody could ask the CPU what it can do.

int at_start();
int started = at_start();

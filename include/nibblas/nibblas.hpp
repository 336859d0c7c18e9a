// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything except the GGUF reader (nibblas/gguf.hpp, target nibblas::gguf).
#include "nibblas/batched.hpp"
#include "nibblas/buffer.hpp"
#include "nibblas/cpu.hpp"
#include "nibblas/dtype.hpp"
#include "nibblas/executor.hpp"
#include "nibblas/formats.hpp"
#include "nibblas/import.hpp"
#include "nibblas/kernel.hpp"
#include "nibblas/matmul.hpp"
#include "nibblas/native_kernel.hpp"
#include "nibblas/packed.hpp"
#include "nibblas/panel.hpp"
#include "nibblas/provider.hpp"
#include "nibblas/registry.hpp"
#include "nibblas/status.hpp"
#include "nibblas/version.hpp"
#include "nibblas/views.hpp"

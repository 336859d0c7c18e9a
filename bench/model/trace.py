#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""trace.py LLVM_BIN TILE CORE...: what LLVM's pipeline models say of the NEON kernels.

QEMU runs one call of a tile function and writes down the blocks it passes through; their instructions, in that order,
are what llvm-mca gets. So decoding, scales, folds and loop control count as often as they happen. llvm-mca knows
nothing of caches: every load hits L1.
"""
import re
import subprocess
import sys
import tempfile

PREFILL_K, DECODE_K = 512, 512
ROWS = 16  # of a panel
FULL_TILE = {"f32": 24, "int8": 64, "int8_token": 16}  # tokens, by compute: tile_tokens()
# kernel, the instruction whose peak it is measured by
PREFILL = [
    ("f32.f32.neon_dotprod", "fmla"),
    ("f16.f32.neon_dotprod", "fmla"),
    ("bf16.f32.neon_dotprod", "fmla"),
    ("q8_0.int8.neon_dotprod", "sdot"),
    ("q4_0.int8.neon_dotprod", "sdot"),
    ("q4_k.int8.neon_dotprod", "sdot"),
    ("q5_k.int8.neon_dotprod", "sdot"),
    ("q6_k.int8.neon_dotprod", "sdot"),
    ("tq2_0.int8.neon_dotprod", "sdot"),
    ("bitnet_b158.int8.neon_dotprod", "sdot"),
    ("bitnet_b158.int8_token.neon_dotprod", "sdot"),
    ("q8_0.int8.neon_i8mm", "smmla"),
    ("q4_0.int8.neon_i8mm", "smmla"),
    ("q4_k.int8.neon_i8mm", "smmla"),
    ("q5_k.int8.neon_i8mm", "smmla"),
    ("q6_k.int8.neon_i8mm", "smmla"),
    ("tq2_0.int8.neon_i8mm", "smmla"),
    ("bitnet_b158.int8.neon_i8mm", "smmla"),
    ("q8_0.int8.neon", "smlal"),
    ("q4_0.int8.neon", "smlal"),
    ("q4_k.int8.neon", "smlal"),
]
DECODE = [name for name, unit in PREFILL if unit != "smmla"]  # one token is sdot's there too
CORES_WITH_I8MM = ("neoverse-n2", "neoverse-v1", "neoverse-v2")
# Independent instructions, and the products of each.
PEAK = {
    "fmla": ("fmla v{0}.4s, v30.4s, v31.s[0]", 4),
    "sdot": ("sdot v{0}.4s, v30.16b, v31.4b[0]", 16),
    "smmla": ("smmla v{0}.4s, v30.16b, v31.16b", 32),
    "smlal": ("smlal v{0}.8h, v30.8b, v31.8b", 8),
}


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


class Program:
    """The instructions of the kernels' section and the blocks that a run passes through."""

    def __init__(self, llvm, tile):
        self.llvm, self.tile, self.code = llvm, tile, {}
        section = re.search(r" model_text\s+([0-9a-f]+)\s+([0-9a-f]+)", run(f"{llvm}/llvm-objdump", "-h", tile))
        self.size, self.start = int(section[1], 16), int(section[2], 16)
        listing = run(f"{llvm}/llvm-objdump", "-d", "--no-show-raw-insn", "--section=model_text",
                      "--mattr=+dotprod,+i8mm", tile)
        for address, text in re.findall(r"^\s*([0-9a-f]+):\s+(\S.*)$", listing, re.M):
            self.code[int(address, 16)] = self.straight(text)

    @staticmethod
    def straight(text):
        """Branches go nowhere: the trace has followed them."""
        text = re.sub(r"\s*<[^>]*>", "", text.split("//")[0]).strip()
        if re.match(r"(b|bl|blr|br|ret)\b(?!\.)", text):
            return "b ."
        return re.sub(r"0x[0-9a-f]+$", ".", text) if re.match(r"(b\.|cbn?z|tbn?z)", text) else text

    def trace(self, kernel, tokens, panels, k):
        """(instructions, bytes of weights) of one call."""
        with tempfile.NamedTemporaryFile("r") as log:
            size = run("qemu-aarch64", "-cpu", "max", "-d", "in_asm,exec,nochain", "-D", log.name, "-dfilter",
                       f"0x{self.start:x}+0x{self.size:x}", self.tile, f"matmul.{kernel}", str(tokens), str(panels),
                       str(k))
            blocks, body, out = {}, None, []
            for line in log:
                if line.startswith("IN:"):
                    body = []
                elif found := re.match(r"0x([0-9a-f]+):", line):
                    if not body:
                        blocks[int(found[1], 16)] = body
                    body.append(int(found[1], 16))
                elif found := re.match(r"Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/", line):
                    out += [self.code[a] for a in blocks[int(found[1], 16)]]
        return out, int(size)


def cycles(llvm, core, instructions):
    # The model of Cortex-A57, which is what LLVM takes for Cortex-A76, has no dot product among its own features.
    report = run(f"{llvm}/llvm-mca", "-mtriple=aarch64", f"-mcpu={core}", "-mattr=+dotprod,+i8mm,+fullfp16",
                 "-iterations=1", "-instruction-info=false", "-resource-pressure=false",
                 input="\n".join(instructions) + "\n")
    return int(re.search(r"Total Cycles:\s+(\d+)", report)[1])


def peak(llvm, core, name):
    form, products = PEAK[name]
    count = 64
    body = [form.format(i % 24) for i in range(count * 24)]
    return products * len(body) / cycles(llvm, core, body)


def main():
    llvm, tile, *cores = sys.argv[1:]
    program = Program(llvm, tile)
    peaks = {(core, name): peak(llvm, core, name) for core in cores for name in PEAK}
    print("A full tile: products a cycle, of the peak of the instruction\n")
    print("| kernel | peak of | " + " | ".join(cores) + " |\n|---|---|" + "---|" * len(cores))
    for kernel, unit in PREFILL:
        tokens = FULL_TILE[kernel.split(".")[1]]
        try:
            code, _ = program.trace(kernel, tokens, 1, PREFILL_K)
        except subprocess.CalledProcessError:
            continue
        cells = []
        for core in cores:
            if unit == "smmla" and core not in CORES_WITH_I8MM:
                cells.append("")
                continue
            rate = tokens * ROWS * PREFILL_K / cycles(llvm, core, code)
            top = peaks[core, unit]
            cells.append(f"{rate:.1f} of {top:.1f}: {rate / top:.2f}")
        print(f"| {kernel} | {unit} | " + " | ".join(cells) + " |", flush=True)
    print("\nM = 1: cycles for a byte of weights\n")
    print("| kernel | " + " | ".join(cores) + " |\n|---|" + "---|" * len(cores))
    for kernel in DECODE:
        try:
            code, size = program.trace(kernel, 1, 4, DECODE_K)
        except subprocess.CalledProcessError:
            continue
        cells = [f"{cycles(llvm, core, code) / size:.3f}" for core in cores]
        print(f"| {kernel} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()

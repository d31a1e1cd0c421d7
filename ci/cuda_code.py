"""What nvcc makes of the kernels of torch-core-cuda, read from machine code: a check that needs no GPU.

python ci/cuda_code.py                      # compile what the table below names, for sm_90, and hold it to the table
python ci/cuda_code.py copy.cu --every      # figures of all kernels of a file
python ci/cuda_code.py --table              # the tables of docs/cuda.md

nvcc compiles each file to machine code. Registers and spills are those of ptxas; nvdisasm (pip install
nvidia-cuda-nvdisasm) shows instructions. Of a loop over packets of 16 bytes the instructions are counted, and with them the
share of the memory's speed that a multiprocessor can ask for: a warp has 32 lanes, each of four schedulers issues an
instruction per clock, special functions take eight clocks of one, and float64 two. Of products and attention, the loop with the
greatest share of multiply-adds is counted: the instructions of a round, and what a lane loads from shared memory.
"""

import argparse
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from packages import ROOT

KERNELS = ROOT / "core" / "src" / "cuda"
#: Multiprocessors, clock in GHz and memory in TB/s, as NVIDIA gives them.
DEVICES = {"H100": (132, 1.755, 3.35), "H200": (132, 1.755, 4.8)}
#: Kernels that move memory and little else: file, a pattern of the name, and how many packets of 16 bytes an iteration moves.
LISTED = [
    *(
        ("elementwise_binary.cu", rf"dense<formula::{name}, float, float>", 3)
        for name in ("mul", "true_divide", "maximum", "minimum")
    ),
    *(
        ("elementwise_unary.cu", rf"dense<formula::{name}, float, float>", 2)
        for name in ("neg", "relu", "exp", "log", "tanh", "sigmoid", "erf", "sqrt")
    ),
]
#: Kernels that multiply: file, a pattern of the name, and the most instructions for one that multiplies.
PRODUCTS = [
    ("product.cu", r"multiply_tiles<MatrixProblem<float> >", 1.25),
    ("product.cu", r"multiply_tiles<MatrixProblem<double> >", 1.4),
    ("product.cu", r"multiply_half_tiles<MatrixProblem<Float16>, true, false, true>", 12),
    *(
        ("attention.cu", rf"{kernel}<float, 64>", 1.25)
        for kernel in ("forward", "backward_of_rows", "backward_of_columns")
    ),
    *(
        ("attention.cu", rf"{kernel}<Float16, 64>", most)
        for kernel, most in (("forward", 13), ("backward_of_rows", 7.5), ("backward_of_columns", 7))
    ),
]
#: Floating-point operations of a warp: by an instruction of its lanes, and by one on tensor cores (16 by 8 by 16).
FLOPS = {"FFMA": 64, "DFMA": 64, "HMMA": 4096}
MOST_REGISTERS = 40
MOST_SPILLED = 80  # bytes, of kernels that are not listed
LEAST_SHARE = 0.85
PTX = "compute_80"
#: What nvcc is given beside the architecture; as CMakeLists.txt of the package has it.
FLAGS = [
    "-std=c++20", "-O3", "-DTORCH_ISA=cuda", "-DTORCH_X86=0", "--expt-relaxed-constexpr", "-diag-suppress=186", "-Werror=all-warnings",
    *(f"-I{ROOT / 'core' / folder}" for folder in ("src/lane", "src", "include")),
]  # fmt: skip
#: Files of formulas, which say where a product and a sum are one instruction.
FORMULAS = re.compile(r"(elementwise_\w+|chain|steps)\.cu")


@dataclass
class Kernel:
    """One kernel of a file."""

    file: str
    name: str
    registers: int
    spilled: int  # bytes
    loads: int = 0  # of 16 bytes, in the loop
    stores: int = 0
    clocks: float = 0  # that a scheduler spends on an iteration of a warp
    products: int = 0  # in the loop that multiplies: instructions that do,
    instructions: int = 0  # all,
    shared: int = 0  # bytes that a lane loads from shared memory,
    flops: int = 0  # and what a warp computes

    def share(self, device: str) -> float:
        """Of the memory's speed, by what the loop moves and the clocks it takes."""
        processors, clock, memory = DEVICES[device]
        moved = (self.loads + self.stores) * 16 * 32
        return min(1.0, moved / self.clocks * 4 * processors * clock / (memory * 1e3)) if self.clocks else 0.0


def tool(name: str) -> str:
    """A program of CUDA: on PATH, or in NVIDIA's wheels."""
    if found := shutil.which(name):
        return found
    for place in sys.path:
        for found in sorted(Path(place, "nvidia").glob(f"*/bin/{name}")):
            return str(found)
    sys.exit(f"cuda_code: there is no {name}: install CUDA's toolkit, or pip install nvidia-cuda-{name}")


def compiled(file: str, architecture: str, folder: Path) -> list[Kernel]:
    """The kernels of a file."""
    folder.mkdir(parents=True, exist_ok=True)
    cubin = folder / f"{file}.{architecture}.cubin"
    command = [
        tool("nvcc"),
        *FLAGS,
        *(["-fmad=false"] if FORMULAS.fullmatch(file) else []),
        "-cubin",
        f"-gencode=arch={PTX},code={architecture}",
        "-Xptxas=-v",
        str(KERNELS / file),
        "-o",
        str(cubin),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cuda_code: {file} does not compile:\n{done.stderr[-4000:]}")
    entries = re.findall(
        r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers",
        done.stderr,
        re.DOTALL,
    )
    bodies = instructions(cubin)
    names = subprocess.run(["c++filt"], input="\n".join(e[0] for e in entries), capture_output=True, text=True)
    found = []
    for (mangled, stores, loads, registers), name in zip(entries, names.stdout.splitlines(), strict=True):
        kernel = Kernel(file, shortened(name), int(registers), int(stores) + int(loads))
        count(kernel, bodies.get(mangled, []))
        count_products(kernel, bodies.get(mangled, []))
        found.append(kernel)
    return found


def shortened(name: str) -> str:
    """A kernel's name without its parameters and the namespaces that all have."""
    name = re.sub(r"torch::cuda::|torch::|\(anonymous namespace\)::", "", name).removeprefix("void ")
    return name[: name.rfind(">(") + 1] if ">(" in name else name.partition("(")[0]


def instructions(cubin: Path) -> dict[str, list[str]]:
    """The instructions and labels of each function."""
    text = subprocess.run([tool("nvdisasm"), "-c", str(cubin)], capture_output=True, text=True, check=True).stdout
    bodies, current = {}, []
    for line in text.splitlines():
        if section := re.match(r"\t\.section\t\.text\.(\w+)", line):
            current = bodies.setdefault(section[1], [])
        elif label := re.match(r"(\.L\w+):", line):
            current.append(label[1])
        elif instruction := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
            current.append(instruction[1])
    return bodies


def loops(body: list[str]) -> list[list[str]]:
    """What lies between a label and a branch back to it, the shortest first."""
    places = {line: i for i, line in enumerate(body) if line.startswith(".L")}
    found = []
    for i, line in enumerate(body):
        if (branch := re.search(r"\bBRA.*`\((\.L\w+)\)", line)) and places.get(branch[1], i + 1) < i:
            found.append(body[places[branch[1]] : i + 1])
    return sorted(found, key=len)


def word_of(line: str) -> str:
    """An instruction's name."""
    return re.sub(r"^@!?U?P\w+\s+", "", line).split()[0]


def round_of(loop: list[str]) -> list[str]:
    """What one round takes: at each branch the way that multiplies on tensor cores and moves memory the most, and of such
    ways the shortest. What only some calls compute, such as the numbers that dropout draws, is not on it."""
    places = {line: i for i, line in enumerate(loop) if line.startswith(".L")}
    best: list[tuple[float, float]] = [(0, 0)] * (len(loop) + 1)
    following = [0] * len(loop)
    for i in reversed(range(len(loop))):
        line, last = loop[i], i + 1 == len(loop)
        if line.startswith(".L"):
            best[i], following[i] = best[i + 1], i + 1
            continue
        word, branch = word_of(line), re.search(r"`\((\.L\w+)\)", line)
        leaves = not line.startswith("@") and word in ("BRA", "EXIT") and not last
        ways = [] if leaves else [i + 1]
        if word.startswith("BRA") and branch and places.get(branch[1], -1) > i:
            ways.append(places[branch[1]])
        following[i] = max(ways, key=best.__getitem__, default=len(loop))
        moves = re.match(r"HMMA|LDGSTS|LDSM|LDS|STS", word) is not None
        before = best[following[i]] if ways else (float("-inf"), 0)
        best[i] = before[0] + moves, before[1] - 1
    taken, i = [], 0
    while i < len(loop):
        taken += [] if loop[i].startswith(".L") else [loop[i]]
        i = following[i]
    return taken


def count(kernel: Kernel, body: list[str]) -> None:
    """The loop that moves packets: its loads, its stores, and its clocks."""
    wide = [loop for loop in loops(body) if any(re.search(r"\bSTG\.E\.128", line) for line in loop)]
    if not wide:
        return
    # Operands that are one number have loops of their own, with fewer loads.
    loop = max(wide, key=lambda lines: (sum("LDG.E.128" in line for line in lines), -len(lines)))
    words = [word_of(line) for line in loop if not line.startswith(".L")]
    kernel.loads = sum(word.startswith("LDG.E.128") for word in words)
    kernel.stores = sum(word.startswith("STG.E.128") for word in words)
    special, double = (
        sum(bool(re.match(names, word)) for word in words) for names in (r"MUFU", r"D(FMA|ADD|MUL|SETP)")
    )
    kernel.clocks = max(len(words), 8 * special, 2 * double)


def count_products(kernel: Kernel, body: list[str]) -> None:
    """The loop that multiplies: the one with the greatest share of instructions that do, in a round."""
    best = 0.0
    for loop in loops(body):
        words = [word_of(line) for line in round_of(loop)]
        kind = next((k for k in ("HMMA", "DFMA", "FFMA") if any(w.startswith(k) for w in words)), None)
        products = sum(word.startswith(kind) for word in words) if kind else 0
        if products / len(words) <= best:
            continue
        best = products / len(words)
        kernel.products, kernel.instructions, kernel.flops = products, len(words), products * FLOPS[kind]
        loads = [word for word in words if word.startswith("LDS")]
        kernel.shared = sum(16 if ".128" in load else 8 if ".64" in load else 4 for load in loads)


def complaints(kernel: Kernel, packets: int) -> list[str]:
    """What a listed kernel should not be."""
    wrong = []
    if kernel.registers > MOST_REGISTERS:
        wrong.append(f"{kernel.registers} registers, at most {MOST_REGISTERS} are allowed")
    if kernel.spilled:
        wrong.append(f"{kernel.spilled} bytes of registers spilled")
    if kernel.loads + kernel.stores < packets:
        wrong.append(f"{kernel.loads} loads and {kernel.stores} stores of 16 bytes in its loop, expected {packets}")
    for device in DEVICES:
        if kernel.clocks and kernel.share(device) < LEAST_SHARE:
            wrong.append(f"{kernel.share(device):.2f} of the memory's speed on an {device}, expected {LEAST_SHARE}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="files of core/src/cuda; by default those that the table names")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--every", action="store_true", help="show all kernels, not only listed ones")
    parser.add_argument("--table", action="store_true", help="as a table of Markdown")
    options = parser.parse_args()
    files = options.files or sorted({file for file, *_ in (*LISTED, *PRODUCTS)})
    with ThreadPoolExecutor(2) as pool:
        kernels = [
            k for ks in pool.map(lambda f: compiled(f, options.arch, ROOT / "build" / "cuda-code"), files) for k in ks
        ]
    wrong, shown = [], []
    for file, pattern, packets in LISTED:
        if file not in files:
            continue
        matching = [k for k in kernels if k.file == file and re.fullmatch(pattern, k.name)]
        if not matching:
            wrong.append(f"{file}: no kernel is called {pattern}")
        for kernel in matching:
            shown.append(kernel)
            wrong += [f"{file}: {kernel.name}: {text}" for text in complaints(kernel, packets)]
    wrong += [
        f"{k.file}: {k.name}: {k.spilled} bytes of registers spilled, at most {MOST_SPILLED} are allowed"
        for k in kernels
        if k.spilled > MOST_SPILLED
    ]
    multiplying = []
    for file, pattern, most in PRODUCTS:
        if file not in files:
            continue
        matching = [k for k in kernels if k.file == file and re.fullmatch(pattern, k.name)]
        if not matching:
            wrong.append(f"{file}: no kernel is called {pattern}")
        for kernel in matching:
            multiplying.append(kernel)
            ratio = kernel.instructions / kernel.products if kernel.products else float("inf")
            if ratio > most:
                wrong.append(f"{file}: {kernel.name}: {ratio:.2f} instructions for one that multiplies, at most {most}")
    if options.table:
        print(
            "| kernel | multiply | instructions | a 1000 FLOP (least) | shared bytes a FLOP |\n| --- | --- | --- | --- | --- |"
        )
        for k in multiplying:
            each, least = (1000 * n / k.flops for n in (k.instructions, k.products))
            print(
                f"| {k.name} | {k.products} | {k.instructions} | {each:.2f} ({least:.2f}) | {32 * k.shared / k.flops:.2f} |"
            )
        print(
            "| kernel | registers | 16-byte loads, stores | instructions of a packet | H100 | H200 |\n| --- | --- | --- | --- | --- | --- |"
        )
    for k in kernels if options.every else shown:
        share = [f"{k.share(device):.2f}" if k.clocks else "-" for device in DEVICES]
        cells = [k.name, k.registers, f"{k.loads}, {k.stores}", f"{k.clocks:.0f}", *share]
        print(
            "| " + " | ".join(map(str, cells)) + " |" if options.table else "  ".join(f"{c!s:>12}" for c in cells[::-1])
        )
    spilled = [k for k in kernels if k.spilled]
    registers = sorted(k.registers for k in kernels)
    print(
        f"{len(kernels)} kernels of {len(files)} files for {options.arch}: registers {registers[len(registers) // 2]} in the "
        f"middle, {registers[-1]} at most; {len(spilled)} spill"
        + "".join(f"\n  {k.name}: {k.spilled} bytes" for k in spilled),
        file=sys.stderr,
    )
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()

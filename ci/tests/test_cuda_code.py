"""What is read from machine code: names of kernels, their loops, and the share of a memory's speed."""

import cuda_code
import pytest

BODY = [
    "",
    ".L_x_1",
    "LDG.E.128 R4, desc[UR4][R2.64]",
    "LDG.E.128 R8, desc[UR4][R6.64]",
    "FADD R4, R4, R8",
    "@P0 MUFU.EX2 R5, R5",
    "STG.E.128 desc[UR4][R10.64], R4",
    "@!P1 BRA `(.L_x_1)",
    ".L_x_2",
    "STG.E.128 desc[UR4][R10.64], R12",
    "@P0 BRA `(.L_x_2)",
    "EXIT",
    "",
][1:-1]


def test_the_loop_with_the_loads_counts():
    kernel = cuda_code.Kernel("f.cu", "f", 20, 0)
    cuda_code.count(kernel, BODY)
    assert (kernel.loads, kernel.stores, kernel.clocks) == (2, 1, 8)  # a special function takes as long as eight others
    assert [len(loop) for loop in cuda_code.loops(BODY)] == [3, 7]
    cuda_code.count(other := cuda_code.Kernel("f.cu", "g", 20, 0), ["FADD R4, R4, R8", "EXIT"])
    assert other.clocks == 0 and other.share("H100") == 0


def test_a_round_leaves_out_what_only_some_calls_compute():
    loop = [
        ".L_x_1",
        "LDSM.16.M88.4 R4, [R2]",
        "@!P0 BRA `(.L_x_2)",  # no dropout
        *["IMAD R9, R9, R9, R9"] * 20,
        ".L_x_2",
        "HMMA.16816.F32 R4, R4, R8, R4",
        "@P1 BRA `(.L_x_3)",  # nothing to fetch: a round that fetches counts
        "LDGSTS.E.BYPASS.128 [R2], desc[UR4][R10.64]",
        "BRA `(.L_x_4)",
        ".L_x_3",
        "IADD3 R1, R1, R1, R1",
        ".L_x_4",
        "@P2 BRA `(.L_x_1)",
    ]
    words = [cuda_code.word_of(line) for line in cuda_code.round_of(loop)]
    assert words == ["LDSM.16.M88.4", "BRA", "HMMA.16816.F32", "BRA", "LDGSTS.E.BYPASS.128", "BRA", "BRA"]
    kernel = cuda_code.Kernel("f.cu", "f", 20, 0)
    cuda_code.count_products(kernel, [*loop, "EXIT"])
    assert (kernel.products, kernel.instructions, kernel.flops) == (1, 7, 4096)


def test_a_share_is_what_is_moved_in_the_clocks_of_a_packet():
    kernel = cuda_code.Kernel("f.cu", "f", 20, 0, loads=1, stores=1, clocks=1000)
    moved = 2 * 16 * 32 * 4 * 132 * 1.755e9 / 1000
    assert kernel.share("H100") == pytest.approx(moved / 3.35e12) and kernel.share("H200") == pytest.approx(
        moved / 4.8e12
    )


def test_complaints_name_what_is_wrong():
    kernel = cuda_code.Kernel("f.cu", "f", 50, 12, loads=1, stores=0, clocks=5000)
    text = " ".join(cuda_code.complaints(kernel, 2))
    for part in (
        "50 registers, at most 40",
        "12 bytes of registers spilled",
        "1 loads and 0 stores",
        "on an H200, expected 0.85",
    ):
        assert part in text
    assert not cuda_code.complaints(cuda_code.Kernel("f.cu", "f", 40, 0, loads=1, stores=1, clocks=20), 2)


def test_names_lose_what_all_of_them_have():
    name = "void torch::cuda::dense<torch::formula::mul, float, float>(float*, float const*, long)"
    assert cuda_code.shortened(name) == "dense<formula::mul, float, float>"
    assert cuda_code.shortened("torch::cuda::(anonymous namespace)::fill(float*)") == "fill"

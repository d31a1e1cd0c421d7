import cpp

LISTING = """
<_ZN5torch2v43addEv>:
 vaddps %zmm0,%zmm1,%zmm2
<_ZN5torch2v33addEv>:
 vaddps %ymm0,%ymm1,%ymm2
<_ZNSt6vectorIfE4sizeEv>:
 vaddps %ymm0,%ymm1,%ymm2
<_ZNSt6vectorIdE4sizeEv>:
 addps %xmm0,%xmm1
<_ZN5torch2v33mulEv>:
 vpcmpd $0x1,%zmm0,%zmm1,%k1
"""


def test_an_inline_function_that_kept_its_avx_copy_is_found():
    found = cpp.too_new(LISTING.splitlines(keepends=True), cpp.level_of)
    assert found == {"_ZNSt6vectorIfE4sizeEv", "_ZN5torch2v33mulEv"}

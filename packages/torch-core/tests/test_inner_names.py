"""Modules of PyTorch's own that libraries read: questions are answered, what is not there says so."""

import pytest
import torch


def test_nothing_is_fake_batched_or_recorded():
    from torch._C._functorch import get_unwrapped, is_batchedtensor
    from torch._guards import TracingContext, active_fake_mode
    from torch._subclasses import FakeTensorMode
    from torch._subclasses.fake_tensor import is_fake
    from torch._subclasses.functional_tensor import FunctionalTensor, mb_unwrap_functional_tensor

    x = torch.ones(2)
    assert (
        not is_fake(x) and not is_batchedtensor(x) and active_fake_mode() is None and TracingContext.try_get() is None
    )
    assert get_unwrapped(x) is x and mb_unwrap_functional_tensor(x) is x and not isinstance(x, FunctionalTensor)
    assert torch._C._functorch.is_legacy_batchedtensor(x) is False and not torch._C._are_functorch_transforms_active()
    with FakeTensorMode() as mode:
        assert active_fake_mode() is mode and is_fake(torch.ones(2))


def test_tensors_of_meta_are_made_once_for_each():
    from torch._subclasses.meta_utils import MetaConverter

    convert, x = MetaConverter(), torch.ones(2, 3).t()
    made = convert(x)
    assert made.is_meta and made.shape == x.shape and made.stride() == x.stride() and convert(x) is made
    assert convert(torch.ones(2, 3)) is not made and convert(3) == 3


def test_classes_that_leave_operators_alone_get_the_plain_result():
    result = torch._C._disabled_torch_function_impl(torch.add, (), (torch.ones(1), 2), {"alpha": 3})
    assert result.tolist() == [7] and torch._C._disabled_torch_function_impl(torch.numel, (), [result]) == 1
    with pytest.raises(TypeError, match="args must be a tuple or a list, not int"):
        torch._C._disabled_torch_function_impl(torch.add, (), 3)
    with pytest.raises(TypeError, match="kwargs must be a dict or None, not list"):
        torch._C._disabled_torch_function_impl(torch.add, (), (result, 1), [])


def test_keys_of_the_dispatcher_are_names():
    keys = torch._C.DispatchKey
    assert keys.AutocastCPU is keys.AutocastCPU is not keys.AutocastCUDA
    both = torch._C.DispatchKeySet(keys.CPU) | torch._C.DispatchKeySet(keys.CUDA)
    assert both.has(keys.CUDA) and both == torch._C.DispatchKeySet(keys.CUDA).add(keys.CPU) and not both.has(keys.Meta)
    with pytest.raises(NotImplementedError, match="do not pass over CPU, CUDA"):
        torch._C._ExcludeDispatchKeyGuard(both)


def test_the_text_of_a_tensor_is_put_together_from_parts():
    from torch import _tensor_str

    x = torch.tensor([[1.5, 2], [3, 4]])
    with torch.printoptions(precision=2):
        assert _tensor_str.PRINT_OPTS.precision == 2
    assert _tensor_str._str(x) == repr(x) and _tensor_str._str_intern(x, tensor_contents="...") == "tensor(...)"
    text = "Wrapped(" + _tensor_str._tensor_str(x, 8)
    assert text == "Wrapped([[1.5000, 2.0000],\n         [3.0000, 4.0000]]"
    assert _tensor_str._add_suffixes("T(1", ["a=1", "b=2"], 2, force_newline=False) == "T(1, a=1, b=2)"
    assert _tensor_str._add_suffixes("T(1", ["a=1"], 2, force_newline=True) == "T(1,\n  a=1)"
    before = _tensor_str.PRINT_OPTS.threshold
    _tensor_str.PRINT_OPTS.threshold = 3
    try:
        assert torch.get_printoptions()["threshold"] == 3
    finally:
        _tensor_str.PRINT_OPTS.threshold = before
    with pytest.raises(AttributeError, match="print options have no 'nonsense'"):
        _tensor_str.PRINT_OPTS.nonsense = 1


def test_a_library_that_is_not_there_is_an_oserror(tmp_path):
    with pytest.raises(OSError, match="torch.ops.load_library: .*nowhere.so"):
        torch.ops.load_library(tmp_path / "nowhere.so")
    torch.ops.load_library("libm.so.6")
    assert any("libm.so.6" in path for path in torch.ops.loaded_libraries)


def test_the_cpu_has_one_stream_whose_work_is_done():
    stream, event = torch.Stream(), torch.Event("cpu", enable_timing=True)
    assert stream.device == event.device == torch.device("cpu") and stream == torch.Stream("cpu", priority=1)
    assert stream.query() and event.query() and event.wait(stream) is stream.synchronize() is None
    with stream as entered:
        assert entered is stream
    for record in (stream.record_event, event.record):
        with pytest.raises(RuntimeError, match="cpu backend doesn't support events"):
            record()
    with pytest.raises(ValueError, match="both events must be recorded"):
        event.elapsed_time(torch.Event())
    for make in (torch.Stream, torch.Event):
        with pytest.raises(RuntimeError, match="device meta has no streams"):
            make("meta")


def test_operators_that_take_functions_are_refused_when_used():
    assert torch.Future is torch.futures.Future
    from torch._ops import HigherOrderOperator

    with pytest.raises(NotImplementedError, match="flex: operators that take functions need a compiler"):
        HigherOrderOperator("flex")()


def test_the_compiler_to_native_code_answers_questions(monkeypatch, tmp_path):
    import torch._inductor.config as config
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.cpu_vec_isa import pick_vec_isa
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "made"))
    assert cache_dir() == str(tmp_path / "made") and (tmp_path / "made").is_dir()
    assert torch._inductor.list_mode_options() == {} and torch._inductor.cudagraph_mark_step_begin() is None
    with config.patch(max_autotune=True, unheard_of=1):
        assert config.max_autotune and config.unheard_of == 1
    assert not config.max_autotune and not hasattr(config, "unheard_of")
    with config.patch("freezing", True):
        assert config.freezing
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="no C\\+\\+ compiler"):
        get_cpp_compiler()
    assert isinstance(str(pick_vec_isa()), str)
    with pytest.raises(NotImplementedError, match="aoti_compile_and_package write a package"):
        torch._inductor.aot_compile(None, [])


def test_what_a_module_is_moved_to():
    meta = torch.device("meta")
    from torch._internals import _parse_to as parse

    assert parse(meta) == (meta, None, False, None) and parse(torch.float16) == (None, torch.float16, False, None)
    assert parse("meta", torch.float64, True) == (meta, torch.float64, True, None)
    assert parse(torch.ones(1, dtype=torch.int32)) == (torch.device("cpu"), torch.int32, False, None)
    assert parse(dtype=torch.int8, memory_format=torch.channels_last) == (None, torch.int8, False, torch.channels_last)
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
        parse(wrong=1)


def test_keys_of_trees_by_container():
    from torch import _pytree

    assert _pytree._dict_flatten_with_keys({"a": 1}) == ([(_pytree.MappingKey("a"), 1)], ["a"])
    assert _pytree._list_flatten_with_keys([3]) == ([(_pytree.SequenceKey(0), 3)], None)


def test_lists_of_tensors_are_cut_by_type_and_size():
    tensors = [torch.ones(2), torch.ones(5), torch.ones(1), torch.ones(1, dtype=torch.int64)]
    some = list(torch._utils._take_tensors(tensors, 12))
    assert [[t.numel() for t in each] for each in some] == [[2], [5], [1], [1]] and some[-1][0].dtype == torch.int64


def test_dims_strides_and_formats_that_decompositions_ask_for():
    common = torch._prims_common
    x = torch.ones(2, 3, 4, 5)
    assert common.make_contiguous_strides_for(x.shape) == x.stride()
    assert common.make_contiguous_strides_for((2, 3, 4), row_major=False) == torch.ones(2, 4, 3).mT.stride()
    assert common.canonicalize_dims(4, (-1, 0)) == (3, 0) and common.canonicalize_dim(0, -1) == 0
    with pytest.raises(IndexError, match=r"range of \[-4, 3\], but got 4"):
        common.canonicalize_dim(4, 4)
    assert common.get_computation_dtype(torch.float16) == torch.float32
    assert common.suggest_memory_format(x.to(memory_format=torch.channels_last)) == torch.channels_last
    assert common.suggest_memory_format(x) == torch.contiguous_format


@pytest.mark.parametrize("form, n", [(torch.channels_last, 4), (torch.channels_last_3d, 5)])
def test_parts_of_images_lie_as_the_images_do(form, n):
    suggest = torch._prims_common.suggest_memory_format
    image = torch.ones(2, 3, *[6] * (n - 2)).contiguous(memory_format=form)
    assert suggest(image[..., 1:-1]) == suggest(image[..., ::2]) == suggest(image[:, :2]) == form
    one = image[0][None]  # the step to another image would lead to the next place of this one
    assert suggest(one) == suggest(image.contiguous()[..., 1:]) == suggest(image.mT) == torch.contiguous_format


def test_second_names_are_the_things_themselves():
    assert torch._C._LinAlgError is torch.linalg.LinAlgError and torch._C.Tag is torch.Tag
    assert torch.Tag.nondeterministic_seeded.name == "nondeterministic_seeded"
    assert torch.accelerator.memory.empty_cache is torch.accelerator.empty_cache
    assert torch.mps.event.Event is torch.mps.Event and not torch.backends.xnnpack.enabled
    assert torch._has_compatible_shallow_copy_type(torch.ones(1), torch.ones(2, 2))
    assert not torch._has_compatible_shallow_copy_type(torch.ones(1), torch.ones(1).to_sparse())


def test_what_conversions_do_with_parameters_is_a_setting():
    future = torch.__future__
    for what in ("overwrite", "swap"):
        get, set_ = (getattr(future, f"{verb}_{what}_module_params_on_conversion") for verb in ("get", "set"))
        assert not get()
        set_(True)
        assert get()
        set_(False)


def test_products_come_in_a_wider_dtype():
    from torch._higher_order_ops.out_dtype import out_dtype

    a = torch.full((2, 3), 100, dtype=torch.int8)
    assert out_dtype(torch.ops.aten.mm.default, torch.int32, a, a.T).tolist() == [[30000, 30000], [30000, 30000]]
    with pytest.raises(TypeError, match="out_dtype: expected a torch.dtype as second argument, got str"):
        out_dtype(torch.ops.aten.mm.default, "int32", a, a.T)


def test_a_convolution_under_its_inner_name():
    x, w = torch.arange(16.0).view(1, 1, 4, 4), torch.ones(1, 1, 3, 3)
    found = torch.ops.aten._convolution(x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, False, False, True, True)
    assert found.flatten().tolist() == [45, 54, 81, 90]


def test_views_know_that_they_are_views():
    x = torch.ones(2, 3)
    assert x[0]._is_view() and x.t()._is_view() and not x._is_view() and not (x + 1)._is_view()


def test_tensors_for_tensor_cores_are_classes_that_say_what_is_missing():
    assert issubclass(torch.sparse.SparseSemiStructuredTensorCUTLASS, torch.sparse.SparseSemiStructuredTensor)
    for call in (torch.sparse.to_sparse_semi_structured, torch.sparse.SparseSemiStructuredTensorCUSPARSELT.from_dense):
        with pytest.raises(NotImplementedError, match="SparseSemiStructuredTensor.*computed by tensor cores"):
            call(torch.ones(4, 4))


def test_vmap_by_its_first_name_lets_none_pass_through():
    pytest.importorskip("torch.autograd")
    from torch._vmap_internals import _vmap

    assert _vmap(torch.dot)(torch.ones(2, 3), torch.ones(2, 3)).tolist() == [3, 3]
    doubled, nothing = _vmap(lambda x: (2 * x, None), allow_none_pass_through=True)(torch.ones(2, 1))
    assert doubled.tolist() == [[2], [2]] and nothing is None


def test_autocast_of_cuda_has_the_module_of_its_first_version():
    import torch.cuda.amp.autocast_mode as old

    assert old.autocast is torch.cuda.amp.autocast and old.custom_fwd is torch.cuda.amp.custom_fwd
    assert torch.cuda.amp.autocast_mode is old and callable(old._cast)


def test_older_modules_of_mixed_precision_are_imported():
    from torch.cpu.amp.autocast_mode import autocast
    from torch.cpu.amp.grad_scaler import GradScaler
    from torch.cuda.amp.common import amp_definitely_not_available

    assert issubclass(autocast, torch.autocast) and issubclass(GradScaler, torch.amp.GradScaler)
    assert amp_definitely_not_available() != torch.cuda.is_available()


def test_images_are_resized_by_a_factor_that_is_not_sizes_divided():
    x = torch.arange(8.0).view(1, 1, 2, 4)
    resized = torch.ops.aten._upsample_bilinear2d_aa
    if hasattr(torch, "nn"):  # which resizes by sizes only
        assert torch.allclose(resized(x, [1, 2], False, 0.5, 0.5), resized(x, [1, 2], False))
    # a step of 4 from 2: the triangle around 2 is 4 wide to both sides, and holds 1 - |i - 1.5| / 4 of element i
    weights = torch.tensor([0.625, 0.875, 0.875, 0.625])
    found = resized(x, [2, 1], False, 1.0, 0.25)
    assert torch.allclose(found.view(2), x.view(2, 4) @ weights / weights.sum())
    with pytest.raises(RuntimeError, match="two sizes from 1"):
        resized(x, [0, 1], False, 1.0, 1.0)


def test_a_call_that_waits_for_cuda_is_kept_where_there_is_none():
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    called = []
    torch.cuda._lazy_call(lambda: called.append(1))
    assert called == []


def test_absent_devices_are_asked_about_under_inner_names(monkeypatch):
    assert torch._C._mps_is_available() is False and torch._C._has_mps is False
    monkeypatch.setattr("torch._C._mps_is_available", lambda: False)  # what programs do in their tests
    assert not torch.backends.mps.is_available()


def test_names_that_libraries_take_from_modules_that_only_use_them():
    from torch._subclasses.fake_tensor import _is_tensor_constructor

    assert torch.functional.Tensor is torch.Tensor and torch._utils.is_compiling() is False
    makers = [torch.ops.aten.zeros.default, torch.ops.aten.zeros_like.default, torch.ops.aten.sort.default]
    assert [_is_tensor_constructor(each) for each in makers] == [True, False, False]


def test_a_class_of_registered_attributes_without_a_word_for_missing_ones_names_them():
    registered = type("Bare", (torch._C.Registered,), {})()
    with pytest.raises(AttributeError, match="'Bare' object has no attribute 'absent'"):
        registered.absent

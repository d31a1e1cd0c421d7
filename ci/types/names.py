"""The names of the public interface: type checkers must know each of them."""

# fmt: off
from typing import Any

import torch
import torch.autograd
import torch.backends.cudnn
import torch.cuda
import torch.distributed
import torch.distributed.launch
import torch.distributions
import torch.distributions.constraint_registry
import torch.distributions.constraints
import torch.distributions.transforms
import torch.fx
import torch.jit
import torch.multiprocessing
import torch.multiprocessing.spawn
import torch.nn
import torch.nn.functional
import torch.nn.init
import torch.nn.utils.rnn
import torch.onnx
import torch.optim
import torch.sparse
import torch.utils
import torch.utils.bottleneck
import torch.utils.checkpoint
import torch.utils.cpp_extension
import torch.utils.data
import torch.utils.ffi
import torch.utils.model_zoo

torch_members: tuple[Any, ...] = (
    torch.BFloat16Tensor, torch.BoolTensor, torch.ByteStorage, torch.ByteTensor, torch.CharStorage, torch.CharTensor,
    torch.DoubleStorage, torch.DoubleTensor, torch.Event, torch.FloatStorage, torch.FloatTensor, torch.Generator,
    torch.HalfStorage, torch.HalfTensor, torch.IntStorage, torch.IntTensor, torch.LongStorage, torch.LongTensor,
    torch.OutOfMemoryError, torch.ShortStorage, torch.ShortTensor, torch.Size, torch.Stream, torch.Tensor,
    torch.TypedStorage, torch.UntypedStorage, torch.__version__, torch.abs, torch.abs_, torch.absolute, torch.acos,
    torch.acos_, torch.acosh, torch.adaptive_avg_pool1d, torch.adaptive_max_pool1d, torch.add, torch.addbmm,
    torch.addcdiv, torch.addcmul, torch.addmm, torch.addmv, torch.addmv_, torch.addr, torch.adjoint, torch.all,
    torch.allclose, torch.amax, torch.amin, torch.aminmax, torch.angle, torch.any, torch.arange, torch.arccos,
    torch.arccosh, torch.arcsin, torch.arcsinh, torch.arctan, torch.arctan2, torch.arctanh,
    torch.are_deterministic_algorithms_enabled, torch.argmax, torch.argmin, torch.argsort, torch.argwhere,
    torch.as_strided, torch.as_tensor, torch.asarray, torch.asin, torch.asin_, torch.asinh, torch.atan, torch.atan2,
    torch.atan_, torch.atanh, torch.atleast_1d, torch.atleast_2d, torch.atleast_3d, torch.autocast, torch.autograd,
    torch.baddbmm, torch.bartlett_window, torch.batch_norm, torch.bernoulli, torch.bernoulli_, torch.bfloat16,
    torch.bilinear, torch.bincount, torch.binomial, torch.bitwise_and, torch.bitwise_left_shift, torch.bitwise_not,
    torch.bitwise_or, torch.bitwise_right_shift, torch.bitwise_xor, torch.blackman_window, torch.block_diag,
    torch.bmm, torch.bool, torch.broadcast_shapes, torch.broadcast_tensors, torch.broadcast_to, torch.btrifact,
    torch.btrifact_with_info, torch.btrisolve, torch.btriunpack, torch.bucketize, torch.can_cast,
    torch.cartesian_prod, torch.cat, torch.cdist, torch.cdouble, torch.ceil, torch.ceil_, torch.cfloat,
    torch.chain_matmul, torch.channels_last, torch.channels_last_3d, torch.cholesky, torch.cholesky_inverse,
    torch.cholesky_solve, torch.chunk, torch.clamp, torch.clamp_, torch.clamp_max, torch.clamp_max_, torch.clamp_min,
    torch.clamp_min_, torch.clip, torch.clone, torch.column_stack, torch.combinations, torch.compile, torch.complex,
    torch.complex128, torch.complex64, torch.concat, torch.concatenate, torch.cond, torch.conj, torch.conj_physical,
    torch.contiguous_format, torch.conv1d, torch.conv2d, torch.conv3d, torch.conv_transpose1d, torch.conv_transpose2d,
    torch.conv_transpose3d, torch.convolution, torch.copysign, torch.corrcoef, torch.cos, torch.cos_, torch.cosh,
    torch.cosh_, torch.cosine_embedding_loss, torch.count_nonzero, torch.cov, torch.cross, torch.cuda, torch.cummax,
    torch.cummin, torch.cumprod, torch.cumsum, torch.cumulative_trapezoid, torch.default_generator, torch.deg2rad,
    torch.det, torch.detach, torch.device, torch.diag, torch.diag_embed, torch.diagflat, torch.diagonal,
    torch.diagonal_scatter, torch.diff, torch.digamma, torch.dist, torch.distributed, torch.distributions, torch.div,
    torch.divide, torch.dot, torch.double, torch.dsmm, torch.dsplit, torch.dstack, torch.dtype, torch.e, torch.eig,
    torch.einsum, torch.embedding, torch.embedding_bag, torch.embedding_renorm_, torch.empty, torch.empty_like,
    torch.empty_strided, torch.enable_grad, torch.eq, torch.equal, torch.erf, torch.erf_, torch.erfc, torch.erfinv,
    torch.exp, torch.exp2, torch.exp_, torch.expand, torch.expand_as, torch.expm1, torch.expm1_, torch.eye, torch.fft,
    torch.fill_, torch.finfo, torch.fix, torch.flatten, torch.flip, torch.fliplr, torch.flipud, torch.float,
    torch.float16, torch.float32, torch.float64, torch.float8_e4m3fn, torch.float8_e5m2, torch.float_power,
    torch.floor, torch.floor_, torch.floor_divide, torch.fmax, torch.fmin, torch.fmod, torch.fork_rng, torch.frac,
    torch.frexp, torch.from_dlpack, torch.from_file, torch.from_numpy, torch.frombuffer, torch.full, torch.full_like,
    torch.gather, torch.gcd, torch.ge, torch.gels, torch.geqrf, torch.ger, torch.gesv, torch.get_autocast_dtype,
    torch.get_default_device, torch.get_default_dtype, torch.get_deterministic_debug_mode,
    torch.get_float32_matmul_precision, torch.get_num_interop_threads, torch.get_num_threads, torch.get_rng_state,
    torch.gradient, torch.greater, torch.greater_equal, torch.group_norm, torch.gt, torch.half, torch.hamming_window,
    torch.hann_window, torch.hardshrink, torch.heaviside, torch.hinge_embedding_loss, torch.histc, torch.histogram,
    torch.histogramdd, torch.hsmm, torch.hsplit, torch.hspmm, torch.hstack, torch.hypot, torch.i0, torch.ifft,
    torch.igamma, torch.igammac, torch.iinfo, torch.imag, torch.index_add, torch.index_copy, torch.index_fill,
    torch.index_put, torch.index_put_, torch.index_reduce, torch.index_select, torch.inf, torch.inference_mode,
    torch.initial_seed, torch.inner, torch.int, torch.int16, torch.int32, torch.int64, torch.int8, torch.inverse,
    torch.irfft, torch.is_autocast_enabled, torch.is_complex, torch.is_conj, torch.is_distributed,
    torch.is_floating_point, torch.is_grad_enabled, torch.is_inference, torch.is_inference_mode_enabled,
    torch.is_nonzero, torch.is_same_size, torch.is_signed, torch.is_storage, torch.is_tensor, torch.isclose,
    torch.isfinite, torch.isin, torch.isinf, torch.isnan, torch.isneginf, torch.isposinf, torch.isreal, torch.istft,
    torch.jit, torch.kron, torch.kthvalue, torch.layer_norm, torch.layout, torch.lcm, torch.ldexp, torch.le,
    torch.lerp, torch.less, torch.less_equal, torch.lgamma, torch.linspace, torch.load, torch.lobpcg, torch.log,
    torch.log10, torch.log10_, torch.log1p, torch.log1p_, torch.log2, torch.log2_, torch.log_, torch.log_softmax,
    torch.logaddexp, torch.logaddexp2, torch.logcumsumexp, torch.logdet, torch.logical_and, torch.logical_not,
    torch.logical_or, torch.logical_xor, torch.logit, torch.logspace, torch.logsumexp, torch.long, torch.lt, torch.lu,
    torch.lu_solve, torch.lu_unpack, torch.manual_seed, torch.margin_ranking_loss, torch.masked_fill,
    torch.masked_scatter, torch.masked_select, torch.matmul, torch.matrix_exp, torch.matrix_power, torch.max,
    torch.max_pool1d, torch.maximum, torch.mean, torch.median, torch.memory_format, torch.meshgrid, torch.min,
    torch.minimum, torch.mm, torch.mode, torch.moveaxis, torch.movedim, torch.msort, torch.mul, torch.multinomial,
    torch.multiply, torch.multiprocessing, torch.mv, torch.mvlgamma, torch.nan, torch.nan_to_num, torch.nanmean,
    torch.nanmedian, torch.nanquantile, torch.nansum, torch.narrow, torch.ne, torch.neg, torch.negative,
    torch.newaxis, torch.nextafter, torch.nn, torch.no_grad, torch.nonzero, torch.norm, torch.normal, torch.not_equal,
    torch.numel, torch.ones, torch.ones_like, torch.onnx, torch.optim, torch.orgqr, torch.ormqr, torch.outer,
    torch.pairwise_distance, torch.pca_lowrank, torch.pdist, torch.permute, torch.pi, torch.pin_memory,
    torch.pinverse, torch.poisson, torch.polar, torch.polygamma, torch.positive, torch.potrf, torch.potri,
    torch.potrs, torch.pow, torch.preserve_format, torch.prod, torch.promote_types, torch.pstrf, torch.qr,
    torch.quantile, torch.rad2deg, torch.rand, torch.rand_like, torch.randint, torch.randint_like, torch.randn,
    torch.randn_like, torch.randperm, torch.range, torch.ravel, torch.real, torch.reciprocal, torch.relu, torch.relu_,
    torch.remainder, torch.renorm, torch.repeat, torch.repeat_interleave, torch.reshape, torch.resize_as_,
    torch.resolve_conj, torch.resolve_neg, torch.result_type, torch.rfft, torch.roll, torch.rot90, torch.round,
    torch.round_, torch.row_stack, torch.rrelu, torch.rrelu_, torch.rsqrt, torch.rsqrt_, torch.rsub, torch.saddmm,
    torch.save, torch.scatter, torch.scatter_add, torch.scatter_reduce, torch.searchsorted, torch.seed, torch.select,
    torch.select_scatter, torch.selu, torch.selu_, torch.set_default_device, torch.set_default_dtype,
    torch.set_default_tensor_type, torch.set_deterministic_debug_mode, torch.set_float32_matmul_precision,
    torch.set_flush_denormal, torch.set_grad_enabled, torch.set_num_interop_threads, torch.set_num_threads,
    torch.set_printoptions, torch.set_rng_state, torch.sgn, torch.short, torch.sigmoid, torch.sign, torch.signbit,
    torch.sin, torch.sin_, torch.sinc, torch.sinh, torch.sinh_, torch.size, torch.slice_scatter, torch.slogdet,
    torch.smm, torch.softmax, torch.sort, torch.sparse, torch.sparse_coo, torch.sparse_coo_tensor, torch.sparse_csr,
    torch.sparse_csr_tensor, torch.split, torch.split_with_sizes, torch.spmm, torch.sqrt, torch.sqrt_, torch.square,
    torch.squeeze, torch.sspaddmm, torch.stack, torch.std, torch.std_mean, torch.stft, torch.stride, torch.strided,
    torch.sub, torch.subtract, torch.sum, torch.svd, torch.svd_lowrank, torch.swapaxes, torch.swapdims, torch.symeig,
    torch.t, torch.take, torch.take_along_dim, torch.tan, torch.tan_, torch.tanh, torch.tanh_, torch.tensor,
    torch.tensor_split, torch.tensordot, torch.tile, torch.topk, torch.trace, torch.transpose, torch.trapezoid,
    torch.trapz, torch.triangular_solve, torch.tril, torch.tril_indices, torch.triplet_margin_loss, torch.triu,
    torch.triu_indices, torch.trtrs, torch.true_divide, torch.trunc, torch.trunc_, torch.typename, torch.uint16,
    torch.uint32, torch.uint64, torch.uint8, torch.unbind, torch.unflatten, torch.unique, torch.unique_consecutive,
    torch.unravel_index, torch.unsqueeze, torch.use_deterministic_algorithms, torch.utils, torch.vander, torch.var,
    torch.var_mean, torch.vdot, torch.view_as_complex, torch.view_as_real, torch.vmap, torch.vsplit, torch.vstack,
    torch.where, torch.xlogy, torch.zero_, torch.zeros, torch.zeros_like,
)
torch_bytetensor_members: tuple[Any, ...] = (
    torch.ByteTensor.all, torch.ByteTensor.any,
)
torch_floatstorage_members: tuple[Any, ...] = (
    torch.FloatStorage.__getitem__, torch.FloatStorage.byte, torch.FloatStorage.char, torch.FloatStorage.clone,
    torch.FloatStorage.copy_, torch.FloatStorage.cpu, torch.FloatStorage.cuda, torch.FloatStorage.data_ptr,
    torch.FloatStorage.double, torch.FloatStorage.element_size, torch.FloatStorage.fill_, torch.FloatStorage.float,
    torch.FloatStorage.half, torch.FloatStorage.int, torch.FloatStorage.is_cuda, torch.FloatStorage.is_pinned,
    torch.FloatStorage.is_shared, torch.FloatStorage.is_sparse, torch.FloatStorage.long, torch.FloatStorage.new,
    torch.FloatStorage.pin_memory, torch.FloatStorage.resize_, torch.FloatStorage.share_memory_,
    torch.FloatStorage.short, torch.FloatStorage.size, torch.FloatStorage.tolist, torch.FloatStorage.type,
)
torch_generator_members: tuple[Any, ...] = (
    torch.Generator.clone_state, torch.Generator.device, torch.Generator.get_offset, torch.Generator.get_state,
    torch.Generator.initial_seed, torch.Generator.manual_seed, torch.Generator.seed, torch.Generator.set_offset,
    torch.Generator.set_state,
)
torch_size_members: tuple[Any, ...] = (
    torch.Size.numel,
)
torch_tensor_members: tuple[Any, ...] = (
    torch.Tensor.H, torch.Tensor.__abs__, torch.Tensor.__add__, torch.Tensor.__and__, torch.Tensor.__array__,
    torch.Tensor.__array_priority__, torch.Tensor.__array_wrap__, torch.Tensor.__bool__, torch.Tensor.__complex__,
    torch.Tensor.__contains__, torch.Tensor.__cuda_array_interface__, torch.Tensor.__deepcopy__, torch.Tensor.__div__,
    torch.Tensor.__dlpack__, torch.Tensor.__dlpack_device__, torch.Tensor.__eq__, torch.Tensor.__float__,
    torch.Tensor.__floordiv__, torch.Tensor.__ge__, torch.Tensor.__getitem__, torch.Tensor.__gt__,
    torch.Tensor.__iadd__, torch.Tensor.__iand__, torch.Tensor.__idiv__, torch.Tensor.__ifloordiv__,
    torch.Tensor.__imod__, torch.Tensor.__imul__, torch.Tensor.__index__, torch.Tensor.__int__,
    torch.Tensor.__invert__, torch.Tensor.__ior__, torch.Tensor.__ipow__, torch.Tensor.__isub__,
    torch.Tensor.__iter__, torch.Tensor.__itruediv__, torch.Tensor.__ixor__, torch.Tensor.__le__,
    torch.Tensor.__len__, torch.Tensor.__long__, torch.Tensor.__lshift__, torch.Tensor.__lt__,
    torch.Tensor.__matmul__, torch.Tensor.__mod__, torch.Tensor.__mul__, torch.Tensor.__ne__, torch.Tensor.__neg__,
    torch.Tensor.__nonzero__, torch.Tensor.__or__, torch.Tensor.__pos__, torch.Tensor.__pow__, torch.Tensor.__radd__,
    torch.Tensor.__rdiv__, torch.Tensor.__reduce_ex__, torch.Tensor.__reversed__, torch.Tensor.__rfloordiv__,
    torch.Tensor.__rmatmul__, torch.Tensor.__rmod__, torch.Tensor.__rmul__, torch.Tensor.__rpow__,
    torch.Tensor.__rshift__, torch.Tensor.__rsub__, torch.Tensor.__rtruediv__, torch.Tensor.__setitem__,
    torch.Tensor.__setstate__, torch.Tensor.__sub__, torch.Tensor.__torch_function__, torch.Tensor.__truediv__,
    torch.Tensor.__xor__, torch.Tensor._base, torch.Tensor._version, torch.Tensor.abs, torch.Tensor.abs_,
    torch.Tensor.absolute, torch.Tensor.absolute_, torch.Tensor.acos, torch.Tensor.acos_, torch.Tensor.acosh,
    torch.Tensor.acosh_, torch.Tensor.add, torch.Tensor.add_, torch.Tensor.addbmm, torch.Tensor.addbmm_,
    torch.Tensor.addcdiv, torch.Tensor.addcdiv_, torch.Tensor.addcmul, torch.Tensor.addcmul_, torch.Tensor.addmm,
    torch.Tensor.addmm_, torch.Tensor.addmv, torch.Tensor.addmv_, torch.Tensor.addr, torch.Tensor.addr_,
    torch.Tensor.adjoint, torch.Tensor.all, torch.Tensor.allclose, torch.Tensor.amax, torch.Tensor.amin,
    torch.Tensor.aminmax, torch.Tensor.angle, torch.Tensor.any, torch.Tensor.apply_, torch.Tensor.arccos,
    torch.Tensor.arccos_, torch.Tensor.arccosh, torch.Tensor.arccosh_, torch.Tensor.arcsin, torch.Tensor.arcsin_,
    torch.Tensor.arcsinh, torch.Tensor.arcsinh_, torch.Tensor.arctan, torch.Tensor.arctan2, torch.Tensor.arctan2_,
    torch.Tensor.arctan_, torch.Tensor.arctanh, torch.Tensor.arctanh_, torch.Tensor.argmax, torch.Tensor.argmin,
    torch.Tensor.argsort, torch.Tensor.argwhere, torch.Tensor.as_strided, torch.Tensor.as_strided_, torch.Tensor.asin,
    torch.Tensor.asin_, torch.Tensor.asinh, torch.Tensor.asinh_, torch.Tensor.atan, torch.Tensor.atan2,
    torch.Tensor.atan2_, torch.Tensor.atan_, torch.Tensor.atanh, torch.Tensor.atanh_, torch.Tensor.backward,
    torch.Tensor.baddbmm, torch.Tensor.baddbmm_, torch.Tensor.bernoulli, torch.Tensor.bernoulli_,
    torch.Tensor.bfloat16, torch.Tensor.bincount, torch.Tensor.bitwise_and, torch.Tensor.bitwise_and_,
    torch.Tensor.bitwise_left_shift, torch.Tensor.bitwise_left_shift_, torch.Tensor.bitwise_not,
    torch.Tensor.bitwise_not_, torch.Tensor.bitwise_or, torch.Tensor.bitwise_or_, torch.Tensor.bitwise_right_shift,
    torch.Tensor.bitwise_right_shift_, torch.Tensor.bitwise_xor, torch.Tensor.bitwise_xor_, torch.Tensor.bmm,
    torch.Tensor.bool, torch.Tensor.broadcast_to, torch.Tensor.btrifact, torch.Tensor.btrifact_with_info,
    torch.Tensor.btrisolve, torch.Tensor.byte, torch.Tensor.cauchy_, torch.Tensor.cdouble, torch.Tensor.ceil,
    torch.Tensor.ceil_, torch.Tensor.cfloat, torch.Tensor.char, torch.Tensor.cholesky, torch.Tensor.cholesky_inverse,
    torch.Tensor.cholesky_solve, torch.Tensor.chunk, torch.Tensor.clamp, torch.Tensor.clamp_, torch.Tensor.clamp_max,
    torch.Tensor.clamp_max_, torch.Tensor.clamp_min, torch.Tensor.clamp_min_, torch.Tensor.clip, torch.Tensor.clip_,
    torch.Tensor.clone, torch.Tensor.coalesce, torch.Tensor.col_indices, torch.Tensor.conj,
    torch.Tensor.conj_physical, torch.Tensor.conj_physical_, torch.Tensor.contiguous, torch.Tensor.copy_,
    torch.Tensor.copysign, torch.Tensor.copysign_, torch.Tensor.corrcoef, torch.Tensor.cos, torch.Tensor.cos_,
    torch.Tensor.cosh, torch.Tensor.cosh_, torch.Tensor.count_nonzero, torch.Tensor.cov, torch.Tensor.cpu,
    torch.Tensor.cross, torch.Tensor.crow_indices, torch.Tensor.cuda, torch.Tensor.cummax, torch.Tensor.cummin,
    torch.Tensor.cumprod, torch.Tensor.cumsum, torch.Tensor.data, torch.Tensor.data_ptr, torch.Tensor.deg2rad,
    torch.Tensor.deg2rad_, torch.Tensor.dense_dim, torch.Tensor.det, torch.Tensor.detach, torch.Tensor.detach_,
    torch.Tensor.device, torch.Tensor.diag, torch.Tensor.diag_embed, torch.Tensor.diagonal,
    torch.Tensor.diagonal_scatter, torch.Tensor.diff, torch.Tensor.digamma, torch.Tensor.digamma_, torch.Tensor.dim,
    torch.Tensor.dist, torch.Tensor.div, torch.Tensor.div_, torch.Tensor.divide, torch.Tensor.divide_,
    torch.Tensor.dot, torch.Tensor.double, torch.Tensor.dsplit, torch.Tensor.dtype, torch.Tensor.eig,
    torch.Tensor.element_size, torch.Tensor.eq, torch.Tensor.eq_, torch.Tensor.equal, torch.Tensor.erf,
    torch.Tensor.erf_, torch.Tensor.erfc, torch.Tensor.erfc_, torch.Tensor.erfinv, torch.Tensor.erfinv_,
    torch.Tensor.exp, torch.Tensor.exp2, torch.Tensor.exp2_, torch.Tensor.exp_, torch.Tensor.expand,
    torch.Tensor.expand_as, torch.Tensor.expm1, torch.Tensor.expm1_, torch.Tensor.exponential_, torch.Tensor.fft,
    torch.Tensor.fill_, torch.Tensor.fill_diagonal_, torch.Tensor.fix, torch.Tensor.fix_, torch.Tensor.flatten,
    torch.Tensor.flip, torch.Tensor.fliplr, torch.Tensor.flipud, torch.Tensor.float, torch.Tensor.float_power,
    torch.Tensor.float_power_, torch.Tensor.floor, torch.Tensor.floor_, torch.Tensor.floor_divide,
    torch.Tensor.floor_divide_, torch.Tensor.fmax, torch.Tensor.fmin, torch.Tensor.fmod, torch.Tensor.fmod_,
    torch.Tensor.frac, torch.Tensor.frac_, torch.Tensor.frexp, torch.Tensor.gather, torch.Tensor.gcd,
    torch.Tensor.gcd_, torch.Tensor.ge, torch.Tensor.ge_, torch.Tensor.gels, torch.Tensor.geometric_,
    torch.Tensor.geqrf, torch.Tensor.ger, torch.Tensor.gesv, torch.Tensor.get_device, torch.Tensor.grad,
    torch.Tensor.grad_fn, torch.Tensor.greater, torch.Tensor.greater_, torch.Tensor.greater_equal,
    torch.Tensor.greater_equal_, torch.Tensor.gt, torch.Tensor.gt_, torch.Tensor.half, torch.Tensor.hardshrink,
    torch.Tensor.heaviside, torch.Tensor.heaviside_, torch.Tensor.histc, torch.Tensor.histogram, torch.Tensor.hsplit,
    torch.Tensor.hypot, torch.Tensor.hypot_, torch.Tensor.i0, torch.Tensor.i0_, torch.Tensor.ifft,
    torch.Tensor.igamma, torch.Tensor.igamma_, torch.Tensor.igammac, torch.Tensor.igammac_, torch.Tensor.imag,
    torch.Tensor.index, torch.Tensor.index_add, torch.Tensor.index_add_, torch.Tensor.index_copy,
    torch.Tensor.index_copy_, torch.Tensor.index_fill, torch.Tensor.index_fill_, torch.Tensor.index_put,
    torch.Tensor.index_put_, torch.Tensor.index_reduce, torch.Tensor.index_reduce_, torch.Tensor.index_select,
    torch.Tensor.indices, torch.Tensor.inner, torch.Tensor.int, torch.Tensor.inverse, torch.Tensor.irfft,
    torch.Tensor.is_coalesced, torch.Tensor.is_complex, torch.Tensor.is_conj, torch.Tensor.is_contiguous,
    torch.Tensor.is_cpu, torch.Tensor.is_cuda, torch.Tensor.is_distributed, torch.Tensor.is_floating_point,
    torch.Tensor.is_inference, torch.Tensor.is_leaf, torch.Tensor.is_meta, torch.Tensor.is_mps,
    torch.Tensor.is_nonzero, torch.Tensor.is_pinned, torch.Tensor.is_same_size, torch.Tensor.is_set_to,
    torch.Tensor.is_shared, torch.Tensor.is_signed, torch.Tensor.is_sparse, torch.Tensor.isclose,
    torch.Tensor.isfinite, torch.Tensor.isinf, torch.Tensor.isnan, torch.Tensor.isneginf, torch.Tensor.isposinf,
    torch.Tensor.isreal, torch.Tensor.istft, torch.Tensor.item, torch.Tensor.itemsize, torch.Tensor.kron,
    torch.Tensor.kthvalue, torch.Tensor.layout, torch.Tensor.lcm, torch.Tensor.lcm_, torch.Tensor.ldexp,
    torch.Tensor.ldexp_, torch.Tensor.le, torch.Tensor.le_, torch.Tensor.lerp, torch.Tensor.lerp_, torch.Tensor.less,
    torch.Tensor.less_, torch.Tensor.less_equal, torch.Tensor.less_equal_, torch.Tensor.lgamma, torch.Tensor.lgamma_,
    torch.Tensor.log, torch.Tensor.log10, torch.Tensor.log10_, torch.Tensor.log1p, torch.Tensor.log1p_,
    torch.Tensor.log2, torch.Tensor.log2_, torch.Tensor.log_, torch.Tensor.log_normal_, torch.Tensor.log_softmax,
    torch.Tensor.logaddexp, torch.Tensor.logaddexp2, torch.Tensor.logcumsumexp, torch.Tensor.logdet,
    torch.Tensor.logical_and, torch.Tensor.logical_and_, torch.Tensor.logical_not, torch.Tensor.logical_not_,
    torch.Tensor.logical_or, torch.Tensor.logical_or_, torch.Tensor.logical_xor, torch.Tensor.logical_xor_,
    torch.Tensor.logit, torch.Tensor.logit_, torch.Tensor.logsumexp, torch.Tensor.long, torch.Tensor.lt,
    torch.Tensor.lt_, torch.Tensor.lu, torch.Tensor.lu_solve, torch.Tensor.mH, torch.Tensor.mT, torch.Tensor.map2_,
    torch.Tensor.map_, torch.Tensor.masked_copy, torch.Tensor.masked_copy_, torch.Tensor.masked_fill,
    torch.Tensor.masked_fill_, torch.Tensor.masked_scatter, torch.Tensor.masked_scatter_, torch.Tensor.masked_select,
    torch.Tensor.matmul, torch.Tensor.matrix_exp, torch.Tensor.matrix_power, torch.Tensor.max, torch.Tensor.maximum,
    torch.Tensor.mean, torch.Tensor.median, torch.Tensor.min, torch.Tensor.minimum, torch.Tensor.mm,
    torch.Tensor.mode, torch.Tensor.moveaxis, torch.Tensor.movedim, torch.Tensor.msort, torch.Tensor.mul,
    torch.Tensor.mul_, torch.Tensor.multinomial, torch.Tensor.multiply, torch.Tensor.multiply_, torch.Tensor.mv,
    torch.Tensor.mvlgamma, torch.Tensor.mvlgamma_, torch.Tensor.name, torch.Tensor.nan_to_num,
    torch.Tensor.nan_to_num_, torch.Tensor.nanmean, torch.Tensor.nanmedian, torch.Tensor.nanquantile,
    torch.Tensor.nansum, torch.Tensor.narrow, torch.Tensor.nbytes, torch.Tensor.ndim, torch.Tensor.ndimension,
    torch.Tensor.ne, torch.Tensor.ne_, torch.Tensor.neg, torch.Tensor.neg_, torch.Tensor.negative,
    torch.Tensor.negative_, torch.Tensor.nelement, torch.Tensor.new, torch.Tensor.new_empty, torch.Tensor.new_full,
    torch.Tensor.new_ones, torch.Tensor.new_tensor, torch.Tensor.new_zeros, torch.Tensor.nextafter,
    torch.Tensor.nextafter_, torch.Tensor.nonzero, torch.Tensor.norm, torch.Tensor.normal_, torch.Tensor.not_equal,
    torch.Tensor.not_equal_, torch.Tensor.numel, torch.Tensor.numpy, torch.Tensor.orgqr, torch.Tensor.ormqr,
    torch.Tensor.outer, torch.Tensor.output_nr, torch.Tensor.permute, torch.Tensor.pin_memory, torch.Tensor.pinverse,
    torch.Tensor.polygamma, torch.Tensor.polygamma_, torch.Tensor.positive, torch.Tensor.potrf, torch.Tensor.potri,
    torch.Tensor.potrs, torch.Tensor.pow, torch.Tensor.pow_, torch.Tensor.prod, torch.Tensor.pstrf, torch.Tensor.put_,
    torch.Tensor.qr, torch.Tensor.quantile, torch.Tensor.rad2deg, torch.Tensor.rad2deg_, torch.Tensor.random_,
    torch.Tensor.ravel, torch.Tensor.real, torch.Tensor.reciprocal, torch.Tensor.reciprocal_,
    torch.Tensor.record_stream, torch.Tensor.register_hook, torch.Tensor.register_post_accumulate_grad_hook,
    torch.Tensor.reinforce, torch.Tensor.relu, torch.Tensor.relu_, torch.Tensor.remainder, torch.Tensor.remainder_,
    torch.Tensor.renorm, torch.Tensor.renorm_, torch.Tensor.repeat, torch.Tensor.repeat_interleave,
    torch.Tensor.requires_grad, torch.Tensor.requires_grad_, torch.Tensor.reshape, torch.Tensor.resize,
    torch.Tensor.resize_, torch.Tensor.resize_as, torch.Tensor.resize_as_, torch.Tensor.resolve_conj,
    torch.Tensor.resolve_neg, torch.Tensor.retain_grad, torch.Tensor.retains_grad, torch.Tensor.rfft,
    torch.Tensor.roll, torch.Tensor.rot90, torch.Tensor.round, torch.Tensor.round_, torch.Tensor.rsqrt,
    torch.Tensor.rsqrt_, torch.Tensor.scatter, torch.Tensor.scatter_, torch.Tensor.scatter_add,
    torch.Tensor.scatter_add_, torch.Tensor.scatter_reduce, torch.Tensor.scatter_reduce_, torch.Tensor.select,
    torch.Tensor.select_scatter, torch.Tensor.set_, torch.Tensor.sgn, torch.Tensor.sgn_, torch.Tensor.shape,
    torch.Tensor.share_memory_, torch.Tensor.short, torch.Tensor.sigmoid, torch.Tensor.sigmoid_, torch.Tensor.sign,
    torch.Tensor.sign_, torch.Tensor.signbit, torch.Tensor.sin, torch.Tensor.sin_, torch.Tensor.sinc,
    torch.Tensor.sinc_, torch.Tensor.sinh, torch.Tensor.sinh_, torch.Tensor.size, torch.Tensor.slice_scatter,
    torch.Tensor.slogdet, torch.Tensor.smm, torch.Tensor.softmax, torch.Tensor.sort, torch.Tensor.sparse_dim,
    torch.Tensor.split, torch.Tensor.split_with_sizes, torch.Tensor.sqrt, torch.Tensor.sqrt_, torch.Tensor.square,
    torch.Tensor.square_, torch.Tensor.squeeze, torch.Tensor.squeeze_, torch.Tensor.sspaddmm, torch.Tensor.std,
    torch.Tensor.stft, torch.Tensor.storage, torch.Tensor.storage_offset, torch.Tensor.storage_type,
    torch.Tensor.stride, torch.Tensor.sub, torch.Tensor.sub_, torch.Tensor.subtract, torch.Tensor.subtract_,
    torch.Tensor.sum, torch.Tensor.sum_to_size, torch.Tensor.svd, torch.Tensor.swapaxes, torch.Tensor.swapaxes_,
    torch.Tensor.swapdims, torch.Tensor.swapdims_, torch.Tensor.symeig, torch.Tensor.t, torch.Tensor.t_,
    torch.Tensor.take, torch.Tensor.take_along_dim, torch.Tensor.tan, torch.Tensor.tan_, torch.Tensor.tanh,
    torch.Tensor.tanh_, torch.Tensor.tensor_split, torch.Tensor.tile, torch.Tensor.to, torch.Tensor.to_dense,
    torch.Tensor.to_sparse, torch.Tensor.to_sparse_coo, torch.Tensor.to_sparse_csr, torch.Tensor.tolist,
    torch.Tensor.topk, torch.Tensor.trace, torch.Tensor.transpose, torch.Tensor.transpose_,
    torch.Tensor.triangular_solve, torch.Tensor.tril, torch.Tensor.tril_, torch.Tensor.triu, torch.Tensor.triu_,
    torch.Tensor.trtrs, torch.Tensor.true_divide, torch.Tensor.true_divide_, torch.Tensor.trunc, torch.Tensor.trunc_,
    torch.Tensor.type, torch.Tensor.type_as, torch.Tensor.unbind, torch.Tensor.unflatten, torch.Tensor.unfold,
    torch.Tensor.uniform_, torch.Tensor.unique, torch.Tensor.unique_consecutive, torch.Tensor.unsqueeze,
    torch.Tensor.unsqueeze_, torch.Tensor.untyped_storage, torch.Tensor.values, torch.Tensor.var, torch.Tensor.vdot,
    torch.Tensor.view, torch.Tensor.view_as, torch.Tensor.volatile, torch.Tensor.vsplit, torch.Tensor.where,
    torch.Tensor.xlogy, torch.Tensor.xlogy_, torch.Tensor.zero_,
)
torch_accelerator_members: tuple[Any, ...] = (
    torch.accelerator.current_accelerator, torch.accelerator.current_device_index, torch.accelerator.device_count,
    torch.accelerator.empty_cache, torch.accelerator.is_available, torch.accelerator.memory_allocated,
    torch.accelerator.set_device_index, torch.accelerator.synchronize,
)
torch_amp_members: tuple[Any, ...] = (
    torch.amp.GradScaler, torch.amp.autocast, torch.amp.custom_bwd, torch.amp.custom_fwd,
    torch.amp.is_autocast_available,
)
torch_amp_gradscaler_members: tuple[Any, ...] = (
    torch.amp.GradScaler.get_scale, torch.amp.GradScaler.is_enabled, torch.amp.GradScaler.load_state_dict,
    torch.amp.GradScaler.scale, torch.amp.GradScaler.state_dict, torch.amp.GradScaler.step,
    torch.amp.GradScaler.unscale_, torch.amp.GradScaler.update,
)
torch_ao_quantization_members: tuple[Any, ...] = (
    torch.ao.quantization.DeQuantStub, torch.ao.quantization.QConfig, torch.ao.quantization.QuantStub,
    torch.ao.quantization.convert, torch.ao.quantization.fuse_modules, torch.ao.quantization.get_default_qconfig,
    torch.ao.quantization.prepare, torch.ao.quantization.prepare_qat, torch.ao.quantization.quantize_dynamic,
)
torch_autograd_members: tuple[Any, ...] = (
    torch.autograd.Function, torch.autograd.InplaceFunction, torch.autograd.NestedIOFunction, torch.autograd.Variable,
    torch.autograd.backward, torch.autograd.detect_anomaly, torch.autograd.enable_grad,
    torch.autograd.get_analytical_jacobian, torch.autograd.get_numerical_jacobian, torch.autograd.grad,
    torch.autograd.gradcheck, torch.autograd.gradgradcheck, torch.autograd.inference_mode, torch.autograd.no_grad,
    torch.autograd.once_differentiable, torch.autograd.set_detect_anomaly, torch.autograd.set_grad_enabled,
    torch.autograd.set_multithreading_enabled, torch.autograd.traceable, torch.autograd.zero_gradients,
)
torch_autograd_function_members: tuple[Any, ...] = (
    torch.autograd.Function.apply, torch.autograd.Function.backward, torch.autograd.Function.forward,
    torch.autograd.Function.generate_vmap_rule, torch.autograd.Function.is_traceable, torch.autograd.Function.jvp,
    torch.autograd.Function.mark_dirty, torch.autograd.Function.mark_non_differentiable,
    torch.autograd.Function.mark_shared_storage, torch.autograd.Function.needs_input_grad,
    torch.autograd.Function.next_functions, torch.autograd.Function.save_for_backward,
    torch.autograd.Function.save_for_forward, torch.autograd.Function.saved_tensors,
    torch.autograd.Function.set_materialize_grads, torch.autograd.Function.setup_context, torch.autograd.Function.vjp,
    torch.autograd.Function.vmap,
)
torch_autograd_forward_ad_members: tuple[Any, ...] = (
    torch.autograd.forward_ad.UnpackedDualTensor, torch.autograd.forward_ad.dual_level,
    torch.autograd.forward_ad.enter_dual_level, torch.autograd.forward_ad.exit_dual_level,
    torch.autograd.forward_ad.make_dual, torch.autograd.forward_ad.unpack_dual,
)
torch_autograd_functional_members: tuple[Any, ...] = (
    torch.autograd.functional.hessian, torch.autograd.functional.hvp, torch.autograd.functional.jacobian,
    torch.autograd.functional.jvp, torch.autograd.functional.vhp, torch.autograd.functional.vjp,
)
torch_autograd_graph_members: tuple[Any, ...] = (
    torch.autograd.graph.GradientEdge, torch.autograd.graph.Node,
    torch.autograd.graph.allow_mutation_on_saved_tensors, torch.autograd.graph.disable_saved_tensors_hooks,
    torch.autograd.graph.get_gradient_edge, torch.autograd.graph.register_multi_grad_hook,
    torch.autograd.graph.save_on_cpu, torch.autograd.graph.saved_tensors_hooks,
)
torch_autograd_graph_node_members: tuple[Any, ...] = (
    torch.autograd.graph.Node.metadata, torch.autograd.graph.Node.name, torch.autograd.graph.Node.next_functions,
    torch.autograd.graph.Node.register_hook, torch.autograd.graph.Node.register_prehook,
)
torch_autograd_profiler_members: tuple[Any, ...] = (
    torch.autograd.profiler.EventList, torch.autograd.profiler.FormattedTimesMixin,
    torch.autograd.profiler.FunctionEvent, torch.autograd.profiler.FunctionEventAvg, torch.autograd.profiler.Interval,
    torch.autograd.profiler.Kernel, torch.autograd.profiler.StringTable, torch.autograd.profiler.emit_nvtx,
    torch.autograd.profiler.load_nvprof, torch.autograd.profiler.parse_nvprof_trace, torch.autograd.profiler.profile,
    torch.autograd.profiler.record_function,
)
torch_autograd_profiler_profile_members: tuple[Any, ...] = (
    torch.autograd.profiler.profile.export_chrome_trace, torch.autograd.profiler.profile.key_averages,
    torch.autograd.profiler.profile.table, torch.autograd.profiler.profile.total_average,
)
torch_autograd_stochastic_function_members: tuple[Any, ...] = (
    torch.autograd.stochastic_function.StochasticFunction,
)
torch_backends_cpu_members: tuple[Any, ...] = (
    torch.backends.cpu.get_cpu_capability,
)
torch_backends_cuda_members: tuple[Any, ...] = (
    torch.backends.cuda.cufft_plan_cache, torch.backends.cuda.is_built, torch.backends.cuda.matmul,
)
torch_backends_cudnn_members: tuple[Any, ...] = (
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic, torch.backends.cudnn.enabled,
    torch.backends.cudnn.flags, torch.backends.cudnn.is_acceptable, torch.backends.cudnn.is_available,
    torch.backends.cudnn.set_flags, torch.backends.cudnn.verbose, torch.backends.cudnn.version,
)
torch_backends_mkl_members: tuple[Any, ...] = (
    torch.backends.mkl.is_available,
)
torch_backends_mkldnn_members: tuple[Any, ...] = (
    torch.backends.mkldnn.flags, torch.backends.mkldnn.is_available, torch.backends.mkldnn.set_flags,
    torch.backends.mkldnn.verbose,
)
torch_backends_mps_members: tuple[Any, ...] = (
    torch.backends.mps.is_available, torch.backends.mps.is_built,
)
torch_backends_openmp_members: tuple[Any, ...] = (
    torch.backends.openmp.is_available,
)
torch_compiler_members: tuple[Any, ...] = (
    torch.compiler.allow_in_graph, torch.compiler.disable, torch.compiler.is_compiling, torch.compiler.list_backends,
    torch.compiler.reset, torch.compiler.set_stance,
)
torch_cpu_members: tuple[Any, ...] = (
    torch.cpu.current_device, torch.cpu.device_count, torch.cpu.is_available, torch.cpu.synchronize,
)
torch_cuda_members: tuple[Any, ...] = (
    torch.cuda.BFloat16Tensor, torch.cuda.BoolTensor, torch.cuda.ByteStorage, torch.cuda.ByteTensor,
    torch.cuda.CUDAGraph, torch.cuda.CharStorage, torch.cuda.CharTensor, torch.cuda.CudaError,
    torch.cuda.DoubleStorage, torch.cuda.DoubleTensor, torch.cuda.Event, torch.cuda.EventHandle,
    torch.cuda.FloatStorage, torch.cuda.FloatTensor, torch.cuda.HalfStorage, torch.cuda.HalfTensor,
    torch.cuda.IntStorage, torch.cuda.IntTensor, torch.cuda.LongStorage, torch.cuda.LongTensor,
    torch.cuda.OutOfMemoryError, torch.cuda.ShortStorage, torch.cuda.ShortTensor, torch.cuda.Stream,
    torch.cuda.can_device_access_peer, torch.cuda.check_error, torch.cuda.cudart, torch.cuda.current_blas_handle,
    torch.cuda.current_device, torch.cuda.current_stream, torch.cuda.default_stream, torch.cuda.device,
    torch.cuda.device_count, torch.cuda.device_of, torch.cuda.empty_cache, torch.cuda.get_device_capability,
    torch.cuda.get_device_name, torch.cuda.get_device_properties, torch.cuda.get_rng_state,
    torch.cuda.get_rng_state_all, torch.cuda.graph, torch.cuda.init, torch.cuda.initial_seed, torch.cuda.ipc_collect,
    torch.cuda.is_available, torch.cuda.is_bf16_supported, torch.cuda.is_initialized,
    torch.cuda.make_graphed_callables, torch.cuda.manual_seed, torch.cuda.manual_seed_all,
    torch.cuda.max_memory_allocated, torch.cuda.max_memory_cached, torch.cuda.max_memory_reserved,
    torch.cuda.mem_get_info, torch.cuda.memory_allocated, torch.cuda.memory_cached, torch.cuda.memory_reserved,
    torch.cuda.memory_snapshot, torch.cuda.memory_stats, torch.cuda.memory_summary,
    torch.cuda.reset_peak_memory_stats, torch.cuda.seed, torch.cuda.seed_all, torch.cuda.set_device,
    torch.cuda.set_per_process_memory_fraction, torch.cuda.set_rng_state, torch.cuda.set_rng_state_all,
    torch.cuda.set_stream, torch.cuda.stream, torch.cuda.synchronize, torch.cuda.utilization,
)
torch_cuda_cudagraph_members: tuple[Any, ...] = (
    torch.cuda.CUDAGraph.capture_begin, torch.cuda.CUDAGraph.capture_end, torch.cuda.CUDAGraph.pool,
    torch.cuda.CUDAGraph.replay, torch.cuda.CUDAGraph.reset,
)
torch_cuda_event_members: tuple[Any, ...] = (
    torch.cuda.Event.BLOCKING_SYNC, torch.cuda.Event.DEFAULT, torch.cuda.Event.DISABLE_TIMING,
    torch.cuda.Event.INTERPROCESS, torch.cuda.Event.elapsed_time, torch.cuda.Event.ipc_handle, torch.cuda.Event.query,
    torch.cuda.Event.record, torch.cuda.Event.synchronize, torch.cuda.Event.wait,
)
torch_cuda_stream_members: tuple[Any, ...] = (
    torch.cuda.Stream.priority, torch.cuda.Stream.priority_range, torch.cuda.Stream.query,
    torch.cuda.Stream.record_event, torch.cuda.Stream.synchronize, torch.cuda.Stream.wait_event,
    torch.cuda.Stream.wait_stream,
)
torch_cuda_amp_members: tuple[Any, ...] = (
    torch.cuda.amp.GradScaler, torch.cuda.amp.autocast, torch.cuda.amp.custom_bwd, torch.cuda.amp.custom_fwd,
)
torch_cuda_nccl_members: tuple[Any, ...] = (
    torch.cuda.nccl.NcclComm, torch.cuda.nccl.NcclCommList, torch.cuda.nccl.NcclError, torch.cuda.nccl.communicator,
    torch.cuda.nccl.cudaStream, torch.cuda.nccl.is_available,
)
torch_cuda_nvtx_members: tuple[Any, ...] = (
    torch.cuda.nvtx.mark, torch.cuda.nvtx.range, torch.cuda.nvtx.range_pop, torch.cuda.nvtx.range_push,
    torch.cuda.nvtx.windows_nvToolsExt_lib, torch.cuda.nvtx.windows_nvToolsExt_path,
)
torch_cuda_profiler_members: tuple[Any, ...] = (
    torch.cuda.profiler.cudaOutputMode, torch.cuda.profiler.init, torch.cuda.profiler.profile,
    torch.cuda.profiler.start, torch.cuda.profiler.stop,
)
torch_cuda_sparse_members: tuple[Any, ...] = (
    torch.cuda.sparse.ByteTensor, torch.cuda.sparse.CharTensor, torch.cuda.sparse.DoubleTensor,
    torch.cuda.sparse.FloatTensor, torch.cuda.sparse.HalfTensor, torch.cuda.sparse.IntTensor,
    torch.cuda.sparse.LongTensor, torch.cuda.sparse.ShortTensor,
)
torch_device_members: tuple[Any, ...] = (
    torch.device.index, torch.device.type,
)
torch_distributed_members: tuple[Any, ...] = (
    torch.distributed.Backend, torch.distributed.DeviceMesh, torch.distributed.DistBackendError,
    torch.distributed.DistError, torch.distributed.DistNetworkError, torch.distributed.DistStoreError,
    torch.distributed.FileStore, torch.distributed.GroupMember, torch.distributed.HashStore, torch.distributed.P2POp,
    torch.distributed.PrefixStore, torch.distributed.ProcessGroup, torch.distributed.ReduceOp,
    torch.distributed.Store, torch.distributed.TCPStore, torch.distributed.Work, torch.distributed.all_gather,
    torch.distributed.all_gather_into_tensor, torch.distributed.all_gather_multigpu,
    torch.distributed.all_gather_object, torch.distributed.all_reduce, torch.distributed.all_reduce_multigpu,
    torch.distributed.all_to_all, torch.distributed.all_to_all_single, torch.distributed.barrier,
    torch.distributed.batch_isend_irecv, torch.distributed.broadcast, torch.distributed.broadcast_multigpu,
    torch.distributed.broadcast_object_list, torch.distributed.destroy_process_group, torch.distributed.extend_scope,
    torch.distributed.gather, torch.distributed.gather_object, torch.distributed.get_backend,
    torch.distributed.get_global_rank, torch.distributed.get_group_rank, torch.distributed.get_node_local_rank,
    torch.distributed.get_process_group_ranks, torch.distributed.get_rank, torch.distributed.get_world_size,
    torch.distributed.group, torch.distributed.init_device_mesh, torch.distributed.init_master_worker,
    torch.distributed.init_process_group, torch.distributed.irecv, torch.distributed.is_available,
    torch.distributed.is_gloo_available, torch.distributed.is_initialized, torch.distributed.is_mpi_available,
    torch.distributed.is_nccl_available, torch.distributed.is_torchelastic_launched, torch.distributed.isend,
    torch.distributed.launch, torch.distributed.monitored_barrier, torch.distributed.new_group,
    torch.distributed.new_subgroups, torch.distributed.recv, torch.distributed.reduce,
    torch.distributed.reduce_multigpu, torch.distributed.reduce_op, torch.distributed.reduce_scatter,
    torch.distributed.reduce_scatter_tensor, torch.distributed.scatter, torch.distributed.scatter_object_list,
    torch.distributed.send,
)
torch_distributed_devicemesh_members: tuple[Any, ...] = (
    torch.distributed.DeviceMesh.get_group, torch.distributed.DeviceMesh.get_local_rank,
    torch.distributed.DeviceMesh.get_rank, torch.distributed.DeviceMesh.mesh, torch.distributed.DeviceMesh.ndim,
    torch.distributed.DeviceMesh.shape, torch.distributed.DeviceMesh.size,
)
torch_distributed_processgroup_members: tuple[Any, ...] = (
    torch.distributed.ProcessGroup.name, torch.distributed.ProcessGroup.rank, torch.distributed.ProcessGroup.size,
)
torch_distributed_store_members: tuple[Any, ...] = (
    torch.distributed.Store.add, torch.distributed.Store.compare_set, torch.distributed.Store.delete_key,
    torch.distributed.Store.get, torch.distributed.Store.num_keys, torch.distributed.Store.set,
    torch.distributed.Store.set_timeout, torch.distributed.Store.wait,
)
torch_distributed_work_members: tuple[Any, ...] = (
    torch.distributed.Work.exception, torch.distributed.Work.get_future, torch.distributed.Work.is_completed,
    torch.distributed.Work.wait,
)
torch_distributed_algorithms_ddp_comm_hooks_default_hooks_members: tuple[Any, ...] = (
    torch.distributed.algorithms.ddp_comm_hooks.default_hooks.allreduce_hook,
    torch.distributed.algorithms.ddp_comm_hooks.default_hooks.bf16_compress_hook,
    torch.distributed.algorithms.ddp_comm_hooks.default_hooks.fp16_compress_hook,
)
torch_distributed_algorithms_join_members: tuple[Any, ...] = (
    torch.distributed.algorithms.join.Join,
)
torch_distributed_c10d_members: tuple[Any, ...] = (
    torch.distributed.c10d.AllreduceOptions, torch.distributed.c10d.BroadcastOptions,
    torch.distributed.c10d.FileStore, torch.distributed.c10d.ProcessGroup, torch.distributed.c10d.ProcessGroupGloo,
    torch.distributed.c10d.ProcessGroupNCCL, torch.distributed.c10d.ReduceOp, torch.distributed.c10d.Store,
    torch.distributed.c10d.TCPStore, torch.distributed.c10d.Work, torch.distributed.c10d.is_available,
    torch.distributed.c10d.register_rendezvous_handler, torch.distributed.c10d.rendezvous,
)
torch_distributed_c10d_allreduceoptions_members: tuple[Any, ...] = (
    torch.distributed.c10d.AllreduceOptions.reduceOp,
)
torch_distributed_c10d_broadcastoptions_members: tuple[Any, ...] = (
    torch.distributed.c10d.BroadcastOptions.rootRank, torch.distributed.c10d.BroadcastOptions.rootTensor,
)
torch_distributed_c10d_processgroup_members: tuple[Any, ...] = (
    torch.distributed.c10d.ProcessGroup.allreduce, torch.distributed.c10d.ProcessGroup.broadcast,
    torch.distributed.c10d.ProcessGroup.rank, torch.distributed.c10d.ProcessGroup.size,
)
torch_distributed_c10d_reduceop_members: tuple[Any, ...] = (
    torch.distributed.c10d.ReduceOp.MAX, torch.distributed.c10d.ReduceOp.MIN, torch.distributed.c10d.ReduceOp.PRODUCT,
    torch.distributed.c10d.ReduceOp.SUM,
)
torch_distributed_c10d_store_members: tuple[Any, ...] = (
    torch.distributed.c10d.Store.add, torch.distributed.c10d.Store.get, torch.distributed.c10d.Store.set,
    torch.distributed.c10d.Store.wait,
)
torch_distributed_c10d_work_members: tuple[Any, ...] = (
    torch.distributed.c10d.Work.exception, torch.distributed.c10d.Work.isCompleted,
    torch.distributed.c10d.Work.isSuccess, torch.distributed.c10d.Work.synchronize, torch.distributed.c10d.Work.wait,
)
torch_distributed_c10d_rendezvous_members: tuple[Any, ...] = (
    torch.distributed.c10d.rendezvous.register_rendezvous_handler, torch.distributed.c10d.rendezvous.rendezvous,
)
torch_distributed_checkpoint_members: tuple[Any, ...] = (
    torch.distributed.checkpoint.async_save, torch.distributed.checkpoint.load, torch.distributed.checkpoint.save,
)
torch_distributed_checkpoint_state_dict_members: tuple[Any, ...] = (
    torch.distributed.checkpoint.state_dict.StateDictOptions,
    torch.distributed.checkpoint.state_dict.get_model_state_dict,
    torch.distributed.checkpoint.state_dict.get_optimizer_state_dict,
    torch.distributed.checkpoint.state_dict.get_state_dict,
    torch.distributed.checkpoint.state_dict.set_model_state_dict,
    torch.distributed.checkpoint.state_dict.set_optimizer_state_dict,
    torch.distributed.checkpoint.state_dict.set_state_dict,
)
torch_distributed_collectives_members: tuple[Any, ...] = (
    torch.distributed.collectives.all_gather, torch.distributed.collectives.all_reduce,
    torch.distributed.collectives.barrier, torch.distributed.collectives.broadcast,
    torch.distributed.collectives.gather_recv, torch.distributed.collectives.gather_send,
    torch.distributed.collectives.get_num_processes, torch.distributed.collectives.get_rank,
    torch.distributed.collectives.group, torch.distributed.collectives.irecv, torch.distributed.collectives.isend,
    torch.distributed.collectives.new_group, torch.distributed.collectives.recv, torch.distributed.collectives.reduce,
    torch.distributed.collectives.reduce_op, torch.distributed.collectives.scatter_recv,
    torch.distributed.collectives.scatter_send, torch.distributed.collectives.send,
)
torch_distributed_elastic_multiprocessing_errors_members: tuple[Any, ...] = (
    torch.distributed.elastic.multiprocessing.errors.record,
)
torch_distributed_fsdp_members: tuple[Any, ...] = (
    torch.distributed.fsdp.CPUOffload, torch.distributed.fsdp.CPUOffloadPolicy, torch.distributed.fsdp.FSDPModule,
    torch.distributed.fsdp.FullyShardedDataParallel, torch.distributed.fsdp.MixedPrecision,
    torch.distributed.fsdp.MixedPrecisionPolicy, torch.distributed.fsdp.ShardingStrategy,
    torch.distributed.fsdp.fully_shard,
)
torch_distributed_group_members: tuple[Any, ...] = (
    torch.distributed.group.WORLD,
)
torch_distributed_launch_members: tuple[Any, ...] = (
    torch.distributed.launch.main, torch.distributed.launch.parse_args,
)
torch_distributed_optim_members: tuple[Any, ...] = (
    torch.distributed.optim.ZeroRedundancyOptimizer,
)
torch_distributed_reduce_op_members: tuple[Any, ...] = (
    torch.distributed.reduce_op.MAX, torch.distributed.reduce_op.MIN, torch.distributed.reduce_op.PRODUCT,
    torch.distributed.reduce_op.SUM,
)
torch_distributed_run_members: tuple[Any, ...] = (
    torch.distributed.run.main,
)
torch_distributed_tensor_members: tuple[Any, ...] = (
    torch.distributed.tensor.DTensor, torch.distributed.tensor.Partial, torch.distributed.tensor.Replicate,
    torch.distributed.tensor.Shard, torch.distributed.tensor.distribute_module,
    torch.distributed.tensor.distribute_tensor,
)
torch_distributed_tensor_parallel_members: tuple[Any, ...] = (
    torch.distributed.tensor.parallel.ColwiseParallel, torch.distributed.tensor.parallel.RowwiseParallel,
    torch.distributed.tensor.parallel.SequenceParallel, torch.distributed.tensor.parallel.loss_parallel,
    torch.distributed.tensor.parallel.parallelize_module,
)
torch_distributions_members: tuple[Any, ...] = (
    torch.distributions.AbsTransform, torch.distributions.AffineTransform, torch.distributions.Bernoulli,
    torch.distributions.Beta, torch.distributions.Binomial, torch.distributions.CatTransform,
    torch.distributions.Categorical, torch.distributions.Cauchy, torch.distributions.Chi2,
    torch.distributions.ComposeTransform, torch.distributions.ContinuousBernoulli,
    torch.distributions.CorrCholeskyTransform, torch.distributions.CumulativeDistributionTransform,
    torch.distributions.Dirichlet, torch.distributions.Distribution, torch.distributions.ExpRelaxedCategorical,
    torch.distributions.ExpTransform, torch.distributions.Exponential, torch.distributions.ExponentialFamily,
    torch.distributions.FisherSnedecor, torch.distributions.Gamma, torch.distributions.Geometric,
    torch.distributions.Gumbel, torch.distributions.HalfCauchy, torch.distributions.HalfNormal,
    torch.distributions.Independent, torch.distributions.IndependentTransform, torch.distributions.InverseGamma,
    torch.distributions.Kumaraswamy, torch.distributions.LKJCholesky, torch.distributions.Laplace,
    torch.distributions.LogNormal, torch.distributions.LogisticNormal, torch.distributions.LogitRelaxedBernoulli,
    torch.distributions.LowRankMultivariateNormal, torch.distributions.LowerCholeskyTransform,
    torch.distributions.MixtureSameFamily, torch.distributions.Multinomial, torch.distributions.MultivariateNormal,
    torch.distributions.NegativeBinomial, torch.distributions.Normal, torch.distributions.OneHotCategorical,
    torch.distributions.Pareto, torch.distributions.Poisson, torch.distributions.PositiveDefiniteTransform,
    torch.distributions.PowerTransform, torch.distributions.RelaxedBernoulli,
    torch.distributions.RelaxedOneHotCategorical, torch.distributions.ReshapeTransform,
    torch.distributions.SigmoidTransform, torch.distributions.SoftmaxTransform, torch.distributions.SoftplusTransform,
    torch.distributions.StackTransform, torch.distributions.StickBreakingTransform, torch.distributions.StudentT,
    torch.distributions.TanhTransform, torch.distributions.Transform, torch.distributions.TransformedDistribution,
    torch.distributions.Uniform, torch.distributions.VonMises, torch.distributions.Weibull,
    torch.distributions.Wishart, torch.distributions.biject_to, torch.distributions.constraint_registry,
    torch.distributions.constraints, torch.distributions.identity_transform, torch.distributions.kl_divergence,
    torch.distributions.register_kl, torch.distributions.transform_to, torch.distributions.transforms,
)
torch_distributions_distribution_members: tuple[Any, ...] = (
    torch.distributions.Distribution.arg_constraints, torch.distributions.Distribution.batch_shape,
    torch.distributions.Distribution.cdf, torch.distributions.Distribution.entropy,
    torch.distributions.Distribution.enumerate_support, torch.distributions.Distribution.event_shape,
    torch.distributions.Distribution.has_enumerate_support, torch.distributions.Distribution.has_rsample,
    torch.distributions.Distribution.icdf, torch.distributions.Distribution.log_prob,
    torch.distributions.Distribution.mean, torch.distributions.Distribution.perplexity,
    torch.distributions.Distribution.rsample, torch.distributions.Distribution.sample,
    torch.distributions.Distribution.sample_n, torch.distributions.Distribution.set_default_validate_args,
    torch.distributions.Distribution.stddev, torch.distributions.Distribution.support,
    torch.distributions.Distribution.variance,
)
torch_distributions_transform_members: tuple[Any, ...] = (
    torch.distributions.Transform.bijective, torch.distributions.Transform.event_dim,
    torch.distributions.Transform.inv, torch.distributions.Transform.log_abs_det_jacobian,
    torch.distributions.Transform.sign,
)
torch_distributions_constraint_registry_members: tuple[Any, ...] = (
    torch.distributions.constraint_registry.ConstraintRegistry,
)
torch_distributions_constraints_members: tuple[Any, ...] = (
    torch.distributions.constraints.Constraint, torch.distributions.constraints.boolean,
    torch.distributions.constraints.cat, torch.distributions.constraints.corr_cholesky,
    torch.distributions.constraints.dependent, torch.distributions.constraints.dependent_property,
    torch.distributions.constraints.greater_than, torch.distributions.constraints.independent,
    torch.distributions.constraints.integer_interval, torch.distributions.constraints.interval,
    torch.distributions.constraints.is_dependent, torch.distributions.constraints.less_than,
    torch.distributions.constraints.lower_cholesky, torch.distributions.constraints.lower_triangular,
    torch.distributions.constraints.multinomial, torch.distributions.constraints.nonnegative,
    torch.distributions.constraints.nonnegative_integer, torch.distributions.constraints.one_hot,
    torch.distributions.constraints.positive, torch.distributions.constraints.positive_definite,
    torch.distributions.constraints.positive_integer, torch.distributions.constraints.positive_semidefinite,
    torch.distributions.constraints.real, torch.distributions.constraints.real_vector,
    torch.distributions.constraints.simplex, torch.distributions.constraints.square,
    torch.distributions.constraints.stack, torch.distributions.constraints.symmetric,
    torch.distributions.constraints.unit_interval,
)
torch_distributions_utils_members: tuple[Any, ...] = (
    torch.distributions.utils.batch_tril, torch.distributions.utils.broadcast_all,
    torch.distributions.utils.clamp_probs, torch.distributions.utils.logits_to_probs,
    torch.distributions.utils.probs_to_logits,
)
torch_dtype_members: tuple[Any, ...] = (
    torch.dtype.is_complex, torch.dtype.is_floating_point, torch.dtype.is_signed, torch.dtype.itemsize,
    torch.dtype.to_complex, torch.dtype.to_real,
)
torch_export_members: tuple[Any, ...] = (
    torch.export.Dim, torch.export.ExportedProgram, torch.export.export, torch.export.load, torch.export.save,
)
torch_export_exportedprogram_members: tuple[Any, ...] = (
    torch.export.ExportedProgram.buffers, torch.export.ExportedProgram.graph,
    torch.export.ExportedProgram.graph_module, torch.export.ExportedProgram.graph_signature,
    torch.export.ExportedProgram.module, torch.export.ExportedProgram.parameters,
    torch.export.ExportedProgram.run_decompositions, torch.export.ExportedProgram.state_dict,
)
torch_fft_members: tuple[Any, ...] = (
    torch.fft.fft, torch.fft.fft2, torch.fft.fftfreq, torch.fft.fftn, torch.fft.fftshift,
    torch.fft.hfft, torch.fft.ifft, torch.fft.ifft2, torch.fft.ifftn, torch.fft.ifftshift, torch.fft.ihfft,
    torch.fft.irfft, torch.fft.irfft2, torch.fft.irfftn, torch.fft.rfft, torch.fft.rfft2, torch.fft.rfftfreq,
    torch.fft.rfftn,
)
torch_finfo_members: tuple[Any, ...] = (
    torch.finfo.bits, torch.finfo.dtype, torch.finfo.eps, torch.finfo.max, torch.finfo.min, torch.finfo.resolution,
    torch.finfo.smallest_normal, torch.finfo.tiny,
)
torch_func_members: tuple[Any, ...] = (
    torch.func.functional_call, torch.func.functionalize, torch.func.grad, torch.func.grad_and_value,
    torch.func.hessian, torch.func.jacfwd, torch.func.jacrev, torch.func.jvp, torch.func.linearize,
    torch.func.replace_all_batch_norm_modules_, torch.func.stack_module_state, torch.func.vjp, torch.func.vmap,
)
torch_fx_members: tuple[Any, ...] = (
    torch.fx.Graph, torch.fx.GraphModule, torch.fx.Interpreter, torch.fx.Node, torch.fx.Proxy, torch.fx.Tracer,
    torch.fx.Transformer, torch.fx.replace_pattern, torch.fx.symbolic_trace, torch.fx.wrap,
)
torch_fx_graph_members: tuple[Any, ...] = (
    torch.fx.Graph.call_function, torch.fx.Graph.call_method, torch.fx.Graph.call_module, torch.fx.Graph.create_node,
    torch.fx.Graph.eliminate_dead_code, torch.fx.Graph.erase_node, torch.fx.Graph.get_attr,
    torch.fx.Graph.inserting_after, torch.fx.Graph.inserting_before, torch.fx.Graph.lint, torch.fx.Graph.nodes,
    torch.fx.Graph.output, torch.fx.Graph.placeholder, torch.fx.Graph.print_tabular, torch.fx.Graph.python_code,
)
torch_fx_graphmodule_members: tuple[Any, ...] = (
    torch.fx.GraphModule.code, torch.fx.GraphModule.graph, torch.fx.GraphModule.print_readable,
    torch.fx.GraphModule.recompile,
)
torch_fx_interpreter_members: tuple[Any, ...] = (
    torch.fx.Interpreter.run, torch.fx.Interpreter.run_node,
)
torch_fx_node_members: tuple[Any, ...] = (
    torch.fx.Node.all_input_nodes, torch.fx.Node.args, torch.fx.Node.kwargs, torch.fx.Node.meta, torch.fx.Node.name,
    torch.fx.Node.op, torch.fx.Node.replace_all_uses_with, torch.fx.Node.target, torch.fx.Node.users,
)
torch_fx_tracer_members: tuple[Any, ...] = (
    torch.fx.Tracer.is_leaf_module, torch.fx.Tracer.trace,
)
torch_hub_members: tuple[Any, ...] = (
    torch.hub.download_url_to_file, torch.hub.get_dir, torch.hub.help, torch.hub.list, torch.hub.load,
    torch.hub.load_state_dict_from_url, torch.hub.set_dir,
)
torch_iinfo_members: tuple[Any, ...] = (
    torch.iinfo.bits, torch.iinfo.dtype, torch.iinfo.max, torch.iinfo.min,
)
torch_jit_members: tuple[Any, ...] = (
    torch.jit.CompilationUnit, torch.jit.ScriptFunction, torch.jit.ScriptModule, torch.jit.TracedModule,
    torch.jit.annotate, torch.jit.export, torch.jit.fork, torch.jit.freeze, torch.jit.get_trace_graph,
    torch.jit.get_tracing_state, torch.jit.ignore, torch.jit.is_scripting, torch.jit.is_tracing, torch.jit.load,
    torch.jit.optimize_for_inference, torch.jit.save, torch.jit.scope, torch.jit.script, torch.jit.script_method,
    torch.jit.trace, torch.jit.trace_module, torch.jit.unused, torch.jit.verify, torch.jit.wait,
)
torch_jit_compilationunit_members: tuple[Any, ...] = (
    torch.jit.CompilationUnit.define,
)
torch_jit_scriptfunction_members: tuple[Any, ...] = (
    torch.jit.ScriptFunction.code, torch.jit.ScriptFunction.graph, torch.jit.ScriptFunction.save,
)
torch_jit_scriptmodule_members: tuple[Any, ...] = (
    torch.jit.ScriptModule.code, torch.jit.ScriptModule.define, torch.jit.ScriptModule.forward,
    torch.jit.ScriptModule.graph, torch.jit.ScriptModule.save, torch.jit.ScriptModule.save_to_buffer,
)
torch_library_members: tuple[Any, ...] = (
    torch.library.Library, torch.library.custom_op, torch.library.define, torch.library.impl, torch.library.opcheck,
    torch.library.register_autograd, torch.library.register_fake, torch.library.register_kernel,
)
torch_library_library_members: tuple[Any, ...] = (
    torch.library.Library.define, torch.library.Library.impl,
)
torch_linalg_members: tuple[Any, ...] = (
    torch.linalg.LinAlgError, torch.linalg.cholesky, torch.linalg.cond, torch.linalg.cross, torch.linalg.det,
    torch.linalg.diagonal, torch.linalg.eig, torch.linalg.eigh, torch.linalg.eigvals, torch.linalg.eigvalsh,
    torch.linalg.householder_product, torch.linalg.inv, torch.linalg.lstsq, torch.linalg.lu, torch.linalg.lu_factor,
    torch.linalg.lu_solve, torch.linalg.matmul, torch.linalg.matrix_exp, torch.linalg.matrix_norm,
    torch.linalg.matrix_power, torch.linalg.matrix_rank, torch.linalg.multi_dot, torch.linalg.norm, torch.linalg.pinv,
    torch.linalg.qr, torch.linalg.slogdet, torch.linalg.solve, torch.linalg.solve_triangular, torch.linalg.svd,
    torch.linalg.svdvals, torch.linalg.tensorinv, torch.linalg.tensorsolve, torch.linalg.vander, torch.linalg.vecdot,
    torch.linalg.vector_norm,
)
torch_multiprocessing_members: tuple[Any, ...] = (
    torch.multiprocessing.Array, torch.multiprocessing.Barrier, torch.multiprocessing.Condition,
    torch.multiprocessing.Event, torch.multiprocessing.JoinableQueue, torch.multiprocessing.Lock,
    torch.multiprocessing.Manager, torch.multiprocessing.Pipe, torch.multiprocessing.Pool,
    torch.multiprocessing.Process, torch.multiprocessing.ProcessExitedException,
    torch.multiprocessing.ProcessRaisedException, torch.multiprocessing.Queue, torch.multiprocessing.RLock,
    torch.multiprocessing.Semaphore, torch.multiprocessing.SimpleQueue, torch.multiprocessing.Value,
    torch.multiprocessing.active_children, torch.multiprocessing.cpu_count, torch.multiprocessing.current_process,
    torch.multiprocessing.get_all_sharing_strategies, torch.multiprocessing.get_context,
    torch.multiprocessing.get_sharing_strategy, torch.multiprocessing.get_start_method,
    torch.multiprocessing.set_sharing_strategy, torch.multiprocessing.set_start_method, torch.multiprocessing.spawn,
    torch.multiprocessing.start_processes,
)
torch_multiprocessing_reductions_members: tuple[Any, ...] = (
    torch.multiprocessing.reductions.StorageRef, torch.multiprocessing.reductions.rebuild_event,
    torch.multiprocessing.reductions.rebuild_storage_cuda, torch.multiprocessing.reductions.rebuild_storage_empty,
    torch.multiprocessing.reductions.rebuild_storage_fd, torch.multiprocessing.reductions.rebuild_storage_filename,
    torch.multiprocessing.reductions.rebuild_tensor, torch.multiprocessing.reductions.reduce_event,
    torch.multiprocessing.reductions.reduce_storage, torch.multiprocessing.reductions.reduce_tensor,
)
torch_nn_members: tuple[Any, ...] = (
    torch.nn.AdaptiveAvgPool1d, torch.nn.AdaptiveAvgPool2d, torch.nn.AdaptiveAvgPool3d,
    torch.nn.AdaptiveLogSoftmaxWithLoss, torch.nn.AdaptiveMaxPool1d, torch.nn.AdaptiveMaxPool2d,
    torch.nn.AdaptiveMaxPool3d, torch.nn.AlphaDropout, torch.nn.AvgPool1d, torch.nn.AvgPool2d, torch.nn.AvgPool3d,
    torch.nn.BCELoss, torch.nn.BCEWithLogitsLoss, torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d,
    torch.nn.Bilinear, torch.nn.Buffer, torch.nn.CELU, torch.nn.CTCLoss, torch.nn.ChannelShuffle,
    torch.nn.CircularPad1d, torch.nn.CircularPad2d, torch.nn.CircularPad3d, torch.nn.ConstantPad1d,
    torch.nn.ConstantPad2d, torch.nn.ConstantPad3d, torch.nn.Container, torch.nn.Conv1d, torch.nn.Conv2d,
    torch.nn.Conv3d, torch.nn.ConvTranspose1d, torch.nn.ConvTranspose2d, torch.nn.ConvTranspose3d,
    torch.nn.CosineEmbeddingLoss, torch.nn.CosineSimilarity, torch.nn.CrossEntropyLoss, torch.nn.CrossMapLRN2d,
    torch.nn.DataParallel, torch.nn.Dropout, torch.nn.Dropout1d, torch.nn.Dropout2d, torch.nn.Dropout3d, torch.nn.ELU,
    torch.nn.Embedding, torch.nn.EmbeddingBag, torch.nn.Flatten, torch.nn.Fold, torch.nn.FractionalMaxPool2d,
    torch.nn.GELU, torch.nn.GLU, torch.nn.GRU, torch.nn.GRUCell, torch.nn.GaussianNLLLoss, torch.nn.GroupNorm,
    torch.nn.Hardshrink, torch.nn.Hardsigmoid, torch.nn.Hardswish, torch.nn.Hardtanh, torch.nn.HingeEmbeddingLoss,
    torch.nn.HuberLoss, torch.nn.Identity, torch.nn.InstanceNorm1d, torch.nn.InstanceNorm2d, torch.nn.InstanceNorm3d,
    torch.nn.KLDivLoss, torch.nn.L1Loss, torch.nn.LPPool1d, torch.nn.LPPool2d, torch.nn.LSTM, torch.nn.LSTMCell,
    torch.nn.LayerNorm, torch.nn.LazyBatchNorm1d, torch.nn.LazyBatchNorm2d, torch.nn.LazyConv1d, torch.nn.LazyConv2d,
    torch.nn.LazyLinear, torch.nn.LeakyReLU, torch.nn.Linear, torch.nn.LocalResponseNorm, torch.nn.LogSigmoid,
    torch.nn.LogSoftmax, torch.nn.MSELoss, torch.nn.MarginRankingLoss, torch.nn.MaxPool1d, torch.nn.MaxPool2d,
    torch.nn.MaxPool3d, torch.nn.MaxUnpool1d, torch.nn.MaxUnpool2d, torch.nn.MaxUnpool3d, torch.nn.Mish,
    torch.nn.Module, torch.nn.ModuleDict, torch.nn.ModuleList, torch.nn.MultiLabelMarginLoss,
    torch.nn.MultiLabelSoftMarginLoss, torch.nn.MultiMarginLoss, torch.nn.MultiheadAttention, torch.nn.NLLLoss,
    torch.nn.NLLLoss2d, torch.nn.PReLU, torch.nn.PairwiseDistance, torch.nn.Parameter, torch.nn.ParameterDict,
    torch.nn.ParameterList, torch.nn.PixelShuffle, torch.nn.PixelUnshuffle, torch.nn.PoissonNLLLoss, torch.nn.RMSNorm,
    torch.nn.RNN, torch.nn.RNNBase, torch.nn.RNNCell, torch.nn.RNNCellBase, torch.nn.RReLU, torch.nn.ReLU,
    torch.nn.ReLU6, torch.nn.ReflectionPad1d, torch.nn.ReflectionPad2d, torch.nn.ReflectionPad3d,
    torch.nn.ReplicationPad1d, torch.nn.ReplicationPad2d, torch.nn.ReplicationPad3d, torch.nn.SELU,
    torch.nn.Sequential, torch.nn.SiLU, torch.nn.Sigmoid, torch.nn.SmoothL1Loss, torch.nn.SoftMarginLoss,
    torch.nn.Softmax, torch.nn.Softmax2d, torch.nn.Softmin, torch.nn.Softplus, torch.nn.Softshrink, torch.nn.Softsign,
    torch.nn.SyncBatchNorm, torch.nn.Tanh, torch.nn.Tanhshrink, torch.nn.Threshold, torch.nn.Transformer,
    torch.nn.TransformerDecoder, torch.nn.TransformerDecoderLayer, torch.nn.TransformerEncoder,
    torch.nn.TransformerEncoderLayer, torch.nn.TripletMarginLoss, torch.nn.TripletMarginWithDistanceLoss,
    torch.nn.Unflatten, torch.nn.Unfold, torch.nn.UninitializedParameter, torch.nn.Upsample,
    torch.nn.UpsamplingBilinear2d, torch.nn.UpsamplingNearest2d, torch.nn.ZeroPad1d, torch.nn.ZeroPad2d,
    torch.nn.ZeroPad3d, torch.nn.functional, torch.nn.init,
)
torch_nn_adaptivelogsoftmaxwithloss_members: tuple[Any, ...] = (
    torch.nn.AdaptiveLogSoftmaxWithLoss.log_prob, torch.nn.AdaptiveLogSoftmaxWithLoss.predict,
)
torch_nn_embedding_members: tuple[Any, ...] = (
    torch.nn.Embedding.from_pretrained,
)
torch_nn_embeddingbag_members: tuple[Any, ...] = (
    torch.nn.EmbeddingBag.from_pretrained,
)
torch_nn_module_members: tuple[Any, ...] = (
    torch.nn.Module.add_buffer, torch.nn.Module.add_module, torch.nn.Module.add_parameter, torch.nn.Module.apply,
    torch.nn.Module.bfloat16, torch.nn.Module.buffers, torch.nn.Module.children, torch.nn.Module.compile,
    torch.nn.Module.cpu, torch.nn.Module.cuda, torch.nn.Module.double, torch.nn.Module.dump_patches,
    torch.nn.Module.eval, torch.nn.Module.extra_repr, torch.nn.Module.float, torch.nn.Module.forward,
    torch.nn.Module.get_buffer, torch.nn.Module.get_extra_state, torch.nn.Module.get_parameter,
    torch.nn.Module.get_submodule, torch.nn.Module.half, torch.nn.Module.load_state_dict, torch.nn.Module.modules,
    torch.nn.Module.named_buffers, torch.nn.Module.named_children, torch.nn.Module.named_modules,
    torch.nn.Module.named_parameters, torch.nn.Module.parameters, torch.nn.Module.register_backward_hook,
    torch.nn.Module.register_buffer, torch.nn.Module.register_forward_hook, torch.nn.Module.register_forward_pre_hook,
    torch.nn.Module.register_full_backward_hook, torch.nn.Module.register_full_backward_pre_hook,
    torch.nn.Module.register_load_state_dict_post_hook, torch.nn.Module.register_load_state_dict_pre_hook,
    torch.nn.Module.register_module, torch.nn.Module.register_parameter,
    torch.nn.Module.register_state_dict_post_hook, torch.nn.Module.register_state_dict_pre_hook,
    torch.nn.Module.requires_grad_, torch.nn.Module.set_extra_state, torch.nn.Module.set_submodule,
    torch.nn.Module.share_memory, torch.nn.Module.state_dict, torch.nn.Module.to, torch.nn.Module.to_empty,
    torch.nn.Module.train, torch.nn.Module.type, torch.nn.Module.zero_grad,
)
torch_nn_moduledict_members: tuple[Any, ...] = (
    torch.nn.ModuleDict.clear, torch.nn.ModuleDict.items, torch.nn.ModuleDict.keys, torch.nn.ModuleDict.pop,
    torch.nn.ModuleDict.update, torch.nn.ModuleDict.values,
)
torch_nn_modulelist_members: tuple[Any, ...] = (
    torch.nn.ModuleList.append, torch.nn.ModuleList.extend, torch.nn.ModuleList.insert, torch.nn.ModuleList.pop,
)
torch_nn_parameterdict_members: tuple[Any, ...] = (
    torch.nn.ParameterDict.clear, torch.nn.ParameterDict.copy, torch.nn.ParameterDict.fromkeys,
    torch.nn.ParameterDict.get, torch.nn.ParameterDict.items, torch.nn.ParameterDict.keys, torch.nn.ParameterDict.pop,
    torch.nn.ParameterDict.popitem, torch.nn.ParameterDict.setdefault, torch.nn.ParameterDict.update,
    torch.nn.ParameterDict.values,
)
torch_nn_parameterlist_members: tuple[Any, ...] = (
    torch.nn.ParameterList.append, torch.nn.ParameterList.extend,
)
torch_nn_sequential_members: tuple[Any, ...] = (
    torch.nn.Sequential.append, torch.nn.Sequential.extend, torch.nn.Sequential.insert, torch.nn.Sequential.pop,
)
torch_nn_transformer_members: tuple[Any, ...] = (
    torch.nn.Transformer.generate_square_subsequent_mask,
)
torch_nn_attention_members: tuple[Any, ...] = (
    torch.nn.attention.SDPBackend, torch.nn.attention.sdpa_kernel,
)
torch_nn_functional_members: tuple[Any, ...] = (
    torch.nn.functional.adaptive_avg_pool1d, torch.nn.functional.adaptive_avg_pool2d,
    torch.nn.functional.adaptive_avg_pool3d, torch.nn.functional.adaptive_max_pool1d,
    torch.nn.functional.adaptive_max_pool2d, torch.nn.functional.adaptive_max_pool3d, torch.nn.functional.affine_grid,
    torch.nn.functional.alpha_dropout, torch.nn.functional.avg_pool1d, torch.nn.functional.avg_pool2d,
    torch.nn.functional.avg_pool3d, torch.nn.functional.batch_norm, torch.nn.functional.bilinear,
    torch.nn.functional.binary_cross_entropy, torch.nn.functional.binary_cross_entropy_with_logits,
    torch.nn.functional.celu, torch.nn.functional.channel_shuffle, torch.nn.functional.conv1d,
    torch.nn.functional.conv2d, torch.nn.functional.conv3d, torch.nn.functional.conv_transpose1d,
    torch.nn.functional.conv_transpose2d, torch.nn.functional.conv_transpose3d,
    torch.nn.functional.cosine_embedding_loss, torch.nn.functional.cosine_similarity,
    torch.nn.functional.cross_entropy, torch.nn.functional.ctc_loss, torch.nn.functional.dropout,
    torch.nn.functional.dropout1d, torch.nn.functional.dropout2d, torch.nn.functional.dropout3d,
    torch.nn.functional.elu, torch.nn.functional.elu_, torch.nn.functional.embedding,
    torch.nn.functional.embedding_bag, torch.nn.functional.fold, torch.nn.functional.fractional_max_pool2d,
    torch.nn.functional.fractional_max_pool3d, torch.nn.functional.gaussian_nll_loss, torch.nn.functional.gelu,
    torch.nn.functional.glu, torch.nn.functional.grid_sample, torch.nn.functional.group_norm,
    torch.nn.functional.gumbel_softmax, torch.nn.functional.hardshrink, torch.nn.functional.hardsigmoid,
    torch.nn.functional.hardswish, torch.nn.functional.hardtanh, torch.nn.functional.hardtanh_,
    torch.nn.functional.hinge_embedding_loss, torch.nn.functional.huber_loss, torch.nn.functional.instance_norm,
    torch.nn.functional.interpolate, torch.nn.functional.kl_div, torch.nn.functional.l1_loss,
    torch.nn.functional.layer_norm, torch.nn.functional.leaky_relu, torch.nn.functional.leaky_relu_,
    torch.nn.functional.linear, torch.nn.functional.local_response_norm, torch.nn.functional.log_softmax,
    torch.nn.functional.logsigmoid, torch.nn.functional.lp_pool1d, torch.nn.functional.lp_pool2d,
    torch.nn.functional.lp_pool3d, torch.nn.functional.margin_ranking_loss, torch.nn.functional.max_pool1d,
    torch.nn.functional.max_pool2d, torch.nn.functional.max_pool3d, torch.nn.functional.max_unpool1d,
    torch.nn.functional.max_unpool2d, torch.nn.functional.max_unpool3d, torch.nn.functional.mish,
    torch.nn.functional.mse_loss, torch.nn.functional.multi_head_attention_forward,
    torch.nn.functional.multi_margin_loss, torch.nn.functional.multilabel_margin_loss,
    torch.nn.functional.multilabel_soft_margin_loss, torch.nn.functional.nll_loss, torch.nn.functional.normalize,
    torch.nn.functional.one_hot, torch.nn.functional.pad, torch.nn.functional.pairwise_distance,
    torch.nn.functional.pdist, torch.nn.functional.pixel_shuffle, torch.nn.functional.pixel_unshuffle,
    torch.nn.functional.poisson_nll_loss, torch.nn.functional.prelu, torch.nn.functional.relu,
    torch.nn.functional.relu6, torch.nn.functional.relu_, torch.nn.functional.rms_norm, torch.nn.functional.rrelu,
    torch.nn.functional.rrelu_, torch.nn.functional.scaled_dot_product_attention, torch.nn.functional.selu,
    torch.nn.functional.selu_, torch.nn.functional.sigmoid, torch.nn.functional.silu,
    torch.nn.functional.smooth_l1_loss, torch.nn.functional.soft_margin_loss, torch.nn.functional.softmax,
    torch.nn.functional.softmin, torch.nn.functional.softplus, torch.nn.functional.softshrink,
    torch.nn.functional.softsign, torch.nn.functional.tanh, torch.nn.functional.tanhshrink,
    torch.nn.functional.threshold, torch.nn.functional.threshold_, torch.nn.functional.triplet_margin_loss,
    torch.nn.functional.triplet_margin_with_distance_loss, torch.nn.functional.unfold, torch.nn.functional.upsample,
    torch.nn.functional.upsample_bilinear, torch.nn.functional.upsample_nearest,
)
torch_nn_grad_members: tuple[Any, ...] = (
    torch.nn.grad.conv1d_input, torch.nn.grad.conv1d_weight, torch.nn.grad.conv2d_input, torch.nn.grad.conv2d_weight,
    torch.nn.grad.conv3d_input, torch.nn.grad.conv3d_weight,
)
torch_nn_init_members: tuple[Any, ...] = (
    torch.nn.init.calculate_gain, torch.nn.init.constant_, torch.nn.init.dirac_, torch.nn.init.eye_,
    torch.nn.init.kaiming_normal_, torch.nn.init.kaiming_uniform_, torch.nn.init.normal_, torch.nn.init.ones_,
    torch.nn.init.orthogonal_, torch.nn.init.sparse_, torch.nn.init.trunc_normal_, torch.nn.init.uniform_,
    torch.nn.init.xavier_normal_, torch.nn.init.xavier_uniform_, torch.nn.init.zeros_,
)
torch_nn_modules_module_members: tuple[Any, ...] = (
    torch.nn.modules.module.register_module_forward_hook, torch.nn.modules.module.register_module_forward_pre_hook,
    torch.nn.modules.module.register_module_full_backward_hook,
)
torch_nn_parallel_members: tuple[Any, ...] = (
    torch.nn.parallel.DataParallel, torch.nn.parallel.DistributedDataParallel,
    torch.nn.parallel.DistributedDataParallelCPU, torch.nn.parallel.data_parallel, torch.nn.parallel.gather,
    torch.nn.parallel.parallel_apply, torch.nn.parallel.replicate, torch.nn.parallel.scatter,
    torch.nn.parallel.scatter_kwargs,
)
torch_nn_parallel_distributeddataparallel_members: tuple[Any, ...] = (
    torch.nn.parallel.DistributedDataParallel.forward, torch.nn.parallel.DistributedDataParallel.gather,
    torch.nn.parallel.DistributedDataParallel.join, torch.nn.parallel.DistributedDataParallel.no_sync,
    torch.nn.parallel.DistributedDataParallel.parallel_apply,
    torch.nn.parallel.DistributedDataParallel.register_comm_hook, torch.nn.parallel.DistributedDataParallel.scatter,
    torch.nn.parallel.DistributedDataParallel.train,
)
torch_nn_utils_members: tuple[Any, ...] = (
    torch.nn.utils.clip_grad_norm, torch.nn.utils.clip_grad_norm_, torch.nn.utils.clip_grad_value_,
    torch.nn.utils.clip_grads_with_norm_, torch.nn.utils.get_total_norm, torch.nn.utils.parameters_to_vector,
    torch.nn.utils.remove_spectral_norm, torch.nn.utils.remove_weight_norm, torch.nn.utils.rnn,
    torch.nn.utils.skip_init, torch.nn.utils.spectral_norm, torch.nn.utils.vector_to_parameters,
    torch.nn.utils.weight_norm,
)
torch_nn_utils_parametrizations_members: tuple[Any, ...] = (
    torch.nn.utils.parametrizations.orthogonal, torch.nn.utils.parametrizations.spectral_norm,
    torch.nn.utils.parametrizations.weight_norm,
)
torch_nn_utils_parametrize_members: tuple[Any, ...] = (
    torch.nn.utils.parametrize.ParametrizationList, torch.nn.utils.parametrize.cached,
    torch.nn.utils.parametrize.is_parametrized, torch.nn.utils.parametrize.register_parametrization,
    torch.nn.utils.parametrize.remove_parametrizations,
)
torch_nn_utils_prune_members: tuple[Any, ...] = (
    torch.nn.utils.prune.BasePruningMethod, torch.nn.utils.prune.custom_from_mask,
    torch.nn.utils.prune.global_unstructured, torch.nn.utils.prune.identity, torch.nn.utils.prune.is_pruned,
    torch.nn.utils.prune.l1_unstructured, torch.nn.utils.prune.ln_structured, torch.nn.utils.prune.random_structured,
    torch.nn.utils.prune.random_unstructured, torch.nn.utils.prune.remove,
)
torch_nn_utils_rnn_members: tuple[Any, ...] = (
    torch.nn.utils.rnn.PackedSequence, torch.nn.utils.rnn.pack_padded_sequence, torch.nn.utils.rnn.pack_sequence,
    torch.nn.utils.rnn.pad_packed_sequence, torch.nn.utils.rnn.pad_sequence, torch.nn.utils.rnn.unpack_sequence,
    torch.nn.utils.rnn.unpad_sequence,
)
torch_onnx_members: tuple[Any, ...] = (
    torch.onnx.ExportTypes, torch.onnx.ONNXProgram, torch.onnx.export, torch.onnx.export_to_pretty_string,
    torch.onnx.is_in_onnx_export, torch.onnx.set_training, torch.onnx.symbolic_override,
    torch.onnx.symbolic_override_first_arg_based, torch.onnx.symbolic_override_packed_sequence_based,
)
torch_onnx_onnxprogram_members: tuple[Any, ...] = (
    torch.onnx.ONNXProgram.model_proto, torch.onnx.ONNXProgram.optimize, torch.onnx.ONNXProgram.save,
)
torch_onnx_operators_members: tuple[Any, ...] = (
    torch.onnx.operators.reshape_from_tensor_shape, torch.onnx.operators.shape_as_tensor,
)
torch_optim_members: tuple[Any, ...] = (
    torch.optim.ASGD, torch.optim.Adadelta, torch.optim.Adafactor, torch.optim.Adagrad, torch.optim.Adam,
    torch.optim.AdamW, torch.optim.Adamax, torch.optim.LBFGS, torch.optim.Muon, torch.optim.NAdam,
    torch.optim.Optimizer, torch.optim.RAdam, torch.optim.RMSprop, torch.optim.Rprop, torch.optim.SGD,
    torch.optim.SparseAdam, torch.optim.sgd,
)
torch_optim_asgd_members: tuple[Any, ...] = (
    torch.optim.ASGD.step,
)
torch_optim_adadelta_members: tuple[Any, ...] = (
    torch.optim.Adadelta.step,
)
torch_optim_adagrad_members: tuple[Any, ...] = (
    torch.optim.Adagrad.share_memory, torch.optim.Adagrad.step,
)
torch_optim_adam_members: tuple[Any, ...] = (
    torch.optim.Adam.step,
)
torch_optim_adamax_members: tuple[Any, ...] = (
    torch.optim.Adamax.step,
)
torch_optim_lbfgs_members: tuple[Any, ...] = (
    torch.optim.LBFGS.step,
)
torch_optim_optimizer_members: tuple[Any, ...] = (
    torch.optim.Optimizer.add_param_group, torch.optim.Optimizer.load_state_dict,
    torch.optim.Optimizer.register_load_state_dict_post_hook, torch.optim.Optimizer.register_load_state_dict_pre_hook,
    torch.optim.Optimizer.register_state_dict_post_hook, torch.optim.Optimizer.register_state_dict_pre_hook,
    torch.optim.Optimizer.register_step_post_hook, torch.optim.Optimizer.register_step_pre_hook,
    torch.optim.Optimizer.state_dict, torch.optim.Optimizer.step, torch.optim.Optimizer.zero_grad,
)
torch_optim_rmsprop_members: tuple[Any, ...] = (
    torch.optim.RMSprop.step,
)
torch_optim_rprop_members: tuple[Any, ...] = (
    torch.optim.Rprop.step,
)
torch_optim_sgd_members: tuple[Any, ...] = (
    torch.optim.SGD.step,
)
torch_optim_sparseadam_members: tuple[Any, ...] = (
    torch.optim.SparseAdam.step,
)
torch_optim_lr_scheduler_members: tuple[Any, ...] = (
    torch.optim.lr_scheduler.ChainedScheduler, torch.optim.lr_scheduler.ConstantLR,
    torch.optim.lr_scheduler.CosineAnnealingLR, torch.optim.lr_scheduler.CosineAnnealingWarmRestarts,
    torch.optim.lr_scheduler.CyclicLR, torch.optim.lr_scheduler.ExponentialLR, torch.optim.lr_scheduler.LRScheduler,
    torch.optim.lr_scheduler.LambdaLR, torch.optim.lr_scheduler.LinearLR, torch.optim.lr_scheduler.MultiStepLR,
    torch.optim.lr_scheduler.MultiplicativeLR, torch.optim.lr_scheduler.OneCycleLR,
    torch.optim.lr_scheduler.PolynomialLR, torch.optim.lr_scheduler.ReduceLROnPlateau,
    torch.optim.lr_scheduler.SequentialLR, torch.optim.lr_scheduler.StepLR,
)
torch_optim_lr_scheduler_cosineannealinglr_members: tuple[Any, ...] = (
    torch.optim.lr_scheduler.CosineAnnealingLR.get_lr,
)
torch_optim_lr_scheduler_exponentiallr_members: tuple[Any, ...] = (
    torch.optim.lr_scheduler.ExponentialLR.get_lr,
)
torch_optim_lr_scheduler_lrscheduler_members: tuple[Any, ...] = (
    torch.optim.lr_scheduler.LRScheduler.get_last_lr, torch.optim.lr_scheduler.LRScheduler.get_lr,
    torch.optim.lr_scheduler.LRScheduler.load_state_dict, torch.optim.lr_scheduler.LRScheduler.state_dict,
    torch.optim.lr_scheduler.LRScheduler.step,
)
torch_optim_lr_scheduler_lambdalr_members: tuple[Any, ...] = (
    torch.optim.lr_scheduler.LambdaLR.get_lr,
)
torch_optim_lr_scheduler_multisteplr_members: tuple[Any, ...] = (
    torch.optim.lr_scheduler.MultiStepLR.get_lr,
)
torch_optim_lr_scheduler_reducelronplateau_members: tuple[Any, ...] = (
    torch.optim.lr_scheduler.ReduceLROnPlateau.get_last_lr, torch.optim.lr_scheduler.ReduceLROnPlateau.in_cooldown,
    torch.optim.lr_scheduler.ReduceLROnPlateau.load_state_dict, torch.optim.lr_scheduler.ReduceLROnPlateau.state_dict,
    torch.optim.lr_scheduler.ReduceLROnPlateau.step,
)
torch_optim_lr_scheduler_steplr_members: tuple[Any, ...] = (
    torch.optim.lr_scheduler.StepLR.get_lr,
)
torch_optim_swa_utils_members: tuple[Any, ...] = (
    torch.optim.swa_utils.AveragedModel, torch.optim.swa_utils.SWALR, torch.optim.swa_utils.get_ema_avg_fn,
    torch.optim.swa_utils.get_ema_multi_avg_fn, torch.optim.swa_utils.update_bn,
)
torch_optim_swa_utils_averagedmodel_members: tuple[Any, ...] = (
    torch.optim.swa_utils.AveragedModel.update_parameters,
)
torch_overrides_members: tuple[Any, ...] = (
    torch.overrides.get_overridable_functions, torch.overrides.handle_torch_function,
    torch.overrides.has_torch_function, torch.overrides.is_tensor_like,
)
torch_profiler_members: tuple[Any, ...] = (
    torch.profiler.ProfilerAction, torch.profiler.ProfilerActivity, torch.profiler.profile,
    torch.profiler.record_function, torch.profiler.schedule, torch.profiler.supported_activities,
    torch.profiler.tensorboard_trace_handler,
)
torch_profiler_profile_members: tuple[Any, ...] = (
    torch.profiler.profile.events, torch.profiler.profile.export_chrome_trace, torch.profiler.profile.export_stacks,
    torch.profiler.profile.key_averages, torch.profiler.profile.start, torch.profiler.profile.step,
    torch.profiler.profile.stop,
)
torch_random_members: tuple[Any, ...] = (
    torch.random.fork_rng,
)
torch_serialization_members: tuple[Any, ...] = (
    torch.serialization.SourceChangeWarning, torch.serialization.add_safe_globals,
    torch.serialization.clear_safe_globals, torch.serialization.default_restore_location,
    torch.serialization.get_default_mmap_options, torch.serialization.get_safe_globals,
    torch.serialization.get_unsafe_globals_in_checkpoint, torch.serialization.register_package,
    torch.serialization.safe_globals, torch.serialization.set_default_mmap_options, torch.serialization.skip_data,
)
torch_sparse_members: tuple[Any, ...] = (
    torch.sparse.ByteTensor, torch.sparse.CharTensor, torch.sparse.DoubleTensor, torch.sparse.FloatTensor,
    torch.sparse.HalfTensor, torch.sparse.IntTensor, torch.sparse.LongTensor, torch.sparse.ShortTensor,
    torch.sparse.addmm, torch.sparse.log_softmax, torch.sparse.mm, torch.sparse.softmax, torch.sparse.sum,
)
torch_sparse_floattensor_members: tuple[Any, ...] = (
    torch.sparse.FloatTensor._indices, torch.sparse.FloatTensor._nnz, torch.sparse.FloatTensor._values,
    torch.sparse.FloatTensor.add, torch.sparse.FloatTensor.add_, torch.sparse.FloatTensor.clone,
    torch.sparse.FloatTensor.coalesce, torch.sparse.FloatTensor.dim, torch.sparse.FloatTensor.div,
    torch.sparse.FloatTensor.div_, torch.sparse.FloatTensor.get_device, torch.sparse.FloatTensor.hspmm,
    torch.sparse.FloatTensor.is_coalesced, torch.sparse.FloatTensor.mm, torch.sparse.FloatTensor.mul,
    torch.sparse.FloatTensor.mul_, torch.sparse.FloatTensor.resizeAs_, torch.sparse.FloatTensor.size,
    torch.sparse.FloatTensor.spadd, torch.sparse.FloatTensor.spmm, torch.sparse.FloatTensor.sspaddmm,
    torch.sparse.FloatTensor.sspmm, torch.sparse.FloatTensor.sub, torch.sparse.FloatTensor.sub_,
    torch.sparse.FloatTensor.t_, torch.sparse.FloatTensor.toDense, torch.sparse.FloatTensor.transpose,
    torch.sparse.FloatTensor.transpose_, torch.sparse.FloatTensor.zero_,
)
torch_special_members: tuple[Any, ...] = (
    torch.special.digamma, torch.special.entr, torch.special.erf, torch.special.erfc, torch.special.erfcx,
    torch.special.erfinv, torch.special.exp2, torch.special.expit, torch.special.expm1, torch.special.gammainc,
    torch.special.gammaincc, torch.special.gammaln, torch.special.i0, torch.special.i0e, torch.special.i1,
    torch.special.i1e, torch.special.log1p, torch.special.log_ndtr, torch.special.log_softmax, torch.special.logit,
    torch.special.logsumexp, torch.special.multigammaln, torch.special.ndtr, torch.special.ndtri,
    torch.special.polygamma, torch.special.psi, torch.special.round, torch.special.sinc, torch.special.softmax,
    torch.special.xlog1py, torch.special.xlogy, torch.special.zeta,
)
torch_testing_members: tuple[Any, ...] = (
    torch.testing.assert_allclose, torch.testing.assert_close, torch.testing.get_all_dtypes,
    torch.testing.make_non_contiguous, torch.testing.make_tensor,
)
torch_utils_members: tuple[Any, ...] = (
    torch.utils.bottleneck, torch.utils.checkpoint, torch.utils.cpp_extension, torch.utils.data, torch.utils.ffi,
    torch.utils.model_zoo, torch.utils.swap_tensors,
)
torch_utils_benchmark_members: tuple[Any, ...] = (
    torch.utils.benchmark.Compare, torch.utils.benchmark.Measurement, torch.utils.benchmark.Timer,
)
torch_utils_benchmark_timer_members: tuple[Any, ...] = (
    torch.utils.benchmark.Timer.adaptive_autorange, torch.utils.benchmark.Timer.autorange,
    torch.utils.benchmark.Timer.blocked_autorange, torch.utils.benchmark.Timer.collect_callgrind,
    torch.utils.benchmark.Timer.timeit,
)
torch_utils_checkpoint_members: tuple[Any, ...] = (
    torch.utils.checkpoint.CheckpointFunction, torch.utils.checkpoint.CheckpointPolicy,
    torch.utils.checkpoint.check_backward_validity, torch.utils.checkpoint.checkpoint,
    torch.utils.checkpoint.checkpoint_sequential, torch.utils.checkpoint.create_selective_checkpoint_contexts,
    torch.utils.checkpoint.detach_variable, torch.utils.checkpoint.set_checkpoint_debug_enabled,
    torch.utils.checkpoint.set_checkpoint_early_stop,
)
torch_utils_cpp_extension_members: tuple[Any, ...] = (
    torch.utils.cpp_extension.BuildExtension, torch.utils.cpp_extension.CUDAExtension,
    torch.utils.cpp_extension.CppExtension, torch.utils.cpp_extension.check_compiler_abi_compatibility,
    torch.utils.cpp_extension.include_paths, torch.utils.cpp_extension.library_paths, torch.utils.cpp_extension.load,
    torch.utils.cpp_extension.load_inline, torch.utils.cpp_extension.verify_ninja_availability,
)
torch_utils_data_members: tuple[Any, ...] = (
    torch.utils.data.BatchSampler, torch.utils.data.ChainDataset, torch.utils.data.ConcatDataset,
    torch.utils.data.DataLoader, torch.utils.data.DataLoaderIter, torch.utils.data.Dataset,
    torch.utils.data.ExceptionWrapper, torch.utils.data.IterableDataset, torch.utils.data.ManagerWatchdog,
    torch.utils.data.RandomSampler, torch.utils.data.Sampler, torch.utils.data.SequentialSampler,
    torch.utils.data.StackDataset, torch.utils.data.Subset, torch.utils.data.SubsetRandomSampler,
    torch.utils.data.TensorDataset, torch.utils.data.WeightedRandomSampler, torch.utils.data.default_collate,
    torch.utils.data.default_convert, torch.utils.data.get_worker_info, torch.utils.data.pin_memory_batch,
    torch.utils.data.random_split,
)
torch_utils_data_dataloader_members: tuple[Any, ...] = (
    torch.utils.data.DataLoader.multiprocessing_context,
)
torch_utils_data_distributed_members: tuple[Any, ...] = (
    torch.utils.data.distributed.DistributedSampler,
)
torch_utils_dlpack_members: tuple[Any, ...] = (
    torch.utils.dlpack.from_dlpack, torch.utils.dlpack.to_dlpack,
)
torch_utils_ffi_members: tuple[Any, ...] = (
    torch.utils.ffi.create_extension,
)
torch_utils_hooks_members: tuple[Any, ...] = (
    torch.utils.hooks.RemovableHandle,
)
torch_utils_hooks_removablehandle_members: tuple[Any, ...] = (
    torch.utils.hooks.RemovableHandle.next_id, torch.utils.hooks.RemovableHandle.remove,
)
torch_utils_model_zoo_members: tuple[Any, ...] = (
    torch.utils.model_zoo.load_url,
)
torch_utils_tensorboard_members: tuple[Any, ...] = (
    torch.utils.tensorboard.SummaryWriter,
)
torch_utils_tensorboard_summarywriter_members: tuple[Any, ...] = (
    torch.utils.tensorboard.SummaryWriter.add_figure, torch.utils.tensorboard.SummaryWriter.add_graph,
    torch.utils.tensorboard.SummaryWriter.add_histogram, torch.utils.tensorboard.SummaryWriter.add_image,
    torch.utils.tensorboard.SummaryWriter.add_scalar, torch.utils.tensorboard.SummaryWriter.add_scalars,
    torch.utils.tensorboard.SummaryWriter.add_text, torch.utils.tensorboard.SummaryWriter.close,
    torch.utils.tensorboard.SummaryWriter.flush,
)
torch_utils_trainer_members: tuple[Any, ...] = (
    torch.utils.trainer.Trainer,
)
torch_utils_trainer_trainer_members: tuple[Any, ...] = (
    torch.utils.trainer.trainer.Trainer,
)
torch_version_members: tuple[Any, ...] = (
    torch.version.__version__, torch.version.cuda, torch.version.git_version,
)

"""Names of the settings that PyTorch 2.13's compiler to native code has, by type and by the word before their dot. Options
of ``torch.compile`` have to be among them; but for ``freezing`` they change nothing here.
"""

from __future__ import annotations

import difflib

_NAMES = {
    bool: {
        "": """
            TYPE_CHECKING _fuse_ddp_communication _micro_pipeline_tp _raise_error_for_testing
            _use_fp64_for_unbacked_floats aggressive_fusion align_random_eager alignment_asserts allow_buffer_reuse
            always_keep_tensor_constants annotate_training apply_gumbel_max_trick assert_indirect_indexing
            assume_32bit_indexing assume_aligned_inputs assume_unaligned_fallback_output autotune_fallback_to_aten
            autotune_in_subproc autotune_local_cache autotune_multi_device b2b_gemm_pass batch_fusion batch_invariant
            benchmark_combo_kernel benchmark_epilogue_fusion benchmark_fusion benchmark_harness benchmark_kernel
            bw_outputs_user_visible cache_sdpa_constraint can_inplace_pad_graph_input check_stack_no_cycles_TESTING_ONLY
            combo_kernel_autotune_grouping combo_kernel_foreach_dynamic_shapes combo_kernel_per_subkernel_blocks
            combo_kernels combo_kernels_pointwise_only comment_origin comprehensive_padding compute_all_bounds
            constant_and_index_propagation conv_1x1_as_mm coordinate_descent_check_all_directions
            coordinate_descent_tuning cpp_cache_precompile_headers cpp_wrapper cpp_wrapper_build_separate
            cutedsl_enable_autotuning dce debug debug_fusion debug_index_asserts debug_ir_traceback
            decompose_mem_bound_mm dedup_reduce_scatters delay_realize_cheap_outputs deterministic developer_warnings
            disable_cpp_codegen disable_padding_cpu disable_progress distributed_max_autotune_gemm
            do_not_emit_runtime_assertions dynamic_scale_rblock efficient_conv_bn_eval_fx_passes emulate_precision_casts
            emulate_precision_casts_on_saved_tensors enable_auto_functionalized_v2 enable_autograd_for_aot
            enable_caching_generated_triton_templates enable_linear_binary_folding epilogue_fusion epilogue_fusion_first
            epilogue_fusion_user_defined_triton_kernel epilogue_fusion_with_atomic_add
            expand_dimension_for_pointwise_nodes fallback_by_default fallback_embedding_bag_byte_unpack fallback_random
            force_disable_cudagraph_TESTING_ONLY force_fuse_int_mm_with_mul force_layout_optimization
            force_pointwise_cat force_shape_pad freezing freezing_discard_parameters fx_graph_cache fx_wrapper
            generate_intermediate_hooks graph_partition group_fusion implicit_fallbacks inplace_buffers inplace_padding
            is_nightly_or_source is_predispatch joint_graph_constant_folding keep_addmm_fused_for_half_dtypes
            keep_output_stride keep_static_cubin_raw layout_optimization log_tlparse loop_index_inversion_in_fusion
            loop_ordering_after_fusion loop_reindexing_after_fusion max_autotune max_autotune_allow_flexible_layouts
            max_autotune_gemm max_autotune_pointwise max_autotune_prune_choices_based_on_shared_mem
            max_autotune_report_choices_stats memory_planning nan_asserts non_blocking_remote_cache_write
            nvgemm_supplement_configs online_softmax optimize_scatter_upon_const_tensor pad_channels_last
            pad_dynamic_shapes pad_outputs partitioned_scatter_enabled pattern_matcher permute_fusion pick_loop_orders
            pipeline_max_autotune_gemm profile_bandwidth profile_bandwidth_with_do_bench_using_profiling
            profiler_mark_wrapper_call prologue_fusion quiesce_async_compile_pool remote_gemm_autotune_cache
            reorder_for_compute_comm_overlap reorder_for_locality reorder_for_peak_memory reorder_for_peak_memory_debug
            run_jit_post_compile_hook runtime_estimations_mms_benchmark runtime_triton_nan_asserts save_args
            scalar_asserts search_autotune_cache selective_decompose shape_padding size_asserts split_cat_fx_passes
            split_reductions static_launch_user_defined_triton_kernels static_weight_shapes strict_static_cuda_launcher
            triton_disable_device_detection unsafe_ignore_unsupported_triton_autotune_args
            unsafe_skip_cache_dynamic_shape_guards use_dce use_experimental_benchmarker use_fast_math
            use_fast_triton_launcher use_joint_graph_passes use_launch_metadata_schema use_mixed_mm use_post_grad_passes
            use_pre_grad_passes use_static_cuda_launcher use_torch_profiler_benchmarker verbose_progress warn_mix_layout
            worker_suppress_logging wrap_inductor_compiled_regions write_are_deterministic_algorithms_enabled
        """,
        "_collective": "auto_select",
        "aot_inductor": """
            allow_stack_allocation autotune_per_kernel_alloc check_lowerbound debug_compile debug_symbols
            dump_aoti_minifier dynamic_linkage enable_frame_pointer enable_line_tables enable_lto force_mmap_weights
            link_libtorch package package_constants_in_so precompile_headers raise_error_on_ignored_optimization
            use_consts_asm_build use_minimal_arrayref_interface use_runtime_constant_folding
            weight_use_caching_allocator
        """,
        "aot_inductor_mode": "compile_standalone",
        "aten_distributed_optimizations": """
            allow_comms_decompositions bucket_only_internode_comms enable_fusion_regions
            enable_low_contention_collectives enable_overlap_scheduling log_final_collectives_estimations
            low_contention_skip_overlap_check overlap_scheduling_autofix_cycles pre_bucketing_fsdp_collectives
            pre_bucketing_fsdp_collectives_verbose prioritize_bucketing_during_scheduling spmd_check
        """,
        "auto_chunker": "enable",
        "autoheuristic_collect": "mixed_mm pad_mm",
        "autoheuristic_use": "mixed_mm",
        "cpp": """
            dynamic_threads enable_concat_linear enable_grouped_gemm_template enable_kernel_profile enable_loop_tail_vec
            enable_tiling_heuristics enable_unsafe_math_opt_flag fallback_scatter_reduce_sum force_inline_kernel
            no_redundant_loops use_constexpr_for_int_array use_decompose_tanh use_small_dequant_buffer weight_prepack
        """,
        "cuda": """
            binary_remote_cache_force_write cutlass_epilogue_fusion_enabled cutlass_hash_with_compile_cmd
            cutlass_prescreening cutlass_tma_only enable_caching_codegen enable_cuda_lto enable_debug_info
            enable_ptxas_info generate_test_runner upload_to_binary_remote_cache use_binary_remote_cache use_fast_math
        """,
        "cutlass": """
            binary_remote_cache_force_write cutlass_epilogue_fusion_enabled cutlass_hash_with_compile_cmd
            cutlass_prescreening cutlass_tma_only enable_caching_codegen enable_debug_info generate_test_runner
            upload_to_binary_remote_cache use_binary_remote_cache use_fast_math
        """,
        "eager_numerics": "disable_ftz division_rounding use_pytorch_libdevice",
        "halide": "asserts debug scan_kernels",
        "lookup_table": "check_src_hash",
        "mtia": "disable_welford_reduction",
        "rocm": """
            flush_denormals generate_test_runner is_debug origami print_kernel_resource_usage save_temps use_fast_math
            use_preselected_instances
        """,
        "test_configs": """
            assume_bucketing_reduces_latency bisect_keep_custom_backend_for_inductor bisect_pre_grad_graph
            force_extern_kernel_in_multi_template force_filter_reduction_configs force_no_impl_grouping
            graphsafe_rng_func_ignores_fallback_random runtime_triton_dtype_assert runtime_triton_shape_assert
            static_cpp_dtype_assert use_libtorch
        """,
        "trace": """
            compile_profile debug_log draw_orig_fx_graph enabled fx_graph fx_graph_transformed graph_diagram info_log
            ir_post_fusion ir_pre_fusion log_autotuning_results output_code save_real_tensors
        """,
        "triton": """
            autotune_cublasLt autotune_pointwise autotune_with_sample_inputs coalesce_tiling_analysis
            codegen_upcast_to_fp32 cooperative_reductions cudagraph_or_error cudagraph_skip_dynamic_graphs
            cudagraph_support_input_mutation cudagraph_trees cudagraph_trees_history_recording cudagraph_trees_objgraph
            cudagraphs debug_sync_graph debug_sync_kernel decompose_sort_ops dense_indexing
            disallow_failing_autotune_kernels_TESTING_ONLY divisible_by_16 dynamic_disable_pipelining
            emit_pointer_range_32 enable_pdl enable_persistent_tma_matmul enable_template_tma_store
            enable_tma_load_for_template_epilogue fast_path_cudagraph_asserts force_cooperative_reductions
            force_cudagraph_sync force_cudagraphs_warmup mix_order_reduction mix_order_reduction_allow_multi_stages
            mix_order_reduction_autotune_split_size mix_order_reduction_non_strict_mode native_matmul nested_reduction
            persistent_reductions prefer_nd_tiling proton_group_by_sm proton_per_cta_occupancy proton_profiling
            proton_split_invocations reorder_for_reducing_graph_partitions skip_cudagraph_warmup skip_l1_cache
            slow_path_cudagraph_asserts store_cubin tile_reductions tiling_prevents_pointwise_fusion
            tiling_prevents_reduction_fusion transpose_discontiguous_tensor_descriptor unique_kernel_names
            unique_user_kernel_names use_block_ptr use_tensor_descriptor
        """,
        "xpu": """
            binary_remote_cache_force_write cutlass_epilogue_fusion_enabled cutlass_hash_with_compile_cmd
            cutlass_prescreening cutlass_tma_only enable_caching_codegen enable_debug_info generate_test_runner
            upload_to_binary_remote_cache use_binary_remote_cache use_fast_math
        """,
    },
    int: {
        "_collective": "one_shot_all_reduce_threshold_bytes",
        "": """
            _fuse_ddp_bucket_size _realize_acc_reads_threshold_default _realize_opcount_threshold_default
            collective_benchmark_nruns combo_kernel_allow_mixed_sizes combo_kernel_max_distance
            combo_kernel_max_num_args combo_kernel_max_num_nodes combo_kernels_autotune compile_worker_wait_timeout
            coordinate_descent_search_radius file_lock_timeout inductor_default_autotune_rep
            inductor_default_autotune_warmup kernel_name_max_ops max_complex_pointwise_cat_inputs
            max_epilogue_benchmarked_choices max_fusion_buffer_group_pairwise_attempts max_fusion_size
            max_pointwise_cat_inputs min_num_split padding_alignment_bytes padding_stride_threshold
            partitioned_scatter_max_partitions partitioned_scatter_min_partitions precompilation_timeout_seconds
            quiesce_async_compile_time realize_cpu_acc_reads_threshold realize_cpu_opcount_threshold
            realize_reads_threshold score_fusion_memory_threshold size_threshold_for_succ_based_strategy
            small_memory_access_threshold unbacked_symint_fallback unroll_reductions_threshold
        """,
        "aot_inductor": "repro_level",
        "aten_distributed_optimizations": "low_contention_min_bytes_per_rank",
        "auto_chunker": "amplify_ratio_threshold output_size_threshold",
        "cpp": """
            gemm_max_k_slices max_horizontal_fusion_size min_chunk_size threads use_two_step_variance_threshold
        """,
        "cuda": "cutlass_backend_min_gemm_size",
        "cutlass": "cutlass_backend_min_gemm_size",
        "rocm": "contiguous_threshold origami_topk split_k_threshold",
        "trace": "provenance_tracking_level",
        "triton": """
            cudagraph_min_partition_size cudagraph_unexpected_rerecord_limit decompose_k_threshold
            max_kernel_dump_occurrences min_split_scan_rblock mix_order_reduction_initial_xblock
            mix_order_reduction_max_reads num_decompose_k_splits spill_threshold use_two_step_variance_min_numel
            use_two_step_variance_threshold
        """,
        "xpu": "cutlass_backend_min_gemm_size",
    },
    float: {
        "aten_distributed_optimizations": """
            pre_bucketing_fsdp_collectives_max_bucket_cap_mb pre_bucketing_fsdp_collectives_min_bucket_cap_mb
            pre_bucketing_fsdp_collectives_saturation_calibration_multiplier
        """,
        "": """
            collective_benchmark_timeout cpu_gpu_bw max_autotune_subproc_graceful_timeout_seconds
            max_autotune_subproc_result_timeout_seconds max_autotune_subproc_terminate_timeout_seconds min_overlap_ratio
            partitioned_scatter_memory_budget
        """,
        "triton": "cudagraph_partition_memory_budget",
    },
    str: {
        "": """
            _conv_default_backends _profile_var autoheuristic_log_path disabled_passes enabled_metric_tables
            estimate_op_runtime layout_opt_default max_autotune_conv_backends max_autotune_conv_bwd_input_backends
            max_autotune_conv_bwd_weight_backends max_autotune_gemm_backends profile_bandwidth_regex
            torchinductor_worker_logpath worker_start_method
        """,
        "aot_inductor": "compile_wrapper_opt_level output_path serialized_in_spec serialized_out_spec",
        "cpp": "enable_floating_point_contract_flag",
        "cuda": "compile_opt_level cutlass_dir cutlass_enabled_ops cutlass_instantiation_level",
        "cutlass": "cutlass_dir cutlass_enabled_ops cutlass_instantiation_level",
        "halide": "cpu_target gpu_target",
        "test_configs": "distort_benchmarking_result",
        "trace": "graph_diagram_format orig_fx_graph_diagram_format",
        "xpu": "compile_opt_level cutlass_dir cutlass_enabled_ops cutlass_instantiation_level",
    },
    None: {
        "": """
            _cache_config_factory_keys _cache_config_ignore_prefix _fuse_ddp_communication_passes
            _post_fusion_custom_pass _pre_fusion_custom_pass _save_config_ignore add_pre_grad_passes
            autotune_lookup_table autotune_num_choices_displayed autotune_remote_cache bucket_all_gathers_bucket_mode
            bucket_all_gathers_fx bucket_all_gathers_fx_bucket_size_determinator bucket_all_reduces_fx
            bucket_all_reduces_fx_bucket_size_determinator bucket_reduce_scatters_bucket_mode bucket_reduce_scatters_fx
            bucket_reduce_scatters_fx_bucket_size_determinator bundle_triton_into_fx_graph_cache
            bundled_autotune_remote_cache combo_kernel_peak_memory_increase_gb combo_kernel_peak_memory_pct_threshold
            compile_threads cpu_backend cuda_backend cudagraph_policy cudagraph_unsafe_unbacked_ops
            custom_partitioner_fn custom_should_partition_ops external_matmul fx_graph_remote_cache
            fx_passes_numeric_check global_cache_dir incremental_autotune inductor_choices_class inter_node_bw
            intra_node_bw joint_custom_post_pass joint_custom_pre_pass max_autotune_flex_search_space
            max_autotune_gemm_search_space max_fusion_unique_io_buffers memory_pool mixed_mm_choice multi_kernel_hints
            nvgemm_max_profiling_configs post_grad_custom_post_pass post_grad_custom_pre_pass post_grad_fusion_options
            pre_grad_custom_pass pre_grad_fusion_options pre_grad_pass_timing profile_bandwidth_output
            realize_acc_reads_size_threshold realize_acc_reads_threshold realize_opcount_threshold
            remove_pre_grad_passes reorder_for_compute_comm_overlap_passes reorder_prefetch_limit sleep_sec_TESTING_ONLY
            tpu_backend triton_kernel_default_layout_constraint unsafe_marked_cacheable_functions worker_log_path
            xpu_backend
        """,
        "aot_inductor": """
            aoti_shim_library aoti_shim_library_path cross_target_platform custom_op_libs custom_ops_to_c_shims
            debug_intermediate_value_printer embed_kernel_binary emit_multi_arch_kernel filtered_kernel_names metadata
            model_name_for_generated_files package_constants_on_disk_format package_cpp_only presets
        """,
        "aten_distributed_optimizations": """
            bucket_exposed_first bucket_mode collective_bucketing collective_estimator compute_estimator
            compute_overlap_multipler custom_runtime_estimation insert_overlap_deps max_coll_distance
            max_compute_pre_fetch max_in_flight_gb max_memory_increase_gb max_memory_increase_ratio
            pre_bucketing_fsdp_collectives_bucket_cap_mb profile_guided_estimations_profile_path spmd_mismatch
        """,
        "auto_chunker": "num_chunk",
        "autoheuristic_use": "pad_mm",
        "cpp": """
            cxx descriptive_names gemm_cache_blocking gemm_thread_factors inject_log1p_bug_TESTING_ONLY
            inject_relu_bug_TESTING_ONLY march simdlen vec_isa_ok
        """,
        "cuda": """
            arch cuda_cxx cutlass_dynamic_cluster_fallback cutlass_dynamic_cluster_shape cutlass_max_profiling_configs
            cutlass_max_profiling_swizzle_options cutlass_op_allowlist_regex cutlass_op_denylist_regex
            nvgemm_max_profiling_configs version
        """,
        "cutlass": """
            compile_opt_level cutlass_dynamic_cluster_fallback cutlass_dynamic_cluster_shape
            cutlass_max_profiling_configs cutlass_max_profiling_swizzle_options cutlass_op_allowlist_regex
            cutlass_op_denylist_regex
        """,
        "halide": "scheduler_cpu scheduler_cuda",
        "lookup_table": "table",
        "rocm": """
            arch ck_dir ck_max_profiling_configs ck_supported_arch ck_tile_max_profiling_configs compile_opt_level
            kBatch_sweep n_max_profiling_configs rocm_home
        """,
        "test_configs": """
            autotune_choice_desc_regex autotune_choice_name_regex force_custom_op_decomposition max_flex_configs
            max_mm_configs track_memory_lifecycle
        """,
        "trace": "debug_dir dot_graph_shape log_url_for_graph_xform upload_tar",
        "triton": """
            autotune_at_compile_time cudagraph_capture_sizes cudagraph_dynamic_shape_warn_limit debug_dump_kernel_inputs
            descriptive_names inject_relu_bug_TESTING_ONLY max_tiles mix_order_reduction_split_size multi_kernel
            proton_output_dir
        """,
        "xpu": """
            arch cutlass_dynamic_cluster_fallback cutlass_dynamic_cluster_shape cutlass_max_profiling_configs
            cutlass_max_profiling_swizzle_options cutlass_op_allowlist_regex cutlass_op_denylist_regex oneapi_root
            version
        """,
    },
}
#: what is said to ``torch.compile`` itself among them
_OF_COMPILE = "guard_filter_fn", "use_aoti"
#: name -> its type; None of one that takes several
KNOWN = {
    f"{above}.{name}" if above else name: kind
    for kind, groups in _NAMES.items()
    for above, names in groups.items()
    for name in names.split()
} | dict.fromkeys(_OF_COMPILE)


def check(options):
    """RuntimeError for an option that there is none of, with the nearest one, and for a value of another type.

    >>> check({"max-autotune": True})
    >>> check({"freezng": True})
    Traceback (most recent call last):
        ...
    RuntimeError: torch.compile: unexpected option 'freezng'; did you mean 'freezing'?
    """
    if options is None:
        return
    if not isinstance(options, dict):
        raise RuntimeError(f"torch.compile: options must be a dict of names and values, got {type(options).__name__}")
    for option, value in options.items():
        name = option.replace("-", "_") if isinstance(option, str) else option
        if name not in KNOWN:
            close = difflib.get_close_matches(str(name), KNOWN, 1)
            way = (
                f"did you mean {close[0]!r}?"
                if close
                else "torch._inductor.list_options() names those that have an effect"
            )
            raise RuntimeError(f"torch.compile: unexpected option {option!r}; {way}")
        kind = KNOWN[name]
        if kind is not None and not isinstance(value, kind):
            raise RuntimeError(
                f"torch.compile: the option {option!r} must be of type {kind.__name__}, got {value!r} "
                f"of type {type(value).__name__}"
            )

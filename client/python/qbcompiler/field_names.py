"""How files spell the fields that Python names in snake_case. generate_config.py loads this file alone:
it imports nothing of the package."""

# Aliases that are not the camelCase of the Python name.
IRREGULAR = {
    "calib_data_path": "calibDataPaths",
    "gpu_memory_budget_mb": "gpuMemoryBudgetMB",
    "cpu_memory_budget_mb": "cpuMemoryBudgetMB",
    "norm_conv": "NormConv",
    "qk": "QK",
    "ud": "UD",
    "vo": "VO",
    "spin_r1": "SpinR1",
    "spin_r2": "SpinR2",
    "qk_rotation": "QKRotation",
    "feed_forward_multi_lut": "FeedForwardMultiLut",
    "optimize_ffn": "OptimizeFFN",
    "head_out_ch_rotation": "HeadOutChRotation",
}


def alias_of(name: str) -> str:
    """The spelling of a Python field name in files."""
    if name in IRREGULAR:
        return IRREGULAR[name]
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)

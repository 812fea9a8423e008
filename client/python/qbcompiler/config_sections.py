"""Settings as classes. Written by generate_config.py from `qbcompiler dump-config --schema`; a test
fails when it is stale."""

from typing import Any, Dict, List, Literal, Tuple, Type, Union

from pydantic import Field

from .config_model import ConfigModel


class OffloadConfig(ConfigModel):
    """`offload` of a config."""

    smallest_island_share: float = Field(
        0.01, ge=0.0, le=1.0,
        description="NPU islands with a smaller share of all products go to the CPU; the largest stays")
    most_island_bytes: int = Field(
        8388608, ge=0,
        description="bytes that a CPU island between two NPU parts may move for one sample, both ways together")


class Uint8InputConfig(ConfigModel):
    """`uint8Input` of a config."""

    apply: bool = Field(False, description="the executable takes uint8 inputs")
    inputs: List[str] = Field(default_factory=list, description="inputs concerned; empty = all")
    division_factor: float = Field(
        255.0, ge=1e-30, description="real value = code / divisionFactor")


class PreprocessingConfig(ConfigModel):
    """`preprocessing` of a config."""

    apply: bool = Field(False, description="preprocess raw samples")
    auto_convert_format: bool = Field(
        False, description="convert channel order and layout of samples")
    pipeline: List[Dict[str, Any]] = Field(default_factory=list, description="steps in order")
    input_configs: Dict[str, Any] = Field(default_factory=dict, description="steps by input name")


class ResourceManagementWeightMemoryConfig(ConfigModel):
    """`weightMemory` of ResourceManagementConfig."""

    method: int = Field(0, ge=0, le=4, description="index into methodList")
    method_list: List[Literal["DeleteFloat", "SaveFloat", "MoveFloat", "KeepFloat", "KeepAll"]] = Field(
        default_factory=lambda: ["DeleteFloat", "SaveFloat", "MoveFloat", "KeepFloat", "KeepAll"],
        description="what may become of float weights")


class ResourceManagementConfig(ConfigModel):
    """`resourceManagement` of a config."""

    weight_dtype: Literal["float32", "float16", "bfloat16"] = Field(
        "float32", description="dtype of weights while compiling")
    gpu_memory_budget_mb: int = Field(
        -1, ge=-1,
        description="MiB; -1 automatic, 0 no limit; this build uses no GPU memory: any budget holds")
    cpu_memory_budget_mb: int = Field(-1, ge=-1, description="MiB; -1 automatic, 0 no limit")
    threads: int = Field(0, ge=0, le=1024, description="threads; 0 = all that the process may use")
    weight_memory: ResourceManagementWeightMemoryConfig = Field(
        default_factory=ResourceManagementWeightMemoryConfig)


class CalibrationMaxPercentileConfig(ConfigModel):
    """`maxPercentile` of CalibrationConfig."""

    percentile: float = Field(
        0.9999, ge=0.5, le=1.0, description="share of magnitudes that stays inside the range")
    topk_ratio: float = Field(
        0.01, ge=0.0, le=1.0,
        description="share of a sample's largest magnitudes that is kept exactly")


class CalibrationHistogramConfig(ConfigModel):
    """`histogram` of CalibrationConfig."""

    objective: Literal["mse", "kl", "percentile"] = Field(
        "mse",
        description="how mode 2 chooses: least squared error, least divergence, or maxPercentile.percentile")
    bins: int = Field(
        2048, ge=128, le=65536,
        description="bins of mode 2 on each side of zero; rounded up to a power of two")


class CalibrationGroupLutConfig(ConfigModel):
    """`groupLut` of CalibrationConfig."""

    irls_iter: int = Field(3, ge=0, le=1000, description="LUT clustering")
    dro_eps: float = Field(0.0, ge=0.0, le=1000000000.0, description="LUT clustering")
    cover_floor: float = Field(0.85, ge=0.0, le=1.0, description="LUT clustering")


class CalibrationOptimizeLutConfig(ConfigModel):
    """`optimizeLut` of CalibrationConfig."""

    optimization_level: Literal[0, 1] = Field(1, description="LUT refinement")


class CalibrationLayerOverridesConfig(ConfigModel):
    """`layerOverrides` of CalibrationConfig."""

    method: Dict[str, Literal[0, 1, 2, 3]] = Field(
        default_factory=dict, description="method by layer (exact names or * and ? globs)")


class CalibrationConfig(ConfigModel):
    """`calibration` of a config."""

    method: Literal[0, 1, 2, 3] = Field(
        1,
        description="0 one activation scale a layer; 1 layers that feed one consumer share statistics; 2, 3 the same with zero points")
    output: Literal[0, 1, 2] = Field(
        0,
        description="model outputs: 0 one scale (parts of a concatenation whose ranges differ keep their own), 1 per channel, 2 sigmoid range: logits to +-8, scores in steps of 1/256")
    mode: Literal[0, 1, 2] = Field(1, description="0 Max, 1 MaxPercentile, 2 Histogram")
    max_percentile: CalibrationMaxPercentileConfig = Field(
        default_factory=CalibrationMaxPercentileConfig)
    histogram: CalibrationHistogramConfig = Field(default_factory=CalibrationHistogramConfig)
    group_lut: CalibrationGroupLutConfig = Field(default_factory=CalibrationGroupLutConfig)
    optimize_lut: CalibrationOptimizeLutConfig = Field(default_factory=CalibrationOptimizeLutConfig)
    max_sample_size_for_quant_scheme: int = Field(
        16, ge=1, le=100000, description="samples that a scheme search may use")
    layer_overrides: CalibrationLayerOverridesConfig = Field(
        default_factory=CalibrationLayerOverridesConfig)


class BitTransformerActivationConfig(ConfigModel):
    """`activation` of BitTransformerConfig."""

    query: Literal[8, 16] = Field(8, description="bits of query activations")
    key: Literal[8, 16] = Field(8, description="bits of key activations")
    value: Literal[8, 16] = Field(8, description="bits of value activations")
    head: Literal[8, 16] = Field(8, description="bits of head activations")
    output: Literal[8, 16] = Field(8, description="bits of output activations")
    router: Literal[8, 16] = Field(8, description="bits of router activations")
    ffn: Union[int, Dict[str, int]] = Field(
        8, description="bits of feed-forward activations: a number, or {up, gate, down}")


class BitTransformerWeightConfig(ConfigModel):
    """`weight` of BitTransformerConfig."""

    query: Literal[4, 8, 16] = Field(8, description="bits of query weights")
    key: Literal[4, 8, 16] = Field(8, description="bits of key weights")
    value: Literal[4, 8, 16] = Field(8, description="bits of value weights")
    head: Literal[4, 8, 16] = Field(8, description="bits of head weights")
    output: Literal[4, 8, 16] = Field(8, description="bits of output weights")
    router: Literal[4, 8, 16] = Field(8, description="bits of router weights")
    ffn: Union[int, Dict[str, int]] = Field(
        8, description="bits of feed-forward weights: a number, or {up, gate, down}")


class BitTransformerConfig(ConfigModel):
    """`transformer` of BitConfig."""

    activation: BitTransformerActivationConfig = Field(
        default_factory=BitTransformerActivationConfig)
    weight: BitTransformerWeightConfig = Field(default_factory=BitTransformerWeightConfig)


class BitLayerOverridesConfig(ConfigModel):
    """`layerOverrides` of BitConfig."""

    activation16_bits: List[str] = Field(
        default_factory=list,
        description="layers whose activations have 16 bits (exact names or * and ? globs)")
    weight16_bits: List[str] = Field(
        default_factory=list, description="layers whose weights have 16 bits")
    weight8_bits: List[str] = Field(
        default_factory=list,
        description="layers whose weights have 8 bits: exact names win over the globs of the other lists")
    weight4_bits: List[str] = Field(
        default_factory=list, description="layers whose weights have 4 bits")


class BitConfig(ConfigModel):
    """`bit` of a config."""

    transformer: BitTransformerConfig = Field(default_factory=BitTransformerConfig)
    layer_overrides: BitLayerOverridesConfig = Field(default_factory=BitLayerOverridesConfig)


class HessianQuantAttributesConfig(ConfigModel):
    """`attributes` of HessianQuantConfig."""

    act_order: bool = Field(True, description="columns by falling diagonal of the Hessian")
    block_size: int = Field(256, ge=1, le=65536, description="columns a block")
    perc_damp: float = Field(
        0.01, ge=0.0, le=10.0, description="damping as a share of the mean diagonal")
    alpha: float = Field(0.25, ge=0.0, le=1.0, description="weight of the input mismatch")
    group_size: int = Field(
        0, ge=0, le=65536,
        description="input channels a weight scale; 0 = all; above 0 only with solver symmetric and no rescomp")


class HessianQuantConfig(ConfigModel):
    """`hessianQuant` of a config."""

    apply: bool = Field(False, description="second-order weight rounding")
    hessian_dtype: Literal["fp32", "bf16"] = Field(
        "fp32", description="how the accumulated Hessian is stored")
    solver: Literal["symmetric", "asymmetric_causal", "asymmetric_refit"] = Field(
        "symmetric", description="which inputs the rounding error is measured on")
    rescomp: bool = Field(False, description="an extra correction between blocks")
    attributes: HessianQuantAttributesConfig = Field(default_factory=HessianQuantAttributesConfig)


class BiasCorrectionAttributesConfig(ConfigModel):
    """`attributes` of BiasCorrectionConfig."""

    apply_layers: List[str] = Field(
        default_factory=list,
        description="layers concerned (exact names or * and ? globs); empty = all")
    exclude_layers: List[str] = Field(default_factory=list, description="layers left out")


class BiasCorrectionConfig(ConfigModel):
    """`biasCorrection` of a config."""

    apply: bool = Field(True, description="fold each layer's mean error into its bias")
    attributes: BiasCorrectionAttributesConfig = Field(
        default_factory=BiasCorrectionAttributesConfig)


class ModAttributesConfig(ConfigModel):
    """`attributes` of ModConfig."""

    epochs: int = Field(1, ge=1, le=10000, description="passes over the samples")
    learning_rate: float = Field(0.001, ge=0.0, le=10.0, description="step size")
    batch_size: int = Field(1, ge=1, le=4096, description="samples a step")
    loss: Literal["mse", "kl", "cosine"] = Field("mse", description="distance to the float model")
    layers: List[str] = Field(default_factory=list, description="layers to train; empty = all")


class ModConfig(ConfigModel):
    """`mod` of a config."""

    apply: bool = Field(
        False, description="fit scales and biases of each layer's channels to the float model")
    attributes: ModAttributesConfig = Field(default_factory=ModAttributesConfig)


class LlmAttributesCalibrationConfig(ConfigModel):
    """`calibration` of LlmAttributesConfig."""

    use_full_seq_length: bool = Field(False, description="calibrate on whole sequences")


class LlmAttributesRuntimeConfig(ConfigModel):
    """`runtime` of LlmAttributesConfig."""

    batch_size: int = Field(
        1, ge=1, le=256,
        description="sequences at once; above 1 the scheme is single, global4 or global8")
    dynamic_rope: bool = Field(False, description="rotary tables at run time")
    dynamic_mask: bool = Field(False, description="attention mask at run time")


class LlmAttributesConfig(ConfigModel):
    """`attributes` of LlmConfig."""

    max_sequence_length: int = Field(4096, ge=1, le=1048576, description="tokens of a prompt")
    max_cache_length: int = Field(
        4096, ge=1, le=1048576,
        description="tokens in the key-value cache; at least maxSequenceLength")
    max_data_length: int = Field(
        4096, ge=1, le=1048576, description="tokens of a calibration sample")
    max_core_data_length: int = Field(
        128, ge=1, le=1048576, description="tokens that a core takes at once")
    calibration: LlmAttributesCalibrationConfig = Field(
        default_factory=LlmAttributesCalibrationConfig)
    runtime: LlmAttributesRuntimeConfig = Field(default_factory=LlmAttributesRuntimeConfig)
    debug: Dict[str, Any] = Field(default_factory=dict, description="free-form metadata")


class LlmConfig(ConfigModel):
    """`llm` of a config."""

    apply: bool = Field(False, description="language model settings")
    attributes: LlmAttributesConfig = Field(default_factory=LlmAttributesConfig)


class MoeAttributesConfig(ConfigModel):
    """`attributes` of MoeConfig."""

    top_k: int = Field(0, ge=0, le=1024, description="experts a token; 0 = the model's")
    expert_selection: str = Field("", description="how experts are chosen")


class MoeConfig(ConfigModel):
    """`moe` of a config."""

    apply: bool = Field(False, description="mixture of experts")
    attributes: MoeAttributesConfig = Field(default_factory=MoeAttributesConfig)


class EquivalentTransformationNormConvConfig(ConfigModel):
    """`NormConv` of EquivalentTransformationConfig."""

    apply: bool = Field(False, description="scale norm and convolution")


class EquivalentTransformationQKConfig(ConfigModel):
    """`QK` of EquivalentTransformationConfig."""

    apply: bool = Field(False, description="scale query and key")


class EquivalentTransformationUDConfig(ConfigModel):
    """`UD` of EquivalentTransformationConfig."""

    apply: bool = Field(False, description="scale up and down projections")
    learn: bool = Field(False, description="learn the up/down scales")


class EquivalentTransformationVOConfig(ConfigModel):
    """`VO` of EquivalentTransformationConfig."""

    apply: bool = Field(False, description="scale value and output projections")


class EquivalentTransformationSpinR1Config(ConfigModel):
    """`SpinR1` of EquivalentTransformationConfig."""

    apply: bool = Field(False, description="rotate the residual stream")


class EquivalentTransformationSpinR2Config(ConfigModel):
    """`SpinR2` of EquivalentTransformationConfig."""

    apply: bool = Field(False, description="rotate value and output by head")


class EquivalentTransformationQKRotationConfig(ConfigModel):
    """`QKRotation` of EquivalentTransformationConfig."""

    apply: bool = Field(False, description="rotate query and key")


class EquivalentTransformationFeedForwardMultiLutConfig(ConfigModel):
    """`FeedForwardMultiLut` of EquivalentTransformationConfig."""

    apply: bool = Field(False, description="several tables for feed-forward activations")


class EquivalentTransformationOptimizeFFNConfig(ConfigModel):
    """`OptimizeFFN` of EquivalentTransformationConfig."""

    apply: bool = Field(False, description="rearrange feed-forward layers")


class EquivalentTransformationHeadOutChRotationConfig(ConfigModel):
    """`HeadOutChRotation` of EquivalentTransformationConfig."""

    apply: bool = Field(False, description="rotate the head's output channels")
    matrix_path: str = Field("", description="file of the rotation matrix")


class EquivalentTransformationConfig(ConfigModel):
    """`equivalentTransformation` of a config."""

    norm_conv: EquivalentTransformationNormConvConfig = Field(
        default_factory=EquivalentTransformationNormConvConfig)
    qk: EquivalentTransformationQKConfig = Field(default_factory=EquivalentTransformationQKConfig)
    ud: EquivalentTransformationUDConfig = Field(default_factory=EquivalentTransformationUDConfig)
    vo: EquivalentTransformationVOConfig = Field(default_factory=EquivalentTransformationVOConfig)
    spin_r1: EquivalentTransformationSpinR1Config = Field(
        default_factory=EquivalentTransformationSpinR1Config)
    spin_r2: EquivalentTransformationSpinR2Config = Field(
        default_factory=EquivalentTransformationSpinR2Config)
    qk_rotation: EquivalentTransformationQKRotationConfig = Field(
        default_factory=EquivalentTransformationQKRotationConfig)
    feed_forward_multi_lut: EquivalentTransformationFeedForwardMultiLutConfig = Field(
        default_factory=EquivalentTransformationFeedForwardMultiLutConfig)
    optimize_ffn: EquivalentTransformationOptimizeFFNConfig = Field(
        default_factory=EquivalentTransformationOptimizeFFNConfig)
    head_out_ch_rotation: EquivalentTransformationHeadOutChRotationConfig = Field(
        default_factory=EquivalentTransformationHeadOutChRotationConfig)


class SearchWeightScaleTransformerConfig(ConfigModel):
    """`transformer` of SearchWeightScaleConfig."""

    query: bool = Field(False, description="search for query weights")
    key: bool = Field(False, description="search for key weights")
    value: bool = Field(False, description="search for value weights")
    out: bool = Field(False, description="search for out weights")
    ffn: bool = Field(False, description="search for ffn weights")


class SearchWeightScaleConfig(ConfigModel):
    """`searchWeightScale` of a config."""

    apply: bool = Field(False, description="search the weight scales that keep the layers' results")
    transformer: SearchWeightScaleTransformerConfig = Field(
        default_factory=SearchWeightScaleTransformerConfig)
    layers: List[str] = Field(
        default_factory=list,
        description="convolution and linear layers by name or glob; empty = all")


class LoadScaleConfig(ConfigModel):
    """`loadScale` of a config."""

    apply: bool = Field(False, description="load stored scales")
    path: str = Field("", description="file of stored scales")


class RuntimeOptions(ConfigModel):
    """`runtimeOptions` of a config."""

    version: str = Field("0.0.0", description="runtime version metadata")


class SaveSampleConfig(ConfigModel):
    """`saveSample` of a config."""

    apply: bool = Field(False, description="write the samples that calibration saw")
    path: str = Field("./samples", description="folder for the samples")
    max_samples: int = Field(16, ge=1, le=1000000, description="how many are written")


class ExtraOutputConfig(ConfigModel):
    """`extraOutput` of a config."""

    apply: bool = Field(False, description="named layers become outputs")
    layers: List[str] = Field(
        default_factory=list,
        description="layers that become outputs, by name or glob; `qbcompiler layers` lists the names")


class AutoTuneConfig(ConfigModel):
    """`autoTune` of a config."""

    apply: bool = Field(False, description="raise the most sensitive layers to 16 bit")
    metric: Literal["sqnr", "cosine", "top1Agreement"] = Field(
        "top1Agreement", description="what has to reach the target, of the worst output")
    target: float = Field(
        0.99, ge=-200.0, le=200.0, description="value to reach: dB of sqnr, else a share")
    max_high_precision_share: float = Field(
        0.1, ge=0.0, le=1.0,
        description="most tensors (values and weights) that may be raised, as a share")


class CompileConfigFields(ConfigModel):
    """All settings of a compile."""

    model_paths: List[str] = Field(
        default_factory=list,
        description="the source model, usually given as --model; one at a time")
    calib_data_path: List[str] = Field(
        default_factory=list, description="calibration data sets: folders or listings")
    save_paths: List[str] = Field(
        default_factory=lambda: ["./tmp.mxq"],
        description="the output file, usually given as --output; one at a time")
    use_random_calib: bool = Field(
        False, description="calibrate on random data: for smoke tests, the accuracy means nothing")
    inference_scheme: Literal["single", "multi", "global4", "global8", "all", "global"] = Field(
        "single", description="core mode of the executable")
    cpu_offload: bool = Field(
        False, description="run layers that the NPU does not support on the CPU")
    force_npu_input_reposition: bool = Field(
        False, description="change the layout of inputs on the NPU")
    force_npu_output_reposition: bool = Field(
        False, description="change the layout of outputs on the NPU")
    optimize_option: Literal[0, 1, 2, 3, 4, 99] = Field(1, description="optimization level")
    buffer_mode: int = Field(1, ge=0, le=16, description="buffer serialization mode")
    device: Literal["gpu", "cpu"] = Field(
        "gpu", description="where the compile computes; gpu falls back to cpu with a warning")
    dtype: str = Field("float", description="compute dtype metadata")
    debug: bool = Field(
        False,
        description="more log messages: settings that are not defaults, time and memory of each stage")
    trace: bool = Field(False, description="trace marker")
    image_channels: int = Field(
        0, ge=0, le=4,
        description="channels of calibration images: 0 their own without alpha; 1, 3 or 4 turns them into grey, RGB or RGBA")
    config_version: str = Field(
        "1.0.0", description="version of this schema; of another major version a file is refused")
    split_blocks: List[int] = Field(
        default_factory=list,
        description="language models: split points by block index; not with splitParts")
    split_parts: int = Field(
        0, ge=0, le=1024,
        description="language models: number of even parts; 0 = whole; not with splitBlocks")
    offload: OffloadConfig = Field(default_factory=OffloadConfig)
    uint8_input: Uint8InputConfig = Field(default_factory=Uint8InputConfig)
    preprocessing: PreprocessingConfig = Field(default_factory=PreprocessingConfig)
    resource_management: ResourceManagementConfig = Field(default_factory=ResourceManagementConfig)
    calibration: CalibrationConfig = Field(default_factory=CalibrationConfig)
    bit: BitConfig = Field(default_factory=BitConfig)
    hessian_quant: HessianQuantConfig = Field(default_factory=HessianQuantConfig)
    bias_correction: BiasCorrectionConfig = Field(default_factory=BiasCorrectionConfig)
    mod: ModConfig = Field(default_factory=ModConfig)
    llm: LlmConfig = Field(default_factory=LlmConfig)
    moe: MoeConfig = Field(default_factory=MoeConfig)
    equivalent_transformation: EquivalentTransformationConfig = Field(
        default_factory=EquivalentTransformationConfig)
    search_weight_scale: SearchWeightScaleConfig = Field(default_factory=SearchWeightScaleConfig)
    load_scale: LoadScaleConfig = Field(default_factory=LoadScaleConfig)
    runtime_options: RuntimeOptions = Field(default_factory=RuntimeOptions)
    save_sample: SaveSampleConfig = Field(default_factory=SaveSampleConfig)
    extra_output: ExtraOutputConfig = Field(default_factory=ExtraOutputConfig)
    auto_tune: AutoTuneConfig = Field(default_factory=AutoTuneConfig)


# Sections by the name of their field in CompileConfig.
SECTIONS: Dict[str, Type[ConfigModel]] = {
    "offload": OffloadConfig,
    "uint8_input": Uint8InputConfig,
    "preprocessing": PreprocessingConfig,
    "resource_management": ResourceManagementConfig,
    "calibration": CalibrationConfig,
    "bit": BitConfig,
    "hessian_quant": HessianQuantConfig,
    "bias_correction": BiasCorrectionConfig,
    "mod": ModConfig,
    "llm": LlmConfig,
    "moe": MoeConfig,
    "equivalent_transformation": EquivalentTransformationConfig,
    "search_weight_scale": SearchWeightScaleConfig,
    "load_scale": LoadScaleConfig,
    "runtime_options": RuntimeOptions,
    "save_sample": SaveSampleConfig,
    "extra_output": ExtraOutputConfig,
    "auto_tune": AutoTuneConfig,
}
# The sections that the grouped spelling puts into each group.
GROUPS: Dict[str, Tuple[str, ...]] = {
    "quantization": ("calibration", "bit"),
    "advancedQuantization": ("hessianQuant", "biasCorrection", "mod",
        "equivalentTransformation", "searchWeightScale", "loadScale"),
}
# (name, extends, meaning, what it sets as JSON).
PRESETS: Tuple[Tuple[str, str, str, str], ...] = (
    ("classification", "", "image classifiers",
     '{}'),
    ("detection", "", "detectors: outputs quantized per channel",
     '{"calibration": {"output": 1}}'),
    ("classification_torchvision", "classification", "torchvision classifiers from raw images, uint8 input",
     '{"imageChannels": 3, "uint8Input": {"apply": true}, "preprocessing": {"apply": true,'
     ' "autoConvertFormat": true, "pipeline": [{"op": "resize", "size": 256, "mode": '
     '"bilinear", "backend": "pil"}, {"op": "centerCrop", "height": 224, "width": 224}, '
     '{"op": "normalize", "mean": [0.485, 0.456, 0.406], "std": [0.229, 0.224, 0.225], '
     '"scaleToUint8": true, "fuseIntoFirstLayer": true}]}}'),
    ("yolo_640", "detection", "YOLO at 640 x 640 from raw images, uint8 input",
     '{"imageChannels": 3, "uint8Input": {"apply": true}, "preprocessing": {"apply": true,'
     ' "autoConvertFormat": true, "pipeline": [{"op": "letterbox", "height": 640, "width":'
     ' 640, "padValue": 114, "backend": "opencv"}]}, "calibration": {"output": 1}}'),
    ("yolo_1280", "detection", "YOLO at 1280 x 1280 from raw images, uint8 input",
     '{"imageChannels": 3, "uint8Input": {"apply": true}, "preprocessing": {"apply": true,'
     ' "autoConvertFormat": true, "pipeline": [{"op": "letterbox", "height": 1280, '
     '"width": 1280, "padValue": 114, "backend": "opencv"}]}, "calibration": {"output": '
     '1}}'),
    ("llm", "", "language models",
     '{"calibration": {"mode": 0}, "llm": {"apply": true, "attributes": {"calibration": '
     '{"useFullSeqLength": true}}}, "equivalentTransformation": {"QK": {"apply": true}, '
     '"UD": {"apply": true}, "VO": {"apply": true}, "SpinR1": {"apply": true}, "SpinR2": '
     '{"apply": true}, "OptimizeFFN": {"apply": true}}}'),
    ("llm_fast", "llm", "language models without equivalent transformations",
     '{"calibration": {"mode": 0}, "llm": {"apply": true}}'),
    ("vision_transformer", "", "vision transformers: 16-bit residual and feed-forward activations",
     '{"calibration": {"mode": 0}, "bit": {"transformer": {"activation": {"output": 16, '
     '"ffn": 16}}}}'),
    ("multimodal", "", "language models with other inputs",
     '{"calibration": {"method": 3}, "llm": {"apply": true}}'),
)

__all__ = [
    "AutoTuneConfig",
    "BiasCorrectionAttributesConfig",
    "BiasCorrectionConfig",
    "BitConfig",
    "BitLayerOverridesConfig",
    "BitTransformerActivationConfig",
    "BitTransformerConfig",
    "BitTransformerWeightConfig",
    "CalibrationConfig",
    "CalibrationGroupLutConfig",
    "CalibrationHistogramConfig",
    "CalibrationLayerOverridesConfig",
    "CalibrationMaxPercentileConfig",
    "CalibrationOptimizeLutConfig",
    "EquivalentTransformationConfig",
    "EquivalentTransformationFeedForwardMultiLutConfig",
    "EquivalentTransformationHeadOutChRotationConfig",
    "EquivalentTransformationNormConvConfig",
    "EquivalentTransformationOptimizeFFNConfig",
    "EquivalentTransformationQKConfig",
    "EquivalentTransformationQKRotationConfig",
    "EquivalentTransformationSpinR1Config",
    "EquivalentTransformationSpinR2Config",
    "EquivalentTransformationUDConfig",
    "EquivalentTransformationVOConfig",
    "ExtraOutputConfig",
    "HessianQuantAttributesConfig",
    "HessianQuantConfig",
    "LlmAttributesCalibrationConfig",
    "LlmAttributesConfig",
    "LlmAttributesRuntimeConfig",
    "LlmConfig",
    "LoadScaleConfig",
    "ModAttributesConfig",
    "ModConfig",
    "MoeAttributesConfig",
    "MoeConfig",
    "OffloadConfig",
    "PreprocessingConfig",
    "ResourceManagementConfig",
    "ResourceManagementWeightMemoryConfig",
    "RuntimeOptions",
    "SaveSampleConfig",
    "SearchWeightScaleConfig",
    "SearchWeightScaleTransformerConfig",
    "Uint8InputConfig",
]

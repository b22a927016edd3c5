"""Models of torchvision, timm and transformers at small sizes, with random weights, for `models.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class Case:
    """A model, its inputs, and the loss of a training step."""

    name: str
    build: Callable[[], nn.Module]
    """The model with random weights, whose result is a tensor."""
    inputs: Callable[[], list[torch.Tensor]]

    @property
    def family(self) -> str:
        """The package that the model is from."""
        return self.name.partition("/")[0]


class Flat(nn.Module):
    """A model whose floating-point results are one tensor."""

    def __init__(self, model: nn.Module, **stated: Any):
        super().__init__()
        self.model, self.stated = model, stated

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        found = self.model(*args, **self.stated)
        return torch.cat([one.flatten() for one in _tensors(found)])


def _tensors(found: Any) -> list[torch.Tensor]:
    """The tensors of floats in the results of a model."""
    if isinstance(found, torch.Tensor):
        return [found] if found.is_floating_point() else []
    values = found.values() if isinstance(found, dict) else found if isinstance(found, list | tuple) else []
    return [tensor for one in values for tensor in _tensors(one)]


def _images(count: int, size: int) -> list[torch.Tensor]:
    return [torch.randn(count, 3, size, size)]


# torchvision: the size of images, and arguments of the model.
_VISION: dict[str, tuple[int, dict[str, Any]]] = {
    "alexnet": (64, {}),
    "vgg11_bn": (32, {}),
    "resnet18": (64, {}),
    "resnet50": (64, {}),
    "resnext50_32x4d": (64, {}),
    "wide_resnet50_2": (64, {}),
    "densenet121": (64, {}),
    "googlenet": (64, {"aux_logits": False, "init_weights": False}),
    "inception_v3": (96, {"aux_logits": False, "init_weights": False}),
    "mobilenet_v2": (64, {}),
    "mobilenet_v3_small": (64, {}),
    "mobilenet_v3_large": (64, {}),
    "mnasnet0_5": (64, {}),
    "shufflenet_v2_x0_5": (64, {}),
    "squeezenet1_1": (64, {}),
    "efficientnet_b0": (64, {}),
    "efficientnet_v2_s": (64, {}),
    "regnet_y_400mf": (64, {}),
    "regnet_x_400mf": (64, {}),
    "convnext_tiny": (64, {}),
    "vit_b_16": (32, {"image_size": 32}),
    "swin_t": (64, {}),
    "swin_v2_t": (64, {}),
    "maxvit_t": (224, {}),
    "fcn_resnet50": (64, {"weights_backbone": None}),
    "deeplabv3_mobilenet_v3_large": (64, {"weights_backbone": None}),
    "lraspp_mobilenet_v3_large": (64, {"weights_backbone": None}),
}

_TIMM: dict[str, tuple[int, dict[str, Any]]] = {
    "resnet26d": (64, {}),
    "seresnet18": (64, {}),
    "efficientnet_lite0": (64, {}),
    "tf_mobilenetv3_small_075": (64, {}),
    "regnety_002": (64, {}),
    "convnext_atto": (64, {}),
    "convnextv2_atto": (64, {}),
    "vit_tiny_patch16_224": (64, {"img_size": 64, "depth": 4}),
    "deit_tiny_patch16_224": (64, {"img_size": 64, "depth": 4}),
    "swin_tiny_patch4_window7_224": (56, {"img_size": 56, "window_size": 7}),
    "mixer_s16_224": (64, {"img_size": 64}),
    "resmlp_12_224": (64, {"img_size": 64}),
    "poolformer_s12": (64, {}),
    "ghostnet_050": (64, {}),
    "levit_128s": (224, {}),
    "mobilevit_xxs": (64, {}),
    "edgenext_xx_small": (64, {}),
    "coatnet_0_rw_224": (64, {"img_size": 64}),
}


def _of_torchvision(name: str, stated: dict[str, Any]) -> nn.Module:
    import torchvision  # pyright: ignore[reportMissingImports]

    return Flat(torchvision.models.get_model(name, weights=None, **stated))


def _of_timm(name: str, stated: dict[str, Any]) -> nn.Module:
    import timm  # pyright: ignore[reportMissingImports]

    return Flat(timm.create_model(name, pretrained=False, **stated))


def _mask_rcnn_backbone() -> nn.Module:
    """The backbone of Mask R-CNN: a ResNet-50 with a pyramid of features."""
    detection = import_module("torchvision.models.detection.backbone_utils")
    return Flat(detection.resnet_fpn_backbone(backbone_name="resnet50", weights=None))


_SMALL = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "vocab_size": 99,
}  # fmt: skip
_KEYS = {"num_key_value_heads": 2, "head_dim": 8}
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "vocab_size": 99}
_BART = {
    "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "vocab_size": 99, "max_position_embeddings": 64,
}  # fmt: skip
_IMAGE = {"image_size": 32, "patch_size": 8}

# transformers: the model's class, its configuration's arguments, and which inputs it takes.
_TRANSFORMERS: dict[str, tuple[str, dict[str, Any], str]] = {
    "Bert": ("BertForMaskedLM", _SMALL, "words"),
    "Roberta": ("RobertaForMaskedLM", _SMALL, "words"),
    "DistilBert": (
        "DistilBertForMaskedLM", {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "vocab_size": 99}, "words",
    ),
    "Electra": ("ElectraForMaskedLM", {**_SMALL, "embedding_size": 32}, "words"),
    "Albert": ("AlbertForMaskedLM", {**_SMALL, "embedding_size": 16}, "words"),
    "Deberta": ("DebertaV2ForMaskedLM", _SMALL, "words"),
    "GPT2": ("GPT2LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}, "words"),
    "GPTNeoX": ("GPTNeoXForCausalLM", _SMALL, "words"),
    "OPT": (
        "OPTForCausalLM",
        {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 64, "vocab_size": 99,
         "word_embed_proj_dim": 32}, "words",
    ),
    "Bloom": ("BloomForCausalLM", {"hidden_size": 32, "n_layer": 2, "n_head": 4, "vocab_size": 99}, "words"),
    "Llama": ("LlamaForCausalLM", {**_SMALL, **_KEYS}, "words"),
    "Mistral": ("MistralForCausalLM", {**_SMALL, **_KEYS}, "words"),
    "Gemma": ("GemmaForCausalLM", {**_SMALL, **_KEYS}, "words"),
    "Gemma2": ("Gemma2ForCausalLM", {**_SMALL, **_KEYS}, "words"),
    "Qwen2": ("Qwen2ForCausalLM", {**_SMALL, "num_key_value_heads": 2}, "words"),
    "Qwen3": ("Qwen3ForCausalLM", {**_SMALL, **_KEYS}, "words"),
    "Phi": ("PhiForCausalLM", _SMALL, "words"),
    "Falcon": (
        "FalconForCausalLM",
        {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 99}, "words",
    ),
    "StableLm": ("StableLmForCausalLM", {**_SMALL, "num_key_value_heads": 2}, "words"),
    "Mixtral": ("MixtralForCausalLM", {**_SMALL, **_KEYS, "num_local_experts": 4}, "words"),
    "Mamba": ("MambaForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 99}, "words"),
    "Rwkv": ("RwkvForCausalLM", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 99}, "words"),
    "T5": ("T5ForConditionalGeneration", _T5, "both"),
    "Bart": ("BartForConditionalGeneration", _BART, "both"),
    "Whisper": (
        "WhisperForConditionalGeneration",
        {**_BART, "num_mel_bins": 8, "max_source_positions": 16, "max_target_positions": 16, "pad_token_id": 0},
        "sound",
    ),
    "CLIP": (
        "CLIPModel",
        {"text_config": {**_SMALL, "max_position_embeddings": 16}, "vision_config": {**_SMALL, **_IMAGE}}, "captions",
    ),
    "ViT": ("ViTForImageClassification", {**_SMALL, **_IMAGE}, "image"),
    "Swin": (
        "SwinForImageClassification",
        {"image_size": 32, "patch_size": 2, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
        "image",
    ),
    "Gemma3": ("Gemma3ForCausalLM", {**_SMALL, **_KEYS, "sliding_window": 4, "pad_token_id": 0}, "words"),
    "Phi3": ("Phi3ForCausalLM", {**_SMALL, "num_key_value_heads": 2, "pad_token_id": 0}, "words"),
    "Olmo2": ("Olmo2ForCausalLM", {**_SMALL, "num_key_value_heads": 2}, "words"),
    "Granite": ("GraniteForCausalLM", {**_SMALL, "num_key_value_heads": 2}, "words"),
    "GPTJ": ("GPTJForCausalLM", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4, "vocab_size": 99}, "words"),
    "FNet": ("FNetForMaskedLM", _SMALL, "words"),
    "MPNet": ("MPNetForMaskedLM", _SMALL, "words"),
    "Mamba2": (
        "Mamba2ForCausalLM",
        {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 99, "num_heads": 8, "head_dim": 8, "state_size": 16,
         "n_groups": 2, "chunk_size": 4}, "words",
    ),
    "Qwen3Moe": (
        "Qwen3MoeForCausalLM",
        {**_SMALL, **_KEYS, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}, "words",
    ),
    "GptOss": (
        "GptOssForCausalLM",
        {**_SMALL, **_KEYS, "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": 4}, "words",
    ),
    "Olmoe": (
        "OlmoeForCausalLM", {**_SMALL, "num_key_value_heads": 2, "num_experts": 4, "num_experts_per_tok": 2}, "words",
    ),
    "Cohere": ("CohereForCausalLM", {**_SMALL, "num_key_value_heads": 2, "pad_token_id": 0}, "words"),
    "ConvBert": ("ConvBertForMaskedLM", {**_SMALL, "embedding_size": 32, "head_ratio": 2}, "words"),
    "XLNet": (
        "XLNetLMHeadModel", {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64, "vocab_size": 99}, "words",
    ),
    "Funnel": (
        "FunnelForMaskedLM",
        {"d_model": 32, "block_sizes": [1, 1], "n_head": 4, "d_head": 8, "d_inner": 64, "vocab_size": 99}, "words",
    ),
    "Beit": ("BeitForImageClassification", {**_SMALL, **_IMAGE}, "image"),
    "Dinov2": ("Dinov2ForImageClassification", {**_SMALL, **_IMAGE}, "image"),
    "Segformer": (
        "SegformerForImageClassification",
        {"hidden_sizes": [8, 16], "num_encoder_blocks": 2, "depths": [1, 1], "sr_ratios": [2, 1], "patch_sizes": [7, 3],
         "strides": [4, 2], "num_attention_heads": [1, 2], "mlp_ratios": [2, 2], "decoder_hidden_size": 16}, "image",
    ),
    "DetrEncoder": (
        "TimeSeriesTransformerModel",
        {"prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "d_model": 16}, "series",
    ),
}  # fmt: skip


def _words(rows: int = 2, length: int = 8) -> torch.Tensor:
    return torch.randint(3, 99, (rows, length))


_INPUTS: dict[str, Callable[[], dict[str, torch.Tensor]]] = {
    "words": lambda: {"input_ids": _words()},
    "both": lambda: {"input_ids": _words(), "decoder_input_ids": _words(2, 6)},
    "sound": lambda: {"input_features": torch.randn(2, 8, 32), "decoder_input_ids": _words(2, 6)},
    "captions": lambda: {"input_ids": _words(), "pixel_values": torch.randn(2, 3, 32, 32)},
    "image": lambda: {"pixel_values": torch.randn(2, 3, 32, 32)},
    "series": lambda: {
        "past_values": torch.randn(2, 10), "past_time_features": torch.randn(2, 10, 0),
        "past_observed_mask": torch.ones(2, 10), "future_values": torch.randn(2, 4),
        "future_time_features": torch.randn(2, 4, 0),
    },
}  # fmt: skip


class Named(nn.Module):
    """A model of transformers, whose inputs have names and whose results are one tensor."""

    def __init__(self, model: nn.Module, names: list[str]):
        super().__init__()
        self.model, self.names = model, names

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        found = self.model(**dict(zip(self.names, args, strict=True)), use_cache=False)
        return _tensors(dict(found))[0].flatten()


class Plain(Named):
    """One that has no cache."""

    def forward(self, *args: torch.Tensor) -> torch.Tensor:
        found = self.model(**dict(zip(self.names, args, strict=True)))
        return torch.cat([one.flatten() for one in _tensors(dict(found))])


def _of_transformers(cls: str, stated: dict[str, Any], kind: str) -> nn.Module:
    import transformers

    model_class = getattr(transformers, cls)
    model = model_class(model_class.config_class(**stated))
    names = list(_INPUTS[kind]())
    return (Plain if kind in ("image", "captions") else Named)(model, names)


SAMPLE = frozenset(
    """
    torchvision/resnet18 torchvision/mobilenet_v3_small torchvision/convnext_tiny torchvision/swin_t
    torchvision/densenet121 timm/vit_tiny_patch16_224 timm/resmlp_12_224 timm/seresnet18 transformers/Bert
    transformers/GPT2 transformers/Llama transformers/T5 transformers/Whisper transformers/CLIP transformers/Mamba
    transformers/Mixtral
    """.split()
)
"""The models that are timed by default."""


def _detr() -> nn.Module:
    """A detector with a transformer over the features of a convnet, in the manner of DETR."""

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(3, 16, 5, 4, 2), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1)
            )
            self.transformer = nn.Transformer(32, 4, 2, 2, 64, 0.0, batch_first=True)
            self.queries = nn.Parameter(torch.randn(10, 32))
            self.rows, self.columns = nn.Parameter(torch.randn(8, 16)), nn.Parameter(torch.randn(8, 16))
            self.classes, self.boxes = nn.Linear(32, 7), nn.Linear(32, 4)

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            found = self.features(image)
            height, width = found.shape[-2:]
            places = torch.cat(
                [
                    self.columns[:width].unsqueeze(0).repeat(height, 1, 1),
                    self.rows[:height].unsqueeze(1).repeat(1, width, 1),
                ],
                -1,
            ).flatten(0, 1)
            tokens = found.flatten(2).transpose(1, 2) + places
            decoded = self.transformer(tokens, self.queries.expand(image.shape[0], -1, -1))
            return torch.cat([self.classes(decoded), self.boxes(decoded).sigmoid()], -1).flatten()

    return Detector()


def cases() -> list[Case]:
    """All of them."""
    found = [
        Case(f"torchvision/{name}", partial(_of_torchvision, name, stated), partial(_images, 2, size))
        for name, (size, stated) in _VISION.items()
    ]
    found.append(Case("torchvision/mask_rcnn_backbone", _mask_rcnn_backbone, partial(_images, 1, 64)))
    found.append(Case("torchvision/detr", _detr, partial(_images, 2, 64)))
    found += [
        Case(f"timm/{name}", partial(_of_timm, name, stated), partial(_images, 2, size))
        for name, (size, stated) in _TIMM.items()
    ]
    for name, (cls, stated, kind) in _TRANSFORMERS.items():
        found.append(
            Case(
                f"transformers/{name}",
                partial(_of_transformers, cls, stated, kind),
                lambda kind=kind: list(_INPUTS[kind]().values()),
            )
        )
    return found

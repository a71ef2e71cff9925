"""How published runs and the book's systems are called in tables and figures."""

from tpbook import catalogue
from tpbook.system_record import System

ENGINES = {
    "DeepSpeed": "DeepSpeed",
    "DeepSpeed-MII": "DeepSpeed-MII",
    "FasterTransformer": "FasterTransformer",
    "TensorRT-LLM": "TRT-LLM",
    "distributed-llama 0.1.0": "distributed-llama",
    "distributed-llama 0.3.1": "distributed-llama",
    "gpt-fast": "gpt-fast",
    "llama.cpp": "llama.cpp",
    "not stated": "splitwise",
    "SambaFlow": "SambaFlow",
    "vLLM": "vLLM",
}
CARDS = {
    "a100-40gb-sxm4": "A100 40 GB",
    "a100-80gb-sxm4": "A100",
    "c3d-highcpu-30": "c3d VM",
    "gaudi2": "Gaudi 2",
    "gh200": "GH200",
    "h100-sxm": "H100",
    "h100-sxm-power-cap": "H100 capped",
    "intel-pvc": "PVC",
    "max-1550": "Max 1550",
    "mi250": "MI250",
    "mi300x": "MI300X",
    "raspberry-pi-4b": "Pi 4",
    "raspberry-pi-5": "Pi 5",
    "sn40l": "SN40L",
}
SYSTEMS = {
    "octo-h100-sxm": "H100 NVLink",
    "quad-a100-sxm": "A100 NVLink",
    "quad-a40-bridge": "bridged A40",
    "quad-a40-hoststaged": "host-staged A40",
    "quad-l40s-pcie": "L40S PCIe",
}


def system_name(system: System) -> str:
    """Short name of a system of the book, or the title of another one."""
    return SYSTEMS.get(system.id, system.title)


def run_name(engine: str, accelerator: str) -> str:
    """Engine and accelerator of a published run, short enough for a phone: "vLLM, H100".

    Splitwise names no engine, so the source stands there.
    Raises ValueError for an id that has no name here.
    """
    engine = catalogue.lookup(ENGINES, engine, "name of engine")
    return f"{engine}, {catalogue.lookup(CARDS, accelerator, 'name of accelerator')}"

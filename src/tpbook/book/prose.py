"""Bare numbers in a chapter's prose: digits that were typed, where the book wants them computed."""

import re

# Names that end in a number of their own. The number after them is part of the name.
NAMES = (
    r"CUDA|cuBLAS|cuDNN|DGX|Fabric|Gen|GPT|HBM|HGX|Infinity Fabric|Llama|Mistral|Mixtral|NCCL|"
    r"NVLink|NVSwitch|OPT|PCIe|Phi|Python|PyTorch|Qwen|RCCL|ROCm|RTX|SHARP|SymPy|Triton|vLLM|xGMI"
)
PLACES = (
    r"§+|[Aa]ppendix|[Cc]hapters?|[Ee]q(?:uations?|s?\.)|[Ff]ig(?:ures?|s?\.)|[Pp]arts?|[Pp]ages?|"
    r"[Rr]ows?|[Ss]ections?|[Ss]teps?|[Tt]ables?|[Tt]heorems?|[Vv]ersions?"
)
NUMBER = r"\d+(?:\.\d+)*"

# What may hold digits without being a number of the prose, in the order of removal.
MARKUP = (
    r"(?s)<!--.*?-->",
    r"(?m)^\s*%.*$",  # MyST comment
    r"(?ms)^(\s*)(`{3,})\{(?:code-block|code-cell|code|bibliography|mermaid|raw)\}.*?^\s*\2\s*$",
    r"(?ms)^(\s*)(`{3,}|~{3,})(?!\{).*?^\s*\2\s*$",  # code block
    r"(?m)^\s*(?:`{3,}|:{3,})\{[^}]*\}.*$",  # a directive's opening line
    r"(?m)^\s*:[a-z_-]+:.*$",  # a directive's option
    r"(?m)^\s*\([^()\s]+\)=\s*$",  # a label
    r"\{[\w:.+-]+\}(`+).*?\1",  # role
    r"(`+)[^`].*?\1",  # code span
)
WORDS = (
    r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)",  # a link's address
    r"<[^<>\s][^<>]*>",  # tag or address
    r"https?://\S+",
    r"\[\^[^\]]+\]",  # footnote
    r"(?m)^\s*\d+[.)]\s",  # list item
    rf"(?m)^#+\s+{NUMBER}\.?\s",  # a heading's section number
    rf"(?<![A-Za-z])(?:{PLACES})\s*(?:{NUMBER}(?:\s*(?:[-–,]|and|to)\s*)?)+",
    rf"\b(?:{NAMES})[ -]?v?{NUMBER}(?:[ -]\d+(?:\.\d+)?B\b)?(?:\s*[x×]\d+)?",
    r"(?:\bin |\bsince |\()(?:19\d|20[0-2])\d\b",  # year
    r"\b[A-Za-z](?:[\w.+-]*\w)?\d(?:[\w.+-]*\w)?",  # A100, bf16, Qwen2.5-7B
    r"\b(?:[A-Z]+-|[A-Za-z])\d+\b",
    rf"\b(?:\d+x)?{NUMBER}B\b",  # 70B, 8x7B: a model's size
    r"\b\d-?D\b",
)
MATH = (
    r"\$\$.*?\$\$(?:[ \t]*\([\w-]+\))?"
    r"|(?<!\\)\$(?!\s)(?:\\.|[^$\\])+?(?<!\s)\$"
    r"|\\begin\{(\w+\*?)\}.*?\\end\{\1\}"
)
# In mathematics small whole numbers are structure (2(p-1)/p); these are results.
RESULT = r"\d+\.\d+|\d{1,3}(?:(?:,|\{,\})\d{3})+|\d{4,}"


def bare_numbers(source: str) -> list[str]:
    """The typed numbers of a Markdown text, in reading order; empty when there is none.

    Numbers inside code, roles, links, labels, names and references to places are not counted.
    """
    text = source
    for pattern in MARKUP:
        text = re.sub(pattern, " ", text)
    found = []

    def judged(match: re.Match) -> str:
        found.extend(_results(match.group(0)))
        return " "

    text = re.sub(MATH, judged, text, flags=re.DOTALL)
    for pattern in WORDS:
        text = re.sub(pattern, " ", text)
    return found + re.findall(r"\d[\d.,]*(?<![.,])", text)


def _results(math: str) -> list[str]:
    """The numbers of a formula that are results: all of them where it holds nothing else."""
    body = re.sub(r"\\(?:text|mathrm|operatorname)\{[^{}]*\}|\\[,;:! %]|~", " ", math)
    letters = re.sub(r"\\(?:approx|sim|times|pm|leq?|geq?|lt|gt|cdot|%)(?![a-zA-Z])", "", body)
    if re.search(r"\d.*\d", letters) and not re.search(r"[A-Za-z\\]", letters):
        return [math.strip("$ \n")]
    return re.findall(RESULT, body)

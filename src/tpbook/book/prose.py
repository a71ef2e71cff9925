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

FENCE = re.compile(r"\s*(`{3,}|~{3,}|:{3,})(?:\{([^}]*)\})?(.*)")
CODE = {"code-block", "code-cell", "code", "bibliography", "mermaid"}
PATH_TITLED = {"figure", "image", "include", "literalinclude"}
SHOWN_OPTION = re.compile(r"\s*:(?:alt|caption|title):(.*)")

# What may hold digits without being a number of the prose, in the order of removal.
MARKUP = (
    r"(?s)<!--.*?-->",
    r"(?m)^\s*%.*$",  # MyST comment
    r"(?m)^\s*\([^()\s]+\)=\s*$",  # a label
)
ROLE = r"\{([\w:.+-]+)\}(`+)(.*?)\2"
REFERENCE = r"eq|ref|numref|doc|download|prf:ref|cite(?::\w+)?|glue(?::\w+)?"
SPAN = r"(`+)([^`].*?)\1"
# A span with nothing but a number and its unit is no code.
QUANTITY = r"[~≈±+<>=\s-]*\d[\d.,]+\s*[^\s\d()=]{0,8}\s*"
WORDS = (
    r"(?<=\])\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)",  # a link's address
    r"</?[A-Za-z!][^<>]*>",  # tag or address
    r"https?://\S+",
    r"\[\^[^\]]+\]",  # footnote
    r"(?m)^\s*\d+[.)]\s",  # list item
    rf"(?m)^#+\s+{NUMBER}\.?\s",  # a heading's section number
    rf"(?<![A-Za-z])(?:{PLACES})\s*(?:{NUMBER}(?:\s*(?:[-–,]|and|to)\s*)?)+",
    rf"\b(?:{NAMES})[ -]?v?{NUMBER}(?:[ -]\d+(?:\.\d+)?B\b)?(?:\s*[x×]\d+)?",
    r"(?:\bin |\bsince |\()(?:19\d|20[0-2])\d\b",  # year
    r"\b[A-Za-z](?:[\w.+-]*\w)?\d(?:[\w.+-]*\w)?",  # A100, bf16, Qwen2.5-7B
    r"\b(?:[A-Z]+-|[A-Za-z])\d+\b",
    rf"\b(?:\d+x)?{NUMBER}B\b(?!/)",  # 70B, 8x7B: a model's size
    r"\b\d-?D\b",
)
MATH = (
    r"\$\$.*?\$\$(?:[ \t]*\([\w-]+\))?"
    r"|(?<!\\)\$(?!\s)(?:\\.|[^$\\])+?(?<!\s)\$"
    r"|\\begin\{(\w+\*?)\}.*?\\end\{\1\}"
)
# In mathematics small whole numbers are structure (2(p-1)/p); these are results.
RESULT = r"\d+\.\d+|\d{1,3}(?:(?:,|\{,\})\d{3})+|\d{3,}"
WORDS_IN_MATH = r"\\(?:text\w*|math\w+|operatorname)\{([^{}]*)\}"


def bare_numbers(source: str) -> list[str]:
    """The typed numbers of a Markdown text, in reading order; empty when there is none.

    Numbers inside code, roles, links, labels, names and references to places are not counted.
    """
    text = _without_blocks(source)
    for pattern in MARKUP:
        text = re.sub(pattern, " ", text)
    text = re.sub(ROLE, _role, text)
    text = re.sub(SPAN, lambda m: m[2] if re.fullmatch(QUANTITY, m[2]) else " ", text)
    found = []

    def judged(match: re.Match) -> str:
        found.extend(_results(match.group(0)))
        return " "

    text = re.sub(MATH, judged, text, flags=re.DOTALL)
    for pattern in WORDS:
        text = re.sub(pattern, " ", text)
    return found + re.findall(r"\d[\d.,]*(?<![.,])", text)


def _without_blocks(source: str) -> str:
    """The text without code blocks; of a directive, its title, shown options and body remain."""
    kept, open_fences, code, options = [], [], "", False
    for line in source.splitlines():
        found = FENCE.fullmatch(line)
        fence, name, title = found.groups() if found else (None, None, "")
        closes = fence and name is None and not title.strip()
        if code:
            if closes and fence.startswith(code):
                code = ""
        elif closes and open_fences and fence.startswith(open_fences[-1]):
            open_fences.pop()
        elif name in CODE or (fence and name is None and fence[0] != ":"):
            code = fence
        elif name is not None:
            open_fences.append(fence)
            kept.append("" if name in PATH_TITLED or name.startswith("glue") else title)
        elif options and re.match(r"\s*:[a-z_-]+:", line):
            shown = SHOWN_OPTION.fullmatch(line)
            kept.append(shown[1] if shown else "")
            continue
        else:
            kept.append(line)
        options = name is not None
    return "\n".join(kept)


def _role(match: re.Match) -> str:
    """What a role shows of its own text: a reference only its title, another role all of it."""
    name, _, content = match.groups()
    if name == "math":
        return f"${content}$"
    if re.fullmatch(REFERENCE, name):
        titled = re.fullmatch(r"(.*?)\s*<[^<>]*>", content)
        return titled[1] if titled else " "
    return content


def _results(math: str) -> list[str]:
    """The numbers of a formula that are results: all of them where it holds nothing else."""
    words = [number for text in re.findall(WORDS_IN_MATH, math) for number in bare_numbers(text)]
    body = re.sub(rf"{WORDS_IN_MATH}|\\[,;:! %]|~", " ", math)
    letters = re.sub(r"\\(?:approx|sim|times|pm|leq?|geq?|lt|gt|cdot|%)(?![a-zA-Z])", "", body)
    if re.search(r"\d.*\d", letters) and not re.search(r"[A-Za-z\\]", letters):
        return [math.strip("$ \n")]
    return words + re.findall(RESULT, body)

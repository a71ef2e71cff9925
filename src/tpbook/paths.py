"""Where the repository's data folder is."""

from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"


def data_path(*parts: str) -> Path:
    """The path of a file or folder under data/, for example data_path("hardware.yml").

    The package is installed editable, so data/ is found from this file's own place. Raises
    ValueError when the path does not exist.
    """
    path = DATA.joinpath(*parts)
    if not path.exists():
        raise ValueError(
            f"no {'/'.join(('data', *parts))} beside the package: run the book from its repository"
        )
    return path

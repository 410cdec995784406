"""What a patch beside a kernel makes of it, and what the lines above the patch say."""
import re
import subprocess
import tempfile
from pathlib import Path

from ladder_tools.place import ROOT


def patched(kernel, patch, root=ROOT):
    """The kernel's text with the patch applied. ValueError, if it does not fit."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "patched"
        run = subprocess.run(["patch", "--silent", "--fuzz=0", f"--output={output}", root / kernel, root / patch], capture_output=True, text=True)
        if run.returncode:
            raise ValueError(f"{patch} does not fit {kernel}: {run.stdout}{run.stderr}")
        return output.read_text()


def header(patch, word):
    """What the line "# WORD: ..." of a patch says, else ""."""
    found = re.search(rf"^# {word}: (.+)$", patch, re.MULTILINE)
    return found[1] if found else ""

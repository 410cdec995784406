"""./ladder python: the kernels as a wheel for numpy, PyTorch and DLPack, built from library/."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

from ladder_tools.building import cores, require_writable, say
from ladder_tools.place import ROOT, Failed, Refused

_CUDA = {"default": "AUTO", "cuda": "ON", "emulator": "OFF"}


def _call(what, *words, **more):
    done = subprocess.run(words, capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise Failed(f"{what} failed:\n{(done.stdout + done.stderr)[-3000:].rstrip()}")


def _python_with_setuptools():
    """A Python whose setuptools can write a wheel: on its own since 70.1, before that with the
    package wheel."""
    for each in dict.fromkeys((sys.executable, "/usr/bin/python3")):
        if subprocess.run([each, "-c", "from setuptools.command import bdist_wheel"], capture_output=True).returncode == 0 or \
                subprocess.run([each, "-c", "import setuptools, wheel"], capture_output=True).returncode == 0:
            return each
    raise Failed("a wheel needs setuptools and wheel: sudo apt-get install -y python3-setuptools python3-wheel")


def python(words, preset, caller):
    """Writes dist/kernel_ladder-VERSION-py3-none-PLATFORM.whl, or into the named folder."""
    if len(words) > 1 or (words and words[0].startswith("-")):
        raise Refused(f"python has arguments '{' '.join(words)}'; allowed: one folder for the wheel")
    out = Path(caller, words[0]) if words else ROOT / "dist"
    build = ROOT / ("build-library" if preset == "default" else f"build-library-{preset}")
    require_writable(build.name)
    say(f"building the library ({build.name}); with nvcc it takes some minutes")
    generator = ["-G", "Ninja"] if shutil.which("ninja") and not (build / "CMakeCache.txt").exists() else []
    launcher = ["-D", "CMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    _call("cmake", "cmake", "-S", str(ROOT / "library"), "-B", str(build), *generator, *launcher, "-D", f"KERNEL_LADDER_CUDA={_CUDA[preset]}",
          "-D", "CMAKE_BUILD_TYPE=Release")
    _call("the build", "cmake", "--build", str(build), "-j", str(cores()))

    stage = build / "python"
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(ROOT / "library/python", stage, ignore=shutil.ignore_patterns("__pycache__", "test*"))
    shutil.copy(ROOT / "library/include/kernel_ladder.h", stage / "kernel_ladder")
    for library in build.glob("libkernel_ladder*.so"):
        shutil.copy(library, stage / "kernel_ladder" / library.name)  # the link's target
    _call("setuptools", _python_with_setuptools(), "setup.py", "-q", "bdist_wheel", "--dist-dir", str(out), cwd=stage)
    wheel = max(out.glob("kernel_ladder-*.whl"), key=lambda path: path.stat().st_mtime)
    inside = ", ".join(sorted(re.sub(r"lib|\.so", "", path.name) for path in (stage / "kernel_ladder").glob("*.so")))
    say(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB: {inside}); python3 -m pip install it")
    return 0

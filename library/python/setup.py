"""The wheel, with the libraries inside. ./ladder python copies them and kernel_ladder.h into the
package's folder, and calls this script."""
from setuptools import Distribution, setup

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # setuptools before 70.1
    from wheel.bdist_wheel import bdist_wheel


class Wheel(bdist_wheel):
    """For this machine, and for any Python 3, because there is no compiled extension."""

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class WithLibraries(Distribution):
    def has_ext_modules(self):
        return True


setup(name="kernel-ladder", version="1.0.0", description="WKV, GLA, linear and softmax attention: Kernel Ladder's kernels for numpy, PyTorch and DLPack",
      license="MIT", python_requires=">=3.10", packages=["kernel_ladder"], package_data={"kernel_ladder": ["*.so", "*.h"]},
      distclass=WithLibraries, cmdclass={"bdist_wheel": Wheel})

"""Draws xray.png and xray-dark.png: the part of the X-ray's page that shows a warp's lanes above the sectors they ask for, of two kernels.
usage: python3 docs/figures/xray_page.py    (after ./ladder xray 04 05; needs Chromium)"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
PART = "One warp, step by step"
KERNELS = ("04_no_atomic", "05_float4")
WIDTH, HEIGHT = 1180, 600

# Everything before that heading goes. The second request: 04 reads one row of k, 05 four.
SCRIPT = """<script>
addEventListener('load', () => setTimeout(() => {
  let part = [...document.querySelectorAll('h2, h3')].find(each => each.textContent === '%s');
  part.style.marginTop = 0;
  for (; part !== document.body; part = part.parentNode)
    while (part.previousSibling) part.previousSibling.remove();
  document.querySelector('[data-step=next]').click();
}, 100));
</script>""" % PART


def main():
    program = ROOT / "build" / "ladder_xray"
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if not program.exists() or not browser:
        sys.exit("needs build/ladder_xray (cmake --build build builds it) and Chromium")
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "xray.html"
        subprocess.run([program, *KERNELS, f"--html={page}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        page.write_text(page.read_text() + SCRIPT)
        for name, options in {"xray.png": [], "xray-dark.png": ["--force-dark-mode", "--blink-settings=preferredColorScheme=0"]}.items():
            subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=2000",
                            f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={FOLDER / name}", *options, page.as_uri()], check=True, capture_output=True)
            print(f"written: {name}")


if __name__ == "__main__":
    main()

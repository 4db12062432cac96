"""A headless browser, the command that makes pages for it, and pictures compared."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from selenium import webdriver
from selenium.webdriver.common.by import By

COMMAND = os.environ["LOOKBACK"]
HERE = pathlib.Path(__file__).parent


def lookback(*arguments):
    """What the command prints."""
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def views(*arguments):
    """The engine's numbers, as --json gives them."""
    return json.loads(lookback("align", *arguments, "--json", "-"))


class PageTest(unittest.TestCase):
    """One browser for a class of tests; every test ends with a look at its console."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="lookback-page-"))
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        # The sandbox wants rights that a container has not; the only page opened is our own.
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                         "--hide-scrollbars", "--force-device-scale-factor=1"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        service = webdriver.chrome.service.Service(shutil.which("chromedriver"))
        cls.driver = webdriver.Chrome(service=service, options=options)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        shutil.rmtree(cls.folder)

    def tearDown(self):
        self.assertEqual([entry["message"] for entry in self.driver.get_log("browser")], [])

    def make(self, *arguments, name="page.html"):
        path = self.folder / name
        lookback("align", *arguments, "--html", path)
        return path

    def open(self, path, width=1280, height=1400, dark=False):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.driver.get(path.as_uri())
        self.assertTrue(self.script("return document.body.dataset.ready"))

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector):
        found = self.find(selector)
        self.script("arguments[0].scrollIntoView({block: 'center'})", found)
        found.click()

    def find_all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def said(self):
        return self.find("#said").text

    def choose_head(self, layer, head, heads=12):
        self.script("document.querySelectorAll('#heads button')[arguments[0]].click()",
                    layer * heads + head)

    def screenshot(self, name):
        """Also kept where LOOKBACK_SCREENSHOTS says, to be looked at."""
        return self.keep(name, self.driver.get_screenshot_as_png())

    def small_screenshot(self, name):
        """Of the start of the page, as small as reference.png is; kept likewise, to renew it."""
        clip = {"x": 0, "y": 0, "width": 1280, "height": 1400, "scale": 0.4}
        answer = self.driver.execute_cdp_cmd("Page.captureScreenshot",
                                             {"format": "png", "clip": clip})
        return self.keep(name, base64.b64decode(answer["data"]))

    def keep(self, name, picture):
        if "LOOKBACK_SCREENSHOTS" in os.environ:
            pathlib.Path(os.environ["LOOKBACK_SCREENSHOTS"], name).write_bytes(picture)
        return picture

    def difference(self, one, other):
        """Mean absolute difference of two .png files, 0 to 255, once both are made small: what is
        compared is the look, not the edges of letters in the fonts of this machine."""
        uris = ["data:image/png;base64," + base64.b64encode(picture).decode()
                for picture in (one, other)]
        return self.driver.execute_async_script(
            """
            const [uris, done] = arguments;
            const small = async (uri) => {
              const image = new Image();
              image.src = uri;
              await image.decode();
              const canvas = new OffscreenCanvas(64, 64);
              const context = canvas.getContext('2d');
              context.imageSmoothingQuality = 'high';
              context.drawImage(image, 0, 0, 64, 64);
              return context.getImageData(0, 0, 64, 64).data;
            };
            Promise.all(uris.map(small)).then(([a, b]) =>
              done(a.reduce((sum, value, at) => sum + Math.abs(value - b[at]), 0) / a.length));
            """, uris)

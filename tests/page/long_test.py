"""The page of 509 tokens in 6 x 12 heads: small, quick to open, and true."""
import array
import json
import os
import pathlib
import random
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import PageTest, views

SHAPE = (6, 12, 509, 32)
LARGEST_PAGE = 6_000_000  # bytes
LONGEST_OPENING = 2.0  # seconds


def write_random(path, seed):
    """Stands in for the recording, at its size, where that is not at hand."""
    numbers = random.Random(seed)
    values = array.array("f", (numbers.gauss(0, 1.5) for _ in range(6 * 12 * 509 * 32)))
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }" % (SHAPE,)
    header = header.ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode() +
                     values.tobytes())


class LongTest(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        recording = pathlib.Path(os.environ["LOOKBACK_SHARED_DATA"], "minilm", "long")
        if recording.exists():
            files = {name: recording / name for name in ("q.npy", "k.npy", "tokens.json")}
        else:
            files = {name: cls.folder / name for name in ("q.npy", "k.npy", "tokens.json")}
            write_random(files["q.npy"], 1)
            write_random(files["k.npy"], 2)
            files["tokens.json"].write_text(json.dumps([f"word{i}" for i in range(509)]))
        cls.inputs = ("--q", files["q.npy"], "--k", files["k.npy"], "--tokens",
                      files["tokens.json"])
        cls.page = cls.make(cls, *cls.inputs)

    def setUp(self):
        self.open(self.page)

    def check_links(self, numbers, layer, head, row):
        self.choose_head(layer, head)
        self.click(f".flow .word[data-row='{row}']")
        shown = self.script("""
          return [...document.querySelector('.lists ol').children].map(
            (item) => [Number(item.dataset.place), Number(item.dataset.weight)])""")
        keys = numbers["links"]["key"][0][0][row]
        weights = numbers["links"]["weight"][0][0][row]
        # Weights that do not differ in 16 bits may change places.
        self.assertTrue(shown)
        for place, weight in shown:
            self.assertLess(abs(weights[keys.index(place)] - weight), 1e-5)

    def test_it_is_small_and_opens_quickly(self):
        size = self.page.stat().st_size
        opening = self.script("""const entry = performance.getEntriesByType('navigation')[0];
                                 return entry.loadEventEnd / 1000""")
        print(f"page of 509 tokens, 6 x 12 heads: {size / 1e6:.2f} MB, opens in {opening:.2f} s")
        self.assertLess(size, LARGEST_PAGE)
        self.assertLess(opening, LONGEST_OPENING)
        self.screenshot("long.png")

    def test_links_are_the_engines(self):
        for layer, head in ((0, 0), (3, 7), (5, 11)):
            numbers = views(*self.inputs, "--layer", layer, "--head", head)
            for row in (0, 100, 508):
                self.check_links(numbers, layer, head, row)

    def test_causal_is_another_set_of_links(self):
        self.find("#causal").click()
        numbers = views(*self.inputs, "--layer", 2, "--head", 4, "--causal", "top-left")
        for row in (0, 1, 250):
            self.check_links(numbers, 2, 4, row)

    def test_the_temperature_is_off_and_says_why(self):
        self.assertFalse(self.find("#temperature").is_enabled())
        self.assertIn("8 heaviest links", self.find("#note").text)

    def test_the_map_zooms_and_names_what_it_shows(self):
        self.assertIn("rows 0 to 508", self.find(".zoom-buttons").text)
        canvas = self.find(".zoom canvas")
        self.script("arguments[0].focus()", canvas)
        ActionChains(self.driver).send_keys("+++").perform()
        label = canvas.get_attribute("aria-label")
        self.assertNotIn("rows 0 to 508", label)
        self.screenshot("long-zoomed.png")
        ActionChains(self.driver).send_keys(Keys.ARROW_DOWN).perform()
        self.assertNotEqual(canvas.get_attribute("aria-label"), label)
        ActionChains(self.driver).send_keys("0").perform()
        self.assertIn("rows 0 to 508", canvas.get_attribute("aria-label"))

    def test_hovering_the_map_names_both_words(self):
        canvas = self.find(".zoom canvas")
        ActionChains(self.driver).move_to_element(canvas).perform()
        self.assertIn("looks at", self.said())

    def test_on_a_phone_nothing_sticks_out(self):
        self.open(self.page, width=375, height=800)
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), 375)
        self.script("document.querySelector('#said').scrollIntoView()")
        self.screenshot("long-phone.png")

    def test_in_dark_mode(self):
        self.open(self.page, dark=True)
        self.screenshot("long-dark.png")


if __name__ == "__main__":
    unittest.main()

"""The page of the built-in sentence: its numbers are the engine's, and it can be played with."""
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import HERE, PageTest, views

CLIMBED, CAT = 13, 2
TOLERANCE = 2e-6  # the page computes in float64 from the engine's float32 scores


class SentenceTest(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.make(cls, "--sentence")

    def setUp(self):
        self.open(self.page)

    def matrix(self):
        weights = self.script(
            "return [...document.querySelectorAll('.matrix tbody td')].map(c => c.dataset.weight)")
        return [float(weight) for weight in weights]

    def check_matrix(self, numbers, layer, head):
        expected = numbers["map"]["mean_weight"][layer][head]
        flat = [weight for row in expected for weight in row]
        found = self.matrix()
        self.assertEqual(len(found), len(flat))
        self.assertLess(max(abs(a - b) for a, b in zip(found, flat)), TOLERANCE)

    def slide(self, exponent):
        self.script("""const slider = document.getElementById('temperature');
                       slider.value = arguments[0];
                       slider.dispatchEvent(new Event('input'));""", exponent)
        return 10 ** float(self.find("#temperature").get_attribute("value"))

    def test_every_head_has_the_engines_weights(self):
        numbers = views("--sentence")
        self.assertEqual(len(self.find_all("#heads button")), 72)
        for layer in range(6):
            for head in range(12):
                self.choose_head(layer, head)
                self.assertEqual(self.find("#head-title").text, f"Layer {layer}, head {head}")
                self.check_matrix(numbers, layer, head)

    def test_entropy_is_the_engines(self):
        numbers = views("--sentence")
        self.find(f"[data-row='{CLIMBED}']").click()
        entropy = numbers["rows"]["entropy"][5][11][CLIMBED]
        self.assertIn(f"entropy {entropy:.2f} nats", self.said())

    def test_the_temperature_slider(self):
        for exponent in (-0.5, 0.4, 0.97):
            temperature = self.slide(exponent)
            self.check_matrix(views("--sentence", "--temperature", repr(temperature)), 5, 11)
        self.find("#reset").click()
        self.check_matrix(views("--sentence"), 5, 11)

    def test_the_causal_toggle(self):
        self.find("#causal").click()
        self.check_matrix(views("--sentence", "--causal", "top-left"), 5, 11)
        temperature = self.slide(0.3)
        numbers = views("--sentence", "--causal", "top-left", "--temperature", repr(temperature))
        self.check_matrix(numbers, 5, 11)

    def test_a_page_made_causal_opens_causal(self):
        self.open(self.make("--sentence", "--causal", "top-left", "--temperature", "2",
                            name="causal.html"))
        self.assertTrue(self.find("#causal").is_selected())
        self.check_matrix(
            views("--sentence", "--causal", "top-left", "--temperature", "2"), 5, 11)

    def test_hovering_a_word_highlights_its_row_and_column(self):
        word = self.find(f".column button[data-row='{CLIMBED}']")
        ActionChains(self.driver).move_to_element(word).perform()
        rows = self.find_all(".matrix td.row-on")
        self.assertEqual([cell.get_attribute("data-row") for cell in rows], [str(CLIMBED)] * 18)
        keys = self.find_all(".matrix td.key-on")
        self.assertEqual([cell.get_attribute("data-key") for cell in keys], [str(CLIMBED)] * 18)
        arcs = self.find_all("path.look")
        self.assertTrue(arcs)
        self.assertTrue(all(arc.get_attribute("data-row") == str(CLIMBED) for arc in arcs))
        numbers = views("--sentence")
        weight = numbers["map"]["mean_weight"][5][11][CLIMBED][CAT]
        self.assertIn(f"cat {100 * weight:.0f} %", self.said())
        shown = self.find(f".column button[data-key='{CAT}'] .share").text
        self.assertEqual(shown, f"{100 * weight:.0f} %")

    def test_hovering_a_cell_names_both_words(self):
        cell = self.find(f".matrix td[data-row='{CLIMBED}'][data-key='{CAT}']")
        ActionChains(self.driver).move_to_element(cell).perform()
        self.assertRegex(self.said(), "climbed.* looks at .*cat.*: [0-9]+ %")
        self.assertIn("row-on", cell.get_attribute("class"))
        self.assertIn("key-on", cell.get_attribute("class"))
        self.assertEqual(len(self.find_all(".matrix td.row-on.key-on")), 1)

    def test_a_click_holds_on_and_escape_lets_go(self):
        self.find(f".column button[data-row='{CLIMBED}']").click()
        ActionChains(self.driver).move_to_element(self.find("h1")).perform()
        self.assertIn("climbed", self.said())
        ActionChains(self.driver).send_keys(Keys.ESCAPE).perform()
        self.assertEqual(self.said(), "Choose a word to see where it looks.")

    def test_the_keyboard_alone_is_enough(self):
        keys = lambda *names: ActionChains(self.driver).send_keys(*names).perform()
        self.script("document.activeElement.blur()")
        focused = lambda: self.driver.switch_to.active_element
        keys(Keys.TAB)
        self.assertEqual(focused().get_attribute("aria-label"), "layer 5, head 11")
        keys(Keys.ARROW_LEFT, Keys.ARROW_UP)
        self.assertEqual(focused().get_attribute("aria-checked"), "true")
        self.assertEqual(self.find("#head-title").text, "Layer 4, head 10")
        order = []
        for _ in range(7):
            keys(Keys.TAB)
            order.append(focused().get_attribute("id") or focused().tag_name)
        self.assertEqual(order[:5], ["layer", "head", "temperature", "causal", "reset"])
        self.assertEqual(order[5:], ["button", "button"])  # words that look, words looked at
        keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        self.assertIn("cat", self.said())
        outline = self.script("return getComputedStyle(document.activeElement).outlineStyle")
        self.assertEqual(outline, "solid")
        keys(Keys.TAB, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
        self.assertRegex(self.said(), "the.* looks at .*the")

    def test_what_a_screen_reader_is_told(self):
        self.assertEqual(self.find("#said").get_attribute("role"), "status")
        self.assertEqual(self.find("#said").get_attribute("aria-live"), "polite")
        nameless = self.script("""
          return [...document.querySelectorAll('button, select, input, [role=gridcell]')].filter(
            (one) => !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length)
          ).length""")
        self.assertEqual(nameless, 0)
        self.assertEqual(self.script("return document.documentElement.lang"), "en")

    def test_nothing_is_loaded(self):
        loaded = self.script("return performance.getEntriesByType('resource').map(r => r.name)")
        self.assertEqual([name for name in loaded if not name.startswith("data:")], [])

    def test_it_looks_as_it_did(self):
        self.script("document.activeElement.blur()")
        self.screenshot("sentence.png")
        reference = (HERE / "reference.png").read_bytes()
        self.assertLess(self.difference(self.small_screenshot("reference.png"), reference), 4)

    def test_on_a_phone_nothing_sticks_out(self):
        self.open(self.page, width=375, height=800)
        self.screenshot("phone.png")
        self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), 375)
        self.script("document.querySelector('#said').scrollIntoView()")
        self.screenshot("phone-words.png")
        self.script("document.querySelector('.matrix').scrollIntoView()")
        self.screenshot("phone-matrix.png")

    def test_in_dark_mode_it_is_dark(self):
        self.open(self.page, dark=True)
        self.screenshot("dark.png")
        colours = self.script("""const style = getComputedStyle(document.body);
                                 return [style.backgroundColor, style.color].map(
                                   (colour) => Number(/[0-9]+/.exec(colour)[0]));""")
        self.assertLess(colours[0], 50)
        self.assertGreater(colours[1], 200)


if __name__ == "__main__":
    unittest.main()

"""Solutions of tasks of M3ToolEval, written by hand from the instruction and the code of the tools.

They call tools and state no answer. Each is spoilt by one replacement, after which it is wrong. The texts of the tasks
are the benchmark's and stay there: here are only their ids, and values that a solution cannot do without.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Solution:
    """The steps of a solution, and what spoils it."""

    id: str
    steps: tuple[str, ...]
    right: str
    """A text in the steps."""
    wrong: str
    """What takes its place."""

    def spoilt(self) -> tuple[str, ...]:
        """The steps of a wrong solution."""
        changed = tuple(step.replace(self.right, self.wrong) for step in self.steps)
        assert changed != self.steps, self.id
        return changed


DECODER = "from m3eval.message_decoder import *"
DNA = "from m3eval.dna_sequencer import *"
TRADE = """from m3eval.trade_calculator import *
def final(amount, rate, tariff):
    local = convert_currency(amount, rate)
    return estimate_final_value(local, calculate_tariff(local, tariff))"""
TRAVEL = """from m3eval.travel_planner import *
def flight(start, end, date):
    return min(one["price"] for one in find_flights(start, end, date))
def night(place, *wishes):
    return min(one["price_per_night"] for one in book_hotel(place, *wishes))
def best_night(place, *wishes):
    return max(book_hotel(place, *wishes), key=lambda one: one["rating"])["price_per_night"]"""
BROWSER = """from m3eval.browser import WebBrowser
browser = WebBrowser()
def price(url):
    return float(browser.click_url(url).split("Now at")[-1].split("Price: $")[1].split()[0])
def after(label, page):
    return page.split(label)[1].splitlines()[0].strip()"""

SOLUTIONS = [
    Solution(
        "message_decoder:full_alien_message_decoding",
        (
            DECODER,
            "text = reverse_string(convert_hex_to_ascii('7a686b7a686d666d686b'))",
            "answer = caesar_decode(text, 5)",
        ),
        "text, 5",
        "text, 4",
    ),
    Solution(
        "message_decoder:shortest_caesar_decoded_message",
        (
            DECODER,
            "texts = ['636261', '686766', '6365646362', '6867666865']",
            "decoded = [caesar_decode(reverse_string(convert_hex_to_ascii(text)), 4) for text in texts]",
            "answer = minimum_value(*map(string_length, decoded))",
        ),
        "minimum_value",
        "maximum_value",
    ),
    Solution(
        "message_decoder:specific_decoded_character",
        (
            DECODER,
            "text = convert_hex_to_ascii('576562546563686e6f6c6f6779')",
            "answer = caesar_decode(reverse_string(text), 7)",
        ),
        "reverse_string(text)",
        "text",
    ),
    Solution(
        "message_decoder:multi_step_decoding_challenge",
        (
            DECODER,
            "text = reverse_string(convert_hex_to_ascii('726f77746e6153794d'))",
            "answer = caesar_decode(text, 3)",
        ),
        "text, 3",
        "text.lower(), 3",
    ),
    Solution(
        "message_decoder:length_based_decoding_puzzle",
        (
            DECODER,
            "decoded = [caesar_decode(convert_hex_to_ascii(text), 6) for text in ['646566', '6a6b6c6d', '68696a6b6c']]",
            "[answer] = [text for text in decoded if string_length(text) == 5]",
        ),
        "== 5",
        "== 4",
    ),
    Solution(
        "cryptobotanists_plant_dna_sequencer:find_most_common_nucleotide_and_transcribe",
        (
            DNA,
            "counts = count_nucleotides('AGCTAGCCGATGCA')",
            "most, count = find_max_nucleotide(*[part for pair in counts.items() for part in pair])",
            "answer = transcribe_dna_to_mrna(3 * most)",
        ),
        "3 * most",
        "2 * most",
    ),
    Solution(
        "cryptobotanists_plant_dna_sequencer:transcribe_translate_amino_acid_length",
        (
            DNA,
            "acids = translate_mrna_to_amino_acid(transcribe_dna_to_mrna('AGCTAGCGTA'))",
            "answer = len(acids.split('-'))",
        ),
        "acids.split('-')",
        "acids",
    ),
    Solution(
        "cryptobotanists_plant_dna_sequencer:reverse_transcribe_palindrome_check",
        (DNA, "answer = count_nucleotides(reverse_transcribe_mrna_to_dna('AUGCGU'))"),
        "reverse_transcribe_mrna_to_dna('AUGCGU')",
        "'AUGCGU'",
    ),
    Solution(
        "cryptobotanists_plant_dna_sequencer:transcribe_translate_find_amino_acid",
        (
            DNA,
            "acids = translate_mrna_to_amino_acid(transcribe_dna_to_mrna('AGCTAGCGTA'))",
            "answer = 'Methionine' in acids",
        ),
        "in acids",
        "not in acids",
    ),
    Solution(
        "cryptobotanists_plant_dna_sequencer:find_most_common_nucleotide_combined_sequence",
        (
            DNA,
            "counts = count_nucleotides(''.join(['AGCT', 'CCGA', 'TTAG']))",
            "answer = find_max_nucleotide(*[part for pair in counts.items() for part in pair])",
        ),
        "''.join(['AGCT', 'CCGA', 'TTAG'])",
        "'CCGA'",
    ),
    Solution(
        # "A tariff of 7.5 units" is graded as 7.5 %.
        "trade_calculator:estimate_final_value",
        (TRADE, "answer = estimate_final_value(150, calculate_tariff(150, 7.5))"),
        "calculate_tariff(150, 7.5)",
        "7.5",
    ),
    Solution(
        "trade_calculator:interstellar_trade_transaction",
        (TRADE, "answer = final(100 * 50, 1.5, 8)"),
        "1.5, 8",
        "1.5, 9",
    ),
    Solution(
        "trade_calculator:best_trade_route_selection",
        (
            TRADE,
            "values = [final(500, 1.3, 7), final(500, 1.4, 9), final(500, 1.2, 4)]",
            "answer = find_minimum(*values)",
        ),
        "find_minimum",
        "find_maximum",
    ),
    Solution(
        "trade_calculator:fluctuating_conversion_rates_impact",
        (TRADE, "answer = [final(200 * 100, 1.7, 7), final(200 * 150, 1.5, 7), final(200 * 200, 1.6, 7)]"),
        "1.5, 7",
        "1.5, 0",
    ),
    Solution(
        "trade_calculator:bulk_trade_quantity_discount",
        (TRADE, "cost = 2500 * 1500 * 0.95", "answer = final(cost, 1.8, 12)"),
        " * 0.95",
        "",
    ),
    Solution(
        "trade_calculator:long_term_vs_short_term_trade_decisions",
        (TRADE, "answer = [final(600 * 200, 1.8, 5), final(600 * 200 * 1.10, 1.6, 7)]"),
        "answer = [",
        "answer = [0, ",
    ),
    Solution(
        "travel_itinerary_planning:plan_trip_to_0",
        (
            TRAVEL,
            "flights, hotels = find_flights('E', 'A', '2023-12-25'), book_hotel('A', 'wifi', 'pool')",
            "answer = budget_calculator(flights[0]['price'], hotels[0]['price_per_night'], 5)",
        ),
        ", 5)",
        ", 4)",
    ),
    Solution(
        "travel_itinerary_planning:cheapest_new_york_trip",
        (TRAVEL, "answer = budget_calculator(flight('E', 'B', '2023-11-10'), night('B'), 3)"),
        "night('B')",
        "best_night('B')",
    ),
    Solution(
        "travel_itinerary_planning:luxury_tokyo_trip",
        (TRAVEL, "answer = budget_calculator(flight('E', 'C', '2023-10-05'), best_night('C'), 7)"),
        "best_night('C')",
        "night('C')",
    ),
    Solution(
        "travel_itinerary_planning:adventure_trip",
        (
            TRAVEL,
            "first = budget_calculator(flight('E', 'C', '2023-12-01'), night('C', 'pool'), 2)",
            "second = budget_calculator(flight('C', 'B', '2023-12-03'), night('B'), 3)",
            "answer = first + second + budget_calculator(flight('B', 'D', '2023-12-06'), night('D', 'gym'), 2)",
        ),
        "night('D', 'gym')",
        "night('D')",
    ),
    Solution(
        "web_browsing:price_of_legendary_wand",
        (BROWSER, "print(browser.click_url('/products'))", "answer = price('/products/wand/legendary_wand')"),
        "/legendary_wand",
        "/enchanted_wand",
    ),
    Solution(
        "web_browsing:email_of_allison_hill",
        (
            BROWSER,
            "print(browser.click_url('/team/engineering'))",
            "answer = after('Email:', browser.click_url('/team/engineering/allison_hill'))",
        ),
        "'Email:'",
        "'Phone:'",
    ),
    Solution(
        "web_browsing:total_price_of_selected_items_2",
        (
            BROWSER,
            "paths = ['wand/ancient_wand', 'wand/mystical_wand', 'potion/enchanted_potion']",
            "answer = sum(price('/products/' + path) for path in paths)",
        ),
        "paths = ['wand/ancient_wand', ",
        "paths = [",
    ),
    Solution(
        "web_browsing:total_price_of_selected_items_after_discount_1",
        (
            BROWSER,
            "paths = ['crystal_ball/mystical_crystal_ball', 'spellbook/magical_spellbook']",
            "answer = sum(price('/products/' + path) for path in paths) * 0.9",
        ),
        " * 0.9",
        "",
    ),
    Solution(
        # The page is in two parts: 1 of 2 and 2 of 2.
        "web_browsing:people_in_customer_support",
        (
            BROWSER,
            "pages = [browser.click_url('/team/customer-support'), browser.scroll_down()]",
            "answer = sum(page.count('Clickable') for page in pages)",
        ),
        ", browser.scroll_down()",
        "",
    ),
    Solution(
        # The link of the team leads nowhere: the page is named with a hyphen.
        "web_browsing:match_phone_number_to_person_thomas_ramos",
        (
            BROWSER,
            "assert browser.click_url('/team/customer_support') == '[URL not found.]'",
            "links = browser.click_url('/team/customer-support') + browser.scroll_down()",
            'names = [part.split("\'")[0] for part in links.split("Clickable \'")[1:]]',
            "[person] = [page for page in map(browser.click_url, names) if '432-867-7360' in page]",
            "answer = person.split(' of Customer Support')[0].splitlines()[-1]",
        ),
        "432-867-7360",
        "633-938-7262",
    ),
]

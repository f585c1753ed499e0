"""Stage 6 - The words of the stories: some 300, with their forms."""

from __future__ import annotations

from typing import NamedTuple

GIRLS = ("Anna", "Clara", "Ella", "Emma", "Ida", "Lily", "Lucy", "Mia", "Nora", "Rosa", "Sara", "Zoe")
BOYS = ("Adam", "Ben", "Finn", "Hugo", "Jack", "Leo", "Max", "Noah", "Oscar", "Paul", "Sam", "Tom")

# Nouns by their plurals


def _nouns(words: str) -> dict[str, str]:
    """Parse "box/boxes ball": plurals by singular; without a plural, it ends in s."""
    pairs = [word.partition("/") for word in words.split()]
    return {singular: plural or f"{singular}s" for singular, _, plural in pairs}


TOYS = _nouns("ball boat doll drum kite")
OBJECTS = TOYS | _nouns(
    "bag basket bell blanket book box/boxes coat coin cup feather flower hat key lamp map pencil ring scarf/scarves shell stone"
)
FOOD = _nouns("apple cake carrot cherry/cherries egg nut pear plum")
ANIMALS = _nouns("cat dog duck goat hen kitten lamb mouse/mice puppy/puppies rabbit")

# Places


PLACES = {
    **dict.fromkeys(("barn", "field", "forest", "garden", "kitchen", "library", "park", "shop", "village"), "in"),
    **dict.fromkeys(("lake", "market", "station"), "at"),
    **dict.fromkeys(("beach", "bridge", "farm", "hill"), "on"),
    **dict.fromkeys(("pond", "river"), "by"),
}
"""Places by their prepositions: in the park."""

INDOORS = ("kitchen", "library", "shop")
OUTDOORS = tuple(place for place in PLACES if place not in INDOORS)
SHOPS = ("market", "shop", "village")
LANDSCAPE = ("beach", "bridge", "farm", "forest", "hill", "lake", "market", "park", "river", "station")

INDOOR_SPOTS = {"bed": "under", "table": "under", "chair": "under", "door": "behind", "curtain": "behind"}
OUTDOOR_SPOTS = {
    "bench": "under",
    "tree": "under",
    "bush": "under",
    "fence": "behind",
    "rock": "behind",
    "shed": "behind",
    "wall": "behind",
}
"""Where things are hidden, by the prepositions: under the bed."""

# Adjectives


COLORS = ("black", "blue", "brown", "green", "grey", "red", "white", "yellow")
SIZES = ("big", "little", "small")
QUALITIES = ("lovely", "new", "old", "pretty")
TASTES = ("big", "fine", "fresh", "small")
ANIMAL_QUALITIES = ("big", "friendly", "little", "old", "small", "young")
CHARACTERS = ("brave", "cheerful", "clever", "friendly", "kind", "little", "quiet", "shy", "young")
GOOD_FEELINGS = ("cheerful", "glad", "happy", "proud")
BAD_FEELINGS = ("lonely", "sad", "unhappy", "upset")
NEEDS = ("afraid", "cold", "hungry", "thirsty", "tired")
WEATHERS = ("cold", "fine", "quiet", "rainy", "sunny", "warm", "windy")

TIMES = ("afternoon", "day", "morning")
MOMENTS = (*TIMES, "evening")


# Verbs


class Verb(NamedTuple):
    """The forms of a verb: I go, she goes, she went."""

    base: str
    third: str
    past: str


def _verbs(words: str) -> tuple[Verb, ...]:
    """Parse "go/goes/went"."""
    return tuple(Verb(*forms.split("/")) for forms in words.split())


VERBS = {
    "TAKE": _verbs(
        "buy/buys/bought carry/carries/carried eat/eats/ate find/finds/found have/has/had help/helps/helped like/likes/liked "
        "lose/loses/lost love/loves/loved meet/meets/met need/needs/needed see/sees/saw take/takes/took thank/thanks/thanked "
        "want/wants/wanted"
    ),
    "GO": _verbs("come/comes/came go/goes/went hurry/hurries/hurried run/runs/ran walk/walks/walked"),
    "GIVE": _verbs("bring/brings/brought give/gives/gave show/shows/showed"),
    "SMILE": _verbs(
        "cry/cries/cried dance/dances/danced jump/jumps/jumped laugh/laughs/laughed rest/rests/rested sing/sings/sang sit/sits/sat "
        "sleep/sleeps/slept smile/smiles/smiled wait/waits/waited"
    ),
    "LIVE": _verbs("live/lives/lived play/plays/played"),
    "LOOK": _verbs("look/looks/looked"),
    "COUNT": _verbs("count/counts/counted"),
    "BEGIN": _verbs("begin/begins/began hope/hopes/hoped like/likes/liked try/tries/tried want/wants/wanted"),
}
"""Verbs by what may follow them: an object, a goal, an object and its recipient, nothing, a place, …, and at last an infinitive."""

"""Stage 6 - The writer of a story: fills phrases with persons, things and places, and keeps track of the person named last."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from minitorch.data import story_words as words


class Person(NamedTuple):
    """A name with its pronouns."""

    name: str
    subject: str
    object: str
    possessive: str
    noun: str


PERSONS = [Person(name, "she", "her", "her", "girl") for name in words.GIRLS]
PERSONS += [Person(name, "he", "him", "his", "boy") for name in words.BOYS]


class Story:
    """A story that is being written.

    Its sentences are phrases such as "{hero} (went|ran) to {FRIEND}". One of the words in parentheses is drawn, and the names in braces are
    replaced from left to right: `hero` by a pronoun if this person was named last, and else by the name, to which pronouns refer from then
    on; `HERO` always by the name; `hero_name` by the name in direct speech, to which no pronoun refers.

    Attributes:
        sentences: The sentences so far.
    """

    def __init__(self, draw: random.Random, is_allowed: Callable[[str], bool]) -> None:
        self.draw, self.is_allowed = draw, is_allowed
        self.sentences: list[str] = []
        self._named: Person | None = None
        self.hero, self.friend = draw.sample(PERSONS, 2)
        self.first_place, self.place = draw.sample(words.INDOORS if self.maybe(0.2) else words.OUTDOORS, 2)
        self.time = self.pick(words.TIMES)
        self.need = self.pick(words.NEEDS)
        self.thing = self.things = self.a_thing = ""
        self._begun = False
        self._seen_spots: set[str] = set()
        self.words: dict[str, Callable[[], str]] = {
            "hero": lambda: self.subject(self.hero),
            "friend": lambda: self.subject(self.friend),
            "HERO": lambda: self.name(self.hero),
            "FRIEND": lambda: self.name(self.friend),
            "both": lambda: f"{self.name(self.hero)} and {self.name(self.friend)}",
            "him": lambda: self.object(self.hero),
            "to_friend": lambda: self.object(self.friend),
            "he": lambda: self.hero.subject,
            "friend_he": lambda: self.friend.subject,
            "friend_his": lambda: self.friend.possessive,
            "boy": lambda: self.hero.noun,
            "hero_name": lambda: self.hero.name,
            "friend_name": lambda: self.friend.name,
            "thing": lambda: self.thing,
            "things": lambda: self.things,
            "a_thing": lambda: self.a_thing,
            "food": lambda: self.a(self.pick(tuple(words.FOOD))),
            "at": lambda: at(self.place),
            "place": lambda: self.place,
            "first_at": lambda: at(self.first_place),
            "first_place": lambda: self.first_place,
            "landscape": lambda: self.pick(words.LANDSCAPE),
            "at_landscape": lambda: at(self.pick(words.LANDSCAPE)),
            "spot": self.spot,
            "once": self.once,
            "need": lambda: self.need,
            "this_time": self.this_time,
            "weather": lambda: self.pick(words.WEATHERS),
            "character": lambda: self.pick(words.CHARACTERS),
            "good": lambda: self.pick(words.GOOD_FEELINGS),
            "bad": lambda: self.pick(words.BAD_FEELINGS),
        }

    def pick(self, options: Sequence[str]) -> str:
        """Draw one of several words."""
        return self.draw.choice(options)

    def maybe(self, chance: float = 0.5) -> bool:
        """Draw yes or no."""
        return self.draw.random() < chance

    def choose_thing(self, nouns: Mapping[str, str]) -> None:
        """Draw the noun of the story, and another hero if their combination is not allowed."""
        while not self.thing or not self.is_allowed(f"{self.hero.name} {self.thing}"):
            self.thing, self.things = self.draw.choice(tuple(nouns.items()))
            self.hero = self.draw.choice([person for person in PERSONS if person != self.friend])
        self.a_thing = self.a(self.thing)

    # Sentences

    def tell(self, *phrases: str) -> None:
        """Add one of several sentences."""
        self.sentences.append(f"{capitalized(self.fill(self.pick(phrases)))}.")

    def say(self, person: Person, *speeches: str) -> None:
        """Add what somebody says; a speech ends with a comma, a question mark or an exclamation mark."""
        speech = capitalized(self.fill(self.pick(speeches)))
        verb = {",": "said", "?": "asked", "!": self.pick(("said", "shouted"))}[speech[-1]]
        if self.maybe(0.25):
            end = "." if speech[-1] == "," else speech[-1]
            self.sentences.append(f'{capitalized(self.subject(person))} {verb}, "{speech[:-1]}{end}"')
        elif person == self._named and self.maybe():
            self.sentences.append(f'"{speech}" {person.subject} {verb}.')
        else:
            self.sentences.append(f'"{speech}" {verb} {self.name(person)}.')

    def fill(self, phrase: str) -> str:
        """Fill a phrase with words, from left to right."""
        phrase = re.sub(r"\(([^()]*)\)", lambda match: self.pick(match[1].split("|")), phrase)
        return re.sub(r"\{(\w+)\}", lambda match: self.words[match[1]](), phrase)

    # Persons

    def name(self, person: Person) -> str:
        """The name of a person, to whom pronouns refer from now on."""
        self._named = person
        return person.name

    def subject(self, person: Person) -> str:
        """A person who does something, by pronoun or name."""
        return person.subject if person == self._named and self.maybe(0.7) else self.name(person)

    def object(self, person: Person) -> str:
        """A person to whom something is done, by pronoun or name."""
        return person.object if person == self._named else self.name(person)

    # Things and places

    def a(self, noun: str) -> str:
        """A noun with an article and up to two adjectives that suit it: a small red ball."""
        qualities: Sequence[str] = words.SIZES + words.QUALITIES
        colors: Sequence[str] = words.COLORS
        if noun in words.FOOD:
            qualities, colors = words.TASTES, ("green", "red") if noun in ("apple", "pear", "plum") else ()
        elif noun in words.ANIMALS:
            qualities, colors = words.ANIMAL_QUALITIES, ("black", "brown", "white")
        parts = [noun]
        if colors and self.maybe():
            parts.insert(0, self.pick(colors))
        if self.maybe(0.6):
            parts.insert(0, self.pick(qualities))
        return f"{'an' if parts[0][0] in 'aeiou' else 'a'} {' '.join(parts)}"

    def spot(self) -> str:
        """Another spot at the place of the story, with its preposition: under the bench."""
        spots = words.INDOOR_SPOTS if self.place in words.INDOORS else words.OUTDOOR_SPOTS
        noun = self.pick([noun for noun in spots if noun not in self._seen_spots])
        self._seen_spots.add(noun)
        return f"{spots[noun]} {self.pick(('the', 'the', 'a'))} {noun}"

    def this_time(self) -> str:
        """The time at which the story begins."""
        self._begun = True
        return self.time

    def once(self) -> str:
        """The beginning of the sentence in which something happens."""
        return self.pick(("then", "the next day,", "later,")) if self._begun else f"one {self.this_time()},"


def at(place: str) -> str:
    """A place with its preposition: in the park."""
    return f"{words.PLACES[place]} the {place}"


def capitalized(text: str) -> str:
    """The text with its first letter in upper case, and all others as they are."""
    return text[:1].upper() + text[1:]

"""Stage 6 - A parser of the English of the stories, to measure how right the text of a language model is.

It shares the words with the plots, but knows nothing of their phrases: it has rules for clauses, objects, places and direct speech.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import chain, pairwise, product
from typing import NamedTuple

from minitorch.data import story_words as words

GRAMMAR = """
SENTENCE -> STATEMENT . | SPEECH | SUM . | what is ADDITION ? | it is NUMBER .
SUM -> NUMBER + NUMBER = NUMBER | NUMBER plus NUMBER is NUMBER
ADDITION -> NUMBER + NUMBER | NUMBER plus NUMBER

STATEMENT -> OPENING? CLAUSE | OPENING? CLAUSE , JOIN CLAUSE | OPENING? CLAUSE because CLAUSE | PERSON counted the PLURAL : SUM
OPENING -> but? TIME , | so | but? then | but | now | soon | there
TIME -> one MOMENT | the next MOMENT | that MOMENT | in the MOMENT | at last | on the way to the PLACE | later
JOIN -> and | but | so

CLAUSE -> ONE ONE_DOES | ONE ONE_DOES and ONE_DOES | MANY MANY_DO | MANY MANY_DO and MANY_DO | THERE_IS
CLAUSE -> GIRL was a CHARACTER girl | BOY was a CHARACTER boy | it was a WEATHER MOMENT
ONE -> PERSON | it | nobody | the SINGULAR | the SCENERY | the PLACE | the MOMENT
SCENERY -> sun | sky | wind
AGE -> old | new
MANY -> they | NAME and NAME | the PLURAL | the trees
PERSON -> NAME | he | she
ONE_DOES -> was STATE | ACTION_past
MANY_DO -> were STATE | ACTION_past
THERE_IS -> there was once a CHARACTER girl named GIRL | there was once a CHARACTER boy named BOY
THERE_IS -> there were no PLURAL WHERE | there was no SINGULAR WHERE
STATE -> FEELINGS | COLOR | WEATHER | AGE | not? WHERE | not? there | gone | shining | GROUP? friends
FEELINGS -> DEGREE? FEELING | DEGREE? FEELING but DEGREE? FEELING | DEGREE? FEELING and DEGREE? FEELING
DEGREE -> very | so
GROUP -> good | old

OBJECT -> it | them | SOMETHING | OBJECT_PERSON
OBJECT_PERSON -> him | her | NAME
SOMETHING -> ARTICLE NOUN_PHRASE | OWN SINGULAR | OWN PLURAL | this SINGULAR | the PLURAL | AMOUNT? PLURAL_PHRASE
ARTICLE -> INDEFINITE | the
INDEFINITE -> a | an
NOUN_PHRASE -> ADJECTIVE? COLOR? SINGULAR
PLURAL_PHRASE -> ADJECTIVE? COLOR? PLURAL
OWN -> her | his | their

WHERE -> PREPOSITION_PLACE | SPOT_PHRASE | in the house
PREPOSITION_PLACE -> in the IN_PLACE | at the AT_PLACE | on the ON_PLACE | by the BY_PLACE
SPOT_PHRASE -> under DETERMINER UNDER_SPOT | behind DETERMINER BEHIND_SPOT
DETERMINER -> the | a
GOAL -> to the PLACE | home | away | back | back to the PLACE | to OBJECT_PERSON
HOW -> together | alone | again | there | all day | until the MOMENT | now
COMPANY -> with OBJECT

ACTION_* -> TAKE_* OBJECT CIRCUMSTANCE? | TAKE_* OBJECT very much | TAKE_* SOMETHING with OBJECT_PERSON | TAKE_* OBJECT home
ACTION_* -> GO_* GOAL? COMPANY? HOW? | GO_* WHERE | GIVE_* OBJECT back? to RECIPIENT
ACTION_* -> LOOK_* WHERE | LOOK_* HOW | LOOK_* for OBJECT CIRCUMSTANCE?
ACTION_* -> SMILE_* CIRCUMSTANCE? | LIVE_* LIVING | COUNT_* the PLURAL | BEGIN_* to ACTION_base
LIVING -> COMPANY? CIRCUMSTANCE? | in a HOUSE? house near the PLACE | in an old house near the PLACE | near the PLACE
HOUSE -> big | small | little | new
CIRCUMSTANCE -> WHERE | HOW | WHERE HOW | HOW WHERE
RECIPIENT -> OBJECT_PERSON | them | the SINGULAR
ACTION_past -> could not? ACTION_base | did not ACTION_base

SPEECH -> " SAYING , " SAID_BY . | " QUESTION ? " ASKED_BY . | " EXCLAMATION ! " SHOUTED_BY .
SPEECH -> PERSON said , " SAYING . " | PERSON asked , " QUESTION ? " | PERSON SHOUTED , " EXCLAMATION ! "
SAID_BY -> said NAME | PRONOUN said
ASKED_BY -> asked NAME | PRONOUN asked
SHOUTED_BY -> SHOUTED NAME | PRONOUN SHOUTED
PRONOUN -> he | she
SHOUTED -> said | shouted
EXCLAMATION -> SAYING | what INDEFINITE NOUN_PHRASE

SAYING -> REPLY | REPLY? ASSERTION ADDRESS? | SUM | it is NUMBER
REPLY -> yes , | no , | look ,
SAYING -> thank you ADDRESS? | no , thank you ADDRESS? | hello ADDRESS? | look , SPEECH_THING
ADDRESS -> , NAME | , little SINGULAR
ASSERTION -> I am FEELINGS | you are VIRTUE | we are FEELINGS | now we are friends | you are my friend now? | it is SPEECH_THING
ASSERTION -> SPEAKER SPEECH_base | SPEAKER SPEECH_past | SPEAKER MODAL SPEECH_base | THIRD SPEECH_third | THIRD is FEELINGS
ASSERTION -> that is right | that is SPEECH_THING | this is SPEECH_THING | here is SPEECH_THING | this SINGULAR is for you
ASSERTION -> let us SPEECH_base | do not SPEECH_base | do not be FEELINGS
SPEAKER -> I | you | we
MODAL -> can | cannot | will
THIRD -> this SINGULAR | the SINGULAR
VIRTUE -> DEGREE? CHARACTER | FEELINGS
SPEECH_THING -> my SINGULAR | your SINGULAR | ARTICLE NOUN_PHRASE | this SINGULAR
SPEECH_OBJECT -> it | you | me | SPEECH_THING | my PLURAL | your PLURAL | AMOUNT? PLURAL_PHRASE
SPEECH_* -> TAKE_* SPEECH_OBJECT | LOOK_* for SPEECH_OBJECT together? | GO_* SPEECH_GOAL? | SMILE_* HOW? | COUNT_* the PLURAL
SPEECH_* -> LIVE_* SPEECH_COMPANY? WHERE? HOW? | BEGIN_* to SPEECH_base | GIVE_* SPEECH_OBJECT to you
SPEECH_COMPANY -> with you | with me | with SPEECH_THING
SPEECH_GOAL -> to the PLACE | home

QUESTION -> what is wrong | what is ADDITION | why are you FEELINGS | are you FEELINGS | where is SPEECH_THING | where are the PLURAL
QUESTION -> CAN SPEAKER SPEECH_base | whose SINGULAR is this | is this SPEECH_THING | how many PLURAL do you have
CAN -> can | do | will | may
"""
"""A rule in each line: a name and its alternatives. What ends with ? may be absent; * stands for each form of a verb."""

FORMS = ("base", "third", "past")

FEMININE, MASCULINE, PLURAL = {"she", "her"}, {"he", "him", "his"}, {"they", "their"}
"""Pronouns of persons. "it" and "them" also refer to things."""

END_MARKS = (".", "!", "?")

MAX_TOKENS = 60
"""A longer sentence is refused without parsing it."""

SUM = re.compile(r'(?<!\d)(\d{1,9}) (?:\+|plus) (\d{1,9})(?: = | is |\?"?(?: \w+ \w+\.)? "?It is )(\d{1,9})(?!\d)')
"""Two numbers and what is said to be their sum: 3 + 4 = 7, 3 plus 4 is 7, What is 3 + 4? It is 7."""


class GrammarScore(NamedTuple):
    """How right a text is; see `grammar_score`.

    Attributes:
        sentences: Share of sentences that the grammar accepts; 0 if there are none.
        pronouns: Share of pronouns that agree with the person named last; 1 if there are none.
        sums: Share of sums that are right; 1 if there are none.
        counts: Numbers of sentences, pronouns and sums.
        mistakes: The sentences that are refused, the pronouns with the person named last, and the sums that are wrong.
    """

    sentences: float
    pronouns: float
    sums: float
    counts: tuple[int, int, int]
    mistakes: list[str]


def grammar_score(text: str) -> GrammarScore:
    """Measure how right a text is that a model wrote in the manner of `Stories`.

    A sentence is accepted if a parser finds clauses, objects and speech with the right forms, spelling, spaces and quotation marks. The
    pronouns he, she, him, her and his must agree with the person named last; they and their need two names before them. Quotations do not
    count here, and a line begins anew. A last sentence that has no end is refused: cut the text after its last period.

        >>> grammar_score("Anna lost her hat. He cry. Ben found it. 3 + 4 = 8.")
        GrammarScore(sentences=0.75, pronouns=0.5, sums=0.0, counts=(4, 2, 1), mistakes=['He cry.', 'He after Anna', '3 + 4 = 8'])

    Args:
        text: Stories and sums, each on a line.

    Raises:
        TypeError: If it is not a string.
    """
    if not isinstance(text, str):
        raise TypeError(f"grammar_score expected a string, got {type(text).__name__}; decode the tokens, or pass stories.text")
    lines = [line for line in text.split("\n") if line]
    sentences = [(sentence, _accepts(sentence)) for line in lines for sentence in _split_sentences(line)]
    pronouns = [found for line in lines for found in _pronouns(line)]
    sums = [(match[0], int(match[1]) + int(match[2]) == int(match[3])) for line in lines for match in SUM.finditer(line)]
    mistakes = [what for what, right in sentences + pronouns + sums if not right]
    counts = len(sentences), len(pronouns), len(sums)
    return GrammarScore(_share(sentences, 0.0), _share(pronouns, 1.0), _share(sums, 1.0), counts, mistakes)


def _share(found: list[tuple[str, bool]], if_none: float) -> float:
    """Return the share of what is right."""
    return sum(right for _, right in found) / len(found) if found else if_none


def _split_sentences(line: str) -> list[str]:
    """Split a line at the space after each end of a sentence. A quotation ends one if no lower-case word follows, such as said."""
    sentences, start, quoted = [], 0, False
    for position, character in enumerate(line):
        after = line[position + 1 : position + 3]
        quoted ^= character == '"'
        if character == '"':
            ends = line[position - 1 : position] in END_MARKS and not after[1:].islower()
        else:
            ends = character in END_MARKS
        if ends and not quoted and after[:1] in ("", " "):
            sentences.append(line[start : position + 1])
            start = position + 2
    return [*sentences, *filter(None, [line[start:]])]


def _pronouns(line: str) -> list[tuple[str, bool]]:
    """Return the pronouns of persons outside of quotations, and whether each agrees with the names before it."""
    found: list[tuple[str, bool]] = []
    names: list[str] = []
    for word in re.findall("[A-Za-z]+", re.sub('"[^"]*"', " ", line)):
        pronoun, last = word.lower(), names[-1] if names else "nobody"
        if word in words.GIRLS or word in words.BOYS:
            names.append(word)
        elif pronoun in FEMININE | MASCULINE:
            found.append((f"{word} after {last}", last in (words.GIRLS if pronoun in FEMININE else words.BOYS)))
        elif pronoun in PLURAL:
            found.append((f"{word} after {' and '.join(dict.fromkeys(names)) or last}", len(set(names)) > 1))
    return found


# The parser


Rules = dict[str, list[list[str]]]
"""The alternatives of each name of the grammar, as sequences of names, categories and words."""


@cache
def _rules() -> Rules:
    """Return the rules of the grammar."""
    rules: Rules = {}
    for line in filter(None, GRAMMAR.splitlines()):
        for form in FORMS if "*" in line else FORMS[:1]:
            name, _, alternatives = line.replace("*", form).partition(" -> ")
            for alternative in alternatives.split(" | "):
                rules.setdefault(name, []).extend(_without_options(alternative.split()))
    return rules


def _without_options(parts: Sequence[str]) -> list[list[str]]:
    """Return the alternatives that parts such as "very? sad" stand for; "?" alone is a question mark."""
    choices = [[[part[:-1]], []] if part.endswith("?") and part != "?" else [[part]] for part in parts]
    return [[*chain.from_iterable(chosen)] for chosen in product(*choices)]


@cache
def _categories() -> dict[str, frozenset[str]]:
    """Return the words of each category."""
    nouns, spots = words.OBJECTS | words.FOOD | words.ANIMALS, words.INDOOR_SPOTS | words.OUTDOOR_SPOTS
    found: dict[str, Iterable[str]] = {
        "GIRL": words.GIRLS,
        "BOY": words.BOYS,
        "NAME": words.GIRLS + words.BOYS,
        "SINGULAR": nouns,
        "PLURAL": nouns.values(),
        "PLACE": words.PLACES,
        "ADJECTIVE": words.SIZES + words.QUALITIES + words.TASTES + words.ANIMAL_QUALITIES,
        "COLOR": words.COLORS,
        "CHARACTER": words.CHARACTERS,
        "FEELING": words.GOOD_FEELINGS + words.BAD_FEELINGS + words.NEEDS,
        "WEATHER": words.WEATHERS,
        "MOMENT": words.MOMENTS,
    }
    for ending, table in (("PLACE", words.PLACES), ("SPOT", spots)):
        for preposition in set(table.values()):
            found[f"{preposition.upper()}_{ending}"] = [noun for noun, before in table.items() if before == preposition]
    for kind, verbs in words.VERBS.items():
        for form in FORMS:
            found[f"{kind}_{form}"] = [getattr(verb, form) for verb in verbs]
    return {name: frozenset(members) for name, members in found.items()}


@lru_cache(2**16)
def _accepts(sentence: str) -> bool:
    """Whether the grammar accepts a sentence."""
    tokens = re.findall(r"[0-9]+|[A-Za-z]+|\S", sentence)
    if len(tokens) > MAX_TOKENS or _spell(tokens) != sentence or _wrong_articles(tokens):
        return False
    lowered = _lower_beginnings(tokens)
    return lowered is not None and len(lowered) in _Parser(lowered).ends("SENTENCE", 0)


def _spell(tokens: list[str]) -> str:
    """Write tokens with the spaces that belong between them."""
    text, quoted, attached = "", False, True
    for token in tokens:
        closing = token == '"' and quoted
        text += token if attached or closing or token in ".,!?:" else f" {token}"
        quoted ^= token == '"'
        attached = token == '"' and quoted  # to what follows
    return text


def _wrong_articles(tokens: list[str]) -> bool:
    """Whether "a" precedes a vowel, or "an" a consonant."""
    return any((article.lower() == "an") != (noun[0] in "aeiou") for article, noun in pairwise(tokens) if article.lower() in ("a", "an"))


def _lower_beginnings(tokens: list[str]) -> list[str] | None:
    """Return tokens with the first word of the sentence and of the quotation in lower case; None if one was not in upper case."""
    lowered, begins, quoted = [], True, False
    for token in tokens:
        if begins and token.isalpha() and not token[0].isupper():
            return None
        lowered.append(token.lower() if begins and token not in _categories()["NAME"] and token != "I" else token)
        quoted ^= token == '"'
        begins = token == '"' and quoted
    return lowered


class _Parser:
    """Finds where the phrases of a sentence end.

    Args:
        tokens: Words, numbers and marks.
    """

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self._found: dict[tuple[str, int], set[int]] = {}

    def ends(self, name: str, start: int) -> set[int]:
        """Return the positions at which a phrase can end that begins at a position. Name: a rule, a category or a word."""
        rules = _rules()
        if name not in rules:
            return {start + 1} if start < len(self.tokens) and self._is(self.tokens[start], name) else set()
        if (name, start) not in self._found:
            self._found[name, start] = set().union(*(self._ends_of_sequence(parts, start) for parts in rules[name]))
        return self._found[name, start]

    def _ends_of_sequence(self, parts: list[str], start: int) -> set[int]:
        """Return the positions at which a sequence of phrases can end."""
        positions = {start}
        for part in parts:
            positions = set().union(*(self.ends(part, position) for position in positions))
        return positions

    def _is(self, token: str, name: str) -> bool:
        """Whether a token is a word, or of a category."""
        if name in ("NUMBER", "AMOUNT"):  # a number of several things begins with two
            return re.fullmatch("0|[1-9][0-9]*", token) is not None and (name == "NUMBER" or token not in "01")
        return token in _categories().get(name, (name,))

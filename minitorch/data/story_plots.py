"""Stage 6 - Plots of the stories: each tells its sentences with a choice of phrases, and ends well or badly."""

from __future__ import annotations

import random
from collections.abc import Callable

from minitorch.data import story_words as words
from minitorch.data.story_writer import Story

MIN_SENTENCES, MAX_SENTENCES = 4, 8
"""Length of a story."""

MAX_COUNTED = 20
"""The largest number of things that somebody has, finds or gets."""


def write_story(draw: random.Random, is_allowed: Callable[[str], bool]) -> str:
    """Write a story.

    Args:
        draw: Random choices.
        is_allowed: Whether a premise may be used, such as "Anna ball" or "3 + 4".
    """
    while True:
        story = Story(draw, is_allowed)
        draw.choice(PLOTS)(story)
        if MIN_SENTENCES <= len(story.sentences) <= MAX_SENTENCES:
            return " ".join(story.sentences)


def draw_sum(draw: random.Random, is_allowed: Callable[[str], bool], smallest: int, largest: int) -> tuple[int, int]:
    """Draw two numbers to add. 3 + 4 and 4 + 3 are one premise."""
    while True:
        a, b = draw.randint(smallest, largest), draw.randint(smallest, largest)
        if is_allowed(f"{min(a, b)} + {max(a, b)}"):
            return a, b


# Beginnings and ends


def begin(story: Story) -> None:
    """Tell who the hero is, or where."""
    story.tell(
        "{HERO} was a {character} {boy}",
        "there was once a {character} {boy} named {HERO}",
        "{HERO} lived in (a|a small|an old|a big) house near the {landscape}",
        "{HERO} liked to (play|sing|dance|sit|walk) {at_landscape}",
        "{once} {HERO} was {first_at}",
        "{once} {HERO} was {first_at} and (sang|waited|rested|danced|played)",
    )
    describe(story)


def begin_together(story: Story) -> None:
    """Tell who the hero and the friend are, or where."""
    story.tell(
        "{both} were (friends|good friends|old friends)",
        "{both} lived near the {landscape}",
        "{once} {both} were {first_at}",
        "{once} {HERO} went to the {first_place} with {FRIEND}",
        "{both} liked to (play|sing|dance|walk) {at_landscape}",
    )
    describe(story)


def describe(story: Story) -> None:
    """Perhaps tell of the weather."""
    if story.maybe(0.3):
        story.tell(
            "it was a {weather} {this_time}",
            "the {this_time} was {weather}",
            "the sun was (warm|shining)",
            "the sky was (blue|grey)",
            "the wind was (cold|warm)",
            "the trees were (green|old|yellow)",
        )


def end_well(story: Story, together: bool = False, stay: bool = False) -> None:
    """Tell that the hero is happy, or both are; after play, or at home, without play or a way home."""
    feelings = [
        "{hero} was (|very ){good}",
        "that evening, {hero} was tired but (|very ){good}",
        "{hero} (danced|sang) because {he} was {good}",
    ]
    ways = ["{hero} was (|very ){good} and went home", "{hero} smiled and (went|walked|ran) home"]
    both_feel = ["they were (|very ){good}", "{both} were (|very ){good}", "that evening, they were tired but (|very ){good}"]
    both_go = ["{both} were {good} and went home together", "they laughed and (went|walked|ran) home together"]
    play = ["they (played|sang|danced) until the evening", "then they (sat|played|rested) {at}", "they (played|rested) together {at}"]
    if together:
        story.tell(*both_feel, *both_go, *(() if stay else play))
    else:
        story.tell(*feelings, *(() if stay else ways))


def end_badly(story: Story) -> None:
    """Tell that the hero is sad."""
    story.tell(
        "{hero} was (|very ){bad}",
        "{hero} was (|very ){bad} and went home",
        "{hero} (went|walked) home and cried",
        "that evening, {hero} was (|very ){bad}",
        "{hero} cried because {he} was (|very ){bad}",
    )


# Plots


def lose(story: Story) -> None:
    """Somebody loses a thing, and looks for it."""
    story.choose_thing(words.OBJECTS)
    begin(story)
    story.tell("{hero} had {a_thing}", "{hero} had {a_thing} and loved it", "{hero} had {a_thing}, and {he} liked it very much")
    story.tell(
        "{once} {hero} lost it {at}",
        "{once} {hero} could not find it",
        "{once} the {thing} was gone",
        "but {once} {hero} lost the {thing}",
    )
    helped = story.maybe(0.6)
    (ask_for_help if helped else look)(story)
    if story.maybe(0.3):
        story.tell(
            "{hero} looked all day, but {he} did not find it",
            "nobody found the {thing}",
            "{hero} looked {spot}, but the {thing} was not there",
        )
        end_badly(story)
    elif helped and story.maybe():
        story.tell("at last, {friend} found the {thing} {spot}", "soon {friend} found it {spot}", "{friend} saw the {thing} {spot}")
        story.say(story.hero, "thank you!", "thank you, {friend_name}!", "you found my {thing}!")
        end_well(story, together=True)
    else:
        story.tell(
            "at last, {hero} found the {thing} {spot}",
            "soon {hero} found it {spot}",
            "{hero} looked {spot} and found the {thing}",
        )
        end_well(story, together=helped)


def ask_for_help(story: Story) -> None:
    """The hero tells the friend that the thing is lost."""
    story.tell("then {FRIEND} came", "then {hero} met {FRIEND} {at}", "{hero} (went|ran) to {FRIEND}")
    if story.maybe():
        story.say(story.friend, "what is wrong?", "why are you (sad|unhappy|upset)?")
    story.say(story.hero, "I cannot find my {thing},", "I lost my {thing},", "where is my {thing}?", "can you help me?")
    if story.maybe(0.4):
        story.say(story.friend, "let us look for it together,", "I will help you,", "we can find it!", "do not cry, {hero_name},")


def look(story: Story) -> None:
    """The hero looks for the thing alone."""
    if story.maybe(0.4):
        story.tell("{hero} was very {bad}", "{hero} began to cry", "{hero} sat {spot} and cried")
    story.tell(
        "{hero} looked {spot}, but it was not there",
        "{hero} looked for it {at}",
        "so {hero} went back to the {place} and looked for it",
        "{hero} looked for the {thing} (in the house|all day)",
    )


def wish(story: Story) -> None:
    """Somebody wants to buy a thing."""
    story.choose_thing(words.OBJECTS | words.FOOD)
    story.place = story.pick([shop for shop in words.SHOPS if shop != story.first_place])
    begin(story)
    story.tell(
        "{hero} (wanted|wanted to buy|needed|hoped to find) {a_thing}",
        "{hero} wanted {a_thing} because {he} liked {things}",
    )
    story.tell("(so|{once}) {hero} (went|walked|ran|hurried) to the {place}")
    if story.maybe():
        story.say(story.hero, "do you have {a_thing}?", "where are the {things}?", "can I buy {a_thing}?", "I want to buy {a_thing},")
    if story.maybe(0.6):
        story.tell(
            "{hero} saw {a_thing} and bought it",
            "there {hero} found {a_thing}",
            "{hero} bought the {thing} and (smiled|laughed)",
        )
        end_well(story)
        return
    story.tell("but there were no {things} {at}", "but {hero} did not find {a_thing} there")
    if story.maybe():
        end_badly(story)
        return
    story.tell(
        "then {FRIEND} came and gave {a_thing} to {him}",
        "then {hero} met {FRIEND}, and {friend_he} gave {a_thing} to {him}",
    )
    if story.maybe():
        story.say(story.friend, "you can have my {thing},", "here is {a_thing},", "this {thing} is for you,")
    end_well(story, together=story.maybe())


def help_animal(story: Story) -> None:
    """Somebody meets an animal that needs something."""
    story.choose_thing(words.ANIMALS)
    begin(story)
    story.tell("{once} {hero} saw {a_thing} {spot}", "{hero} went to the {place} and saw {a_thing}", "{hero} met {a_thing} {at}")
    story.tell("the {thing} was {need}", "it was very {need}", "the {thing} was {need} and could not (sleep|rest)")
    if story.maybe():
        story.say(
            story.hero,
            *("do not be afraid, little {thing},", "are you {need}?", "this {thing} is {need},", "I will help this {thing},"),
            *("the {thing} wants to rest,", "look, {a_thing}!"),
        )
    if story.maybe(0.3):
        story.tell(
            "{hero} tried to help it, but the {thing} ran away",
            "but the {thing} ran away",
            "{hero} wanted to take it home, but it ran away",
        )
        end_badly(story)
        return
    story.tell(
        "{hero} gave {food} to the {thing}" if story.need == "hungry" else "{hero} helped it",
        "{hero} took the {thing} home",
        "{hero} carried it home because it was so {need}",
    )
    story.tell("now the {thing} was (glad|happy)", "soon the {thing} (slept|rested|jumped and danced)", "the {thing} loved {him}")
    if story.maybe():
        story.say(story.hero, "you are my friend now,", "I love you, little {thing},", "now we are friends!")
    end_well(story, stay=True)


def count(story: Story) -> None:
    """Somebody has some things and gets more."""
    story.choose_thing(words.OBJECTS | words.FOOD)
    a, b = draw_sum(story.draw, story.is_allowed, 2, MAX_COUNTED)
    together = story.maybe(0.7)
    (begin_together if together else begin)(story)
    story.tell(f"{{hero}} had {a} {{things}}", f"{{once}} {{hero}} found {a} {{things}} {{at}}", f"{{once}} {{hero}} bought {a} {{things}}")
    if together:
        story.tell(
            f"{{friend}} had {b} {{things}} and gave them to {{him}}",
            f"then {{friend}} (gave|brought) {b} {{things}} to {{him}}",
        )
        if story.maybe():
            story.say(story.friend, "how many {things} do you have?")
    else:
        story.tell(f"then {{hero}} found {b} {{things}} {{spot}}", f"{{hero}} looked {{spot}} and found {b} {{things}}")
    if story.maybe():
        story.tell(f"{{hero}} counted the {{things}}: {a} + {b} = {a + b}")
    else:
        story.say(story.hero, f"{a} + {b} = {a + b},", f"{a} plus {b} is {a + b},")
        if together and story.maybe():
            story.say(story.friend, "that is right,", "yes, that is right!")
    end_well(story, together)


def play(story: Story) -> None:
    """Somebody wants to play with a toy and a friend."""
    story.choose_thing(words.TOYS)
    begin_together(story)
    story.tell("{hero} had {a_thing}", "{hero} had {a_thing} with {him}", "{hero} had {a_thing} and wanted to play")
    story.say(story.hero, "can we play with my {thing}?", "do you want to play with my {thing}?", "do you like my {thing}?")
    if story.maybe(0.6):
        story.say(story.friend, "yes, I want to play with you,", "yes, I like your {thing},", "yes, let us play {at}!")
        story.tell(
            "so they played with the {thing} until the evening",
            "so they (ran|went|hurried) to the {place} and played with the {thing}",
            "{both} played {at} all day",
        )
        end_well(story, together=True, stay=True)
    else:
        story.say(story.friend, "no, I am (hungry|thirsty|tired|cold),", "no, I want to sleep,", "no, thank you,", "no, I cannot play now,")
        story.tell("so {HERO} played alone", "{HERO} took the {thing} and went away", "so {HERO} sat alone")
        end_badly(story)


def give_back(story: Story) -> None:
    """Somebody finds a thing that a friend has lost."""
    story.choose_thing(words.OBJECTS)
    begin(story)
    story.tell(
        "{once} {hero} found {a_thing} {spot}",
        "{hero} saw {a_thing} {spot} and took it",
        "on the way to the {place}, {hero} found {a_thing}",
    )
    if story.maybe():
        story.say(story.hero, "whose {thing} is this?", "what a (lovely|pretty) {thing}!", "look, {a_thing}!")
    story.tell(
        "then {FRIEND} came",
        "then {hero} (met|saw) {FRIEND}",
        "{FRIEND} was (sad|unhappy|upset) because {friend_he} could not find {friend_his} {thing}",
    )
    story.say(story.friend, "that is my {thing}!", "I lost my {thing},", "you found my {thing}!", "is this my {thing}?")
    if story.maybe(0.2):
        story.say(story.hero, "no, it is my {thing},", "no, I want to have this {thing}!")
        story.tell("{friend} was very {bad} and went home", "{friend} cried and ran away")
        return
    story.tell("{HERO} gave the {thing} to {to_friend}", "so {HERO} gave it back to {to_friend}")
    if story.maybe():
        story.say(story.friend, "thank you!", "thank you, {hero_name},", "you are very kind,")
    end_well(story, together=story.maybe())


PLOTS = (lose, wish, help_animal, count, play, give_back)
"""All plots, used equally often, but for stories that are too short or too long."""

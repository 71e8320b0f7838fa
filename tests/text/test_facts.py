"""What counts as the same fact and what as another one, sentence by sentence."""

import pytest

from parasketch.text.facts import Changes, compare, facts_of, required_spans

SAME = [
    # times seen from now
    ("Prices rose last year.", "A year ago, prices went up."),
    ("We met last night.", "Yesterday we met."),
    ("It opens next week.", "It opens in the coming week."),
    ("Are you free tonight?", "Do you have time this evening?"),
    ("You forgot my birthday again!", "Once more you forgot my birthday!"),
    # numbers
    ("The bag costs $1,299.99.", "You pay $1299.99 for the bag."),
    ("It costs 20 dollars.", "The price is $20."),
    ("They paid twenty bucks.", "They paid $20."),
    ("We meet at 4:30 pm.", "Our meeting is at 4.30 p.m."),
    ("We meet at 4:30 pm.", "Our meeting is at 16:30."),
    ("We meet at 4:30 PM.", "Our meeting is at half past four."),
    ("The bus leaves at a quarter to nine.", "The bus goes at 8:45."),
    ("The shop opens at 7 o'clock.", "The shop opens at seven."),
    ("The shop opens at 7:00.", "It opens at seven o'clock."),
    ("It's four thirty.", "It is 4:30."),
    ("Lunch is at noon.", "Lunch is at 12 pm."),
    ("She lives on the 4th floor.", "Her flat is on the fourth floor."),
    ("He was born on May 4th, 1987.", "He was born on the fourth of May 1987."),
    ("The twenty-first guest won.", "The 21st guest won."),
    ("About 1,000 people came.", "About one thousand people came."),
    ("About 1000 people came.", "About a thousand people came."),
    ("The city has 2,500,000 inhabitants.", "The city has 2.5 million inhabitants."),
    ("It has three hundred and five pages.", "It has 305 pages."),
    ("A million fans voted.", "1,000,000 fans voted."),
    ("He earns 50k a year.", "He earns fifty thousand a year."),
    ("Prices fell by 20%.", "Prices dropped by 20 percent."),
    ("Prices fell by twenty per cent.", "Prices fell 20%."),
    ("I have two cats.", "I own 2 cats."),
    ("I bought a dozen eggs.", "I bought 12 eggs."),
    ("It takes half an hour.", "It takes 30 minutes."),
    ("It takes an hour.", "It takes 60 minutes."),
    ("It takes an hour and I am tired.", "It takes time and I am tired."),
    ("It takes two and a half hours.", "It takes 150 minutes."),
    ("The rope is 1.5 km long.", "The rope is 1500 metres long."),
    ("We stayed two weeks.", "We stayed for 14 days."),
    ("My 5-year-old son sings.", "My son, who is five years old, sings."),
    ("I ate two thirds of it.", "I ate 2/3 of it."),
    ("The two brothers left town.", "Both brothers left town."),
    ("One should be careful.", "You should be careful."),
    ("This one is nicer.", "This is nicer."),
    ("No one came.", "Nobody came."),
    ("First, open the door.", "Open the door to begin with."),
    ("Wait a second.", "Wait a moment."),
    ("I called him twice.", "I called him two times."),
    # names
    ("Tom met Mary in Boston.", "Mary was met by Tom in Boston."),
    ("José's car is red.", "Jose has a red car."),
    ("Does Anna live in Paris?", "Is Anna's home in Paris?"),
    ("He lives in the USA.", "He lives in the United States."),
    ("He lives in the U.S.", "He lives in America."),
    ("She moved to the UK.", "She moved to the United Kingdom."),
    ("The president of France spoke.", "The French president spoke."),
    ("The Germans won the cup.", "Germany won the cup."),
    ("is quora free?", "Is Quora free of charge?"),
    ("What will Donald Trump do?", "What will Trump do?"),
    ("Mr. Smith called.", "Smith called."),
    ("The NBA is popular.", "The National Basketball Association is popular."),
    ("She studies at Oxford University.", "She studies at Oxford."),
    ("Turn on the TV.", "Turn the television on."),
    ("I use the Internet daily.", "I go online daily."),
    ("WHY IS THE SKY BLUE?", "Why does the sky look blue?"),
    ("Is It Good To Eat Late?", "Is eating late good?"),
    ("I like YouTube.", "I like you tube."),
    ("That was a VERY good meal.", "That was a really good meal."),
    ("See you on Monday.", "See you Monday."),
    ("Which is the best phone under Rs 60000?", "Which phone under 60k is best?"),
    ("Which is the best card under 10K?", "What card under Rs. 10,000 is best?"),
    ("How do you shrink a shirt?", "How can a T-shirt be shrunk?"),
    ("(4) Participate in the research.", "(4) Take part in the research."),
    ("Teddy bears are sold here.", "They sell bears here."),
    # words that only look like opposites or times
    ("What happened in front of you?", "What happened infront of you?"),
    ("How much water should I drink in a day?", "How much water should I drink?"),
    ("What did he say on his last day?", "What were his words at the end?"),
    # literals
    ("Mail anna.meier@example.com today.", "Today, write to anna.meier@example.com."),
    ("Look at https://example.org/a?b=1.", "Have a look at https://example.org/a?b=1!"),
    ("Open notes.txt first.", "First open notes.txt."),
    ("He said “free lunch” twice.", 'Twice he said "free lunch".'),
    ("Use the 'best' way.", "Use the best way."),
    ('"Where are you going?" she asked.', "She asked where you were going."),
    ("Call foo_bar() with --force.", "With --force, call foo_bar()."),
    ("Type `make all` to build.", "To build, type `make all`."),
    ("We love #python.", "#Python is loved by us."),
    # negation
    ("I do not like it.", "I don't like it."),
    ("I do not like it.", "I dislike it."),
    ("She is not happy.", "She is unhappy."),
    ("It is not legal.", "It is illegal."),
    ("That isn't cheap.", "That is expensive."),
    ("That's not true.", "That's false."),
    ("He is unable to swim.", "He cannot swim."),
    ("He failed to arrive.", "He did not arrive."),
    ("He refused to pay.", "He would not pay."),
    ("She left without a word.", "She left and said nothing."),
    ("Nobody knows.", "No one knows."),
    ("It's late, isn't it?", "It's late."),
    ("You like it, don't you?", "You like it, right?"),
    ("Isn't it late?", "Is it late?"),
    ("Why don't we eat out?", "Let's eat out."),
    ("Why not eat out?", "Let's eat out."),
    ("He is not only rich but also kind.", "He is rich and also kind."),
    ("I can't help laughing.", "I have to laugh."),
    ("Tell me whether or not you come.", "Tell me if you come."),
    ("No doubt he is right.", "He is certainly right."),
    ("Don't hesitate to call.", "Feel free to call."),
    ("I have no money.", "I don't have any money."),
    ("Neither Tom nor Ann came.", "Tom did not come, and Ann didn't."),
    ("There is hardly any milk.", "There's almost no milk."),
    ("he don 't care", "he doesn't care"),
    ("I like neither tea nor milk.", "I don't like tea or milk."),
    ("The box is too heavy to lift.", "The box is so heavy that one can't lift it."),
    ("Bring no more than three bags.", "Bring at most three bags."),
    ("Please don't forget to call.", "Please remember to call."),
    ("He did not stop until noon.", "He only stopped at noon."),
    ("I can't help myself.", "I can't help it."),
    # opposites
    ("The old man left.", "The man, who was old, went away."),
    ("Is it hot or cold?", "Is it cold or hot?"),
    ("Tom sold Mary his car.", "Mary bought a car from Tom."),
    ("He sat on the desk.", "He was seated at the desk."),
    ("All of them slept.", "They all slept."),
    ("The large dog met the small dog.", "The big dog met the little dog."),
    ("I need something cheaper.", "I need something less expensive."),
    ("I read it from beginning to end.", "I read it from start to finish."),
    ("It was the best day.", "It was a very good day."),
    ("Oil is more expensive than gas.", "Oil is less cheap than gas."),
    # persons
    ("Please send the file.", "Could you send the file?"),
    ("How do I open it?", "How do you open it?"),
    ("You never know.", "One never knows."),
    ("I think we should go.", "We should go."),
    ("Someone left their bag.", "Someone left his bag."),
    ("Does she like her?", "Does she like her very much?"),
    ("The U.S. is big.", "The US is a big land."),
    # roles
    ("Tom and Mary danced.", "Mary and Tom danced."),
    ("Paris is the capital of France.", "The capital of France is Paris."),
]

CHANGED: list[tuple[str, str, tuple[str, ...], tuple[str, ...]]] = [
    # times seen from now
    ("Prices rose by 20 percent last year.", "Prices rose by 20 percent this year.", ("last year",), ("this year",)),
    ("It opens next week.", "It opens.", ("next week",), ()),
    ("I can't believe you forgot my birthday again!", "I can't believe you forgot my birthday.", ("again",), ()),
    # numbers
    ("The bag costs $1,299.99.", "The bag costs $1,299.", ("$1,299.99",), ("$1,299",)),
    ("The bag costs $20.", "The bag costs €20.", ("$20",), ("€20",)),
    ("We meet at 4:30 pm.", "We meet at 4:30 am.", ("4:30 pm",), ("4:30 am",)),
    ("We meet at 4:30 pm.", "We meet in the afternoon.", ("4:30 pm",), ()),
    ("We meet at 16:30.", "We meet at half past three.", ("16:30",), ("half past three",)),
    ("She lives on the 4th floor.", "She lives on the 5th floor.", ("4th",), ("5th",)),
    ("He won the first race.", "He won the second race.", ("first",), ("second",)),
    ("I have two cats.", "I have cats.", ("two",), ()),
    ("I have cats.", "I have three cats.", (), ("three",)),
    ("I walked 5 km.", "I walked 5 miles.", ("5 km",), ("5 miles",)),
    ("It takes half an hour.", "It takes 40 minutes.", ("half an hour",), ("40 minutes",)),
    ("About 1,000 people came.", "About 10,000 people came.", ("1,000",), ("10,000",)),
    ("Prices fell by 20%.", "Prices fell.", ("20%",), ()),
    ("It was -5 degrees.", "It was 5 degrees.", ("-5",), ("5",)),
    ("He was born in 1987.", "He was born in 1978.", ("1987",), ("1978",)),
    ("I bought one apple.", "I bought two apples.", (), ("two",)),
    # names
    ("Tom met Mary in Boston.", "Tom met Mary in Chicago.", ("Boston",), ("Chicago",)),
    ("Tom met Mary.", "He met Mary.", ("Tom",), ()),
    ("Is Laura Hall ill?", "Is Tiffany Hall ill?", ("Laura",), ("Tiffany",)),
    ("She is from South Korea.", "She is from Korea.", ("South",), ()),
    ("I speak French.", "I speak Spanish.", ("French",), ("Spanish",)),
    ("i speak french.", "i speak spanish.", ("french",), ("spanish",)),
    ("See you on Monday.", "See you on Tuesday.", ("Monday",), ("Tuesday",)),
    ("It ends in May.", "It ends in June.", ("May",), ("June",)),
    ("He lives in the US.", "He lives in the UK.", ("US",), ("UK",)),
    ("My iPhone is broken.", "My phone is broken.", ("iPhone",), ()),
    ("NASA sent a robot.", "ESA sent a robot.", ("NASA",), ("ESA",)),
    ("How do I leave?", "How do I leave Quora?", (), ("Quora",)),
    # literals
    ("What is the value of 1/0?", "What is the value of 1/0/0?", ("1", "0"), ("1/0/0",)),
    ("Is vitamin K good?", "Is that good?", ("K",), ()),
    ("Mail anna@example.com.", "Mail anne@example.com.", ("anna@example.com",), ("anne@example.com",)),
    ("Look at https://example.org/a.", "Look at the page.", ("https://example.org/a",), ()),
    ("Open notes.txt first.", "Open the notes first.", ("notes.txt",), ()),
    ("We read “Cold Rain” aloud.", "We read a poem aloud.", ("Cold Rain", "Cold", "Rain"), ()),
    ("Call foo_bar() now.", "Call the function now.", ("foo_bar()",), ()),
    ("Run it with --force.", "Run it by force.", ("--force",), ()),
    ("Install v2.1 today.", "Install v2.2 today.", ("v2.1",), ("v2.2",)),
    ("Type `make all` to build.", "Type something to build.", ("`make all`",), ()),
    ("We love #python.", "We love #ruby.", ("#python",), ("#ruby",)),
    ("Thank @anna for it.", "Thank her for it.", ("@anna",), ()),
    # negation
    ("Why is it not legal to own a gun?", "Why is it legal to own a gun?", ("negation (not)",), ()),
    ("It is legal to own a gun.", "It isn't legal to own a gun.", (), ("negation (n't)",)),
    ("I never eat meat.", "I eat meat.", ("negation (never)",), ()),
    ("She came with her dog.", "She came without her dog.", (), ("negation (without)",)),
    ("Nobody liked it.", "Everybody liked it.", ("negation (nobody)",), ()),
    ("I hardly know him.", "I know him.", ("negation (hardly)",), ()),
    ("You cannot park here.", "You can park here.", ("negation (cannot)",), ()),
    ("He failed to call.", "He called.", ("negation (failed to)",), ()),
    ("She opposed the plan.", "She did not oppose the plan.", (), ("negation (not)",)),
    ("I did not say that he came.", "I did not say that he didn't come.", (), ("negation (n't)",)),
    ("He owns more than two cars.", "He does not own more than two cars.", (), ("negation (not)",)),
    ("He did not stop.", "He only stopped.", ("negation (not)",), ()),
    # opposites
    ("They raised the price.", "They lowered the price.", ("raised → lowered",), ()),
    ("The test was easy.", "The test was difficult.", ("easy → difficult",), ()),
    ("She is happy.", "She is unhappy.", ("happy → unhappy",), ()),
    ("The drug is harmless.", "The drug is harmful.", ("harmless → harmful",), ()),
    ("It is illegal here.", "It is legal here.", ("illegal → legal",), ()),
    ("He bought the house.", "He sold the house.", ("bought → sold",), ()),
    ("The red car stopped.", "The blue car stopped.", ("red → blue",), ()),
    ("The boy laughed.", "The girl laughed.", ("boy → girl",), ()),
    ("It wasn't cheap.", "It wasn't expensive.", ("cheap → expensive",), ()),
    ("She left at once.", "She stayed at once.", ("left → stayed",), ()),
    ("Turn left.", "Turn right.", ("left → right",), ()),
    ("A man talks to a man.", "A man talks to a woman.", ("man → woman",), ()),
    ("The cat sleeps on the table.", "The cat sleeps under the table.", ("on → under",), ()),
    ("He saw her and his dog.", "He saw her and her dog.", ("his → her",), ()),
    ("Come tomorrow.", "Come yesterday.", ("tomorrow → yesterday",), ()),
    # persons
    ("I lost my key.", "You lost your key.", ("I → you",), ()),
    ("He is late.", "She is late.", ("he → she",), ()),
    ("My dog barks.", "Your dog barks.", ("I → you",), ()),
    ("I love you.", "I love him.", ("you → he",), ()),
    # roles
    ("The dog chased the cat.", "The cat chased the dog.", ("dog ↔ cat",), ()),
    ("We flew from Rome to Madrid.", "We flew from Madrid to Rome.", ("rome ↔ madrid",), ()),
    ("He thanked her.", "She thanked him.", ("he ↔ her",), ()),
]


@pytest.mark.parametrize(("source", "output"), SAME)
def test_the_same_facts_in_both_directions(source: str, output: str) -> None:
    assert compare(facts_of(source), facts_of(output)) == Changes()
    assert compare(facts_of(output), facts_of(source)) == Changes()


@pytest.mark.parametrize(("source", "output", "lost", "added"), CHANGED)
def test_changed_facts(source: str, output: str, lost: tuple[str, ...], added: tuple[str, ...]) -> None:
    assert compare(facts_of(source), facts_of(output)) == Changes(lost, added)


@pytest.mark.parametrize(("source", "output"), [case[:2] for case in CHANGED])
def test_changed_facts_are_seen_from_the_other_side_too(source: str, output: str) -> None:
    assert compare(facts_of(output), facts_of(source))


@pytest.mark.parametrize("text", [case[0] for case in SAME] + [case[0] for case in CHANGED])
def test_a_text_keeps_its_own_facts(text: str) -> None:
    facts = facts_of(text)
    assert not compare(facts, facts)


@pytest.mark.parametrize(
    "text", ["", " ", "?!", "\u0301", "x²", "1.2.3.4", "1,,2", "½", "٣ قطط", "日本語", "I'", "'", "a.b", "$", "%"]
)
def test_odd_texts_have_facts_too(text: str) -> None:
    assert not compare(facts_of(text), facts_of(text))


@pytest.mark.parametrize("part", ["a.", '"a', "'a ", "a-", "a@", "1", "1:", "one ", "not a ", "how i ", "Aa ", "1/2"])
def test_long_odd_texts_keep_their_facts(part: str) -> None:
    facts = facts_of(part * 5000)
    assert not compare(facts, facts)


def test_required_strings_in_order_once_each() -> None:
    text = "Tom, mail anna@example.com before 4:30 pm or call Tom's 2 aides in “Red Hall”."
    strings = [text[start:end] for start, end in required_spans(facts_of(text))]
    assert strings == ["Tom", "anna@example.com", "4:30 pm", "2", "Red Hall"]

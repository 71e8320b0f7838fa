"""Questions stay questions; requests and careless writers have their ways."""

import pytest

from parasketch.text.asking import changed_asking


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("How old is the bridge?", "The bridge is old."),
        ("Tom and Priya are expecting a baby!", "Which baby are Tom and Priya expecting?"),
    ],
)
def test_a_question_and_a_statement_are_not_the_same(source: str, output: str) -> None:
    assert any(changed_asking(source.lower(), output.lower()))


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("Please close the window.", "Could you close the window?"),
        ("Could you close the window?", "Please close the window."),
        ("how old is the bridge", "What is the age of the bridge?"),
        ("How old is the bridge?", "I wonder how old the bridge is."),
        ("Let's meet at noon.", "Shall we meet at noon?"),
        ("It's late, isn't it?", "It's late."),
    ],
)
def test_requests_and_careless_questions_may_change_their_form(source: str, output: str) -> None:
    assert not any(changed_asking(source.lower(), output.lower()))

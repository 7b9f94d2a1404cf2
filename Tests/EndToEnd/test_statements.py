"""Tests the checker of pages and emails: it reads each part correctly, in each language."""

from email.message import EmailMessage

import pytest
from harness.headlines import claims_of, denies, sums_in
from harness.statements import NEVER, of_html, of_mail, of_page
from test_ledger_checker import BOUGHT, checked, recorded, story


def test_a_page_without_a_claim_is_never_false():
    shown = {"state": "confirming", "title": "Confirming your payment", "text": "One moment."}
    nothing = of_page("src_1", shown, "en", 9000)
    assert nothing.claims == frozenset() and checked(story(*BOUGHT), nothing).counts == {}
    with pytest.raises(AssertionError, match="the claims of .* are unknown"):
        of_page("src_1", shown | {"title": "All is well"}, "en", 9000)


PAGE = {
    "state": "confirmed", "title": "Zahlung bestätigt", "text": "Vielen Dank. 10,99\u00a0€ ist angekommen.",
    "payment": {"state": "paid", "amount": 1099, "amount_received": 1099},
}


def seen(ms: int, word: str = "paid", received: int = 0) -> dict:
    event = recorded(3, f"payment.{word}", word, received)
    return event | {"observed": {"polled_at": f"1970-01-01T00:00:0{ms / 1000:.3f}Z"}}


@pytest.mark.parametrize(
    "more, seen_ms, lies",
    [
        ({}, 3100, 0),
        ({}, 2000, 1),
        # In each of the following pages one part is wrong.
        ({"state": "failed"}, 3100, 1),
        ({"title": "Zahlung autorisiert"}, 3100, 1),
        ({"payment": PAGE["payment"] | {"state": "authorised"}}, 3100, 1),
        ({"payment": PAGE["payment"] | {"amount_received": 1000}}, 3100, 1),
        ({"text": "Vielen Dank. 11,99\u00a0€ ist angekommen."}, 3100, 1),
        ({"text": "Es wurde nichts abgebucht."}, 3100, 1),
    ],
)
def test_every_claim_of_a_page_is_checked(more: dict, seen_ms: int, lies: int):
    said = of_page("src_1", PAGE | more, "de", 9000, seen(seen_ms))
    assert checked(story(*BOUGHT), said).counts.total() == lies
    html = '<body class="a" data-state="{state}"><h1 id="title">{title}</h1><p id="text">{text}</p>'
    page = of_html("src_1", html.format(**PAGE | more), "de", 3200)
    assert (page.claims == NEVER) == ((PAGE | more)["state"] == "failed" or "title" in more)


def mail(title: str, text: str, html: str | None = None, subject: str | None = None) -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject or f"{title} – Bestelling 7 – € 10,99"
    message.set_content(f"{title}\n\n{text}\n\nBedrag: € 10,99\n")
    message.add_alternative(html or f"<h1>{title}</h1><p>{text}</p>", subtype="html")
    return message


@pytest.mark.parametrize(
    "letter, lies",
    [
        (mail("Betaling bevestigd", "Dank u. € 10,99 is binnengekomen."), 0),
        (mail("Betaling bevestigd", "Dank u. € 10,98 is binnengekomen."), 1),
        (mail("Betaling bevestigd", "Er is niets afgeschreven."), 1),
        (mail("Betaling mislukt", "Er is niets afgeschreven."), 1),
        (mail("Betaling bevestigd", "Dank u.", html="<h1>Betaling mislukt</h1>"), 1),
        (mail("Betaling bevestigd", "Dank u.", subject="Betaling mislukt"), 1),
    ],
)
def test_subject_and_body_of_a_mail_are_checked(letter: EmailMessage, lies: int):
    said = of_mail(letter, seen(3100, "paid", 1099) | {"payment": PAGE["payment"]}, "nl", 9000)
    checker = checked(story(*BOUGHT), said)
    assert checker.counts.total() == lies, checker.violations


def test_claims_are_read_correctly_in_each_language():
    assert claims_of("Zahlung fehlgeschlagen", "de") == {"failed"}
    assert claims_of("€10.99 of €20.00 received", "en") == {"partially_paid"}
    assert claims_of("Remboursement de 10,99\u00a0€", "fr") == {"refunded", "partially_refunded"}
    # A text in another language is not recognised.
    with pytest.raises(AssertionError, match="the claims of .* are unknown"):
        claims_of("Zahlung fehlgeschlagen", "nl")
    assert denies("Dziękujemy. Środki nie zostały pobrane.", "pl") and not denies("Dziękujemy.", "pl")
    assert sums_in("Kwota: 1099,50\u00a0€, €3.00, order 77 of 2026") == {109950, 300}

"""What the words that payers read claim of their money, in each language they are spoken to in.

Judged by somebody who reads them, and not by the keys they are kept under: a headline in the wrong place,
or in the wrong language, is seen. `#` stands for a sum or a time.
"""

import re

LANGUAGES = ("en", "de", "fr", "nl", "es", "it", "pl", "pt")

# What is claimed, and the headlines that claim it, in the order of LANGUAGES.
_TITLES: list[tuple[str, tuple[str, ...]]] = [
    ("", (
        "Confirming your payment", "Ihre Zahlung wird bestätigt", "Confirmation de votre paiement",
        "Uw betaling wordt bevestigd", "Confirmando su pago", "Conferma del pagamento in corso",
        "Potwierdzamy płatność", "A confirmar o seu pagamento",
    )),
    ("", (
        "Confirming your payment method", "Ihre Zahlungsart wird bestätigt",
        "Confirmation de votre moyen de paiement", "Uw betaalmethode wordt bevestigd", "Confirmando su medio de pago",
        "Conferma del metodo di pagamento in corso", "Potwierdzamy metodę płatności",
        "A confirmar o seu meio de pagamento",
    )),
    ("", (
        "Order received", "Bestellung eingegangen", "Commande reçue", "Bestelling ontvangen", "Pedido recibido",
        "Ordine ricevuto", "Zamówienie przyjęte", "Encomenda recebida",
    )),
    ("", (
        "Payment not confirmed yet", "Zahlung noch nicht bestätigt", "Paiement pas encore confirmé",
        "Betaling nog niet bevestigd", "Pago aún sin confirmar", "Pagamento non ancora confermato",
        "Płatność jeszcze niepotwierdzona", "Pagamento ainda não confirmado",
    )),
    ("", (
        "Where should your money go?", "Wohin soll Ihr Geld gehen?", "Où envoyer votre argent ?",
        "Waar moet uw geld naartoe?", "¿Adónde enviamos su dinero?", "Dove deve andare il suo denaro?",
        "Dokąd mają trafić pieniądze?", "Para onde deve ir o seu dinheiro?",
    )),
    ("awaiting_customer", (
        "Your payment is not finished", "Ihre Zahlung ist noch nicht abgeschlossen",
        "Votre paiement n'est pas terminé", "Uw betaling is nog niet klaar", "Su pago no está terminado",
        "Il pagamento non è concluso", "Płatność nie jest dokończona", "O seu pagamento não está concluído",
    )),
    ("awaiting_customer", (
        "Please pay your voucher", "Bitte bezahlen Sie Ihren Zahlschein", "Veuillez régler votre bon de paiement",
        "Betaal uw betaalbewijs", "Pague su comprobante", "Paghi il suo bollettino", "Prosimy opłacić blankiet",
        "Pague a sua referência",
    )),
    ("awaiting_customer", (
        "Scan the code to pay", "Zum Bezahlen den Code scannen", "Scannez le code pour payer",
        "Scan de code om te betalen", "Escanee el código para pagar", "Inquadri il codice per pagare",
        "Zeskanuj kod, aby zapłacić", "Leia o código para pagar",
    )),
    ("awaiting_customer partially_paid", (
        "Please transfer #", "Bitte überweisen Sie #", "Veuillez virer #", "Maak # over", "Transfiera #",
        "Effettui un bonifico di #", "Prosimy przelać #", "Transfira #",
    )),
    ("awaiting_customer partially_paid", (
        "Please transfer the money", "Bitte überweisen Sie den Betrag", "Veuillez virer le montant",
        "Maak het bedrag over", "Transfiera el importe", "Effettui il bonifico", "Prosimy wykonać przelew",
        "Faça a transferência",
    )),
    ("partially_paid", (
        "# of # has arrived", "# von # ist angekommen", "Reçu : # sur #", "# van # is binnengekomen",
        "Recibido: # de #", "Ricevuti # di #", "Wpłynęło # z #", "Recebido: # de #",
    )),
    ("processing", (
        "Payment being processed", "Zahlung wird ausgeführt", "Paiement en cours", "Betaling wordt verwerkt",
        "Pago en curso", "Pagamento in lavorazione", "Płatność w toku", "Pagamento em processamento",
    )),
    ("authorised", (
        "Payment authorised", "Zahlung autorisiert", "Paiement autorisé", "Betaling geautoriseerd",
        "Pago autorizado", "Pagamento autorizzato", "Płatność zatwierdzona", "Pagamento autorizado",
    )),
    # Of a way to pay that is kept for later, which is all that was agreed to.
    ("authorised", (
        "Payment method saved", "Zahlungsart gespeichert", "Moyen de paiement enregistré", "Betaalmethode opgeslagen",
        "Medio de pago guardado", "Metodo di pagamento salvato", "Metoda płatności zapisana",
        "Meio de pagamento guardado",
    )),
    ("paid", (
        "Payment confirmed", "Zahlung bestätigt", "Paiement confirmé", "Betaling bevestigd", "Pago confirmado",
        "Pagamento confermato", "Płatność potwierdzona", "Pagamento confirmado",
    )),
    ("paid", (
        "Payment confirmed: # of #", "Zahlung bestätigt: # von #", "Paiement confirmé : # sur #",
        "Betaling bevestigd: # van #", "Pago confirmado: # de #", "Pagamento confermato: # di #",
        "Płatność potwierdzona: # z #", "Pagamento confirmado: # de #",
    )),
    ("partially_paid", (
        "# of # charged", "# von # abgebucht", "# sur # débités", "# van # afgeschreven", "Cobrado: # de #",
        "Addebitati # di #", "Pobrano # z #", "Cobrado: # de #",
    )),
    ("partially_paid", (
        "Part of your payment was charged", "Ein Teil Ihrer Zahlung wurde abgebucht",
        "Une partie de votre paiement a été débitée", "Een deel van uw betaling is afgeschreven",
        "Se ha cobrado una parte de su pago", "Una parte del pagamento è stata addebitata",
        "Pobrano część płatności", "Foi cobrada uma parte do seu pagamento",
    )),
    ("failed", (
        "Payment failed", "Zahlung fehlgeschlagen", "Échec du paiement", "Betaling mislukt", "Pago fallido",
        "Pagamento non riuscito", "Płatność nie powiodła się", "Pagamento falhado",
    )),
    ("failed", (
        "Your bank wants you to confirm", "Ihre Bank bittet um Ihre Bestätigung",
        "Votre banque vous demande de confirmer", "Uw bank vraagt om uw bevestiging",
        "Su banco le pide que confirme", "La sua banca le chiede di confermare", "Bank prosi o potwierdzenie",
        "O seu banco pede a sua confirmação",
    )),
    # Of the payer, who went back, as of the shop.
    ("cancelled failed", (
        "Payment cancelled", "Zahlung abgebrochen", "Paiement annulé", "Betaling geannuleerd", "Pago cancelado",
        "Pagamento annullato", "Płatność anulowana", "Pagamento cancelado",
    )),
    ("cancelled", (
        "Payment cancelled", "Zahlung storniert", "Paiement annulé", "Betaling geannuleerd", "Pago cancelado",
        "Pagamento annullato", "Płatność anulowana", "Pagamento cancelado",
    )),
    ("expired", (
        "Time ran out", "Die Zeit ist abgelaufen", "Le délai est écoulé", "De tijd is verstreken",
        "Se acabó el tiempo", "Tempo scaduto", "Czas upłynął", "O tempo acabou",
    )),
    ("expired", (
        "Payment returned", "Zahlung zurückgegeben", "Paiement restitué", "Betaling teruggegeven",
        "Pago devuelto", "Pagamento restituito", "Płatność zwrócona", "Pagamento devolvido",
    )),
    ("expired cancelled", (
        "Payment released", "Zahlung freigegeben", "Paiement libéré", "Betaling vrijgegeven", "Pago liberado",
        "Pagamento sbloccato", "Płatność zwolniona", "Pagamento libertado",
    )),
    ("refunded partially_refunded", (
        "# refunded", "# erstattet", "Remboursement de #", "# terugbetaald", "Reembolso de #", "Rimborsati #",
        "Zwrócono #", "Reembolso de #",
    )),
    # Of a refund that has not succeeded: they say nothing of what became of the payment.
    ("", (
        "Your refund of # is being processed", "Ihre Erstattung von # wird bearbeitet",
        "Votre remboursement de # est en cours de traitement", "Uw terugbetaling van # wordt verwerkt",
        "Su reembolso de # se está procesando", "Il suo rimborso di # è in lavorazione", "Zwrot # jest w toku",
        "O seu reembolso de # está a ser processado",
    )),
    ("", (
        "Your refund is being processed", "Ihre Erstattung wird bearbeitet",
        "Votre remboursement est en cours de traitement", "Uw terugbetaling wordt verwerkt",
        "Su reembolso se está procesando", "Il suo rimborso è in lavorazione", "Zwrot jest w toku",
        "O seu reembolso está a ser processado",
    )),
    ("", (
        "Where should your refund of # go?", "Wohin soll Ihre Erstattung von # gehen?",
        "Où envoyer votre remboursement de # ?", "Waar moet uw terugbetaling van # naartoe?",
        "¿Adónde enviamos su reembolso de #?", "Dove deve andare il suo rimborso di #?", "Dokąd wysłać zwrot #?",
        "Para onde deve ir o seu reembolso de #?",
    )),
    ("", (
        "Where should your refund go?", "Wohin soll Ihre Erstattung gehen?", "Où envoyer votre remboursement ?",
        "Waar moet uw terugbetaling naartoe?", "¿Adónde enviamos su reembolso?", "Dove deve andare il suo rimborso?",
        "Dokąd wysłać zwrot?", "Para onde deve ir o seu reembolso?",
    )),
    ("", (
        "Your refund of # did not go through", "Ihre Erstattung von # ist fehlgeschlagen",
        "Votre remboursement de # n'a pas abouti", "Uw terugbetaling van # is mislukt",
        "Su reembolso de # no se ha podido realizar", "Il suo rimborso di # non è riuscito",
        "Zwrot # nie powiódł się", "O seu reembolso de # não foi concluído",
    )),
    ("", (
        "Your refund did not go through", "Ihre Erstattung ist fehlgeschlagen", "Votre remboursement n'a pas abouti",
        "Uw terugbetaling is mislukt", "Su reembolso no se ha podido realizar", "Il suo rimborso non è riuscito",
        "Zwrot nie powiódł się", "O seu reembolso não foi concluído",
    )),
    ("", (
        "Your refund of # was cancelled", "Ihre Erstattung von # wurde storniert",
        "Votre remboursement de # a été annulé", "Uw terugbetaling van # is geannuleerd",
        "Su reembolso de # se ha cancelado", "Il suo rimborso di # è stato annullato", "Zwrot # został anulowany",
        "O seu reembolso de # foi cancelado",
    )),
    ("", (
        "Your refund was cancelled", "Ihre Erstattung wurde storniert", "Votre remboursement a été annulé",
        "Uw terugbetaling is geannuleerd", "Su reembolso se ha cancelado", "Il suo rimborso è stato annullato",
        "Zwrot został anulowany", "O seu reembolso foi cancelado",
    )),
    ("disputed", (
        "Payment under review", "Zahlung wird geprüft", "Paiement en cours d'examen",
        "Betaling wordt onderzocht", "Pago en revisión", "Pagamento in verifica", "Płatność jest wyjaśniana",
        "Pagamento em análise",
    )),
    ("reversed", (
        "Payment returned by your bank", "Zahlung von Ihrer Bank zurückgeholt",
        "Paiement repris par votre banque", "Betaling teruggehaald door uw bank",
        "Pago devuelto por su banco", "Pagamento ritirato dalla sua banca", "Płatność cofnięta przez bank",
        "Pagamento devolvido pelo seu banco",
    )),
]

# That nothing was taken.
_DENIALS = {
    "en": r"no money was taken|nothing was (charged|taken)",
    "de": r"es wurde nichts abgebucht",
    "fr": r"(aucun montant|rien) n'a été débité",
    "nl": r"er is niets afgeschreven",
    "es": r"no se ha cobrado nada",
    "it": r"non è stato (addebitato|prelevato) nulla",
    "pl": r"nic nie pobrano",
    "pt": r"nada foi cobrado",
}

_NUMBER = r"\d[\d.,\u00a0\u202f]*"
_CURRENCY = r"(?:€|\$|£|EUR|USD|GBP)"
_SUM = re.compile(rf"{_CURRENCY}\s?({_NUMBER})|({_NUMBER})\s?{_CURRENCY}")


def _judged(language: str) -> list[tuple[re.Pattern, frozenset[str]]]:
    place = LANGUAGES.index(language)
    return [
        (re.compile(".+?".join(map(re.escape, titles[place].split("#"))) + r"\Z"), frozenset(words.split()))
        for words, titles in _TITLES
    ]


_JUDGED = {language: _judged(language) for language in LANGUAGES}


def claims_of(title: str, language: str) -> frozenset[str]:
    """The words of which a headline claims one; empty when it says nothing of the money."""
    claims = [claims for pattern, claims in _JUDGED[language] if pattern.match(title)]
    assert claims, f"nobody has judged what {title!r} claims in {language}"
    return frozenset().union(*claims)


def denies(text: str, language: str) -> bool:
    """Whether it says that nothing was taken."""
    return re.search(_DENIALS[language], text, re.IGNORECASE) is not None


def sums_in(text: str) -> frozenset[int]:
    """The sums that are named, in the smallest unit of currencies with two decimals."""
    found = [first or second for first, second in _SUM.findall(text)]
    return frozenset(int(re.sub(r"\D", "", number)) for number in found)

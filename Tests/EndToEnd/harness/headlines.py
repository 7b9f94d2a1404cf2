"""The statement about the payer's money in each headline for payers, in every language.

The list is written independently of the product's keys, so that it detects a headline in the wrong place or in the
wrong language. `#` stands for an amount or a time.
"""

import re

LANGUAGES = ("en", "de", "fr", "nl", "es", "it", "pl", "pt", "zh")

# The payment states that a headline may state, and its texts in the order of LANGUAGES.
_TITLES: list[tuple[str, tuple[str, ...]]] = [
    ("", (
        "Confirming your payment", "Ihre Zahlung wird bestätigt", "Paiement en cours de confirmation",
        "Uw betaling wordt bevestigd", "Estamos confirmando su pago", "Pagamento in attesa di conferma",
        "Trwa potwierdzanie płatności", "Confirmação do seu pagamento em curso", "正在确认支付结果",
    )),
    ("", (
        "Confirming your payment method", "Ihre Zahlungsart wird bestätigt",
        "Moyen de paiement en cours de confirmation", "Uw betaalmethode wordt bevestigd", "Estamos confirmando su medio de pago",
        "Metodo di pagamento in attesa di conferma", "Trwa potwierdzanie metody płatności",
        "Confirmação do seu meio de pagamento em curso", "正在确认您的支付方式",
    )),
    ("", (
        "Order received", "Bestellung eingegangen", "Commande reçue", "Bestelling ontvangen", "Pedido recibido",
        "Ordine ricevuto", "Zamówienie przyjęte", "Pedido recebido", "订单已提交",
    )),
    ("", (
        "Payment not confirmed yet", "Zahlung noch nicht bestätigt", "Paiement non encore confirmé",
        "Betaling nog niet bevestigd", "Pago aún sin confirmar", "Pagamento non ancora confermato",
        "Płatność jeszcze niepotwierdzona", "Pagamento ainda não confirmado", "支付结果待确认",
    )),
    ("", (
        "Where should we send your money?", "Wohin sollen wir Ihr Geld überweisen?",
        "Sur quel compte verser votre remboursement\u00a0?", "Naar welke rekening mogen we uw geld overmaken?",
        "¿En qué cuenta desea recibir su reembolso?", "Su quale conto desidera ricevere il rimborso?", "Na jakie konto mamy zwrócić pieniądze?",
        "Para que conta devemos devolver o seu dinheiro?", "请提供收款账户",
    )),
    ("awaiting_customer", (
        "Complete your payment", "Schließen Sie Ihre Zahlung ab", "Finalisez votre paiement", "Rond uw betaling af",
        "Complete su pago", "Completi il pagamento", "Prosimy dokończyć płatność", "Conclua o seu pagamento", "请完成支付",
    )),
    ("awaiting_customer", (
        "Pay your voucher", "Bitte bezahlen Sie Ihren Zahlschein", "Réglez avec votre bordereau de paiement",
        "Volg de betaalinstructies", "Pague con su cupón de pago", "Paghi il bollettino", "Prosimy opłacić blankiet",
        "Efetue o pagamento por referência", "请凭缴费单付款",
    )),
    ("awaiting_customer", (
        "Scan the code to pay", "Zum Bezahlen den Code scannen", "Scannez le code pour payer",
        "Scan de code om te betalen", "Escanee el código para pagar", "Inquadri il codice per pagare",
        "Prosimy zeskanować kod, aby zapłacić", "Leia o código para pagar", "请扫码支付",
    )),
    ("awaiting_customer partially_paid", (
        "Please transfer #", "Bitte überweisen Sie #", "Veuillez effectuer un virement de #", "Maak # over", "Realice una transferencia de #",
        "Effettui un bonifico di #", "Prosimy przelać #", "Transfira #", "请转账 #",
    )),
    ("awaiting_customer partially_paid", (
        "Please make your bank transfer", "Bitte überweisen Sie den Betrag", "Veuillez effectuer le virement",
        "Maak het bedrag over", "Realice la transferencia", "Effettui il bonifico", "Prosimy wykonać przelew",
        "Faça a transferência", "请完成银行转账",
    )),
    ("partially_paid", (
        "# of # received", "# von # eingegangen", "Reçu\u00a0: # sur #", "# van # ontvangen",
        "Recibido: # de #", "Ricevuto: # su #", "Wpłynęło # z #", "Recebido: # de #", "已收到 #（共 #）",
    )),
    ("processing", (
        "Payment being processed", "Zahlung wird ausgeführt", "Paiement en cours", "Betaling wordt verwerkt",
        "Pago en curso", "Pagamento in elaborazione", "Płatność w toku", "Pagamento em processamento",
        "支付处理中",
    )),
    ("authorised", (
        "Payment authorised", "Zahlung autorisiert", "Paiement autorisé", "Betaling goedgekeurd",
        "Pago autorizado", "Pagamento autorizzato", "Płatność zatwierdzona", "Pagamento autorizado", "支付已授权",
    )),
    # For a transfer that has arrived and that the shop has not charged yet.
    ("authorised", (
        "Payment received", "Zahlung eingegangen", "Paiement reçu", "Betaling ontvangen", "Pago recibido",
        "Pagamento ricevuto", "Płatność wpłynęła", "Pagamento recebido", "款项已到账",
    )),
    # For a payment method that is saved for later use.
    ("authorised", (
        "Payment method saved", "Zahlungsart gespeichert", "Moyen de paiement enregistré", "Betaalmethode opgeslagen",
        "Medio de pago guardado", "Metodo di pagamento salvato", "Metoda płatności zapisana",
        "Meio de pagamento guardado", "支付方式已保存",
    )),
    ("paid", (
        "Payment confirmed", "Zahlung bestätigt", "Paiement confirmé", "Betaling bevestigd", "Pago confirmado",
        "Pagamento confermato", "Płatność potwierdzona", "Pagamento confirmado", "支付成功",
    )),
    ("paid", (
        "Payment confirmed: # of #", "Zahlung bestätigt: # von #", "Paiement confirmé\u00a0: # sur #",
        "Betaling bevestigd: # van #", "Pago confirmado: # de #", "Pagamento confermato: # su #",
        "Płatność potwierdzona: # z #", "Pagamento confirmado: # de #", "支付成功：#（共 #）",
    )),
    ("partially_paid", (
        "# of # charged", "# von # abgebucht", "Débit partiel\u00a0: # sur #", "# van # afgeschreven", "Cobrado: # de #",
        "Addebito parziale: # su #", "Pobrano # z #", "Cobrado: # de #", "已扣款 #（共 #）",
    )),
    ("partially_paid", (
        "Part of your payment was charged", "Ein Teil Ihrer Zahlung wurde abgebucht",
        "Une partie de votre paiement a été débitée", "Een deel van uw betaling is afgeschreven",
        "Se ha cobrado una parte de su pago", "Una parte del pagamento è stata addebitata",
        "Pobrano część płatności", "Foi cobrada uma parte do seu pagamento", "已部分扣款",
    )),
    ("failed", (
        "Payment failed", "Zahlung fehlgeschlagen", "Échec du paiement", "Betaling mislukt",
        "No se ha podido realizar el pago", "Pagamento non riuscito", "Płatność nie powiodła się", "O pagamento falhou", "支付失败",
    )),
    ("failed", (
        "Your bank needs you to confirm this payment", "Ihre Bank bittet um Ihre Bestätigung",
        "Votre banque vous demande de confirmer le paiement", "Uw bank vraagt om uw bevestiging",
        "Su banco le pide que confirme el pago", "La sua banca le chiede di confermare il pagamento", "Bank prosi o potwierdzenie",
        "O seu banco pede que confirme o pagamento", "您的银行要求您确认支付",
    )),
    # For a payment that the payer abandoned, or that the shop cancelled.
    ("cancelled failed", (
        "Payment cancelled", "Zahlung abgebrochen", "Paiement annulé", "Betaling geannuleerd", "Pago cancelado",
        "Pagamento annullato", "Płatność anulowana", "Pagamento cancelado", "支付已取消",
    )),
    ("cancelled", (
        "Payment cancelled", "Zahlung storniert", "Paiement annulé", "Betaling geannuleerd", "Pago cancelado",
        "Pagamento annullato", "Płatność anulowana", "Pagamento cancelado", "支付已取消",
    )),
    ("expired", (
        "Payment not completed", "Zahlung nicht abgeschlossen", "Paiement non finalisé", "Betaling niet afgerond",
        "Pago no completado", "Pagamento non completato", "Płatność niezakończona", "Pagamento não concluído",
        "支付未完成",
    )),
    ("expired", (
        "Payment returned", "Ihre Zahlung geht an Sie zurück", "Paiement non encaissé", "Uw betaling wordt teruggestort",
        "Pago devuelto", "Pagamento stornato", "Płatność zostanie zwrócona", "Pagamento devolvido", "款项退回",
    )),
    ("expired cancelled", (
        "Payment released", "Vormerkung aufgehoben", "Montant débloqué", "Reservering vervallen", "Importe liberado",
        "Importo sbloccato", "Blokada środków zdjęta", "Valor desbloqueado", "预授权已解除",
    )),
    ("refunded partially_refunded", (
        "# refunded", "# erstattet", "Remboursement de #", "# terugbetaald", "Reembolso de #", "Rimborso di #",
        "Zwrócono #", "Reembolso de # efetuado", "已退款 #",
    )),
    ("partially_refunded", (
        "Part of the payment returned by your bank", "Teil der Zahlung von Ihrer Bank zurückgebucht",
        "Paiement partiellement annulé par votre banque", "Deel van de betaling door uw bank teruggeboekt",
        "Pago devuelto parcialmente por su banco", "Pagamento stornato in parte dalla sua banca",
        "Płatność częściowo cofnięta przez bank", "Pagamento devolvido em parte pelo seu banco", "部分款项已被银行退回",
    )),
    # For a refund that has not succeeded; these headlines state nothing about the payment.
    ("", (
        "Your refund of # is being processed", "Ihre Erstattung von # wird bearbeitet",
        "Votre remboursement de # est en cours de traitement", "Uw terugbetaling van # wordt verwerkt",
        "Su reembolso de # se está procesando", "Il suo rimborso di # è in elaborazione", "Zwrot # jest w toku",
        "O seu reembolso de # está em processamento", "退款 # 处理中",
    )),
    ("", (
        "Your refund is being processed", "Ihre Erstattung wird bearbeitet",
        "Votre remboursement est en cours de traitement", "Uw terugbetaling wordt verwerkt",
        "Su reembolso se está procesando", "Il suo rimborso è in elaborazione", "Zwrot jest w toku",
        "O seu reembolso está em processamento", "退款处理中",
    )),
    ("", (
        "Where should we send your refund of #?", "Wohin sollen wir Ihre Erstattung von # überweisen?",
        "Sur quel compte verser votre remboursement de #\u00a0?",
        "Naar welke rekening mogen we uw terugbetaling van # overmaken?", "¿En qué cuenta desea recibir su reembolso de #?",
        "Su quale conto desidera ricevere il rimborso di #?", "Na jakie konto przelać zwrot #?",
        "Para que conta devemos enviar o reembolso de #?", "请提供退款 # 的收款账户",
    )),
    ("", (
        "Where should we send your refund?", "Wohin sollen wir Ihre Erstattung überweisen?",
        "Sur quel compte verser votre remboursement\u00a0?", "Naar welke rekening mogen we uw terugbetaling overmaken?",
        "¿En qué cuenta desea recibir su reembolso?", "Su quale conto desidera ricevere il rimborso?",
        "Na jakie konto przelać zwrot?", "Para que conta devemos enviar o reembolso?", "请提供退款的收款账户",
    )),
    ("", (
        "Your refund of # did not go through", "Ihre Erstattung von # ist fehlgeschlagen",
        "Votre remboursement de # n’a pas abouti", "Uw terugbetaling van # is mislukt",
        "Su reembolso de # no se ha podido realizar", "Il suo rimborso di # non è andato a buon fine",
        "Zwrot # nie powiódł się", "O seu reembolso de # não foi concluído", "退款 # 失败",
    )),
    ("", (
        "Your refund did not go through", "Ihre Erstattung ist fehlgeschlagen", "Votre remboursement n’a pas abouti",
        "Uw terugbetaling is mislukt", "Su reembolso no se ha podido realizar", "Il suo rimborso non è andato a buon fine",
        "Zwrot nie powiódł się", "O seu reembolso não foi concluído", "退款失败",
    )),
    ("", (
        "Your refund of # was cancelled", "Ihre Erstattung von # wurde storniert",
        "Votre remboursement de # a été annulé", "Uw terugbetaling van # is geannuleerd",
        "Su reembolso de # se ha cancelado", "Il suo rimborso di # è stato annullato", "Zwrot # został anulowany",
        "O seu reembolso de # foi cancelado", "退款 # 已取消",
    )),
    ("", (
        "Your refund was cancelled", "Ihre Erstattung wurde storniert", "Votre remboursement a été annulé",
        "Uw terugbetaling is geannuleerd", "Su reembolso se ha cancelado", "Il suo rimborso è stato annullato",
        "Zwrot został anulowany", "O seu reembolso foi cancelado", "退款已取消",
    )),
    ("disputed", (
        "Payment under review", "Zahlung wird geprüft", "Paiement en cours d’examen",
        "Betaling wordt onderzocht", "Pago en revisión", "Pagamento in verifica", "Płatność jest wyjaśniana",
        "Pagamento em análise", "支付审核中",
    )),
    ("reversed", (
        "Payment returned by your bank", "Zahlung von Ihrer Bank zurückgebucht",
        "Paiement annulé par votre banque", "Betaling door uw bank teruggeboekt",
        "Pago devuelto por su banco", "Pagamento stornato dalla sua banca", "Płatność cofnięta przez bank",
        "Pagamento devolvido pelo seu banco", "款项已被银行退回",
    )),
]

# Statements that nothing was charged.
_DENIALS = {
    "en": r"you have not been charged",
    "de": r"es wurde nichts abgebucht",
    "fr": r"aucun montant n’a été débité",
    "nl": r"er is niets afgeschreven",
    "es": r"no se ha efectuado ningún cargo",
    "it": r"non è stato effettuato alcun addebito",
    "pl": r"środki nie zostały pobrane",
    "pt": r"não foi cobrado qualquer valor",
    "zh": r"未产生任何扣款",
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
    """Returns the payment states that a headline may state; empty if it states nothing about the money."""
    claims = [claims for pattern, claims in _JUDGED[language] if pattern.match(title)]
    assert claims, f"the claims of {title!r} in {language} are unknown"
    return frozenset().union(*claims)


def denies(text: str, language: str) -> bool:
    """Returns whether the text states that nothing was charged."""
    return re.search(_DENIALS[language], text, re.IGNORECASE) is not None


def sums_in(text: str) -> frozenset[int]:
    """Returns the amounts in a text, in the smallest unit of currencies with two decimals."""
    found = [first or second for first, second in _SUM.findall(text)]
    return frozenset(int(re.sub(r"\D", "", number)) for number in found)

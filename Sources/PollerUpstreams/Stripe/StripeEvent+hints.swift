import Poller
import PollerIdentity
import StripeAPI

// What an event is to us: ids to poll, and nothing that it says about them.

extension StripeEvent {
    /// An event that Stripe has listed for us.
    var asHint: AccountEvent { hint(mandate.map { .confirmed($0) }) }

    /// An event from a webhook: the ids of its objects, without their fields.
    var asClaim: AccountEvent {
        let object = data.object
        let names = (
            notice: object["id"]?.string,
            source: object["source"]?["id"]?.string ?? object["source"]?.string
        )
        guard type == "source.mandate_notification", let notice = names.notice,
            let source = names.source.flatMap({ try? SourceID($0) })
        else { return hint(nil) }
        return hint(.claimed(id: notice, of: source))
    }

    /// The ids to poll: of its object, and of the source or intent that it belongs to.
    private func hint(_ mandate: MandateAnnouncement?) -> AccountEvent {
        let object = data.object
        let names = ["payment_intent", "setup_intent", "source", "charge"]
        let texts =
            [object["id"]?.string]
            + names.map { object[$0]?.string ?? object[$0]?["id"]?.string }
            + [
                object.intentOfPayment?.description,
                // Sources charged by an intent, and the charge of a hold that was cancelled, which shows nothing of that.
                type.hasPrefix("charge.") ? object["payment_method"]?.string : nil,
                type == "payment_intent.canceled" ? object["latest_charge"]?.string : nil,
            ]
            // An invoice with its payments, where they are expanded.
            + (object["payments"]?["data"]?.array ?? []).map { $0.intentOfPayment?.description }
        var subjects: [SourceID] = []
        for text in texts.compactMap(\.self) {
            // An id we could not watch is none of ours.
            guard let subject = try? SourceID(text), !subjects.contains(subject) else { continue }
            subjects.append(subject)
        }
        return AccountEvent(
            id: id,
            type: type,
            subjects: subjects,
            news: endsHold ? .money : HintNews(ofType: type),
            mandate: mandate
        )
    }

    /// Whether the hold of an intent was cancelled; it is not refunded any more (2025-03-31.basil).
    private var endsHold: Bool {
        type == "payment_intent.canceled" && data.object["latest_charge"]?.string != nil
    }

    /// The debit it announces.
    ///
    /// *Source*: Stripe's specification of `source_mandate_notification`.
    private var mandate: MandateNotice? {
        type == "source.mandate_notification" ? Self.notice(data.object) : nil
    }

    /// The debit that a `source_mandate_notification` announces.
    static func notice(_ object: JSONValue) -> MandateNotice? {
        guard let id = object["id"]?.string else { return nil }
        let details = (object["type"]?.string).flatMap { object[$0] }
        var notice = MandateNotice(id: id)
        notice.reason = object["reason"]?.string
        notice.amount = object["amount"]?.integer.flatMap { Amount(nonNegative: $0) }
        notice.currency = object["source"]?["currency"]?.string
        notice.last4 = details?["last4"]?.string
        notice.reference = details?["mandate_reference"]?.string
        notice.creditor = details?["creditor_identifier"]?.string
        notice.createdAt = object["created"]?.integer.flatMap { Timestamp(unixSeconds: $0) }
        return notice
    }
}

extension HintNews {
    /// What an event of a type is news of: what money does after it has arrived, how a bank has answered, or
    /// something else.
    fileprivate init(ofType type: String) {
        if ["charge.refund", "charge.dispute.", "refund."].contains(where: type.hasPrefix) {
            self = .money
            return
        }
        switch type {
        // A charge that has succeeded fails when the bank takes the money back; and what arrives at a
        // receiver that has ended has to go back from it.
        case "charge.expired", "charge.captured", "charge.failed",
            "source.refund_attributes_required", "payment_intent.amount_capturable_updated":
            self = .money
        case "charge.succeeded", "charge.pending", "payment_intent.succeeded",
            "payment_intent.payment_failed":
            self = .outcome
        default: self = .anything
        }
    }
}

extension EventNotification {
    /// An event from a webhook: the id of the object that it names.
    var asClaim: AccountEvent {
        // `v1.payment_intent.succeeded` is the same change as `payment_intent.succeeded`.
        let name = type.hasPrefix("v1.") ? String(type.dropFirst(3)) : type
        return AccountEvent(
            id: id,
            type: name,
            subjects: [relatedObject.flatMap { try? SourceID($0.id) }].compactMap(\.self),
            news: HintNews(ofType: name),
            isThin: true
        )
    }
}

extension JSONValue {
    /// The intent that an invoice payment (`invoice_payment`) names.
    ///
    /// Since `2025-03-31.basil` an invoice has no `payment_intent` of its own. *Source*:
    /// <https://docs.stripe.com/api/invoice-payment/object>,
    /// <https://docs.stripe.com/changelog/basil/2025-03-31/add-support-for-multiple-partial-payments-on-invoices>.
    var intentOfPayment: SourceID? {
        let intent = self["payment"]?["payment_intent"]
        return (intent?.string ?? intent?["id"]?.string).flatMap { try? SourceID($0) }
    }
}

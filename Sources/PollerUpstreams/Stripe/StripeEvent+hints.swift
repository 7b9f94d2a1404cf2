import PollerHints
import PollerIdentity
import PollerPayments
import PollerWatches
import StripeAPI

// Converts Stripe events to hints: the IDs to poll, without the other contents.

extension StripeEvent {
    /// The hint of an event that was read from Stripe's event list.
    var asHint: AccountEvent { hint(mandate.map { .confirmed($0) }) }

    /// The hint of an event from a webhook: the IDs of its objects, without their fields.
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

    /// Returns the IDs to poll: of the object, and of the source or intent that it belongs to.
    private func hint(_ mandate: MandateAnnouncement?) -> AccountEvent {
        let object = data.object
        let names = ["payment_intent", "setup_intent", "source", "charge"]
        let texts =
            [object["id"]?.string]
            + names.map { object[$0]?.string ?? object[$0]?["id"]?.string }
            + [
                object.intentOfPayment?.description,
                // A source charged by an intent, and the charge of a cancelled authorisation, which does not show the
                // cancellation.
                type.hasPrefix("charge.") ? object["payment_method"]?.string : nil,
                type == "payment_intent.canceled" ? object["latest_charge"]?.string : nil,
            ]
            // An invoice includes its payments if they are expanded.
            + (object["payments"]?["data"]?.array ?? []).map { $0.intentOfPayment?.description }
        var subjects: [SourceID] = []
        for text in texts.compactMap(\.self) {
            // An object whose ID cannot be a watch's source is ignored.
            guard let subject = try? SourceID(text), !subjects.contains(subject) else { continue }
            subjects.append(subject)
        }
        return AccountEvent(
            id: id,
            type: type,
            subjects: subjects,
            topic: endsHold ? .money : HintTopic(ofType: type),
            mandate: mandate
        )
    }

    /// Whether the authorisation of an intent was cancelled; since 2025-03-31.basil it is not refunded.
    private var endsHold: Bool {
        type == "payment_intent.canceled" && data.object["latest_charge"]?.string != nil
    }

    /// The notice of the event: a coming debit or a confirmed mandate.
    ///
    /// *Source*: Stripe's specification of `source_mandate_notification`.
    private var mandate: MandateNotice? {
        type == "source.mandate_notification" ? Self.notice(data.object) : nil
    }

    /// Returns the notice in a `source_mandate_notification`; `nil` if it has no ID.
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

extension HintTopic {
    /// Returns the topic of an event type: changes of received money, the bank's decision, or anything else.
    fileprivate init(ofType type: String) {
        if ["charge.refund", "charge.dispute.", "refund."].contains(where: type.hasPrefix) {
            self = .money
            return
        }
        switch type {
        // A succeeded charge fails if the bank takes the money back. Money that a receiver gets after its end must be
        // returned.
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
    /// The hint of a thin event from a webhook: the ID of the object that it names.
    var asClaim: AccountEvent {
        // `v1.payment_intent.succeeded` and `payment_intent.succeeded` are the same change.
        let name = type.hasPrefix("v1.") ? String(type.dropFirst(3)) : type
        return AccountEvent(
            id: id,
            type: name,
            subjects: [relatedObject.flatMap { try? SourceID($0.id) }].compactMap(\.self),
            topic: HintTopic(ofType: name),
            isThin: true
        )
    }
}

extension JSONValue {
    /// The intent that an invoice payment (`invoice_payment`) names.
    ///
    /// Since `2025-03-31.basil` an invoice has no `payment_intent` field. *Source*:
    /// <https://docs.stripe.com/api/invoice-payment/object>,
    /// <https://docs.stripe.com/changelog/basil/2025-03-31/add-support-for-multiple-partial-payments-on-invoices>.
    var intentOfPayment: SourceID? {
        let intent = self["payment"]?["payment_intent"]
        return (intent?.string ?? intent?["id"]?.string).flatMap { try? SourceID($0) }
    }
}

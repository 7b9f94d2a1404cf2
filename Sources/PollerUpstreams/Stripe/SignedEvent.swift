import PollerHints
import PollerIdentity
import StripeAPI

/// The parts of a signed delivery that the webhook intake uses: IDs and the type.
///
/// Created from an event with its object or from a thin event.
struct SignedEvent: Sendable {
    /// The type prefixes of events about an object that names its own intent.
    private static let families = ["checkout.session.", "invoice.", "invoice_payment.", "charge."]
    /// The type prefixes of events about an invoice that is being paid or has been paid.
    private static let ofPaidInvoices = [
        "invoice.finalized", "invoice.paid", "invoice.payment_",
    ]

    /// Whether the event is in live mode; `nil` if the event does not show it.
    let livemode: Bool?
    /// The strings that name the account of the event; none for an event of the signer's own account.
    ///
    /// `account` names a connected account, and `context` names an account of an organisation. Before API version
    /// `2017-05-25` `user_id` had the meaning of `account`.
    let accountNames: Set<String>
    /// The unverified contents of the event.
    let claim: AccountEvent
    /// The ID of the event's own object.
    private let objectID: String?

    init(_ payload: WebhookPayload) {
        switch payload {
        case .event(let event):
            livemode = event.livemode
            accountNames = Set([event.account, event.context, event.userID].compactMap(\.self))
            claim = event.asClaim
            objectID = event.objectID
        case .notification(let event):
            livemode = event.livemode
            accountNames = Set([event.context].compactMap(\.self))
            claim = event.asClaim
            objectID = event.relatedObject?.id
        }
    }

    /// Copies an event with one more subject.
    private init(_ event: SignedEvent, naming subject: SourceID) {
        livemode = event.livemode
        accountNames = event.accountNames
        claim = event.claim.naming(subject)
        objectID = event.objectID
    }

    /// Whether the event is about an object that can be watched.
    var isOfPayments: Bool { claim.subjects.contains { SourceKind(inferredFrom: $0) != nil } }

    /// Returns the key of the watch to create if none exists: for the event's own object, or for the intent that it
    /// names.
    ///
    /// A source named by a charge gets no watch. The shop that charged it already knows it, and the account's rule
    /// might charge a watched source again.
    func watched(among keys: [WatchKey]) -> WatchKey? {
        if let own = keys.first(where: { $0.source.description == objectID && $0.kind != .charge })
        {
            return own
        }
        guard Self.families.contains(where: claim.type.hasPrefix) else { return nil }
        return keys.first { $0.kind == .paymentIntent } ?? keys.first { $0.kind == .setupIntent }
    }

    /// The invoice whose intent must be read; `nil` if the event names it or is not about a payment.
    ///
    /// Since `2025-03-31.basil` an invoice does not name its intent.
    var invoice: String? {
        guard Self.ofPaidInvoices.contains(where: claim.type.hasPrefix), !isOfPayments,
            let objectID, objectID.hasPrefix("in_")
        else { return nil }
        return objectID
    }

    /// Returns the same event with the intent of its invoice as another subject.
    func paid(by intent: SourceID) -> SignedEvent { SignedEvent(self, naming: intent) }
}

import Poller
import PollerIdentity
import StripeAPI

/// What the webhook intake uses of a signed delivery: ids, and the type.
///
/// Made of an event with its object and of a thin event alike.
struct SignedEvent: Sendable {
    /// Events whose object names the intent that it is paid by, by the beginnings of their types.
    private static let families = ["checkout.session.", "invoice.", "invoice_payment.", "charge."]
    /// Events of an invoice that is being paid or was.
    private static let ofPaidInvoices = [
        "invoice.finalized", "invoice.paid", "invoice.payment_",
    ]

    /// Whether real money is meant; nil where the event does not say.
    let livemode: Bool?
    /// The texts by which it names an account: none for an event of the signer's own account.
    ///
    /// `account` names a connected account. `context` names the account of an organisation, and `user_id` did before
    /// API version `2017-05-25` what `account` does.
    let accountNames: Set<String>
    /// What it is about.
    let claim: AccountEvent
    /// The object that the event itself is about, as Stripe names it.
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

    /// The same event about one more object.
    private init(_ event: SignedEvent, naming subject: SourceID) {
        livemode = event.livemode
        accountNames = event.accountNames
        claim = event.claim.naming(subject)
        objectID = event.objectID
    }

    /// Whether it is about something that can be watched.
    var isOfPayments: Bool { claim.subjects.contains { SourceKind(inferredFrom: $0) != nil } }

    /// Which of these watches is to be made when there is none: that of its own object, or of the intent that
    /// it names.
    ///
    /// Not that of a source which a charge names: whoever has charged it knows it already, and the account's rule may
    /// charge what is watched.
    func watched(among keys: [WatchKey]) -> WatchKey? {
        if let own = keys.first(where: { $0.source.description == objectID && $0.kind != .charge })
        {
            return own
        }
        guard Self.families.contains(where: claim.type.hasPrefix) else { return nil }
        return keys.first { $0.kind == .paymentIntent } ?? keys.first { $0.kind == .setupIntent }
    }

    /// The invoice whose intent must be asked for; nil where it is named, or no payment is meant.
    ///
    /// Since `2025-03-31.basil` an invoice does not name its intent.
    var invoice: String? {
        guard Self.ofPaidInvoices.contains(where: claim.type.hasPrefix), !isOfPayments,
            let objectID, objectID.hasPrefix("in_")
        else { return nil }
        return objectID
    }

    /// The same event about the intent of its invoice as well.
    func paid(by intent: SourceID) -> SignedEvent { SignedEvent(self, naming: intent) }
}

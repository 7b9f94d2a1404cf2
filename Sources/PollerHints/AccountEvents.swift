package import PollerIdentity
package import PollerPayments
package import PollerWatches

/// The part of an account's events that a sweep reads: an upstream accepts only a limited number of types at a time.
package enum EventList: String, Hashable, Sendable, CaseIterable {
    /// The events that end or move a payment, which are frequent and urgent.
    case usual
    /// The events of its money after settlement, and rare ones.
    case money
}

/// The event list of an account at the upstream.
package protocol AccountEvents: Sendable {
    /// Reads events, oldest first.
    func events(
        of account: AccountID,
        _ list: EventList,
        _ range: EventRange
    ) async throws(AccountEventsFailure) -> AccountEventsPage

    /// Returns the owner of a charge: the source it was made from, or its intent; `nil` if that is not a watchable
    /// object, or if the credentials may not read the charge.
    func subject(
        ofCharge charge: ChargeID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID?

    /// Reads the notice of a debit that a webhook names.
    func notice(
        _ id: String,
        of source: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> NoticeLookup

    /// Whether the account has this event, and the event names this object.
    ///
    /// False if the credentials do not reach the account.
    func hasEvent(
        _ event: AccountEvent,
        about object: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> Bool

    /// Returns the intent that pays an invoice; `nil` without one, or for an unknown invoice.
    func intent(
        ofInvoice invoice: String,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID?
}

/// The range of events to read.
package enum EventRange: Hashable, Sendable, CustomStringConvertible {
    /// One page of the events after this one in the list.
    case after(String)
    /// All events since a time by the upstream's clock; the newest ones if there are too many.
    case since(Timestamp)

    package var description: String {
        switch self {
        case .after(let id): "after \(id)"
        case .since(let time): "since \(time)"
        }
    }
}

/// The upstream's answer about a notice of a debit.
package enum NoticeLookup: Hashable, Sendable {
    /// The notice exists.
    case found(MandateNotice)
    /// The upstream has no such notice of this source, or not in this account.
    case unknown
    /// No credentials here may read it.
    case unreadable
}

/// A page of an account's events, oldest first.
package struct AccountEventsPage: Hashable, Sendable {
    package let events: [AccountEvent]
    /// Whether the range has more: newer ones after an event, older ones since a time.
    package let hasMore: Bool
    /// The number of requests that it took.
    package let requests: Int

    package init(events: [AccountEvent], hasMore: Bool, requests: Int = 1) {
        self.events = events
        self.hasMore = hasMore
        self.requests = requests
    }
}

/// An event of an account: a reason to poll its subjects, but no evidence about them.
///
/// The only information of an event that no poll can show is an announced debit. It is trusted when the upstream itself
/// has listed the event (``MandateAnnouncement``).
package struct AccountEvent: Hashable, Sendable {
    package let id: String
    package let type: String
    /// The subjects: the object itself, and its owner (a charge's source or intent).
    package let subjects: [SourceID]
    package let topic: HintTopic
    /// The announced debit; `nil` for other events.
    package let mandate: MandateAnnouncement?
    /// Whether it only names its object, so that the object's owner must be looked up.
    package let isThin: Bool

    package init(
        id: String,
        type: String,
        subjects: [SourceID],
        topic: HintTopic = .anything,
        mandate: MandateAnnouncement? = nil,
        isThin: Bool = false
    ) {
        self.id = id
        self.type = type
        self.subjects = subjects
        self.topic = topic
        self.mandate = mandate
        self.isThin = isThin
    }

    /// Returns the event with one more subject.
    package func naming(_ subject: SourceID) -> AccountEvent {
        AccountEvent(
            id: id,
            type: type,
            subjects: subjects + [subject],
            topic: topic,
            mandate: mandate,
            isThin: isThin
        )
    }
}

/// The debit that an event announces.
package enum MandateAnnouncement: Hashable, Sendable {
    /// Read from the upstream.
    case confirmed(MandateNotice)
    /// Named by a webhook; only the ID is kept, and the notice is read from the upstream.
    case claimed(id: String, of: SourceID)
}

/// The reason why an account's events cannot be read.
package enum AccountEventsFailure: Error, Hashable, Sendable {
    /// The event of the cursor is unknown: older than the upstream's retention (30 days).
    case cursorTooOld
    /// Any other failure; the next sweep tries again.
    case unavailable(String)
}

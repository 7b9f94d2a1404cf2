package import PollerIdentity

/// Which of an account's events a sweep reads: an upstream takes no more than so many types at a time.
package enum EventList: String, Hashable, Sendable, CaseIterable {
    /// What ends or moves a payment, often and soon.
    case usual
    /// What its money does afterwards, and what is rare.
    case money
}

/// The list of everything that happened in an account, as the upstream keeps it.
package protocol AccountEvents: Sendable {
    /// Reads events, oldest first.
    func events(
        of account: AccountID,
        _ list: EventList,
        _ range: EventRange
    ) async throws(AccountEventsFailure) -> AccountEventsPage

    /// What a charge belongs to: the source it was made from, or its intent; nil when it is none of what
    /// is watched.
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

    /// Whether the account has this event, and it names this object.
    ///
    /// False also where the account is none that the credentials reach.
    func hasEvent(
        _ event: AccountEvent,
        about object: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> Bool

    /// The intent that pays an invoice; nil when none does, or the invoice is unknown.
    func intent(
        ofInvoice invoice: String,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID?
}

/// Which events of a list are read.
package enum EventRange: Hashable, Sendable, CustomStringConvertible {
    /// One page of those that the list has behind this event.
    case after(String)
    /// All since a time by the upstream's clock, the newest of them when they are too many.
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
    /// It exists, and says this.
    case found(MandateNotice)
    /// The upstream has no such notice of this source, or not in this account.
    case unknown
    /// There are no credentials here that may read it.
    case unreadable
}

/// Events of an account as they were listed, oldest first.
package struct AccountEventsPage: Hashable, Sendable {
    package let events: [AccountEvent]
    /// Whether the range has more: newer ones behind an event, older ones since a time.
    package let hasMore: Bool
    /// The requests that it took.
    package let requests: Int

    /// Puts a page together.
    package init(events: [AccountEvent], hasMore: Bool, requests: Int = 1) {
        self.events = events
        self.hasMore = hasMore
        self.requests = requests
    }
}

/// Something that happened in an account: a reason to poll its subjects, never the truth about them.
///
/// The one thing that an event says and no poll can show is a debit that it announces. It is believed when the
/// upstream itself has listed the event for us (``MandateAnnouncement``).
package struct AccountEvent: Hashable, Sendable {
    package let id: String
    package let type: String
    /// What it is about: the object itself, and what that belongs to (a charge's source or intent).
    package let subjects: [SourceID]
    /// What it is news of.
    package let news: HintNews
    /// The debit it announces; nil for an event that announces none.
    package let mandate: MandateAnnouncement?
    /// Whether it only names its object, so that what the object belongs to must be asked for.
    package let isThin: Bool

    /// Describes an event.
    package init(
        id: String,
        type: String,
        subjects: [SourceID],
        news: HintNews = .anything,
        mandate: MandateAnnouncement? = nil,
        isThin: Bool = false
    ) {
        self.id = id
        self.type = type
        self.subjects = subjects
        self.news = news
        self.mandate = mandate
        self.isThin = isThin
    }

    /// The same event about one more object.
    package func naming(_ subject: SourceID) -> AccountEvent {
        AccountEvent(
            id: id,
            type: type,
            subjects: subjects + [subject],
            news: news,
            mandate: mandate,
            isThin: isThin
        )
    }
}

/// The debit that an event announces.
package enum MandateAnnouncement: Hashable, Sendable {
    /// Read from the upstream.
    case confirmed(MandateNotice)
    /// Named by a webhook: nothing else of it is kept, and the upstream is asked for the notice.
    case claimed(id: String, of: SourceID)
}

/// Why an account's events cannot be read now.
package enum AccountEventsFailure: Error, Hashable, Sendable {
    /// The event of the cursor is unknown: older than the upstream keeps events (30 days).
    case cursorTooOld
    /// Anything else; the next sweep tries again.
    case unavailable(String)
}

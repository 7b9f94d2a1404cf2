/// The list of everything that happened in an account, as the upstream keeps it.
package protocol AccountEvents: Sendable {
    /// Reads what follows the cursor, oldest first, at most a page.
    func events(
        of account: AccountID,
        from cursor: SweepCursor
    ) async throws(AccountEventsFailure) -> AccountEventsPage
}

/// One page of an account's events, oldest first.
package struct AccountEventsPage: Hashable, Sendable {
    package let events: [AccountEvent]
    /// Newer ones follow.
    package let hasMore: Bool

    /// Puts a page together.
    package init(events: [AccountEvent], hasMore: Bool) {
        self.events = events
        self.hasMore = hasMore
    }
}

/// Something that happened in an account: a reason to look at its subjects, never the truth.
package struct AccountEvent: Hashable, Sendable {
    package let id: String
    package let type: String
    /// What it is about: the object itself, and what that belongs to (a charge's source or intent).
    package let subjects: [SourceID]

    /// Describes an event.
    package init(id: String, type: String, subjects: [SourceID]) {
        self.id = id
        self.type = type
        self.subjects = subjects
    }
}

/// Why an account's events cannot be read now.
package enum AccountEventsFailure: Error, Hashable, Sendable {
    /// The event of the cursor is unknown: older than the upstream keeps events (30 days).
    case cursorTooOld
    /// Anything else; the next sweep tries again.
    case unavailable(String)
}

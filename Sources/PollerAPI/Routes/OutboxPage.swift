import Poller

/// A page of all recorded events, merged over the partitions by the time they were recorded.
///
/// Order is that of `seq` within a source, and roughly that of time across sources: partitions
/// are separate streams, so an event may be recorded in one while another is read.
struct OutboxPage: Sendable {
    let events: [Event]
    /// Where the next page begins; there always is one, for what will be recorded.
    let next: OutboxCursor
    let hasMore: Bool
    /// Some events after the cursor are no longer kept: read the watches anew.
    let hasGap: Bool

    /// Puts a page together; an empty one by default.
    init(
        events: [Event] = [],
        next: OutboxCursor,
        hasMore: Bool = false,
        hasGap: Bool = false
    ) {
        self.events = events
        self.next = next
        self.hasMore = hasMore
        self.hasGap = hasGap
    }

    /// Whether somebody who waits wants to be answered with it.
    var isWorthTelling: Bool { !events.isEmpty || hasMore || hasGap }

    /// The page on the wire.
    func json(_ cursors: any EventCursors) -> String {
        var json = JSONObject()
        json.add("data", raw: JSONObject.array(events.map(\.json)))
        json.add("has_more", hasMore)
        let entries = next.positions.map(\.description)
        json.add("next", cursors.text(after: entries, account: nil))
        json.add("gap", hasGap)
        return json.text
    }
}

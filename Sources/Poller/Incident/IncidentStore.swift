package import PollerIdentity
package import PollerQueue

/// Where the board of incidents is kept, and whose turn it is to look.
///
/// Each incident is an item of the queue of watches that is never due, with a log and events in the outbox
/// like those of a watch; the board lies in their partition.
package protocol IncidentStore: Sendable {
    /// Takes the next turn to look at the cluster, when it is due and nobody has it; nil otherwise.
    ///
    /// It is its taker's for `span`, by the store's clock; then the next one may take it.
    func takeLook(
        _ owner: OwnerID,
        for span: Duration
    ) async throws(StoreError) -> IncidentLook?

    /// Ends a turn: stores the board as it is then with what is told of it, all or nothing, and makes the
    /// next turn due after `pause`.
    ///
    /// False when the turn has passed to somebody else, who has seen something newer.
    func endLook(
        _ look: IncidentLook,
        board: IncidentBoard,
        telling news: [Incident],
        pause: Duration
    ) async throws(StoreError) -> Bool

    /// Those that are open, and the ones that were resolved last, the newest first.
    func incidents() async throws(StoreError) -> IncidentList
}

/// A turn to look at the cluster.
package struct IncidentLook: Hashable, Sendable {
    /// Counts turns: a proof of whose it is.
    package let turn: Int
    /// When it was taken, by the store's clock.
    package let now: Timestamp
    /// As the turn before has left it.
    package let board: IncidentBoard

    /// Puts a turn together, as a store does.
    package init(turn: Int, now: Timestamp, board: IncidentBoard) {
        self.turn = turn
        self.now = now
        self.board = board
    }
}

/// What is wrong now, and what was so of late.
package struct IncidentList: Hashable, Sendable {
    /// Resolved ones that are kept for who looks later: some weeks of a bad cluster.
    package static let resolvedMax = 100

    /// In the order in which they were told.
    package let open: [Incident]
    /// The newest first; at most ``resolvedMax``.
    package let resolved: [Incident]

    /// Puts a list together, as a store does.
    package init(open: [Incident], resolved: [Incident]) {
        self.open = open
        self.resolved = resolved
    }
}

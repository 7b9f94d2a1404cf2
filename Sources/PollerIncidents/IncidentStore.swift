package import PollerIdentity
package import PollerQueue

/// The store of the incident board, and of the turns to check the cluster.
///
/// Each incident is an item of the queue of watches that is never due, with a log and events in the outbox like those
/// of a watch. The board is in their partition.
package protocol IncidentStore: Sendable {
    /// Takes the next turn to check the cluster, if it is due and free; `nil` otherwise.
    ///
    /// It is held for `span`, by the store's clock; then another process may take it.
    func beginCheck(
        _ owner: OwnerID,
        for span: Duration
    ) async throws(StoreError) -> IncidentCheck?

    /// Ends a turn: stores the board and its reports, completely or not at all, and makes the next turn due after
    /// `pause`.
    ///
    /// Returns false when the turn has passed to another process, which has newer observations.
    func endCheck(
        _ check: IncidentCheck,
        board: IncidentBoard,
        reporting changes: [Incident],
        pause: Duration
    ) async throws(StoreError) -> Bool

    /// Returns the open incidents, and the last resolved ones, newest first.
    func incidents() async throws(StoreError) -> IncidentList
}

/// A turn to check the cluster.
package struct IncidentCheck: Hashable, Sendable {
    /// The number of the turn, which proves its ownership.
    package let turn: Int
    /// The time at which it was taken, by the store's clock.
    package let now: Timestamp
    /// The board that the previous turn stored.
    package let board: IncidentBoard

    /// Creates a turn from the values of a store.
    package init(turn: Int, now: Timestamp, board: IncidentBoard) {
        self.turn = turn
        self.now = now
        self.board = board
    }
}

/// The current incidents and the recently resolved ones.
package struct IncidentList: Hashable, Sendable {
    /// The number of resolved incidents that are kept: some weeks of an unhealthy cluster.
    package static let resolvedMax = 100

    /// The open incidents, in the order of their reports.
    package let open: [Incident]
    /// The resolved incidents, newest first; at most ``resolvedMax``.
    package let resolved: [Incident]

    /// Creates a list from the values of a store.
    package init(open: [Incident], resolved: [Incident]) {
        self.open = open
        self.resolved = resolved
    }
}

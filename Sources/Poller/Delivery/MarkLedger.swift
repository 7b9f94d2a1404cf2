/// Tells whether a store of deliveries may have lost marks that were acknowledged.
///
/// The server of a partition writes one history: another one begins when a replica takes over and
/// when the server starts again, and may lack what the one before acknowledged last. What is noted
/// here is written where the marks are, so it is lost no later than they are.
package protocol MarkLedger: Sendable {
    /// The partition of a lane of deliveries.
    func partition(of lane: LaneID) -> Int

    /// How the marks of a partition stand.
    func standing(partition: Int) async throws(StoreError) -> MarkStanding

    /// Notes that in `history` every event is marked that was recorded before `whole`; does
    /// nothing once another history has begun.
    func note(partition: Int, whole: Timestamp, in history: String) async throws(StoreError)
}

/// How the marks of a partition stand.
package struct MarkStanding: Hashable, Sendable {
    /// The name of the history that the server writes now; empty when it tells none.
    package let history: String
    /// That of the last note; nil before the first one, and then nothing is known to be missing.
    package let noted: String?
    /// Every event recorded before it was marked when the note was made.
    package let whole: Timestamp

    /// Describes a standing.
    package init(history: String, noted: String?, whole: Timestamp) {
        self.history = history
        self.noted = noted
        self.whole = whole
    }

    /// Whether nothing can have been lost since the note.
    var isWhole: Bool { noted == nil || noted == history }
}

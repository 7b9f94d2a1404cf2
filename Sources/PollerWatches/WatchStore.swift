package import PollerIdentity
package import PollerPayments
package import PollerQueue

/// The queue of watches with its event log, for the API and the workers.
package protocol WatchStore: LeaseQueue where Item == Watch, Change == WatchChange {
    /// The metadata fields that are indexed for search.
    var searchKeys: SearchKeys { get }

    /// Accepts watches; one result for each, in order.
    ///
    /// A request for a source with an open watch joins it: recipients are merged (``NewWatch/notifyKeptMax``), the
    /// later deadline applies, and the watch becomes due now. A closed watch restarts with `run + 1`.
    ///
    /// Each watch is checked and written in one atomic step. When a request names another order than the open watch of
    /// its source, nothing of the call is written. A store with several partitions compares all orders before the first
    /// write. If another caller creates a watch between the two steps, a part of the call may still be written.
    ///
    /// A request that adds an order, a charge or an act before a deadline to a watch makes a poll in flight outdated:
    /// its result is dropped and it is repeated at once, unless it has made a charge (``WatchChange/hasCharged``).
    ///
    /// With `reading` each result has a snapshot of its watch after the call. A request that joined a watch and names
    /// an order has the payment of the watch in any case.
    func enqueue(
        _ watches: [NewWatch],
        reading: Bool
    ) async throws(StoreError) -> [EnqueueResult]

    /// Makes an open watch due now, or right after the poll in flight.
    ///
    /// It also reopens a watch that closed without an answer (``WatchSnapshot/opensOnHint``), or with an answer that
    /// the hint may change (``HintTopic``).
    ///
    /// A hint to an open watch is kept until a poll has covered it (``Watch/topic``). The poll that closes the watch may
    /// have begun before the hint, or may not have read the money (``WatchChange/seesMoney``). Then the watch is
    /// reopened at once, as if the hint had come a moment later.
    ///
    /// A reopened watch is a new run with its original span and all stored data: recipients, the charge to make, the
    /// last status and the progress of its charge. Returns false when there is no such watch.
    func hint(_ key: WatchKey, of topic: HintTopic) async throws(StoreError) -> Bool

    /// Closes an open watch and records an event; a poll in flight becomes stale.
    ///
    /// Returns false when none is open.
    func cancel(_ key: WatchKey) async throws(StoreError) -> Bool

    /// Records the notice that a debit's payer must receive, as an event of its own without any other change.
    ///
    /// It is recorded once per notice ID while the watch's log contains it.
    ///
    /// A poll in flight becomes stale, because its events would not follow, and is repeated at once. Returns false when
    /// there is no such watch, or when a caller has cancelled or dismissed it.
    func announce(_ notice: MandateNotice, of key: WatchKey) async throws(StoreError) -> Bool

    /// Reads one watch, open or closed; `nil` when there is none.
    func snapshot(of key: WatchKey) async throws(StoreError) -> WatchSnapshot?

    /// Returns a page of watches.
    ///
    /// The result is not a snapshot: a watch that is polled or hinted between two pages may appear twice or, rarely,
    /// not at all. Without changes each watch appears once.
    func list(_ query: ListQuery) async throws(StoreError) -> ListPage<WatchSnapshot>

    /// Returns the recorded events of a watch after `seq`, oldest first; the last 100 are kept.
    func events(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event]

    /// Returns the events that as many replicas have as the store must wait for before delivery.
    func deliverableEvents(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event]

    /// Returns the same events, decoded when they are used.
    func deliverableLog(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [LoggedEvent]

    /// Packs the events of some watches that closed longer than `span` ago in fewer bytes, without a change; true when
    /// there may be more.
    ///
    /// The events of one watch have most of their text in common.
    func compact(partition: Int, after span: Duration) async throws(StoreError) -> Bool

    /// Deletes the bodies of events (``Event/withoutBody``) of some watches that closed longer than `retention` ago;
    /// true when there may be more.
    ///
    /// Open watches keep them, because the next step and the payer's page are built from the newest object.
    func removeBodies(partition: Int, retention: Duration) async throws(StoreError) -> Bool

    /// Restores archived watches as closed.
    ///
    /// Nothing is published or polled.
    ///
    /// The results say in order whether each watch was restored. An existing watch, open or closed, stays unchanged and
    /// returns false. Each watch is restored completely or not at all. If the store fails midway, some are restored,
    /// and a repeated call restores the rest.
    func restore(_ archived: [ArchivedWatch]) async throws(StoreError) -> [Bool]

    /// Stores a note with a watch.
    ///
    /// Nothing is stored when there is no such watch, or the same note is younger than ``WatchNote/pause``.
    func note(_ note: WatchNote, of key: WatchKey) async throws(StoreError)

    /// Returns the notes of a watch, oldest first; at most ``WatchNote/countMax``.
    func notes(of key: WatchKey) async throws(StoreError) -> [StoredNote]

    /// Explains when a watch is polled next, and why; `nil` when there is none.
    ///
    /// `limit` is the default for lanes without their own limit.
    func explain(
        _ key: WatchKey,
        limit: LaneLimit
    ) async throws(StoreError) -> Explanation?

    /// Returns the due watches of a lane, the longest overdue first; at most `limit` of each urgency.
    ///
    /// Watches that a worker polls are left out. The result is not a snapshot, as with ``list(_:)``.
    func overdue(in lane: LaneID, limit: Int) async throws(StoreError) -> [OverdueWatch]

    /// Reopens a quarantined watch (closed as dead), due now, with its original span.
    ///
    /// Returns false when it is not quarantined.
    func redrive(_ key: WatchKey) async throws(StoreError) -> Bool

    /// Takes a watch out of quarantine permanently: it is closed as cancelled.
    ///
    /// No event is published, since its end was reported. Returns false when it is not quarantined.
    func dismiss(_ key: WatchKey) async throws(StoreError) -> Bool

    /// Returns counts for operators, over all partitions.
    func stats() async throws(StoreError) -> StoreStats
}

extension WatchStore {
    /// Accepts watches without reading them.
    package func enqueue(_ watches: [NewWatch]) async throws(StoreError) -> [EnqueueResult] {
        try await enqueue(watches, reading: false)
    }

    /// Returns the events without a wait, as the default for stores without replicas.
    package func deliverableEvents(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        try await events(of: key, after: seq, limit: limit)
    }

    /// Returns decoded events, as the default for stores that keep them so.
    package func deliverableLog(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [LoggedEvent] {
        try await deliverableEvents(of: key, after: seq, limit: limit).map { LoggedEvent($0) }
    }

    /// Hints that a watch may have changed in an unknown way.
    package func hint(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await hint(key, of: .anything)
    }

    /// Stores a note if possible.
    ///
    /// A failure is ignored, because the noted action has already happened.
    package func tryToNote(_ note: WatchNote, of key: WatchKey) async {
        do throws(StoreError) {
            try await self.note(note, of: key)
        } catch {
            // No decision depends on a note, and the store reports its own failure.
        }
    }
}

/// The result of one request to enqueue a watch.
package struct EnqueueResult: Hashable, Sendable {
    package enum Outcome: Hashable, Sendable {
        /// The source had no watch.
        case created
        /// Its watch was closed and starts again.
        case restarted
        /// Its watch is open; the request was merged.
        case joined
        /// The watch was not changed.
        case refused(EnqueueRefusal)

        /// The name in the API.
        package var name: String {
            switch self {
            case .created: "created"
            case .restarted: "restarted"
            case .joined: "joined"
            case .refused: "refused"
            }
        }

        /// Whether the watch was not changed.
        package var isRefused: Bool {
            if case .refused = self { true } else { false }
        }

        /// Whether the request names another order than the open watch of its source.
        package var isMismatch: Bool {
            if case .refused(.otherOrder) = self { true } else { false }
        }
    }

    package let key: WatchKey
    package let outcome: Outcome
    /// The current run; 0 for a request that was not tried and has no watch.
    package let run: Int
    /// The number of recorded events.
    package let seq: Int
    /// The watch after the call, if the call reads it (``WatchStore/enqueue(_:reading:)``).
    package let snapshot: WatchSnapshot?
    /// The payment of the watch after the call, if the call reads it or joined a watch for an order.
    package let payment: Payment?

    /// Creates a result from the values of a store.
    package init(
        key: WatchKey,
        outcome: Outcome,
        run: Int,
        seq: Int,
        snapshot: WatchSnapshot? = nil,
        payment: Payment? = nil
    ) {
        self.key = key
        self.outcome = outcome
        self.run = run
        self.seq = seq
        self.snapshot = snapshot
        self.payment = payment ?? snapshot?.payment
    }
}

/// The reason why a request to enqueue a watch was refused.
package enum EnqueueRefusal: Hashable, Sendable {
    /// The watch would have more notify URLs than ``NewWatch/notifyKeptMax``.
    case tooManyURLs
    /// The watch is open for this order, and the request names another one.
    case otherOrder(OrderID)
    /// Another request of the call names another order than its watch, so nothing of the call was written.
    case notTried
    /// The watch is open, but its stored record cannot be read, so its payment is unknown.
    ///
    /// Options of the request may have been stored in it. An operator must check the store.
    case unreadable
}

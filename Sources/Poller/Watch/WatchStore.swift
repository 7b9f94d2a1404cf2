package import PollerIdentity
package import PollerQueue

/// The queue of watches with its change log, as the API and the workers see it.
package protocol WatchStore: LeaseQueue where Item == Watch, Change == WatchChange {
    /// The metadata by which its watches are found.
    var searchKeys: SearchKeys { get }

    /// Accepts watches; one result for each, in order.
    ///
    /// A source with an open watch is joined: endpoints are merged (``NewWatch/notifyKeptMax``), the later deadline
    /// wins, and it becomes due now. A closed one starts again with `run + 1`.
    ///
    /// Each watch is checked and written in one atomic step. When a request names another order than the open watch of
    /// its source, nothing of the call is written. A store with several partitions compares all orders before the first
    /// write, so a watch that another caller creates between the two steps can still leave part of the call written.
    ///
    /// With `reading` each result has a snapshot of its watch after the call. A request that joined a watch and names
    /// an order has one in any case.
    func enqueue(
        _ watches: [NewWatch],
        reading: Bool
    ) async throws(StoreError) -> [EnqueueResult]

    /// Makes an open watch due now, or right after the poll in flight; and opens one again that ended without an
    /// answer (``WatchSnapshot/opensOnHint``), or with one that the news of the hint may change (``HintNews``).
    ///
    /// News of an open watch is kept until a look has seen it (``Watch/news``): where the one that closes
    /// the watch was begun before the hint, or did not see the money (``WatchChange/seesMoney``), the
    /// watch is opened again at once, as if the hint had come a moment later.
    ///
    /// That is a new run with the span it had at first and everything it knew: where to tell, what
    /// to charge, the last status and how far its charge has come. False when there is none.
    func hint(_ key: WatchKey, of news: HintNews) async throws(StoreError) -> Bool

    /// Closes an open watch and records that; a poll in flight becomes stale. False when none is open.
    func cancel(_ key: WatchKey) async throws(StoreError) -> Bool

    /// Records what a debit's payer has to be told of before, with an event of its own and nothing else
    /// changed; once, by the notice's id, for as long as the watch's log goes back.
    ///
    /// A poll in flight becomes stale, since its events would not follow, and is made again at once.
    /// False when there is no such watch, or somebody has ended it by their wish.
    func announce(_ notice: MandateNotice, of key: WatchKey) async throws(StoreError) -> Bool

    /// Reads one watch, open or closed; nil when there is none.
    func snapshot(of key: WatchKey) async throws(StoreError) -> WatchSnapshot?

    /// A page of watches. A moving picture: a watch that is polled or hinted while you page
    /// may show up twice or, rarely, not at all; while nothing moves each shows up once.
    func list(_ query: ListQuery) async throws(StoreError) -> ListPage<WatchSnapshot>

    /// The recorded events of a watch after `seq`, oldest first; bounded history (the last 100).
    func events(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event]

    /// The same, once as many replicas have them as the store is to wait for before an event is told.
    func eventsToTell(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event]

    /// Forgets the bodies of events (``Event/withoutBody``) of some watches that ended longer ago than
    /// `retention`; true when there may be more.
    ///
    /// What is open keeps them, since its newest object is what the next step and the page are made of.
    func fade(partition: Int, retention: Duration) async throws(StoreError) -> Bool

    /// Puts watches back that an archive has, closed as they were; nobody is told anything of that, and
    /// nothing is polled. Whether each was put back, in order: false where there is one already, open or
    /// closed, which stays as it is.
    ///
    /// Each is put back whole or not at all; when the store fails midway some are. Repeating goes on.
    func restore(_ archived: [ArchivedWatch]) async throws(StoreError) -> [Bool]

    /// Keeps a note beside a watch; nothing when there is no such watch, or the same was noted within
    /// ``WatchNote/pause``.
    func note(_ note: WatchNote, of key: WatchKey) async throws(StoreError)

    /// What was noted of a watch, oldest first; bounded (``WatchNote/countMax``).
    func notes(of key: WatchKey) async throws(StoreError) -> [KeptNote]

    /// When a watch is polled next and what it waits for; nil when there is none.
    ///
    /// `limit` is what holds for lanes without a limit of their own.
    func explain(
        _ key: WatchKey,
        limit: LaneLimit
    ) async throws(StoreError) -> Explanation?

    /// The watches of a lane that are due, the longest overdue first; at most `limit` of each urgency.
    ///
    /// Watches that a worker polls are left out. The result is not a snapshot, as with ``list(_:)``.
    func overdue(in lane: LaneID, limit: Int) async throws(StoreError) -> [OverdueWatch]

    /// Opens a quarantined watch (closed as dead) again, due now, with the span it had at first.
    /// False when it is not in quarantine.
    func redrive(_ key: WatchKey) async throws(StoreError) -> Bool

    /// Takes a watch out of quarantine for good: it is closed as cancelled, and nobody is told anything, since its end
    /// was told. False when it is not in quarantine.
    func dismiss(_ key: WatchKey) async throws(StoreError) -> Bool

    /// Counts for operators, over all partitions.
    func stats() async throws(StoreError) -> StoreStats
}

extension WatchStore {
    /// Accepts watches without reading them.
    package func enqueue(_ watches: [NewWatch]) async throws(StoreError) -> [EnqueueResult] {
        try await enqueue(watches, reading: false)
    }

    /// Of a store that waits for nobody.
    package func eventsToTell(
        of key: WatchKey,
        after seq: Int,
        limit: Int
    ) async throws(StoreError) -> [Event] {
        try await events(of: key, after: seq, limit: limit)
    }

    /// Hints that something may have happened, and nobody knows what.
    package func hint(_ key: WatchKey) async throws(StoreError) -> Bool {
        try await hint(key, of: .anything)
    }
}

/// What a hint is about, as far as whoever gives it knows: it decides what is opened again for it.
///
/// | news | opens what is closed as |
/// |---|---|
/// | anything | `expired`, `gone` |
/// | outcome: a bank has answered | the same; and `settled`, `reached` while no money was seen |
/// | money: refunds, disputes, a hold that ended | the same; and `settled`, `reached` in any case |
///
/// The last two only where payments are known of the watch (``Watch/payment``). Such a look is one look:
/// it tells what is new of the payment, or nothing, and ends as it had ended.
package enum HintNews: Hashable, Sendable, CaseIterable {
    case anything
    case outcome
    case money
}

/// What a poll changes in a watch.
package struct WatchChange: Hashable, Sendable {
    package let state: WatchState
    /// What is to be remembered of the payment from now on; nil leaves what is.
    package let payment: PaymentMemory?
    /// The payment's own secret, where the upstream has told it and nobody else had: kept with the watch,
    /// unless it has one; nil leaves what is.
    package let secret: ClientSecret?
    /// What is to be recorded and told, in order; their numbers follow the watch's last one.
    ///
    /// All of them or none is recorded, with the state they tell of.
    package let events: [Event]
    /// Why the poll failed, for operators; nil clears it.
    package let lastError: String?
    /// Whether the look has seen all that news was of which came before it; what has no news needs none.
    package var seesMoney = false

    /// Describes a change.
    package init(
        state: WatchState,
        payment: PaymentMemory? = nil,
        secret: ClientSecret? = nil,
        events: [Event] = [],
        lastError: String? = nil
    ) {
        self.state = state
        self.payment = payment
        self.secret = secret
        self.events = events
        self.lastError = lastError
    }

    /// Describes a change that tells one thing or nothing.
    package init(state: WatchState, event: Event?, lastError: String? = nil) {
        self.init(state: state, events: event.map { [$0] } ?? [], lastError: lastError)
    }

    /// The last of its events, which tells the status and how the watch ends; nil when there is none.
    package var event: Event? { events.last }
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

        /// The name that clients of the API see.
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
    }

    package let key: WatchKey
    package let outcome: Outcome
    /// 0 for a request that was not tried and has no watch.
    package let run: Int
    /// Events recorded so far.
    package let seq: Int
    /// The watch after the call, if the call reads it (``WatchStore/enqueue(_:reading:)``).
    package let snapshot: WatchSnapshot?

    /// Creates a result, as a store does.
    package init(
        key: WatchKey,
        outcome: Outcome,
        run: Int,
        seq: Int,
        snapshot: WatchSnapshot? = nil
    ) {
        self.key = key
        self.outcome = outcome
        self.run = run
        self.seq = seq
        self.snapshot = snapshot
    }
}

/// Why a request to enqueue a watch was refused.
package enum EnqueueRefusal: Hashable, Sendable {
    /// The watch would have more notify URLs than ``NewWatch/notifyKeptMax``.
    case tooManyURLs
    /// The watch is open for this order, and the request names another one.
    case otherOrder(OrderID)
    /// Another request of the call names another order than its watch, so nothing of the call was written.
    case notTried
}

/// Everything a reader may want to know about one watch at one moment.
package struct WatchSnapshot: Hashable, Sendable {
    package let watch: Watch
    /// Nil while the watch is open.
    package let closed: ClosedReason?
    /// When it is looked at next; nil once closed, and while a worker holds it.
    package let nextPollAt: Timestamp?
    /// Why the last poll failed; nil after one that was answered.
    package let lastError: String?
    package let notify: [NotifyURL]
    /// A JSON object, or empty.
    package let metadata: String
    /// The newest event, whose `object` is the last object seen.
    package let lastEvent: Event?

    /// Puts a snapshot together, as a store does.
    package init(
        watch: Watch,
        closed: ClosedReason?,
        nextPollAt: Timestamp?,
        lastError: String?,
        notify: [NotifyURL],
        metadata: String,
        lastEvent: Event?
    ) {
        self.watch = watch
        self.closed = closed
        self.nextPollAt = nextPollAt
        self.lastError = lastError
        self.notify = notify
        self.metadata = metadata
        self.lastEvent = lastEvent
    }
}

extension WatchSnapshot {
    /// What is true of the payment, as far as is known; nil where nobody knows of any.
    package var payment: Payment? {
        // The log of what may still come back is forgotten before the watch is.
        lastEvent?.payment ?? (watch.key.kind.isOfPayments ? watch.remembered : nil)
    }
}

/// Which watches to list, and from where.
package struct ListQuery: Hashable, Sendable {
    /// Open ones, closed ones, or (nil) both.
    package enum State: String, Hashable, Sendable, CaseIterable {
        case open
        case closed
        /// Of the closed ones, those a person must look at: closed as dead.
        case quarantined
    }

    package let state: State?
    package let status: SourceStatus?
    /// What is true of the money.
    package let payment: PaymentState?
    package let accounts: AccountSet
    package let kind: SourceKind?
    /// What is looked for besides.
    package let search: SearchQuery?
    /// 1–500: a page is read in one go from Redis.
    package let limit: Int
    /// `next` of the page before; nil for the first page.
    package let cursor: String?

    /// Describes a page.
    package init(
        state: State? = nil,
        status: SourceStatus? = nil,
        payment: PaymentState? = nil,
        accounts: AccountSet = .all,
        kind: SourceKind? = nil,
        search: SearchQuery? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) {
        self.state = state
        self.status = status
        self.payment = payment
        self.accounts = accounts
        self.kind = kind
        self.search = search
        self.limit = min(max(limit, 1), 500)
        self.cursor = cursor
    }

    /// The same, with something that is looked for besides.
    package func searching(for search: SearchQuery) -> ListQuery {
        ListQuery(
            state: state,
            status: status,
            payment: payment,
            accounts: accounts,
            kind: kind,
            search: search,
            limit: limit,
            cursor: cursor
        )
    }

    /// Whether a watch passes the filters; orders and incidents, which are no watches, do not.
    package func matches(_ snapshot: WatchSnapshot) -> Bool {
        let watch = snapshot.watch
        let fits =
            switch state {
            case nil: true
            case .open: snapshot.closed == nil
            case .closed: snapshot.closed != nil
            case .quarantined: snapshot.closed == .dead
            }
        return fits
            && (status == nil || status == watch.state.status)
            && (payment == nil || payment == snapshot.payment?.state)
            && accounts.contains(watch.key.account)
            && (kind.map { $0 == watch.key.kind } ?? watch.key.kind.isOfWatches)
            && (search?.matches(snapshot) ?? true)
    }

    /// Whether it is about closed watches alone.
    package var isOfClosed: Bool {
        state == .closed || search?.isOfClosed ?? false
    }

    /// Whether it leaves out watches that its state alone would not.
    package var isSelective: Bool { accounts != .all || isSelectiveAmongAccounts }
    /// Whether it leaves out watches of its accounts, which stores themselves tell from others.
    package var isSelectiveAmongAccounts: Bool {
        status != nil || payment != nil || kind != nil
            || search.map { !$0.conditions.isEmpty } ?? false
    }

    /// Whether the query reads many records or entries.
    ///
    /// It filters watches, and no index selects the matches, or only by a prefix that very many words may share.
    package var isScan: Bool { isSelective && search?.lookup.map(\.hasBeginnings) ?? true }
}

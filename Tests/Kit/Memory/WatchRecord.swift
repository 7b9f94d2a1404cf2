import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerWatches

/// The record of one watch in an in-memory store.
struct WatchRecord: Sendable {
    /// The number of events kept for resuming readers and for deliveries.
    private static let logMax = 100

    let key: WatchKey
    var options: WatchOptions
    private(set) var createdAt: Timestamp
    private(set) var deadline: Timestamp
    private(set) var run: Int
    private(set) var seq: Int
    private(set) var reopenedSeq: Int?
    private(set) var endedAs: ClosedReason?
    var hintedAt: Timestamp?
    /// The topic of the pending hint, and the token of the lease during which it arrived.
    private var uncoveredHint: (kind: HintTopic, token: Int?)?
    private(set) var clientSecret: ClientSecret?
    private(set) var charge: ChargeInstruction?
    private(set) var order: OrderID?
    private(set) var state = WatchState()
    private(set) var payment: PaymentMemory?
    private(set) var notify: [NotifyURL]
    private(set) var metadata: String
    private(set) var lastError: String?
    private(set) var log: [Event] = []
    private(set) var notes: [StoredNote] = []
    /// The last event that a purge has removed.
    private var forgottenSeq = 0

    /// Creates the record of a new watch.
    init(_ new: NewWatch, now: Timestamp) {
        key = new.key
        options = new.options
        createdAt = now
        deadline = now + new.timeout
        run = 1
        seq = 0
        clientSecret = new.clientSecret
        notify = new.notify.uniqued()
        metadata = new.metadata
        charge = new.charge
        order = new.order
    }

    /// Creates the record of a watch from an archive.
    init(_ archived: ArchivedWatch) {
        let watch = archived.watch
        key = watch.key
        options = watch.options
        createdAt = watch.createdAt
        deadline = watch.deadline
        run = watch.run
        seq = watch.seq
        forgottenSeq = archived.forgottenSeq
        order = watch.order
        state = watch.state
        payment = watch.payment
        notify = archived.notify
        metadata = archived.metadata
        lastError = archived.lastError
        log = archived.events
    }

    /// Returns until when a closed watch is kept because its money may go back; `nil` if it is not kept for that.
    func keptUntil(_ reason: ClosedReason, refundableRetention: Duration) -> Timestamp? {
        switch reason {
        case .cancelled, .dead: return nil
        case .settled, .reached, .expired, .gone: break
        }
        guard let changesUntil = payment?.changesUntil else { return nil }
        return min(changesUntil, (state.lastPolledAt ?? createdAt) + refundableRetention)
    }

    /// Removes the bodies of its events.
    mutating func removeBodies() { log = log.map(\.withoutBody) }

    /// Removes its events, and continues their numbers.
    mutating func forgetLog() {
        log = []
        forgottenSeq = seq
    }

    /// The watch as workers see it.
    var watch: Watch {
        var watch = Watch(
            key: key,
            policy: options.policy,
            createdAt: createdAt,
            deadline: deadline,
            run: run,
            seq: seq,
            reopenedSeq: reopenedSeq,
            endedAs: endedAs,
            pendingHint: uncoveredHint?.kind,
            hintedAt: hintedAt,
            clientSecret: clientSecret,
            charge: charge,
            order: order,
            state: state,
            // As read from a store that keeps it packed.
            payment: payment.map { PaymentMemory(packed: $0.packed, charge: state.charge.charge) }
        )
        watch.options = options
        return watch
    }

    /// Records an event outside of its turns.
    ///
    /// A poll for which the watch was reopened is still pending.
    mutating func announce(_ event: Event, isClosed: Bool) {
        let isUnchangedSinceReopen = reopenedSeq == seq
        record(event)
        if isClosed {
            beginRun()
        } else if isUnchangedSinceReopen {
            reopenedSeq = seq
        }
    }

    /// Returns whether these URLs can be added.
    func hasRoom(for urls: [NotifyURL]) -> Bool {
        urls.isEmpty || (notify + urls).uniqued().count <= NewWatch.notifyKeptMax
    }

    /// Returns the order of the watch, if a request names another one.
    func otherOrder(than named: OrderID?) -> OrderID? {
        guard let named, let order, named != order else { return nil }
        return order
    }

    /// Returns whether a request adds an order, a charge or an act that a poll in flight does not know.
    func gains(from new: NewWatch) -> Bool {
        let hasCharge = charge.map { !$0.isNothing } ?? false
        let addsCharge = new.charge.map { !$0.isNothing } ?? false
        return (order == nil && new.order != nil) || (addsCharge && !hasCharge)
            || options.acts.filled(by: new.options.acts) != options.acts
    }

    /// Merges another request into an open watch.
    ///
    /// `changesOrder` is a flaw: the last order replaces the first.
    mutating func join(_ new: NewWatch, now: Timestamp, changesOrder: Bool = false) {
        order = changesOrder ? new.order ?? order : order ?? new.order
        notify = (notify + new.notify).uniqued()
        if !new.metadata.isEmpty { metadata = new.metadata }
        deadline = max(deadline, now + new.timeout)
        options = options.joined(by: new.options)
        clientSecret = new.clientSecret ?? clientSecret
        charge = charge.flatMap { $0.isNothing ? nil : $0 } ?? new.charge ?? charge
        reopenedSeq = nil
    }

    /// Restarts a closed watch; the numbers of its events continue.
    ///
    /// For the same order it keeps the evidence of received money, without the last report, and its charge.
    mutating func restart(_ new: NewWatch, now: Timestamp) {
        let (lastRun, lastSeq, kept, forgotten) = (run, seq, log, forgottenSeq)
        let lastNotes = notes
        let isSameOrder = new.order != nil && new.order == order
        let (lastPayment, progress) = (isSameOrder ? payment : nil, state.charge)
        self = WatchRecord(new, now: now)
        run = lastRun + 1
        seq = lastSeq
        log = kept
        notes = lastNotes
        forgottenSeq = forgotten
        guard var evidence = lastPayment, evidence.money != nil else { return }
        evidence.object = ""
        evidence.payment = ""
        evidence.step = ""
        payment = evidence
        if progress.charge != nil { state.charge = progress }
    }

    /// Restarts a quarantined watch, with its original span and all requested options.
    mutating func redrive(now: Timestamp, keepsDeadline: Bool) {
        if !keepsDeadline { deadline = now + (deadline - createdAt) }
        createdAt = now
        run += 1
        state = WatchState()
        payment = nil
        endedAs = nil
        hintedAt = nil
        uncoveredHint = nil
        lastError = nil
        reopenedSeq = nil
    }

    /// Reopens a closed watch, with its original span and all its data.
    mutating func reopen(from reason: ClosedReason, now: Timestamp) {
        endedAs = reason == .settled || reason == .reached ? reason : nil
        deadline = now + (deadline - createdAt)
        createdAt = now
        run += 1
        lastError = nil
        uncoveredHint = nil
        // Its outcome was never observed, so it continues as an ordinary watch.
        reopenedSeq = reason == .dead ? nil : seq
    }

    /// Stores a hint; of several, the most important one.
    mutating func keep(_ kind: HintTopic, during token: Int?) {
        if token == nil, kind == .anything { return }
        let gravity: [HintTopic] = [.anything, .outcome, .money]
        let known = gravity.firstIndex(of: uncoveredHint?.kind ?? .anything) ?? 0
        let gravest = gravity[max(known, gravity.firstIndex(of: kind) ?? 0)]
        uncoveredHint = (kind: gravest, token: token)
    }

    /// Returns the hint that the poll of a lease may have missed, if any; removes a covered one.
    mutating func takeMissed(
        by token: Int,
        closing reason: ClosedReason,
        seesMoney: Bool
    ) -> HintTopic? {
        let kept = uncoveredHint
        uncoveredHint = nil
        guard let kept else { return nil }
        let isUnanswered = reason.opensOnHint || reason == .dead
        let isSeen = kept.token != token && (seesMoney || isUnanswered)
        // A hint that does not name its topic does not contradict that the source is gone.
        if reason == .gone, kept.kind == .anything { return nil }
        return isSeen ? nil : kept.kind
    }

    /// Removes a hint that the poll of a lease has covered; the watch stays open.
    mutating func forgetSeen(by token: Int) {
        if uncoveredHint?.token != token { uncoveredHint = nil }
    }

    /// Extends a deadline in a gap by the time that was left before the gap.
    mutating func outlive(_ gap: ClockGap) {
        deadline = gap.end + (deadline - max(gap.end + (.zero - gap.span), createdAt))
    }

    /// The fault of the log; `nil` if it has no gaps up to `seq` and the last 100 events.
    var logFault: String? {
        let first = max(forgottenSeq + 1, seq - Self.logMax + 1)
        if log.map(\.seq) == Array(first..<(seq + 1)) { return nil }
        return "\(key.source): events \(log.map(\.seq)) of \(seq)"
    }

    /// Applies the changes of a poll.
    ///
    /// Flaws: `forgets` values missing in the change, `learnsNothing` of secrets.
    mutating func apply(
        _ change: WatchChange,
        forgets: Bool = false,
        learnsNothing: Bool = false
    ) {
        state = change.state
        lastError = change.lastError
        if forgets || change.payment != nil { payment = change.payment }
        if !learnsNothing { clientSecret = clientSecret ?? change.secret }
        for event in change.events { record(event.carrying(metadata: metadata)) }
    }

    /// Counts a run in which nothing is polled.
    mutating func beginRun() { run += 1 }

    /// Stores a note, unless the same was stored a moment ago.
    mutating func note(_ note: WatchNote, now: Timestamp) {
        let isKnown = notes.suffix(8).contains { $0.note == note && now - $0.at < WatchNote.pause }
        guard !isKnown else { return }
        notes = (notes + [StoredNote(at: now, note: note)]).suffix(WatchNote.countMax)
    }

    /// Records an event, which must be the next.
    mutating func record(_ event: Event) {
        seq = event.seq
        log.append(event)
        if log.count > Self.logMax { log.removeFirst(log.count - Self.logMax) }
    }
}

extension Array where Element: Hashable {
    /// Returns the elements without duplicates, in order.
    fileprivate func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

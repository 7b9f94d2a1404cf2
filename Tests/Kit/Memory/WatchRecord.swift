import Poller
import PollerIdentity

/// What an in-memory store keeps of one watch.
struct WatchRecord: Sendable, HasWatchOptions {
    /// Events kept for resuming readers and for deliveries.
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
    /// What a hint has told since it was opened, and the token of the lease during which it came.
    private var news: (kind: HintNews, token: Int?)?
    private(set) var clientSecret: ClientSecret?
    private(set) var charge: ChargeOrder?
    private(set) var order: OrderID?
    private(set) var state = WatchState()
    private(set) var payment: PaymentMemory?
    private(set) var notify: [NotifyURL]
    private(set) var metadata: String
    private(set) var lastError: String?
    private(set) var log: [Event] = []
    private(set) var notes: [KeptNote] = []
    /// The last event that a purge has forgotten.
    private var forgottenSeq = 0

    /// The record of a watch nobody has known before.
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

    /// The record of a watch that an archive has.
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

    /// Until when a closed watch is kept because its money may come back; nil where that is no reason.
    func keptUntil(_ reason: ClosedReason, afterlife: Duration) -> Timestamp? {
        switch reason {
        case .cancelled, .dead: return nil
        case .settled, .reached, .expired, .gone: break
        }
        guard let news = payment?.newsUntil else { return nil }
        return min(news, (state.lastPolledAt ?? createdAt) + afterlife)
    }

    /// Forgets the bodies of what was told of it.
    mutating func fade() { log = log.map(\.withoutBody) }

    /// Forgets what was told of it, and goes on counting.
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
            news: news?.kind,
            hintedAt: hintedAt,
            clientSecret: clientSecret,
            charge: charge,
            order: order,
            state: state,
            // As it comes back from a store that keeps it packed.
            payment: payment.map { PaymentMemory(packed: $0.packed, charge: state.charge.charge) }
        )
        watch.options = options
        return watch
    }

    /// Records what is told of it beside its turns; a look that something had opened it for is still to
    /// come.
    mutating func announce(_ event: Event, isClosed: Bool) {
        let isOnlyLooking = reopenedSeq == seq
        record(event)
        if isClosed {
            beginRun()
        } else if isOnlyLooking {
            reopenedSeq = seq
        }
    }

    /// Whether it can tell these, too.
    func hasRoom(for urls: [NotifyURL]) -> Bool {
        urls.isEmpty || (notify + urls).uniqued().count <= NewWatch.notifyKeptMax
    }

    /// The order of the watch, when a request names another one.
    func otherOrder(than named: OrderID?) -> OrderID? {
        guard let named, let order, named != order else { return nil }
        return order
    }

    /// Merges a further request for an open watch.
    ///
    /// `changesOrder` is a flaw: what it pays is what was said last.
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

    /// Starts a closed watch again; its events go on counting.
    mutating func restart(_ new: NewWatch, now: Timestamp) {
        let (lastRun, lastSeq, kept, forgotten) = (run, seq, log, forgottenSeq)
        let lastNotes = notes
        self = WatchRecord(new, now: now)
        run = lastRun + 1
        seq = lastSeq
        log = kept
        notes = lastNotes
        forgottenSeq = forgotten
    }

    /// Starts a quarantined watch again, with the span it had and all it was asked for.
    mutating func redrive(now: Timestamp, keepsDeadline: Bool) {
        if !keepsDeadline { deadline = now + (deadline - createdAt) }
        createdAt = now
        run += 1
        state = WatchState()
        payment = nil
        endedAs = nil
        hintedAt = nil
        news = nil
        lastError = nil
        reopenedSeq = nil
    }

    /// Opens a watch that has ended again, with the span it had and all it knows.
    mutating func reopen(from reason: ClosedReason, now: Timestamp) {
        endedAs = reason == .settled || reason == .reached ? reason : nil
        deadline = now + (deadline - createdAt)
        createdAt = now
        run += 1
        lastError = nil
        news = nil
        // Nobody has seen how it ends: it goes on as if it had not.
        reopenedSeq = reason == .dead ? nil : seq
    }

    /// Keeps the news of a hint; the gravest, of several.
    mutating func keep(_ kind: HintNews, during token: Int?) {
        if token == nil, kind == .anything { return }
        let gravity: [HintNews] = [.anything, .outcome, .money]
        let known = gravity.firstIndex(of: news?.kind ?? .anything) ?? 0
        let gravest = gravity[max(known, gravity.firstIndex(of: kind) ?? 0)]
        news = (kind: gravest, token: token)
    }

    /// The news that the look of a lease may have missed, if any; what it has seen is forgotten.
    mutating func takeMissed(
        by token: Int,
        closing reason: ClosedReason,
        seesMoney: Bool
    ) -> HintNews? {
        let kept = news
        news = nil
        guard let kept else { return nil }
        let isUnanswered = reason.opensOnHint || reason == .dead
        let isSeen = kept.token != token && (seesMoney || isUnanswered)
        // Who does not know what the news is does not doubt that the source is gone.
        if reason == .gone, kept.kind == .anything { return nil }
        return isSeen ? nil : kept.kind
    }

    /// Forgets news that the look of a lease has seen, which goes on.
    mutating func forgetSeen(by token: Int) {
        if news?.token != token { news = nil }
    }

    /// Leaves the watch, after a gap in which its deadline fell, what it had left before.
    mutating func outlive(_ gap: ClockGap) {
        deadline = gap.end + (deadline - max(gap.end + (.zero - gap.span), createdAt))
    }

    /// What is wrong with the log; nil when it is sound: gapless up to `seq`, the last 100 kept.
    var logFault: String? {
        let first = max(forgottenSeq + 1, seq - Self.logMax + 1)
        if log.map(\.seq) == Array(first..<(seq + 1)) { return nil }
        return "\(key.source): events \(log.map(\.seq)) of \(seq)"
    }

    /// Takes over what a poll has changed.
    ///
    /// Flaws: `forgets` what the change does not say, `learnsNothing` of secrets.
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

    /// Keeps a note, unless the same was kept a moment ago.
    mutating func note(_ note: WatchNote, now: Timestamp) {
        let isKnown = notes.suffix(8).contains { $0.note == note && now - $0.at < WatchNote.pause }
        guard !isKnown else { return }
        notes = (notes + [KeptNote(at: now, note: note)]).suffix(WatchNote.countMax)
    }

    /// Records an event, which must be the next.
    mutating func record(_ event: Event) {
        seq = event.seq
        log.append(event)
        if log.count > Self.logMax { log.removeFirst(log.count - Self.logMax) }
    }
}

extension Array where Element: Hashable {
    /// The elements without repetitions, in order.
    fileprivate func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

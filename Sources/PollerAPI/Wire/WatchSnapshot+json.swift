import JSONText
import Poller
import PollerWire

extension PollerWire.Watch {
    /// A watch as readers are told of it.
    ///
    /// `outcome`: what became of the enqueue this answers, when it answers one.
    init(_ snapshot: WatchSnapshot, outcome: EnqueueResult.Outcome? = nil) {
        let watch = snapshot.watch
        let state = watch.state
        self.init()
        id = watch.key.id.description
        source = watch.key.source.description
        kind = Open(rawValue: watch.key.kind.rawValue)
        account = watch.key.account.description
        self.state = Open(snapshot.closed == nil ? .open : .closed)
        closedReason = snapshot.closed.map { Open(rawValue: $0.rawValue) }
        status = state.status?.description
        isFinal = snapshot.closed == .settled
        seq = watch.seq
        run = watch.run
        attempts = state.attempts
        createdAt = Time(watch.createdAt)
        deadlineAt = Time(watch.deadline)
        nextPollAt = snapshot.nextPollAt.map { Time($0) }
        lastPolledAt = state.lastPolledAt.map { Time($0) }
        lastError = snapshot.lastError
        policy = watch.policy.name
        until = Open(rawValue: watch.goal.rawValue)
        notify = snapshot.notify.map(\.description)
        metadata = Texts(unchecked: snapshot.metadata)
        let last = snapshot.lastEvent.flatMap { RawJSON(unchecked: $0.json).member("object") }
        object = last.flatMap { $0.isNull ? nil : $0 }
        if watch.charge?.isNothing == false || state.charge != .none { charge = state.charge.wire }
        self.outcome = outcome.map { Open(rawValue: $0.rawValue) }
    }
}

extension BatchResult.Result {
    /// What became of one item of a batch.
    init(_ result: EnqueueResult) {
        self.init()
        source = result.key.source.description
        account = result.key.account.description
        outcome = Open(rawValue: result.outcome.rawValue)
        run = result.run
        seq = result.seq
    }
}

extension Time {
    /// The instant on the wire.
    init(_ instant: Timestamp) { self.init(ms: instant.ms) }
}

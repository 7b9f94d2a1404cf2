import JSONText
import Poller
import PollerWire

extension ArchivedWatch {
    /// Reads a line of an archive; nil of a watch that had not ended.
    ///
    /// It is an answer of some server: what a newer one has added is passed over.
    ///
    /// Errors: a ``Problem`` that names the member.
    init?(_ line: RawJSON, for caller: Caller) throws(Problem) {
        guard line.kind == .object, let shown = line.member("watch") else {
            throw Problem(
                .missingField,
                "It must be a line of pollerctl export, an object with watch and events.",
                field: "watch"
            )
        }
        let wire = try Problem.reading(PollerWire.Watch.self, shown)
        guard let told = line.member("events")?.elements else {
            throw Problem(.missingField, "events must be the events of the watch.", field: "events")
        }
        guard !wire.isOpen else { return nil }
        guard let closed = wire.closedReason.flatMap({ ClosedReason(rawValue: $0.rawValue) }) else {
            throw Problem(
                .invalidValue,
                "closed_reason is none that is known here.",
                field: "closed_reason"
            )
        }
        let account = try Problem.checked { () throws(InvalidInput) in
            try AccountID(wire.account)
        }
        try caller.need(account)
        let key = WatchKey(
            account: account,
            source: try Problem.checked { () throws(InvalidInput) in try SourceID(wire.source) },
            kind: try SourceKind(
                named: wire.kind.rawValue,
                of: SourceID(unchecked: wire.source),
                code: .invalidValue
            )
        )
        guard key.kind.isOfWatches else {
            throw Problem(.invalidValue, "kind is none of a watch.", field: "kind")
        }
        var events: [Poller.Event] = []
        for (index, text) in told.enumerated() {
            guard let event = Poller.Event(json: text.description) else {
                throw Problem(
                    .invalidValue,
                    "events[\(index)] is no event.",
                    field: "events[\(index)]"
                )
            }
            events.append(event)
        }
        let recorded = events
        self = try Problem.checked { () throws(InvalidInput) in
            try ArchivedWatch(
                Poller.Watch(wire, key),
                closed: closed,
                lastError: wire.lastError,
                notify: try wire.notify.map { text throws(InvalidInput) in
                    let url = try NotifyURL(text)
                    try url.check(for: caller, of: account, field: "notify")
                    return url
                },
                metadata: wire.metadata.isEmpty ? "" : wire.metadata.json.description,
                events: recorded
            )
        }
    }
}

extension Poller.Watch {
    /// A watch as readers were told of it, with what they are told only for an archive.
    fileprivate init(_ wire: PollerWire.Watch, _ key: WatchKey) throws(InvalidInput) {
        let charge = ChargeProgress(
            name: wire.charge?.state.rawValue ?? "none",
            charge: wire.charge?.id.map(ChargeID.init(unchecked:))
        )
        let memory = WatchMemory(packed: wire.memory ?? "", charge: charge.charge)
        self.init(
            key: key,
            policy: try PollPolicy(named: wire.policy),
            goal: try WatchGoal(named: wire.until.rawValue),
            createdAt: Timestamp(ms: wire.createdAt.ms),
            deadline: Timestamp(ms: wire.deadlineAt.ms),
            run: wire.run,
            seq: wire.seq,
            order: try wire.order.map { text throws(InvalidInput) in try OrderID(text) },
            trace: memory.trace,
            state: WatchState(
                status: try wire.status.map { text throws(InvalidInput) in try SourceStatus(text) },
                detail: memory.detail,
                attempts: min(max(wire.attempts, 0), ArchivedWatch.countMax),
                lastPolledAt: wire.lastPolledAt.map { Timestamp(ms: $0.ms) },
                charge: charge
            ),
            payment: memory.payment
        )
    }
}

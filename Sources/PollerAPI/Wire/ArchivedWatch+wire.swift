import JSONText
import Poller
import PollerIdentity
import PollerWire

/// A line of an archive, checked for the caller of a restore.
struct RestoredLine {
    /// The watch; nil where it had not ended.
    let watch: ArchivedWatch?
    /// Whether this cluster has signed it.
    let isSigned: Bool

    /// Reads a line of an archive.
    ///
    /// It is an answer of some server: members that a newer one has added are ignored.
    ///
    /// - `archives`: the keys that may have signed it.
    /// - `isTrusted`: whether a line is taken that none of them has signed.
    /// - `endpoints`: which URLs can be reached.
    ///
    /// Errors: a ``Problem`` that names the member.
    init(
        _ line: RawJSON,
        for caller: Caller,
        by archives: ArchiveKeys,
        isTrusted: Bool,
        endpoints: EndpointBackend
    ) throws(Problem) {
        guard line.kind == .object, let shown = line.member("watch") else {
            throw Problem(
                .missingField,
                "It must be a line of pollerctl export, an object with watch and events.",
                field: "watch"
            )
        }
        // From here on nothing is read that the digest does not cover.
        let wire = try Problem.reading(PollerWire.Watch.self, shown).archived
        guard let told = line.member("events")?.elements else {
            throw Problem(.missingField, "events must be the events of the watch.", field: "events")
        }
        guard !wire.isOpen else {
            (watch, isSigned) = (nil, false)
            return
        }
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
            // White space in a line is no change, and a stored event must be one line.
            guard let event = Poller.Event(json: text.compacted.description) else {
                throw Problem(
                    .invalidValue,
                    "events[\(index)] is no event.",
                    field: "events[\(index)]"
                )
            }
            if let payment = text.member("payment"),
                let sums = try? PollerWire.Payment(reading: payment), let sum = sums.sumBeyondLimits
            {
                throw Problem(
                    .invalidValue,
                    "events[\(index)].payment.\(sum) must be a whole number of 0 to \(Amount.max).",
                    field: "events[\(index)].payment.\(sum)"
                )
            }
            events.append(event)
        }
        let recorded = events
        isSigned = try Self.check(
            line.member("digest"),
            archives,
            wire.archivedBytes(with: recorded),
            isTrusted: isTrusted
        )
        watch = try Problem.checked { () throws(InvalidInput) in
            try ArchivedWatch(
                Poller.Watch(wire, key),
                closed: closed,
                lastError: wire.lastError,
                notify: try wire.notify.map { text throws(InvalidInput) in
                    let url = try NotifyURL(text)
                    try endpoints.check(url, field: "notify")
                    try url.check(for: caller, of: account, field: "notify")
                    return url
                },
                metadata: wire.metadata.isEmpty ? "" : wire.metadata.json.description,
                events: recorded
            )
        }
    }

    /// Whether this cluster has signed a line.
    ///
    /// Errors: a ``Problem`` that says what to do, for a line that is neither signed nor trusted.
    private static func check(
        _ digest: RawJSON?,
        _ archives: ArchiveKeys,
        _ said: [UInt8],
        isTrusted: Bool
    ) throws(Problem) -> Bool {
        let verdict = archives.check(
            digest.flatMap { $0.isNull ? nil : $0.string ?? "" },
            of: said
        )
        let why: String
        switch verdict {
        case .own: return true
        case .missing:
            why =
                "The line has no digest: it is not as a cluster has exported it."
        case .changed:
            why =
                "The line does not match its digest: watch or events have changed since the export."
        case .unknownKey(let id):
            why =
                "The line is signed with the key \(Self.shown(id)), which this cluster does not have: "
                + "another cluster exported it, or a store or master key that is gone."
        }
        if isTrusted { return false }
        throw Problem(
            .invalidValue,
            "\(why) To restore it as it is, run pollerctl import --trust (trust=true), with a key that has "
                + "\(Scope.trustArchives.rawValue).",
            field: "digest"
        )
    }

    /// The id of a key as a message shows it, whatever the line claims.
    private static func shown(_ id: String) -> String {
        String(
            id.unicodeScalars.filter { $0.isASCII && $0.value > 0x20 && $0.value < 0x7F }.map(
                Character.init
            )
        )
    }
}

/// A member of a watch that a restore reads.
private struct ArchivedMember: Sendable {
    let copy: @Sendable (PollerWire.Watch, inout PollerWire.Watch) -> Void
    let write: @Sendable (PollerWire.Watch, inout JSONWriter) -> Void

    init<Value: WireValue>(
        _ name: String,
        _ path: any WritableKeyPath<PollerWire.Watch, Value> & Sendable
    ) {
        copy = { $1[keyPath: path] = $0[keyPath: path] }
        write = { watch, json in
            json.name(name)
            watch[keyPath: path].write(to: &json)
        }
    }

    init<Value: WireValue>(
        _ name: String,
        _ path: any WritableKeyPath<PollerWire.Watch, Value?> & Sendable
    ) {
        copy = { $1[keyPath: path] = $0[keyPath: path] }
        write = { watch, json in
            guard let value = watch[keyPath: path] else { return }
            json.name(name)
            value.write(to: &json)
        }
    }

    /// All of them, in the order in which the digest covers them.
    ///
    /// The order and the names are part of every archive there is. A member that a later release adds is
    /// optional, so that lines without it keep their digests.
    static let all: [Self] = [
        Self("source", \.source), Self("kind", \.kind), Self("account", \.account),
        Self("state", \.state), Self("closed_reason", \.closedReason), Self("status", \.status),
        Self("seq", \.seq), Self("run", \.run), Self("attempts", \.attempts),
        Self("created_at", \.createdAt), Self("deadline_at", \.deadlineAt),
        Self("last_polled_at", \.lastPolledAt), Self("last_error", \.lastError),
        Self("policy", \.policy), Self("until", \.until), Self("notify", \.notify),
        Self("order", \.order), Self("metadata", \.metadata), Self("charge", \.charge),
        Self("memory", \.memory),
    ]
}

extension PollerWire.Watch {
    /// The watch with the members alone that a restore reads.
    fileprivate var archived: PollerWire.Watch {
        var archived = PollerWire.Watch()
        for member in ArchivedMember.all { member.copy(self, &archived) }
        return archived
    }

    /// The bytes that the digest of a line covers.
    ///
    /// The watch as JSON, then each event as it is recorded, with a line feed between. None of them has a line end
    /// inside.
    fileprivate func archivedBytes(with events: [Poller.Event]) -> [UInt8] {
        var json = JSONWriter(capacity: 1024)
        json.object { json in
            for member in ArchivedMember.all { member.write(self, &json) }
        }
        return events.reduce(into: json.bytes) { bytes, event in
            bytes.append(0x0A)
            bytes += event.json.utf8
        }
    }
}

extension ArchiveLine {
    /// A line for an archive, signed where it can be restored.
    ///
    /// `events`: the log, oldest first. Events recorded after the snapshot are left out.
    init(_ snapshot: WatchSnapshot, events: [Poller.Event], by archives: ArchiveKeys) {
        let events = events.filter { $0.seq <= snapshot.watch.seq }
        self.init()
        watch = PollerWire.Watch(snapshot)
        watch.memory = WatchMemory(of: snapshot.watch).packed
        self.events = events.map { RawJSON(unchecked: $0.json) }
        // The signature covers the line as a restore reads it: metadata may be written in another form there.
        let line = RawJSON(unchecked: watch.json)
        guard let read = try? PollerWire.Watch(reading: line) else { return }
        digest = archives.digest(of: read.archivedBytes(with: events))
    }
}

extension Poller.Watch {
    /// A watch as readers were told of it, with what they are told only for an archive.
    fileprivate init(_ wire: PollerWire.Watch, _ key: WatchKey) throws(InvalidInput) {
        let charge = ChargeProgress(
            name: wire.charge?.state.rawValue ?? "none",
            charge: try wire.charge?.id.map { text throws(InvalidInput) in try ChargeID(text) }
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

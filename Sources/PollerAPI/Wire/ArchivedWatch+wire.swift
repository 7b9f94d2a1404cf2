import JSONText
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerWatches
import PollerWire

/// A line of an archive, checked for the caller of a restore.
struct RestoredLine {
    /// The watch; `nil` if it was not closed.
    let watch: ArchivedWatch?
    /// Whether this cluster has signed the line.
    let isSigned: Bool

    /// Parses a line of an archive.
    ///
    /// The line is a server's response, so members that a newer server has added are ignored.
    ///
    /// - `archives`: the keys that may have signed the line.
    /// - `isTrusted`: whether a line without a valid signature is accepted.
    /// - `endpoints`: determines the URLs that can be reached.
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
        // From here on, only members that the digest covers are read.
        let wire = try Problem.reading(PollerWire.Watch.self, shown).archived
        guard let eventTexts = line.member("events")?.elements else {
            throw Problem.missing("events", "must be the events of the watch.")
        }
        guard !wire.isOpen else {
            (watch, isSigned) = (nil, false)
            return
        }
        guard let closed = wire.closedReason.flatMap({ ClosedReason(rawValue: $0.rawValue) }) else {
            throw Problem.value("closed_reason", "is not a known reason.")
        }
        let account = try Problem.checked { () throws(InvalidInput) in
            try AccountID(wire.account)
        }
        try caller.require(account)
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
            throw Problem.value("kind", "is not the kind of a watch.")
        }
        var events: [PollerWatches.Event] = []
        for (index, text) in eventTexts.enumerated() {
            // White space is not significant, and a stored event must be a single line.
            guard let event = PollerWatches.Event(json: text.compacted.description) else {
                throw Problem.value("events[\(index)]", "is not an event.")
            }
            if let payment = text.member("payment"),
                let sums = try? PollerWire.Payment(reading: payment), let sum = sums.sumBeyondLimits
            {
                throw Problem.value(
                    "events[\(index)].payment.\(sum)",
                    "must be a whole number of 0 to \(Amount.max)."
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
                PollerWatches.Watch(wire, key),
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

    /// Returns whether this cluster has signed a line.
    ///
    /// Errors: a ``Problem`` with the recommended action, for a line that is neither signed nor trusted.
    private static func check(
        _ digest: RawJSON?,
        _ archives: ArchiveKeys,
        _ signedBytes: [UInt8],
        isTrusted: Bool
    ) throws(Problem) -> Bool {
        let verdict = archives.check(
            digest.flatMap { $0.isNull ? nil : $0.string ?? "" },
            of: signedBytes
        )
        let why: String
        switch verdict {
        case .own: return true
        case .missing:
            why =
                "The line has no digest: it was changed after the export."
        case .changed:
            why =
                "The line does not match its digest: watch or events have changed since "
                + "the export."
        case .unknownKey(let id):
            why =
                "The line is signed with the key \(Self.shown(id)), which this cluster "
                + "does not have: another cluster exported it, or the store or master key "
                + "was lost."
        }
        if isTrusted { return false }
        throw Problem(
            .invalidValue,
            "\(why) To restore it as it is, run pollerctl import --trust (trust=true), with a key that has "
                + "\(Scope.trustArchives.rawValue).",
            field: "digest"
        )
    }

    /// Returns a key ID that is safe in a message, since the line may contain any text.
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

    /// All members, in the order in which the digest covers them.
    ///
    /// The order and the names are part of every existing archive. A member that a later release adds must be optional,
    /// so that lines without it keep their digests.
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
    /// The watch with only the members that a restore reads.
    fileprivate var archived: PollerWire.Watch {
        var archived = PollerWire.Watch()
        for member in ArchivedMember.all { member.copy(self, &archived) }
        return archived
    }

    /// Returns the bytes that the digest of a line covers.
    ///
    /// They are the watch as JSON, then each event as recorded, separated by line feeds. No part contains a line feed.
    fileprivate func archivedBytes(with events: [PollerWatches.Event]) -> [UInt8] {
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
    /// Creates a line for an archive, signed if it can be restored.
    ///
    /// `events`: the log, oldest first. Events recorded after the snapshot are left out.
    init(_ snapshot: WatchSnapshot, events: [PollerWatches.Event], by archives: ArchiveKeys) {
        let events = events.filter { $0.seq <= snapshot.watch.seq }
        self.init()
        watch = PollerWire.Watch(snapshot)
        watch.memory = WatchMemory(of: snapshot.watch).packed
        self.events = events.map { RawJSON(unchecked: $0.json) }
        // The signature covers the line as a restore reads it, which may write metadata in another form.
        let line = RawJSON(unchecked: watch.json)
        guard let read = try? PollerWire.Watch(reading: line) else { return }
        digest = archives.digest(of: read.archivedBytes(with: events))
    }
}

extension PollerWatches.Watch {
    /// Creates a watch from its API representation and the data that only archives contain.
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

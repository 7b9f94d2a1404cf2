package import PollerIdentity

/// A watch that has ended, as an archive has it (`pollerctl export`): what is put back into a store.
///
/// It comes back closed, with what was told of it, and is found, read and listed as before. Nobody is told
/// anything of that: its events are in no outbox, and where news opens it again later, what is told begins
/// behind them (``Event/isRestored``).
///
/// *What does not come back*: secrets, orders to charge, deliveries and notes, which no archive has; and its
/// place among others that have ended, since its age counts from its restoring.
package struct ArchivedWatch: Hashable, Sendable {
    /// As it was when it had ended.
    package let watch: Watch
    package let closed: ClosedReason
    /// Why the last poll failed; nil after one that was answered.
    package let lastError: String?
    package let notify: [NotifyURL]
    /// A JSON object, or empty.
    package let metadata: String
    /// The last it has recorded, oldest first, gapless up to the watch's `seq`; none where its log was forgotten.
    package let events: [Event]

    /// As many events as a log keeps.
    package static let eventsMax = 100
    /// Bytes of an event: an object of ``Event/objectBytesMax``, and three times as much beside it.
    package static let eventBytesMax = 4 * Event.objectBytesMax
    /// Bytes of an event's id and of its type.
    private static let nameBytesMax = 160
    /// Bytes that are kept of the last error.
    private static let errorBytesMax = 8192
    /// More has never happened to anything; a JSON reader takes every whole number up to it.
    package static let countMax = 1 << 53

    /// Puts together what an archive says of a watch.
    ///
    /// Errors: `InvalidInput` where the events are none of the watch's log.
    package init(
        _ watch: Watch,
        closed: ClosedReason,
        lastError: String?,
        notify: [NotifyURL],
        metadata: String,
        events: [Event]
    ) throws(InvalidInput) {
        func refuse(_ message: String) -> InvalidInput {
            InvalidInput(field: "events", message: message)
        }
        // As many as a watch has, which is more than one request may bring.
        guard notify.count <= NewWatch.notifyKeptMax else {
            throw InvalidInput(
                field: "notify",
                message: "names more than \(NewWatch.notifyKeptMax)"
            )
        }
        guard metadata.utf8.count <= NewWatch.metadataBytesMax else {
            throw InvalidInput(
                field: "metadata",
                message: "is larger than \(NewWatch.metadataBytesMax) bytes as JSON"
            )
        }
        guard (0...Self.countMax).contains(watch.seq), (1...Self.countMax).contains(watch.run)
        else {
            throw InvalidInput(field: "seq", message: "and run count what has happened")
        }
        guard events.count <= Self.eventsMax else {
            throw refuse("are more than a log keeps, \(Self.eventsMax)")
        }
        guard events.allSatisfy({ $0.key == watch.key }) else {
            throw refuse("are not all of this watch")
        }
        let seqs = events.map(\.seq)
        // The count of events was checked, and `seq` is bounded: the sums fit.
        guard seqs == Array((watch.seq - seqs.count + 1)..<(watch.seq + 1)), seqs.first ?? 1 > 0
        else {
            throw refuse("are not the last of the \(watch.seq) that the watch has recorded")
        }
        var run = 1
        for event in events {
            guard event.run >= run, event.run <= watch.run else {
                throw refuse("are of runs that do not lead to run \(watch.run)")
            }
            run = event.run
            try Self.checkForm(of: event)
        }
        guard Set(events.map(\.id)).count == events.count else { throw refuse("share an id") }
        self.watch = watch
        // Nobody is to look at it again: as one that somebody has dismissed.
        self.closed = closed == .dead ? .cancelled : closed
        self.lastError = lastError.map {
            String(decoding: $0.utf8.prefix(Self.errorBytesMax), as: UTF8.self)
        }
        self.notify = notify
        self.metadata = metadata
        self.events = events.map { event in
            var event = event
            event.isRestored = true
            return event
        }
    }

    /// Checks the names in an event, which go into headers, fields of streams and records.
    ///
    /// Where events are read back from a store they are taken as they are, because only this system writes there.
    private static func checkForm(of event: Event) throws(InvalidInput) {
        let field = "events"
        guard event.json.utf8.count <= eventBytesMax else {
            throw InvalidInput(
                field: field,
                message: "has one of more than \(eventBytesMax) bytes, seq \(event.seq)"
            )
        }
        for text in [event.id.description, event.type] {
            _ = try IdentifierSyntax.check(text, field: field, lengthMax: nameBytesMax, as: .word)
        }
        for status in [event.previousStatus, event.status].compactMap(\.self) {
            _ = try SourceStatus(status.description)
        }
        if let order = event.order { _ = try OrderID(order.description) }
        switch event.progress {
        case .pending(let charge), .succeeded(let charge): _ = try ChargeID(charge.description)
        case .none, .doubtful, .failed: break
        }
    }

    /// The last event of it that the archive has not.
    package var forgottenSeq: Int { watch.seq - events.count }

    /// As whoever reads the watch sees it.
    package var snapshot: WatchSnapshot {
        WatchSnapshot(
            watch: watch,
            closed: closed,
            nextPollAt: nil,
            lastError: lastError,
            notify: notify,
            metadata: metadata,
            lastEvent: events.last
        )
    }
}

/// What a store remembers of a watch beyond what its readers are told: by it an archive is whole.
///
/// *Shape*: values joined by `|`: ``WatchState/detail``, the trace packed, and, where somebody has looked at
/// the payment, ``PaymentMemory/packed``, which has such bars itself. It says nothing to a person.
package struct WatchMemory: Hashable, Sendable {
    package let detail: String
    package let trace: TraceContext?
    package let payment: PaymentMemory?

    /// ``Observation/detail`` has no more characters.
    private static let detailMax = 7

    /// What is remembered of a watch.
    package init(of watch: Watch) {
        detail = watch.state.detail
        trace = watch.trace
        payment = watch.payment
    }

    /// Reads it back; what cannot be read is forgotten.
    ///
    /// `charge`: the id the watch knows.
    package init(packed text: String, charge: ChargeID? = nil) {
        // The third is the payment's own, with its separators.
        var parts = text.split(separator: "|", maxSplits: 2, omittingEmptySubsequences: false)[...]
        // A character of several scalars is none of ours.
        detail = String((parts.popFirst() ?? "").unicodeScalars.prefix(Self.detailMax))
        trace = parts.popFirst().flatMap { TraceContext(packed: $0) }
        payment = parts.popFirst().flatMap { text in
            text.utf8.count > PaymentMemory.bytesMax
                ? nil : PaymentMemory(packed: String(text), charge: charge)
        }
    }

    /// The memory as an archive keeps it.
    package var packed: String {
        ([detail, trace?.packed ?? ""] + (payment.map { [$0.packed] } ?? []))
            .joined(separator: "|")
    }
}

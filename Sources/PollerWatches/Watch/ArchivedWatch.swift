package import PollerIdentity
package import PollerOperations
package import PollerPayments

/// A closed watch as `pollerctl export` archives it, ready to be restored.
///
/// The restored watch is closed and keeps its events. It can be found, read and listed as before. The restore publishes
/// nothing: no outbox contains the events. If a change reopens the watch later, delivery starts after them
/// (``Event/isRestored``).
///
/// *Not restored*: secrets, orders to charge, deliveries and notes, which no archive contains. Retention counts from
/// the restore.
package struct ArchivedWatch: Hashable, Sendable {
    /// The watch at its end.
    package let watch: Watch
    package let closed: ClosedReason
    /// The error of the last poll; `nil` if the poll was answered.
    package let lastError: String?
    package let notify: [NotifyURL]
    /// The metadata: a JSON object, or empty.
    package let metadata: String
    /// The last recorded events, oldest first, without gaps up to the watch's `seq`; empty if the log has expired.
    package let events: [Event]

    /// The number of events that a log keeps.
    package static let eventsMax = 100
    /// The size limit of an event in bytes: an object of ``Event/objectBytesMax``, and three times as much for the
    /// other fields.
    package static let eventBytesMax = 4 * Event.objectBytesMax
    /// The size limit of an event's ID and type, in bytes each.
    private static let nameBytesMax = 160
    /// The number of bytes that are kept of the last error.
    private static let errorBytesMax = 8192
    /// The largest count.
    ///
    /// A JSON parser reads every whole number up to it exactly.
    package static let countMax = 1 << 53

    /// Creates a watch from the fields of an archive.
    ///
    /// Errors: `InvalidInput` if the events are not from the watch's log.
    package init(
        _ watch: Watch,
        closed: ClosedReason,
        lastError: String?,
        notify: [NotifyURL],
        metadata: String,
        events: [Event]
    ) throws(InvalidInput) {
        func refuse(_ message: String) -> InvalidInput {
            InvalidInput("events", message)
        }
        // The limit of a watch, which is higher than that of one request.
        guard notify.count <= NewWatch.notifyKeptMax else {
            throw InvalidInput("notify", "names more than \(NewWatch.notifyKeptMax)")
        }
        guard metadata.utf8.count <= NewWatch.metadataBytesMax else {
            throw InvalidInput(
                "metadata",
                "is larger than \(NewWatch.metadataBytesMax) bytes as JSON"
            )
        }
        guard (0...Self.countMax).contains(watch.seq), (1...Self.countMax).contains(watch.run)
        else { throw InvalidInput("seq", "and run must match the recorded events") }
        guard events.count <= Self.eventsMax else {
            throw refuse("are more than a log keeps, \(Self.eventsMax)")
        }
        guard events.allSatisfy({ $0.key == watch.key }) else {
            throw refuse("are not all of this watch")
        }
        let seqs = events.map(\.seq)
        // The count of events was checked, and `seq` is bounded, so the sums do not overflow.
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
        // The restored watch needs no operator, as if it had been dismissed.
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

    /// Checks the names in an event, which are used in headers, stream fields and records.
    ///
    /// Events from a store are not checked, because only this system writes there.
    private static func checkForm(of event: Event) throws(InvalidInput) {
        let field = "events"
        guard event.json.utf8.count <= eventBytesMax else {
            throw InvalidInput(
                field,
                "has one of more than \(eventBytesMax) bytes, seq \(event.seq)"
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

    /// The `seq` of the last event that the archive does not contain.
    package var forgottenSeq: Int { watch.seq - events.count }

    /// The watch as the API returns it.
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

/// The internal state of a watch, which makes an archive complete.
///
/// *Shape*: values joined by `|`: ``WatchState/detail``, the packed trace and, if the payment has been read,
/// `PaymentMemory.packed`, which contains such bars itself. It is not meant for people.
package struct WatchMemory: Hashable, Sendable {
    package let detail: String
    package let trace: TraceContext?
    package let payment: PaymentMemory?

    /// The maximum length of `Observation.detail`.
    private static let detailMax = 7

    package init(of watch: Watch) {
        detail = watch.state.detail
        trace = watch.trace
        payment = watch.payment
    }

    /// Parses ``packed`` and drops unreadable parts.
    ///
    /// `charge`: the charge ID that the watch stores.
    package init(packed text: String, charge: ChargeID? = nil) {
        // The third part is the packed payment, which contains separators.
        var parts = text.split(separator: "|", maxSplits: 2, omittingEmptySubsequences: false)[...]
        // Scalars, because this code never writes a character of several scalars.
        detail = String((parts.popFirst() ?? "").unicodeScalars.prefix(Self.detailMax))
        trace = parts.popFirst().flatMap { TraceContext(packed: $0) }
        payment = parts.popFirst().flatMap { text in
            text.utf8.count > PaymentMemory.bytesMax
                ? nil : PaymentMemory(packed: String(text), charge: charge)
        }
    }

    /// The archived form.
    package var packed: String {
        ([detail, trace?.packed ?? ""] + (payment.map { [$0.packed] } ?? []))
            .joined(separator: "|")
    }
}

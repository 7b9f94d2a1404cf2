package import JSONText
package import PollerIdentity
import PollerOperations
package import PollerPayments
import PollerWire

extension Event {
    /// The bytes of most events without their object.
    private static let fieldsCapacity = 768

    /// Creates the event of a change.
    ///
    /// `lag` is the delay of the poll after its due time. `closed` is set when the watch ends here, unless `final`
    /// implies that. `progress` is the progress of its charge if it differs from the watch. `index` is the number of
    /// events recorded before this one in the same commit.
    package init(
        watch: Watch,
        of subject: EventSubject = .status,
        at index: Int = 0,
        status: SourceStatus?,
        final: Bool,
        closed: ClosedReason? = nil,
        progress: PollerPayments.ChargeProgress? = nil,
        payment: PollerPayments.Payment? = nil,
        nextStep: PollerPayments.NextStep = .none,
        isLive: Bool? = nil,
        object: RawJSON?,
        polledAt: Timestamp,
        lag: Duration
    ) {
        key = watch.key
        order = watch.order
        // A watch's count is bounded, and `index` counts the events of one commit, so the sum does not overflow.
        seq = watch.seq + 1 + index
        run = watch.run
        previousStatus = watch.state.status
        self.status = status
        let stopped = closed == .settled || closed == .reached ? nil : closed
        self.final = final && stopped == nil && closed != .reached
        self.closed = closed ?? (final ? .settled : nil)
        self.progress = progress ?? watch.state.charge
        self.payment = payment
        var returned = Amount.zero
        if case .payment = subject { returned = watch.reportedPayment?.amountReturned ?? .zero }
        previousReturned = returned
        self.nextStep = nextStep.withoutSecrets
        self.isLive = isLive
        self.polledAt = polledAt
        type =
            switch subject {
            case .payment(let state): state.eventType
            case .refund(let status): status.eventType
            case .nextStep: "next_step.changed"
            case .order(let state): "order.\(state.rawValue)"
            case .orderPaidTwice: "order.paid_twice"
            case .mandate: "mandate.notification"
            case .incident(let kind): "\(EventSubject.operatorFamily).\(kind)"
            case .charge(let status) where stopped == nil: "charge.\(status.rawValue)"
            case .status, .charge:
                stopped.map { "watch.\($0.rawValue)" }
                    ?? "\(watch.key.kind.rawValue).\(status?.typeName ?? "unknown")"
            }
        if case .mandate(let notice) = subject {
            mandate = notice
            id = EventID(announcing: notice, of: watch.key)
        } else {
            mandate = nil
            id = EventID(
                key: watch.key,
                run: watch.run,
                began: watch.createdAt,
                seq: seq,
                type: type
            )
        }
        // Upstreams may answer with line ends, and an event is one line everywhere.
        let compact = object?.compacted
        let kept = compact.flatMap { $0.utf8.count > Self.objectBytesMax ? nil : $0 }
        var wire = PollerWire.Event()
        wire.id = id.description
        wire.type = type
        wire.account = key.account.description
        wire.source = key.source.description
        wire.kind = Open(rawValue: key.kind.rawValue)
        wire.order = order?.description
        wire.seq = seq
        wire.run = run
        wire.previousStatus = previousStatus?.description
        wire.status = status?.description
        wire.isFinal = self.final
        wire.closedReason = self.closed.map { Open(rawValue: $0.rawValue) }
        wire.charge = self.progress == .none ? nil : self.progress.wire
        wire.payment = payment?.wire
        wire.previousAmountReturned = returned == 0 ? nil : returned.minorUnits
        wire.nextStep = self.nextStep == .none ? nil : self.nextStep.wire
        wire.mandate = mandate?.wire
        wire.isLive = isLive
        // A hostile secret may equal a number or a part of the structure. The text without it is no JSON then.
        let shown = kept?.withoutSecrets()
        wire.object = shown.flatMap { $0 == kept ? $0 : RawJSON(Array($0.utf8)) }
        wire.observed.polledAt = Time(ms: polledAt.ms)
        wire.observed.lagMs = Int(clamping: lag.ms)
        trace = watch.trace
        wire.traceparent = trace?.traceparent
        metadata = ""
        json = wire.json(capacity: Self.fieldsCapacity + (wire.object?.utf8.count ?? 4))
    }
}
